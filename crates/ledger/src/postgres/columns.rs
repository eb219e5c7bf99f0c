//! Between rows and records, in PostgreSQL: ids are UUIDs, times nanoseconds.

use std::error::Error;

use bytes::BytesMut;
use postgres::Row;
use postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use siglum_domain::{
    CheckpointId, InteractionId, LedgerId, ObservationId, Oid, RepositoryId, SessionId, Timestamp,
    TokenId, TurnId,
};
use uuid::Uuid;

use crate::LedgerError;
pub(super) use crate::columns::{Col, int};
use crate::columns::{Limit, Texts, column_error};

type Boxed = Box<dyn Error + Sync + Send>;
type Result<T> = std::result::Result<T, LedgerError>;

macro_rules! id_column {
    ($($id:ident),*) => {$(
        impl ToSql for Col<$id> {
            fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Boxed> {
                self.0.uuid().to_sql(ty, out)
            }
            accepts!(UUID);
            to_sql_checked!();
        }

        impl<'a> FromSql<'a> for Col<$id> {
            fn from_sql(ty: &Type, raw: &'a [u8]) -> std::result::Result<Self, Boxed> {
                Uuid::from_sql(ty, raw).map(|uuid| Self($id::from_uuid(uuid)))
            }
            accepts!(UUID);
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
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Boxed> {
        self.0.nanos().to_sql(ty, out)
    }
    accepts!(INT8);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Col<Timestamp> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> std::result::Result<Self, Boxed> {
        i64::from_sql(ty, raw).map(|n| Self(Timestamp::from_nanos(n)))
    }
    accepts!(INT8);
}

/// Null is no limit.
impl ToSql for Limit {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Boxed> {
        limit(self.0).to_sql(ty, out)
    }
    accepts!(INT8);
    to_sql_checked!();
}

impl ToSql for Texts {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Boxed> {
        self.0.to_sql(ty, out)
    }
    accepts!(TEXT_ARRAY);
    to_sql_checked!();
}

/// A name from outside that was checked when it was stored.
macro_rules! name_column {
    ($($name:ty),*) => {$(
        impl<'a> FromSql<'a> for Col<$name> {
            fn from_sql(ty: &Type, raw: &'a [u8]) -> std::result::Result<Self, Boxed> {
                Ok(Self(<$name>::new(<&str>::from_sql(ty, raw)?)?))
            }
            accepts!(TEXT);
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

/// Reads a column as it is.
pub(super) fn raw<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T> {
    row.try_get(at).map_err(|error| column_error(at, &error))
}

/// Reads a column through [`Col`].
pub(super) fn get<'r, T>(row: &'r Row, at: usize) -> Result<T>
where
    Col<T>: FromSql<'r>,
{
    raw::<Col<T>>(row, at).map(|c| c.0)
}

/// A limit as the database takes it; 0 means none.
pub(super) fn limit(n: usize) -> Option<i64> {
    (n > 0).then(|| int(n as u64))
}

/// A count as it was stored; a negative one is damage and reads as nothing.
pub(super) fn count(row: &Row, at: usize) -> Result<u64> {
    raw::<i64>(row, at).map(|n| u64::try_from(n).unwrap_or(0))
}

/// What stands for a zero byte, which text of the database cannot hold: the control character "substitute".
const SUBSTITUTE: u8 = 0x1a;

/// A text without zero bytes, for lists of texts; single ones go through [`Clean`].
pub(super) fn clean(text: &str) -> String {
    text.replace('\0', "\u{1a}")
}

/// A value on its way to the database. Texts come from agents and may hold anything.
#[derive(Debug)]
pub(super) struct Clean<'a>(pub(super) &'a (dyn ToSql + Sync));

impl ToSql for Clean<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Boxed> {
        let start = out.len();
        let is_null = self.0.to_sql_checked(ty, out)?;
        if *ty == Type::TEXT {
            let zeros = out[start..].iter_mut().filter(|b| **b == 0);
            zeros.for_each(|b| *b = SUBSTITUTE);
        }
        Ok(is_null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
