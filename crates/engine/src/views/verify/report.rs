//! What verifying found.

use std::collections::BTreeMap;

use siglum_domain::SessionId;

/// How many problems are told one by one; all of them are counted.
const PROBLEMS_MOST: usize = 1_000;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It should be there.
    Missing,
    /// It is there, and is not what was stored.
    Damaged,
}

impl Kind {
    /// The word that answers use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Damaged => "damaged",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: Kind,
    pub session: Option<SessionId>,
    /// Where: the entry, the receipt, the row.
    pub place: String,
    pub what: String,
    pub remedy: &'static str,
}

/// How much was looked at, and how it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub sessions: u64,
    /// Sessions that were quarantined before.
    pub quarantined: u64,
    /// Entries of logs.
    pub entries: u64,
    /// Payloads that are what their digest says.
    pub payloads: u64,
    /// Payloads that were forgotten, as a whole or in parts.
    pub forgotten: u64,
    pub receipts: u64,
    /// Runs of transcript lines.
    pub segments: u64,
    /// File versions.
    pub versions: u64,
    /// Cursors of projections.
    pub cursors: u64,
    /// Entries of the audit.
    pub audit: u64,
    pub missing: u64,
    pub damaged: u64,
}

/// What verifying found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub counts: Counts,
    /// What is wrong, a thousand at most.
    pub problems: Vec<Problem>,
    /// The sessions of which rows of the ledger are missing or damaged, each with the first thing.
    pub unsound: BTreeMap<SessionId, String>,
    /// The sessions that are quarantined and in which nothing is wrong any more.
    pub recovered: Vec<SessionId>,
}

impl Report {
    /// Whether nothing is missing or damaged.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.counts.missing == 0 && self.counts.damaged == 0
    }

    /// Something of the ledger is missing.
    pub(super) fn missing(
        &mut self,
        session: Option<SessionId>,
        place: impl Into<String>,
        what: impl Into<String>,
        remedy: &'static str,
    ) {
        self.of_ledger(Kind::Missing, session, place.into(), what.into(), remedy);
    }

    /// Something of the ledger is damaged.
    pub(super) fn damaged(
        &mut self,
        session: Option<SessionId>,
        place: impl Into<String>,
        what: impl Into<String>,
        remedy: &'static str,
    ) {
        self.of_ledger(Kind::Damaged, session, place.into(), what.into(), remedy);
    }

    fn of_ledger(
        &mut self,
        kind: Kind,
        session: Option<SessionId>,
        place: String,
        what: String,
        remedy: &'static str,
    ) {
        if let Some(session) = session {
            let reason = || format!("{place}: {what}");
            self.unsound.entry(session).or_insert_with(reason);
        }
        self.beside(Problem {
            kind,
            session,
            place,
            what,
            remedy,
        });
    }

    /// Something beside the ledger is wrong, or a cursor: the session itself is sound.
    pub(super) fn beside(&mut self, problem: Problem) {
        match problem.kind {
            Kind::Missing => self.counts.missing += 1,
            Kind::Damaged => self.counts.damaged += 1,
        }
        if self.problems.len() < PROBLEMS_MOST {
            self.problems.push(problem);
        }
    }

    /// Whether rows of a session are missing or damaged.
    pub(super) fn covers(&self, session: SessionId) -> bool {
        self.unsound.contains_key(&session)
    }
}
