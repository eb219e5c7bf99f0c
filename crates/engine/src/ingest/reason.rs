//! Why a record has no session.

/// Why. The words are stored and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Nothing in it names a session that is known.
    NoSession,
    /// It is of another session than the one that the token of its sender acts for.
    OtherSession,
    /// Its trace belongs to several sessions, and nothing else tells.
    SharedTrace,
    /// Its session is at home in another ledger, which alone extends it.
    Replica,
    /// Its session is set aside because its store is damaged.
    Quarantined,
    /// What was seen could not be written to its session.
    Failed,
    /// The batch that it was in cannot be read any more.
    Damaged,
}

impl Reason {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::NoSession => "no_session",
            Self::OtherSession => "other_session",
            Self::SharedTrace => "shared_trace",
            Self::Replica => "replica",
            Self::Quarantined => "quarantined",
            Self::Failed => "failed",
            Self::Damaged => "damaged",
        }
    }
}
