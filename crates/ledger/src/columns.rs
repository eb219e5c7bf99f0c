//! Between rows and records, in both stores.
//!
//! How a store holds a value is told by its driver's traits, in its own `columns`; these names are what records are read and
//! written with.

use std::str::FromStr;

use rusqlite::types::ValueRef;
use siglum_domain::context::{ContextKey, RouteKey};
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, InteractionId, LedgerId, NativeId, ObservationId, Oid,
    RepositoryId, SessionId, Timestamp, TokenId, TurnId,
};

use crate::LedgerError;

type Result<T> = std::result::Result<T, LedgerError>;

/// A value as stores hold it: ids as such or as their bytes, times as nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Col<T>(pub(crate) T);

/// A limit as a statement takes it; 0 means none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) usize);

/// Some texts, of which a statement takes `[= ANY(?1)|IN (SELECT value FROM json_each(?1))]`.
#[derive(Debug, Clone)]
pub(crate) struct Texts(pub(crate) Vec<String>);

/// A count as stores hold it.
pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// What every store can write.
#[cfg(feature = "postgres")]
pub(crate) trait Parameter: rusqlite::ToSql + postgres::types::ToSql + Sync {}
#[cfg(feature = "postgres")]
impl<T: rusqlite::ToSql + postgres::types::ToSql + Sync> Parameter for T {}

/// What every store can write.
#[cfg(not(feature = "postgres"))]
pub(crate) trait Parameter: rusqlite::ToSql {}
#[cfg(not(feature = "postgres"))]
impl<T: rusqlite::ToSql> Parameter for T {}

/// A value on its way to a store.
pub(crate) type Value<'a> = &'a dyn Parameter;

/// What every store can read.
#[cfg(feature = "postgres")]
pub(crate) trait Stored:
    rusqlite::types::FromSql + for<'a> postgres::types::FromSql<'a>
{
}
#[cfg(feature = "postgres")]
impl<T: rusqlite::types::FromSql + for<'a> postgres::types::FromSql<'a>> Stored for T {}

/// What every store can read.
#[cfg(not(feature = "postgres"))]
pub(crate) trait Stored: rusqlite::types::FromSql {}
#[cfg(not(feature = "postgres"))]
impl<T: rusqlite::types::FromSql> Stored for T {}

/// What a column can be read as.
pub(crate) trait Column: Sized {
    /// What the drivers read it as.
    type Form: Stored;

    fn from_form(form: Self::Form) -> Self;
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Column for $type {
            type Form = Self;

            fn from_form(form: Self) -> Self {
                form
            }
        }
    )*};
}
plain!(bool, i64, String, Vec<u8>);

macro_rules! through_col {
    ($($type:ty),*) => {$(
        impl Column for $type {
            type Form = Col<Self>;

            fn from_form(form: Col<Self>) -> Self {
                form.0
            }
        }
    )*};
}
through_col!(
    SessionId,
    TurnId,
    CheckpointId,
    RepositoryId,
    LedgerId,
    ObservationId,
    TokenId,
    InteractionId,
    Timestamp,
    Oid,
    AgentName,
    NativeId,
    ConversationId,
    RouteKey,
    ContextKey,
    HeartbeatName
);

impl<T: Column> Column for Option<T> {
    type Form = Option<T::Form>;

    fn from_form(form: Self::Form) -> Self {
        form.map(T::from_form)
    }
}

/// A row that a store answers with.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    #[cfg(feature = "postgres")]
    Postgres(&'r postgres::Row),
}

impl Row<'_> {
    /// Reads a column.
    pub(crate) fn get<T: Column>(&self, at: usize) -> Result<T> {
        let form = match self {
            Self::Sqlite(row) => row.get::<_, T::Form>(at)?,
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row
                .try_get::<_, T::Form>(at)
                .map_err(|error| column_error(at, &error))?,
        };
        Ok(T::from_form(form))
    }

    /// Reads a count; a negative one is damage and reads as nothing.
    pub(crate) fn count(&self, at: usize) -> Result<u64> {
        self.get::<i64>(at).map(|n| u64::try_from(n).unwrap_or(0))
    }

    /// Reads a count that may be absent.
    pub(crate) fn maybe_count(&self, at: usize) -> Result<Option<u64>> {
        let n: Option<i64> = self.get(at)?;
        Ok(n.map(|n| u64::try_from(n).unwrap_or(0)))
    }

    /// Reads a text, whatever is in its column.
    pub(crate) fn lossy(&self, at: usize) -> Result<String> {
        match self {
            Self::Sqlite(row) => Ok(match row.get_ref(at)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
                ValueRef::Integer(n) => n.to_string(),
                ValueRef::Real(n) => n.to_string(),
                ValueRef::Null => String::new(),
            }),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => self.get(at),
        }
    }

    /// Reads the agent of a session, which has a word there that stands for none.
    pub(crate) fn agent(&self, at: usize) -> Result<Option<AgentName>> {
        self.get(at).map(AgentName::named)
    }

    /// Reads the salt of a digest.
    pub(crate) fn salt(&self, at: usize) -> Result<[u8; 32]> {
        match self {
            Self::Sqlite(row) => Ok(row.get(at)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let salt = <[u8; 32]>::try_from(self.get::<Vec<u8>>(at)?);
                salt.map_err(|_| LedgerError::Damaged("a salt has not 32 bytes".to_owned()))
            }
        }
    }

    /// Reads a column that holds a word.
    pub(crate) fn parsed<T>(&self, at: usize) -> Result<T>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.get::<String>(at)?
            .parse()
            .map_err(|error| self.unreadable(at, error))
    }

    /// The error of a word that is none.
    fn unreadable(
        &self,
        at: usize,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> LedgerError {
        match self {
            Self::Sqlite(_) => {
                let text = rusqlite::types::Type::Text;
                rusqlite::Error::FromSqlConversionFailure(at, text, Box::new(error)).into()
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => damaged(at, &error),
        }
    }
}

/// The error of a column that the driver of PostgreSQL cannot read.
#[cfg(feature = "postgres")]
pub(crate) fn column_error(at: usize, error: &postgres::Error) -> LedgerError {
    match std::error::Error::source(error) {
        Some(cause) => damaged(at, &cause),
        None => damaged(at, error),
    }
}

#[cfg(feature = "postgres")]
fn damaged(at: usize, error: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Damaged(format!("column {at}: {error}"))
}
