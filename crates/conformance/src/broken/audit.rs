//! An audit that goes wrong.

use siglum_domain::audit::{Action, Body, Entry, Header};
use siglum_ledger::{Audit, AuditFilter, LedgerError, Stored};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// The conditions of a filter.
const FILTERS: &[&str] = &[
    "session", "action", "actor", "pipeline", "since", "until", "outcome", "before", "limit",
];

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("append_audit"),
    Fault::Alternate("append_audit"),
    Fault::Doubled("append_audit"),
    Fault::Ignores("append_audit", "header"),
    Fault::Ignores("append_audit", "body"),
    Fault::Ignores("audit", FILTERS[0]),
    Fault::Ignores("audit", FILTERS[1]),
    Fault::Ignores("audit", FILTERS[2]),
    Fault::Ignores("audit", FILTERS[3]),
    Fault::Ignores("audit", FILTERS[4]),
    Fault::Ignores("audit", FILTERS[5]),
    Fault::Ignores("audit", FILTERS[6]),
    Fault::Ignores("audit", FILTERS[7]),
    Fault::Ignores("audit", FILTERS[8]),
    Fault::Ignores("audit_after", "number"),
];

/// Those of them that list in an order.
pub(super) const LISTS: &[&str] = &["audit", "audit_after"];

broken! { Audit, AUDIT, LIMITED;
    Own append_audit(header: &Header, body: &Body) -> Entry;
    Own audit(filter: &AuditFilter) -> Vec<Entry>;
    Own audit_after(number: u64; limit) -> Vec<Stored<Entry>>;
    Find audit_end() -> Option<(u64, String)>;
}

impl BrokenTx<'_> {
    fn append_audit(&mut self, header: &Header, body: &Body) -> Result<Entry> {
        if self.lost("append_audit") {
            let ledger = siglum_domain::LedgerId::from_uuid(uuid::Uuid::from_u128(1));
            let (number, previous) = self.good.audit_end()?.unwrap_or_default();
            let (header, body) = (header.clone(), body.clone());
            return Ok(Entry::seal(ledger, (number + 1, &previous), header, body));
        }
        let mut header = header.clone();
        if self.ignores("append_audit", "header") {
            header.action = Action::Other("done".to_owned());
        }
        let mut body = body.clone();
        if self.ignores("append_audit", "body") {
            body.text = siglum_domain::Redacted::empty();
        }
        let entry = self.good.append_audit(&header, &body)?;
        if self.state.fault == Fault::Doubled("append_audit") {
            self.good.append_audit(&header, &body)?;
        }
        Ok(entry)
    }

    fn audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>> {
        let mut meant = filter.clone();
        for field in FILTERS {
            if !self.ignores("audit", field) {
                continue;
            }
            match *field {
                "session" => meant.session = None,
                "action" => meant.action = None,
                "actor" => meant.actor = None,
                "pipeline" => meant.pipeline = None,
                "since" => meant.since = None,
                "until" => meant.until = None,
                "outcome" => meant.outcome = None,
                "before" => meant.before = None,
                _ => meant.limit = 0,
            }
        }
        let rows = self.good.audit(&meant)?;
        Ok(self.listed("audit", rows))
    }

    fn audit_after(&mut self, number: u64, limit: usize) -> Result<Vec<Stored<Entry>>> {
        let number = if self.ignores("audit_after", "number") {
            0
        } else {
            number
        };
        let rows = self.good.audit_after(number, limit)?;
        Ok(self.listed("audit_after", rows))
    }
}
