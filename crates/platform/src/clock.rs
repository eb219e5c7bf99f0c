//! The clock and the source of ids: the only place that asks for the time or for randomness.

use std::time::{SystemTime, UNIX_EPOCH};

use siglum_domain::{IdSource, Timestamp};
use uuid::Uuid;

/// The time now.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the clock"
)]
#[must_use]
pub fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Makes UUIDs of version 7.
#[derive(Debug, Clone, Copy)]
pub struct Ids;

impl IdSource for Ids {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that makes ids"
    )]
    fn fresh(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// A key that nobody knows.
#[must_use]
pub fn secret() -> [u8; 32] {
    let mut seed = [0; 64];
    for part in seed.chunks_exact_mut(16) {
        part.copy_from_slice(Ids.fresh().as_bytes());
    }
    *blake3::hash(&seed).as_bytes()
}
