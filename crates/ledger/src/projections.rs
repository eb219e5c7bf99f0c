//! Verbs of projections: who shows what is committed, and how far each has come with each session.
//!
//! Every receipt is due at every projection from the transaction on that stores it. Each projection has a cursor
//! of its own for each session: order matters within a session only, so one that fails, or lags, holds up nobody
//! else, and no counter that all writers would share is needed.

use siglum_domain::receipt::Receipt;
use siglum_domain::scope::Scope;
use siglum_domain::{SessionId, Timestamp};

use crate::LedgerError;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Somebody who shows what is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    pub name: String,
    pub kind: String,
    /// Where it is, in the words of its kind.
    pub target: String,
    /// Since when it follows.
    pub at: Timestamp,
    /// What may leave for it; nothing where it has none.
    pub scope: Option<Scope>,
}

/// How far a projection has come with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub projection: String,
    pub session: SessionId,
    /// The last receipt that its sink has; 0 if none.
    pub taken: u64,
    /// The last receipt that there is.
    pub due: u64,
    /// Up to here a person said to go on without what the sink refuses; 0 if nobody did.
    pub left_out: u64,
    /// When the first one that it lacks was sealed; means nothing while it lacks none.
    pub since: Timestamp,
    /// Nobody may claim it before.
    pub retry_at: Timestamp,
    /// How often it failed since it last came on.
    pub tries: u32,
    /// Why it failed last.
    pub reason: Option<String>,
    /// Since when it is set aside.
    pub parked_at: Option<Timestamp>,
}

/// How much a projection lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lag {
    /// Receipts that it lacks.
    pub receipts: u64,
    /// Sessions that they belong to.
    pub sessions: u64,
    /// When the oldest of them was sealed.
    pub since: Option<Timestamp>,
    /// Sessions that failed and are tried again.
    pub failing: u64,
    /// Sessions that are set aside.
    pub parked: u64,
}

/// How many sessions that have receipts may leave for a projection, and how many may not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// Sessions in its scope.
    pub sessions: u64,
    /// Sessions outside of it.
    pub outside: u64,
}

/// Projections and what is due at them. What is outside of a projection's scope may not be claimed and is not counted
/// as lacking; it is due as soon as it is inside.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Projections {
    /// Adds a projection, or changes what and where one of this name is and what its scope is; then its cursors and
    /// its time stay as they are. All that was ever sealed is due at a new one, from its time on. What was stated is
    /// looked at again where the scope changes.
    fn put_projection(&mut self, projection: &Projection) -> Result<()>;
    /// The projections, by name.
    fn projections(&mut self) -> Result<Vec<Projection>>;
    /// Whether a session may leave for a projection: whether it works and commits in repositories of its scope alone,
    /// or in none where that is in scope, too, and began no sooner than it says.
    fn in_scope(&mut self, name: &str, session: SessionId) -> Result<bool>;
    /// How many sessions with receipts may leave for a projection.
    fn reach(&mut self, name: &str) -> Result<Reach>;
    /// Takes a projection away, with its cursors; `false` if there is none of this name.
    fn drop_projection(&mut self, name: &str) -> Result<bool>;
    /// All that was ever sealed is due at a projection once more from `at` on, also what was left out, whoever has
    /// claimed it and however often it failed; of one session, or of all. Gives the number of sessions.
    fn restart(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64>;

    /// Takes what may be claimed at `at` for oneself until `until`: what lacks a receipt, is not set aside, and
    /// whose time has come. Longest waiting first; several workers get different sessions. What it gives is as it
    /// is stored from then on, with `until` as its time.
    fn claim(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>>;
    /// From when on something that a projection lacks may be claimed; nothing where it lacks nothing, or where all
    /// that it lacks is set aside.
    fn next_try(&mut self, name: &str) -> Result<Option<Timestamp>>;
    /// What was claimed and has not failed may be claimed again at `at`. Only for one who knows that nobody else
    /// feeds this projection. Gives the number of sessions.
    fn free_claims(&mut self, name: &str, at: Timestamp) -> Result<u64>;
    /// Notes that the sink has all receipts up to `taken`, but no more than there are. If that is news, no failure
    /// counts any more, it is not set aside, and what is still due may be claimed from `retry_at` on; else nothing
    /// changes.
    fn taken(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()>;
    /// Notes where the sink of a session is, by its own account: nearer or farther than was thought, but no farther
    /// than there are receipts. No failure counts any more, it is not set aside, and what it lacks may be claimed
    /// from `retry_at` on.
    fn come_to(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()>;
    /// Tries what waits or is set aside at `at`, whoever has claimed it, and counts no failure any more; of one
    /// session, or of all. Gives the number of sessions that lack something.
    fn retry(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64>;
    /// Notes that the sink goes on without the receipts up to `number`, of those that there are, from `at` on. No
    /// failure counts any more, and it is not set aside.
    fn leave_out(
        &mut self,
        name: &str,
        session: SessionId,
        number: u64,
        at: Timestamp,
    ) -> Result<()>;
    /// Notes a failure, if anything is still due: it is tried again from `retry_at` on, or set aside since
    /// `parked_at` until the sink comes on, or a person says so. What is set aside stays so.
    fn failed(
        &mut self,
        name: &str,
        session: SessionId,
        reason: &str,
        retry_at: Timestamp,
        parked_at: Option<Timestamp>,
    ) -> Result<()>;
    /// How far a projection has come with a session.
    fn delivery(&mut self, name: &str, session: SessionId) -> Result<Option<Delivery>>;
    /// What is set aside or fails; of one projection, or of all; by projection, longest lacking first.
    fn troubled(&mut self, name: Option<&str>, limit: usize) -> Result<Vec<Delivery>>;
    /// How much a projection lacks; nothing where there is no such one.
    fn lag(&mut self, name: &str) -> Result<Lag>;

    /// The receipts of a session behind a number, in order.
    fn receipts_after(
        &mut self,
        session: SessionId,
        number: u64,
        limit: usize,
    ) -> Result<Vec<Receipt>>;
}
