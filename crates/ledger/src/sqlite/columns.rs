//! Between rows and records, in SQLite: ids are 16 bytes, times nanoseconds.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};
use siglum_domain::{
    CheckpointId, InteractionId, LedgerId, ObservationId, Oid, RepositoryId, SessionId, Timestamp,
    TokenId, TurnId,
};
use uuid::Uuid;

use crate::LedgerError;
pub(super) use crate::columns::{Col, int};
use crate::columns::{Limit, Texts};
use crate::row::json;

macro_rules! id_column {
    ($($id:ident),*) => {$(
        impl ToSql for Col<$id> {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.0.uuid().as_bytes().to_vec()))
            }
        }

        impl FromSql for Col<$id> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let bytes = value.as_blob()?;
                let uuid = Uuid::from_slice(bytes).map_err(|e| FromSqlError::Other(Box::new(e)))?;
                Ok(Self($id::from_uuid(uuid)))
            }
        }
    )*};
}
id_column!(
    SessionId,
    TurnId,
    CheckpointId,
    RepositoryId,
    LedgerId,
    ObservationId,
    TokenId,
    InteractionId
);

impl ToSql for Col<Timestamp> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.nanos()))
    }
}

impl FromSql for Col<Timestamp> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(|n| Self(Timestamp::from_nanos(n)))
    }
}

impl ToSql for Limit {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let most = match self.0 {
            0 => -1,
            most => int(most as u64),
        };
        Ok(ToSqlOutput::from(most))
    }
}

impl ToSql for Texts {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(json(&self.0)))
    }
}

/// A name from outside that was checked when it was stored.
macro_rules! name_column {
    ($($name:ty),*) => {$(
        impl FromSql for Col<$name> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <$name>::new(value.as_str()?).map(Self).map_err(|e| FromSqlError::Other(Box::new(e)))
            }
        }
    )*};
}
name_column!(
    Oid,
    siglum_domain::AgentName,
    siglum_domain::NativeId,
    siglum_domain::ConversationId,
    siglum_domain::context::RouteKey,
    siglum_domain::context::ContextKey,
    siglum_domain::heartbeat::HeartbeatName
);

/// Reads a column through [`Col`].
pub(super) fn get<T>(row: &Row<'_>, at: usize) -> rusqlite::Result<T>
where
    Col<T>: FromSql,
{
    row.get::<_, Col<T>>(at).map(|c| c.0)
}

/// Reads a column that may be absent through [`Col`].
pub(super) fn opt<T>(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<T>>
where
    Col<T>: FromSql,
{
    row.get::<_, Option<Col<T>>>(at).map(|c| c.map(|c| c.0))
}

/// A count as it was stored; a negative one is damage and reads as nothing.
pub(super) fn count(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|n| u64::try_from(n).unwrap_or(0))
}

/// Tells whether a row has another form than it should.
const fn is_of_a_row(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        error,
        E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..)
    )
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Busy,
            Some(Code::OperationInterrupted) => Self::Cancelled,
            Some(
                Code::DiskFull
                | Code::ReadOnly
                | Code::CannotOpen
                | Code::PermissionDenied
                | Code::SystemIoFailure,
            ) => Self::Unwritable(Box::new(error)),
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => Self::Damaged(error.to_string()),
            _ if is_of_a_row(&error) => Self::Damaged(error.to_string()),
            _ => Self::Storage(Box::new(error)),
        }
    }
}
