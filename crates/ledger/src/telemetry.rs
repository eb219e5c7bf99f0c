//! Verbs of telemetry that came from outside: what waits to be looked at, which trace belongs to which session, what no
//! session was found for, what is to be sent on, and what was counted.
//!
//! Payloads are bytes to a store; whoever puts them there has redacted and packed them.

use siglum_domain::trace::{SpanId, TraceId};
use siglum_domain::{AgentName, SessionId, Timestamp, TurnId};

use crate::LedgerError;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// A batch as it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryBatch {
    /// Its place in the order in which batches were taken. Whoever puts one gives none.
    pub sequence: u64,
    /// When it was taken.
    pub at: Timestamp,
    /// Whether it has spans, logs or metrics: a stable word.
    pub signal: String,
    /// The only session that whoever sent it may speak for; none: each of the tenant.
    pub session: Option<SessionId>,
    /// How many spans, log records or data points it has.
    pub records: u64,
    /// Whether it was sent on already, before its session was known.
    pub forwarded: bool,
    pub payload: Vec<u8>,
}

/// Where telemetry is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TelemetryStore {
    /// Taken, and not looked at yet.
    Inbox,
    /// Without a session.
    Unassigned,
    /// To be sent on.
    Forwards,
}

impl TelemetryStore {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Inbox, Self::Unassigned, Self::Forwards];

    pub(crate) const fn table(self) -> &'static str {
        match self {
            Self::Inbox => "telemetry_inbox",
            Self::Unassigned => "unassigned",
            Self::Forwards => "forwards",
        }
    }
}

/// Telemetry that is kept, as whoever looks through it needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTelemetry {
    /// Its place in the order.
    pub sequence: u64,
    /// Whether it has spans, logs or metrics.
    pub signal: String,
    pub payload: Vec<u8>,
}

/// Records of one batch that no session was found for, all for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnassignedRecord {
    /// Its place in the order. Whoever puts one gives none.
    pub sequence: u64,
    /// When it was taken.
    pub at: Timestamp,
    /// Whether it has spans, logs or metrics: a stable word.
    pub signal: String,
    /// The trace that all of it belongs to, if any.
    pub trace: Option<TraceId>,
    /// The span of the first record, if any.
    pub span: Option<SpanId>,
    /// The agent that sent it, if it is known.
    pub agent: Option<AgentName>,
    /// What the first record is called.
    pub name: String,
    /// The only session that whoever sent it may speak for.
    pub session: Option<SessionId>,
    /// How many spans, log records or data points it has.
    pub records: u64,
    /// Why no session was found.
    pub reason: String,
    /// Whether it was sent on as it is.
    pub forwarded: bool,
    pub payload: Vec<u8>,
}

/// What waits for a downstream collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardRecord {
    /// Its place in the order. Whoever puts one gives none.
    pub sequence: u64,
    /// The name of the destination.
    pub destination: String,
    /// When it was put there.
    pub at: Timestamp,
    /// Whether it has spans, logs or metrics: a stable word.
    pub signal: String,
    /// The session that is stamped on it.
    pub session: Option<SessionId>,
    /// How many spans, log records or data points it has.
    pub records: u64,
    pub payload: Vec<u8>,
}

/// How much waits somewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Rows.
    pub rows: u64,
    /// Spans, log records and data points in them.
    pub records: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
}

/// Telemetry from outside.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Telemetry {
    /// Takes a batch; gives its place.
    fn put_batch(&mut self, batch: &TelemetryBatch) -> Result<u64>;
    /// The batches that were taken first. Where several look at once, each gets others.
    fn batches(&mut self, limit: usize) -> Result<Vec<TelemetryBatch>>;
    /// Lets go of a batch.
    fn drop_batch(&mut self, sequence: u64) -> Result<()>;
    /// How much was taken and not let go.
    fn inbox(&mut self) -> Result<Depth>;

    /// Notes that a trace belongs to a session; a trace may belong to several.
    fn note_trace(&mut self, trace: &TraceId, session: SessionId, at: Timestamp) -> Result<()>;
    /// The sessions that a trace belongs to, in no order.
    fn sessions_of_trace(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<SessionId>>;
    /// The sessions in whose logs a tool call stands, or the start of a sub-agent, by the name of its event, in no
    /// order.
    fn sessions_of_call(&mut self, event: &str, limit: usize) -> Result<Vec<SessionId>>;

    /// The session that has this turn, which may still be open.
    fn session_of_turn(&mut self, turn: TurnId) -> Result<Option<SessionId>>;

    /// Keeps what no session was found for; gives its place.
    fn put_unassigned(&mut self, record: &UnassignedRecord) -> Result<u64>;
    /// What no session was found for, newest first, before a place if one is given.
    fn unassigned(&mut self, before: Option<u64>, limit: usize) -> Result<Vec<UnassignedRecord>>;
    /// What no session was found for of a trace, oldest first.
    fn unassigned_of(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<UnassignedRecord>>;
    /// What is kept since `until` or longer and was not sent on, oldest first.
    fn unforwarded(&mut self, until: Timestamp, limit: usize) -> Result<Vec<UnassignedRecord>>;
    /// Notes that it was sent on as it is.
    fn set_forwarded(&mut self, sequence: u64) -> Result<()>;
    /// Lets go of what a session was found for.
    fn drop_unassigned(&mut self, sequence: u64) -> Result<()>;
    /// Lets go of all but the newest `keep` rows; gives how many records that were.
    fn trim_unassigned(&mut self, keep: usize) -> Result<u64>;
    /// How much is kept that no session was found for.
    fn unassigned_depth(&mut self) -> Result<Depth>;

    /// Puts something where a destination finds it; gives its place.
    fn put_forward(&mut self, forward: &ForwardRecord) -> Result<u64>;
    /// What waits for a destination, oldest first.
    fn forwards(&mut self, destination: &str, limit: usize) -> Result<Vec<ForwardRecord>>;
    /// Lets go of what was sent, or cannot be.
    fn drop_forward(&mut self, sequence: u64) -> Result<()>;
    /// Lets go of all that waits for a destination; gives how many records that were.
    fn drop_forwards(&mut self, destination: &str) -> Result<u64>;
    /// How much waits for a destination.
    fn forward_depth(&mut self, destination: &str) -> Result<Depth>;

    /// Adds to what was counted under a name.
    fn add_count(&mut self, name: &str, by: u64) -> Result<()>;
    /// What was counted, by name.
    fn counts(&mut self) -> Result<Vec<(String, u64)>>;
}
