//! Verbs of requests that must not be done twice.

use siglum_domain::Timestamp;

use crate::LedgerError;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// A request that was done under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// What its caller calls it, with whatever tells callers and kinds of requests apart.
    pub key: String,
    /// A digest of what was asked.
    pub content: String,
    /// What came of it, in the words of whoever did it. No secret is in it.
    pub outcome: String,
    pub at: Timestamp,
}

/// Requests that were done.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Requests {
    /// The request of a key.
    fn request(&mut self, key: &str) -> Result<Option<RequestRecord>>;
    /// Notes a request; `false`, and nothing is noted, where there is one of its key.
    fn put_request(&mut self, record: &RequestRecord) -> Result<bool>;
    /// Lets go of requests that were done before a time, `limit` at most, oldest first. Gives their number.
    fn drop_requests(&mut self, before: Timestamp, limit: usize) -> Result<u64>;
}
