//! Requests that go wrong.

use siglum_domain::Timestamp;
use siglum_ledger::{LedgerError, RequestRecord, Requests};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("put_request"),
    Fault::Affirms("put_request"),
    Fault::Denies("put_request"),
    Fault::Lost("drop_requests"),
    Fault::OneMore("drop_requests"),
];

broken! { Requests, REQUESTS, LIMITED;
    Find request(key: &str) -> Option<RequestRecord>;
    Own put_request(record: &RequestRecord) -> bool;
    Own drop_requests(before: Timestamp; limit) -> u64;
}

impl BrokenTx<'_> {
    fn put_request(&mut self, record: &RequestRecord) -> Result<bool> {
        if self.lost("put_request") {
            return Ok(true);
        }
        let done = self.good.put_request(record)?;
        Ok(self.faulty_flag("put_request", done))
    }

    fn drop_requests(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        if self.lost("drop_requests") {
            return Ok(limit.min(2) as u64);
        }
        let count = self.good.drop_requests(before, limit)?;
        Ok(count + u64::from(self.state.fault == Fault::OneMore("drop_requests")))
    }
}
