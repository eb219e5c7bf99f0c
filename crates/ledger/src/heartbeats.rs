//! Verbs of heartbeats: what runs on a schedule, each time that it was due, and what became of it.
//!
//! A tick is one row by heartbeat and due time, so that none is fired twice. Whoever fires it holds it until a time
//! that it prolongs; what it holds beyond that it has lost.

use siglum_domain::context::ContextKey;
use siglum_domain::heartbeat::{HeartbeatName, TickCause, TickOutcome};
use siglum_domain::{SessionId, Timestamp};

use crate::LedgerError;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// A heartbeat as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatRecord {
    pub name: HeartbeatName,
    /// What it is, in JSON. No secret is in it.
    pub definition: String,
    /// Where it was written down: a stable word.
    pub origin: String,
    /// Who wrote it, or changed it last.
    pub by: String,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    /// Since when its schedule is followed: its intervals are counted from there.
    pub anchor: Timestamp,
    pub paused_at: Option<Timestamp>,
    /// Since when it is no more; what became of its ticks is kept a while.
    pub removed_at: Option<Timestamp>,
    /// When it is due; nothing where it never is, is paused, or is no more.
    pub next_due: Option<Timestamp>,
    /// When a tick of it last did what it was asked.
    pub alive_at: Option<Timestamp>,
}

/// A time that a heartbeat was due, or asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickRecord {
    pub heartbeat: HeartbeatName,
    pub due: Timestamp,
    pub cause: TickCause,
    /// When somebody took it.
    pub fired_at: Timestamp,
    pub by: String,
    /// Until then nobody else takes it for lost.
    pub held_until: Timestamp,
    pub outcome: TickOutcome,
    pub reason: Option<String>,
    pub ended_at: Option<Timestamp>,
    /// Missed due times that this tick covers.
    pub missed: u64,
    pub session: Option<SessionId>,
    pub context: Option<ContextKey>,
    pub tokens: u64,
    /// What that cost, in billionths of a dollar.
    pub nano_usd: u64,
    /// Where its answer goes, or went.
    pub target: String,
    /// What is to be delivered, redacted; nothing once it is.
    pub owed: Option<String>,
    /// How often that failed.
    pub tries: u64,
    /// Nobody tries before.
    pub retry_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}

/// How many ticks of a heartbeat came to one end, for one reason, whether they are kept or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickTotal {
    pub outcome: TickOutcome,
    /// Why; empty where there is no word for it.
    pub reason: String,
    pub ticks: u64,
    pub tokens: u64,
    /// What that cost, in billionths of a dollar.
    pub nano_usd: u64,
}

/// Heartbeats and their ticks.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Heartbeats {
    /// Writes a heartbeat down; what was written of that name is replaced.
    fn put_heartbeat(&mut self, record: &HeartbeatRecord) -> Result<()>;
    /// One heartbeat, also one that is no more. In a transaction that writes, nobody changes it meanwhile.
    fn heartbeat(&mut self, name: &HeartbeatName) -> Result<Option<HeartbeatRecord>>;
    /// All heartbeats, also those that are no more, by name.
    fn heartbeats(&mut self) -> Result<Vec<HeartbeatRecord>>;
    /// Heartbeats that are due at a time, longest waiting first. In a transaction that writes, those that nobody else
    /// looks at, and nobody else changes them meanwhile.
    fn due_heartbeats(&mut self, at: Timestamp, limit: usize) -> Result<Vec<HeartbeatRecord>>;
    /// Lets go of a heartbeat with its totals. Its ticks stay.
    fn drop_heartbeat(&mut self, name: &HeartbeatName) -> Result<()>;

    /// Notes a tick; `false`, and nothing is noted, where there is one of this heartbeat and time.
    fn put_tick(&mut self, tick: &TickRecord) -> Result<bool>;
    /// Notes what became of a tick that is there.
    fn set_tick(&mut self, tick: &TickRecord) -> Result<()>;
    /// One tick. In a transaction that writes, nobody changes it meanwhile.
    fn tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<Option<TickRecord>>;
    /// The ticks of a heartbeat, newest first, before a time if one is given.
    fn ticks(
        &mut self,
        name: &HeartbeatName,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickRecord>>;
    /// The tick of a heartbeat that somebody runs, or ran when he died; the oldest one.
    fn running_tick(&mut self, name: &HeartbeatName) -> Result<Option<TickRecord>>;
    /// Ticks that somebody runs and has not held on to until `at`, longest lost first.
    fn lost_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>>;
    /// Ticks whose answers may be delivered at `at`, longest waiting first. In a transaction that writes, those that
    /// nobody else looks at.
    fn owed_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>>;
    /// Ticks that were due before a time, behind another one if one is given, and of which nothing more comes, oldest
    /// first; never the newest one of the heartbeat.
    fn old_ticks(
        &mut self,
        name: &HeartbeatName,
        after: Option<Timestamp>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TickRecord>>;
    /// Lets go of a tick.
    fn drop_tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<()>;
    /// Adds to what ticks came to.
    fn add_tick_total(&mut self, name: &HeartbeatName, total: &TickTotal) -> Result<()>;
    /// What the ticks of a heartbeat came to, by outcome and reason.
    fn tick_totals(&mut self, name: &HeartbeatName) -> Result<Vec<TickTotal>>;

    /// Lets go of a session with all that is stored of it, for good, unless something pins it: then nothing changes,
    /// and a word says what. Links that `by` attached pin nothing. Nothing, too, where there is no such session.
    fn drop_session(&mut self, session: SessionId, by: &str) -> Result<Option<String>>;
}
