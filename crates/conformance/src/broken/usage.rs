//! Usage that goes wrong.

use siglum_domain::SessionId;
use siglum_domain::fold::Usage;
use siglum_ledger::{
    LedgerError, QuarterFilter, QuarterRecord, SessionCommit, SessionLink, UsageFilter,
    UsageRecord, Usages, UsingSessions, quarter_start,
};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// The conditions of a filter.
const FILTERS: &[&str] = &["session", "since", "until", "after", "limit"];

/// The conditions of a filter of quarters.
const QUARTER_FILTERS: &[&str] = &[
    "sessions",
    "repositories",
    "agent",
    "model",
    "since",
    "until",
];

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
    Fault::Ignores("usage_quarters", QUARTER_FILTERS[0]),
    Fault::Ignores("usage_quarters", QUARTER_FILTERS[1]),
    Fault::Ignores("usage_quarters", QUARTER_FILTERS[2]),
    Fault::Ignores("usage_quarters", QUARTER_FILTERS[3]),
    Fault::Ignores("usage_quarters", QUARTER_FILTERS[4]),
    Fault::Ignores("usage_quarters", QUARTER_FILTERS[5]),
    Fault::Ignores("usage_quarters", "copies"),
    Fault::Ignores("usage_quarters", "what is not counted"),
    Fault::Ignores("usage_quarters", "lengths of prompts"),
    Fault::Ignores("usage_quarters", "commits"),
    Fault::Ignores("session_links", "value"),
    Fault::Ignores("session_links", "since"),
    Fault::Ignores("session_links", "until"),
    Fault::Ignores("session_links", "sessions"),
    Fault::Ignores("session_links", "what was detached"),
    Fault::Ignores("session_commits", "sessions"),
    Fault::Ignores("session_commits", "since"),
    Fault::Ignores("session_commits", "until"),
    Fault::Ignores("session_commits", "rewrites"),
];

/// Those of them that list in an order.
pub(super) const LISTS: &[&str] = &["usages", "session_links", "session_commits"];
/// Those of them that list in no order.
pub(super) const BAGS: &[&str] = &["usage_quarters"];

broken! { Usages, USAGES, LIMITED;
    Own usages(filter: &UsageFilter) -> Vec<UsageRecord>;
    Write put_usages(session: SessionId, usages: &[Usage]) -> ();
    Write drop_usages(session: SessionId) -> ();
    Own usage_quarters(filter: &QuarterFilter, take: &mut dyn FnMut(QuarterRecord)) -> ();
    Own session_links(field: &str, value: Option<&str>, of: UsingSessions<'_>; limit) -> Vec<SessionLink>;
    Own session_commits(of: UsingSessions<'_>) -> Vec<SessionCommit>;
    List titles(sessions: &[SessionId]) -> Vec<(SessionId, String)>;
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

    fn usage_quarters(
        &mut self,
        filter: &QuarterFilter,
        take: &mut dyn FnMut(QuarterRecord),
    ) -> Result<()> {
        let mut meant = filter.clone();
        for field in QUARTER_FILTERS {
            if !self.ignores("usage_quarters", field) {
                continue;
            }
            match *field {
                "sessions" => meant.sessions = Vec::new(),
                "repositories" => meant.repositories = Vec::new(),
                "agent" => meant.agent = None,
                "model" => meant.model = None,
                "since" => meant.since = None,
                _ => meant.until = None,
            }
        }
        let mut rows = Vec::new();
        self.good
            .usage_quarters(&meant, &mut |row| rows.push(row))?;
        for QuarterRecord { quarter, .. } in &mut rows {
            if self.ignores("usage_quarters", "copies") {
                quarter.counted += std::mem::take(&mut quarter.copied);
            }
            if self.ignores("usage_quarters", "what is not counted") {
                quarter.repeated = quarter.retold;
            }
            if self.ignores("usage_quarters", "lengths of prompts") {
                quarter.prompts = (0, 0);
            }
            if self.ignores("usage_quarters", "commits") {
                quarter.start = quarter_start(quarter.start);
            }
        }
        let rows = self.listed("usage_quarters", rows);
        rows.into_iter().for_each(take);
        Ok(())
    }

    fn session_links(
        &mut self,
        field: &str,
        value: Option<&str>,
        of: UsingSessions<'_>,
        limit: usize,
    ) -> Result<Vec<SessionLink>> {
        let of = self.meant("session_links", of);
        let value = value.filter(|_| !self.ignores("session_links", "value"));
        let always_whole = self.ignores("session_links", "what was detached");
        let mut rows = self.good.session_links(field, value, of, limit)?;
        for row in &mut rows {
            row.is_whole |= always_whole;
        }
        Ok(self.listed("session_links", rows))
    }

    fn session_commits(&mut self, of: UsingSessions<'_>) -> Result<Vec<SessionCommit>> {
        let of = self.meant("session_commits", of);
        let knows_no_rewrites = self.ignores("session_commits", "rewrites");
        let mut rows = self.good.session_commits(of)?;
        for row in &mut rows {
            row.is_rewritten &= !knows_no_rewrites;
        }
        Ok(self.listed("session_commits", rows))
    }

    /// The sessions that a verb looks at.
    fn meant<'a>(&self, verb: &'static str, of: UsingSessions<'a>) -> UsingSessions<'a> {
        UsingSessions {
            sessions: match self.ignores(verb, "sessions") {
                true => &[],
                false => of.sessions,
            },
            since: of.since.filter(|_| !self.ignores(verb, "since")),
            until: of.until.filter(|_| !self.ignores(verb, "until")),
        }
    }
}
