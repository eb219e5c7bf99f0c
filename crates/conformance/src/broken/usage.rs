//! Usage that goes wrong.

use siglum_domain::SessionId;
use siglum_domain::fold::Usage;
use siglum_ledger::{LedgerError, UsageFilter, UsageRecord, Usages};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// The conditions of a filter.
const FILTERS: &[&str] = &["session", "since", "until", "after", "limit"];

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Ignores("usages", FILTERS[0]),
    Fault::Ignores("usages", FILTERS[1]),
    Fault::Ignores("usages", FILTERS[2]),
    Fault::Ignores("usages", FILTERS[3]),
    Fault::Ignores("usages", FILTERS[4]),
    Fault::Ignores("usages", "copies"),
    Fault::Ignores("usages", "what is not counted"),
    Fault::Affirms("usages"),
];

/// Those of them that list in an order.
pub(super) const LISTS: &[&str] = &["usages"];

broken! { Usages, USAGES, LIMITED;
    Own usages(filter: &UsageFilter) -> Vec<UsageRecord>;
    Write put_usages(session: SessionId, usages: &[Usage]) -> ();
    Write drop_usages(session: SessionId) -> ();
}

impl BrokenTx<'_> {
    fn usages(&mut self, filter: &UsageFilter) -> Result<Vec<UsageRecord>> {
        let mut meant = filter.clone();
        for field in FILTERS {
            if !self.ignores("usages", field) {
                continue;
            }
            match *field {
                "session" => meant.session = None,
                "since" => meant.since = None,
                "until" => meant.until = None,
                "after" => meant.after = None,
                _ => meant.limit = 0,
            }
        }
        let mut rows = self.good.usages(&meant)?;
        for row in &mut rows {
            row.copied &= !self.ignores("usages", "copies");
            row.copied |= self.state.fault == Fault::Affirms("usages");
            if self.ignores("usages", "what is not counted") {
                row.usage.repeated = row.usage.retold;
            }
        }
        Ok(self.listed("usages", rows))
    }
}
