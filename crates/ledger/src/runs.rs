//! Verbs of runs: what somebody asked of an agent that a gateway drives, and what the agent asked people meanwhile.

use serde::{Deserialize, Serialize};
use siglum_domain::context::{ContextKey, RouteKey};
use siglum_domain::{InteractionId, NativeId, Redacted, SessionId, Timestamp, TurnId};

use crate::LedgerError;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// A run: one driven turn, and who asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    pub turn: TurnId,
    pub session: SessionId,
    /// What whoever asked calls the turn.
    pub key: String,
    /// What the agent calls the session that it ran in, once it said so.
    pub native: Option<NativeId>,
    /// Where replies go.
    pub route: Option<RouteKey>,
    /// What state it saw and added to.
    pub context: Option<ContextKey>,
    /// Who asked.
    pub by: String,
    pub started_at: Timestamp,
    /// How it ended, when it did.
    pub end: Option<RunEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    pub at: Timestamp,
    /// A stable word.
    pub status: String,
    pub error: Option<Redacted>,
    /// Whether all that was said in it is committed. If not, the agent's own session has more than the log.
    pub committed: bool,
}

/// Something that an agent wants to hear from people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InteractionRecord {
    pub id: InteractionId,
    pub session: SessionId,
    pub turn: TurnId,
    /// A stable word: `permission`.
    pub kind: String,
    /// What the agent wants.
    pub title: Redacted,
    /// The tool call that it is about, by the agent's own name.
    pub call: Option<String>,
    pub options: Vec<InteractionOption>,
    pub raised_at: Timestamp,
    pub settled: Option<Settlement>,
}

/// One answer that an interaction can have. The stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InteractionOption {
    /// To be chosen by.
    pub id: String,
    /// For people.
    pub name: Redacted,
    /// What it does: a stable word.
    pub kind: String,
}

/// What became of an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    pub at: Timestamp,
    /// How: `answered`, `policy`, `expired`, `cancelled`, `lost`.
    pub how: String,
    /// What was chosen.
    pub option: Option<String>,
    pub by: String,
}

/// A run as its gateway announces it to others on the store. It goes on while the lease of its session is that of its
/// driver and has not run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRun {
    pub session: SessionId,
    /// What tells the holder of the lease from all others.
    pub driver: String,
    /// What whoever asked calls the turn.
    pub key: String,
    /// Who asked.
    pub by: String,
    pub since: Timestamp,
    /// Its turn; nothing while its agent starts.
    pub turn: Option<TurnId>,
    /// Who wants it to end.
    pub cancelled_by: Option<String>,
}

/// Events of a run, as those who follow it are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvents {
    pub turn: TurnId,
    pub session: SessionId,
    /// The number of the first one, from 1.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    pub at: Timestamp,
    /// In JSON, in the form of whoever tells them. Their texts are redacted.
    pub events: String,
}

/// Runs, and what agents asked people in them.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Runs {
    /// Notes a run, in place of what was noted of the same turn.
    fn put_run(&mut self, record: &RunRecord) -> Result<()>;
    /// The run of a turn.
    fn run_of_turn(&mut self, turn: TurnId) -> Result<Option<RunRecord>>;
    /// The runs of a session, newest first.
    fn runs_of(&mut self, session: SessionId, limit: usize) -> Result<Vec<RunRecord>>;
    /// Notes that an agent asks.
    fn put_interaction(&mut self, record: &InteractionRecord) -> Result<()>;
    /// What an agent asked.
    fn interaction(&mut self, id: InteractionId) -> Result<Option<InteractionRecord>>;
    /// What an agent asked in a session, newest first.
    fn interactions_of(
        &mut self,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<InteractionRecord>>;
    /// Notes what became of it; `false`, and nothing is noted, where that is settled or there is none.
    fn settle_interaction(&mut self, id: InteractionId, settled: &Settlement) -> Result<bool>;

    /// Announces the run of a session, in place of the one before.
    fn put_active_run(&mut self, run: &ActiveRun) -> Result<()>;
    /// The run of a session that was announced last, whether it goes on or not.
    fn active_run(&mut self, session: SessionId) -> Result<Option<ActiveRun>>;
    /// Says that the announced run of this driver has its turn.
    fn begin_active_run(&mut self, session: SessionId, driver: &str, turn: TurnId) -> Result<()>;
    /// Says that somebody wants the announced run of this driver to end, who stays where another one wanted it before;
    /// `false` where it is another driver's.
    fn cancel_active_run(&mut self, session: SessionId, driver: &str, by: &str) -> Result<bool>;
    /// Stores events of a run, in place of those that were stored from the same number on.
    fn put_run_events(&mut self, events: &RunEvents) -> Result<()>;
    /// The events of a run behind a number, in order: at most `limit` rows, the first of which may begin before it.
    fn run_events(&mut self, turn: TurnId, after: u64, limit: usize) -> Result<Vec<RunEvents>>;
    /// Lets go of the events of a run up to a number, but the first one.
    fn cut_run_events(&mut self, turn: TurnId, last: u64) -> Result<()>;
    /// Lets go of the events of a run.
    fn drop_run_events(&mut self, turn: TurnId) -> Result<()>;
    /// Lets go of events that were stored before a time, `limit` rows at most, oldest first. Gives how many rows went.
    fn drop_old_run_events(&mut self, before: Timestamp, limit: usize) -> Result<u64>;
}
