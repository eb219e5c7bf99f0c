//! What the database's errors mean to a caller.

use postgres::error::{DbError, Severity, SqlState};

use crate::LedgerError;

/// What became of a transaction, or of one statement in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It met another one and may run again.
    Conflict,
    /// The connection is gone.
    Lost,
    Other,
}

/// Tells what an error means to the transaction.
pub(super) fn fault(error: &postgres::Error) -> Fault {
    let Some(db) = error.as_db_error() else {
        return if is_ours(error) {
            Fault::Other
        } else {
            Fault::Lost
        };
    };
    match db.code() {
        &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => Fault::Conflict,
        _ if ends_connection(db) => Fault::Lost,
        _ => Fault::Other,
    }
}

/// Whether an error came up on this side, before anything was sent: a value of a wrong type.
fn is_ours(error: &postgres::Error) -> bool {
    let text = error.to_string();
    text.starts_with("error serializing parameter") || text.starts_with("expected ")
}

fn ends_connection(error: &DbError) -> bool {
    let fatal = matches!(
        error.parsed_severity(),
        Some(Severity::Fatal | Severity::Panic)
    );
    // Class 08 is about connections; 40003 is what distributed databases say when they lost a node in a commit.
    fatal || error.code().code().starts_with("08") || error.code().code() == "40003"
}

/// The error of a statement.
pub(super) fn refused(error: postgres::Error) -> LedgerError {
    match (fault(&error), error.code()) {
        (Fault::Conflict, _) => LedgerError::Busy,
        (Fault::Lost, _) | (_, None) => LedgerError::Unreachable(Box::new(error)),
        (Fault::Other, Some(code)) => of_code(&code.clone(), error),
    }
}

fn of_code(code: &SqlState, error: postgres::Error) -> LedgerError {
    match code {
        // A statement that runs into its time limit is cancelled, one that waits for a lock is refused.
        &SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED => LedgerError::Busy,
        &SqlState::DISK_FULL
        | &SqlState::OUT_OF_MEMORY
        | &SqlState::INSUFFICIENT_RESOURCES
        | &SqlState::CONFIGURATION_LIMIT_EXCEEDED
        | &SqlState::READ_ONLY_SQL_TRANSACTION
        | &SqlState::INSUFFICIENT_PRIVILEGE
        | &SqlState::IO_ERROR => LedgerError::Unwritable(Box::new(error)),
        &SqlState::UNDEFINED_TABLE | &SqlState::UNDEFINED_COLUMN => LedgerError::Outdated {
            found: 0,
            known: super::SCHEMA,
        },
        &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
            LedgerError::Damaged(error_message(&error))
        }
        _ => LedgerError::Storage(Box::new(error)),
    }
}

/// Whether a constraint of the tables was broken: those errors are class 23.
pub(crate) fn is_contradiction(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let error = error.downcast_ref::<postgres::Error>();
    let code = error.and_then(postgres::Error::code);
    code.is_some_and(|code| code.code().starts_with("23"))
}

/// The error of making a connection. The server's words name the role and never its password.
pub(super) fn unreachable(error: postgres::Error) -> LedgerError {
    LedgerError::Unreachable(Box::new(error))
}

/// An error and what caused it, in one line.
fn error_message(error: &postgres::Error) -> String {
    error
        .as_db_error()
        .map_or_else(|| error.to_string(), |db| db.message().to_owned())
}
