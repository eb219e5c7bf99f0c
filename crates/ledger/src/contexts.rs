//! Verbs of contexts: what conversational state is kept under, and the routes that replies go by.
//!
//! A context is kept in one driven session; what is said in it stands in that session's log and nowhere here. These rows
//! say which session that is, where the context came from, and how the host that runs it counts what it says.

use siglum_domain::context::{Cause, ContextKey, Inherit, RouteKey};
use siglum_domain::{AgentName, SessionId, Timestamp, TurnId};

use crate::LedgerError;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRecord {
    pub key: RouteKey,
    /// The context that its ordinary runs see; none where all of them were isolated.
    pub current: Option<ContextKey>,
    /// The product that does the work.
    pub agent: AgentName,
    /// When it was first asked for.
    pub created_at: Timestamp,
    /// When anything was last heard of it.
    pub seen_at: Timestamp,
    pub runs: u64,
    pub last: Option<LastRun>,
}

/// The last run of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRun {
    pub context: ContextKey,
    /// The session that it was kept in.
    pub session: SessionId,
    /// How it ended, in a stable word; none while it runs.
    pub outcome: Option<String>,
    /// When it began, or ended.
    pub at: Timestamp,
}

/// One context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRecord {
    pub key: ContextKey,
    pub route: RouteKey,
    /// The session that it is kept in, and that keeps no other one.
    pub session: SessionId,
    /// What the session will be, as JSON, while nobody has used the context; none once there is a session.
    pub prepared: Option<String>,
    /// The context that it came from, and the last sequence of that one's log that it may see.
    pub parent: Option<(ContextKey, u64)>,
    pub cause: Cause,
    /// What it has of the one that it came from.
    pub inherit: Inherit,
    /// Who asked for it.
    pub by: String,
    pub created_at: Timestamp,
    /// When anything was last done with it.
    pub seen_at: Timestamp,
    /// When another one took its place, or its sub-agent came to its end.
    pub ended_at: Option<Timestamp>,
    /// The position after the last one that its host told of, in the host's own order.
    pub next: Option<u64>,
    /// What the host calls it, as a JSON object of texts.
    pub anchors: String,
}

/// What a turn of a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextTurnKind {
    /// One that somebody asked for.
    Asked,
    Heartbeat,
    /// What was said before was summed up, but for so many messages.
    Compaction {
        keep: u32,
    },
}

/// What is known of one turn of a context beside its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextTurn {
    pub context: ContextKey,
    /// The key under which it was handed over.
    pub key: String,
    pub turn: TurnId,
    /// Its part of the log, from its first sequence to its last.
    pub log: (u64, u64),
    /// Its part of the host's own order.
    pub positions: Option<(u64, u64)>,
    pub kind: ContextTurnKind,
    /// The key of the turn that was broken off and that this one does again.
    pub recovers: Option<String>,
    /// The host's own digest of what it handed over.
    pub digest: Option<String>,
    /// When it was committed.
    pub at: Timestamp,
}

/// A part of a host's order that nobody handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextGap {
    pub context: ContextKey,
    /// The first position.
    pub first: u64,
    /// The last position.
    pub last: u64,
    pub reason: String,
    /// Since when it is known.
    pub since: Timestamp,
    pub filled_at: Option<Timestamp>,
    /// When somebody said to go on with it, and who.
    pub accepted: Option<(Timestamp, String)>,
}

impl ContextGap {
    /// Whether nobody filled it and nobody accepted it.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.filled_at.is_none() && self.accepted.is_none()
    }
}

/// A run that was given its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRun {
    /// Who runs it.
    pub client: String,
    /// What that one calls it.
    pub run: String,
    /// The context that it was given.
    pub context: ContextKey,
    /// A digest of what it asked for.
    pub content: String,
    /// Whether the context came to be for it.
    pub made: bool,
    pub at: Timestamp,
}

/// A route went over to another context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteMove {
    pub route: RouteKey,
    pub at: Timestamp,
    /// Who asked for it.
    pub by: String,
    /// The context before; none for the first one.
    pub from: Option<ContextKey>,
    pub to: ContextKey,
    pub cause: Cause,
}

/// Contexts and their routes.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Contexts {
    /// The route of this key, created as `fresh` says where it is new. In a transaction that writes, nobody changes
    /// it meanwhile.
    fn claim_route(&mut self, fresh: &RouteRecord) -> Result<RouteRecord>;
    /// A route. In a transaction that writes, nobody changes it meanwhile.
    fn route(&mut self, key: &RouteKey) -> Result<Option<RouteRecord>>;
    /// The routes behind a key, by key.
    fn routes(&mut self, after: Option<&RouteKey>, limit: usize) -> Result<Vec<RouteRecord>>;
    /// Replaces what is known of a route that is there.
    fn put_route(&mut self, route: &RouteRecord) -> Result<()>;
    /// Lets go of a route and of what is noted of its moves, if no context is left of it.
    fn drop_route(&mut self, key: &RouteKey) -> Result<()>;

    /// A context. In a transaction that writes, nobody changes it meanwhile.
    fn context(&mut self, key: &ContextKey) -> Result<Option<ContextRecord>>;
    /// The context that is kept in a session.
    fn context_of_session(&mut self, session: SessionId) -> Result<Option<ContextRecord>>;
    /// Stores a context; what was there of this key is replaced.
    fn put_context(&mut self, context: &ContextRecord) -> Result<()>;
    /// The contexts of a route, newest first, before the one of `before`.
    fn contexts_of_route(
        &mut self,
        route: &RouteKey,
        before: Option<&ContextRecord>,
        limit: usize,
    ) -> Result<Vec<ContextRecord>>;
    /// The contexts that came from one, oldest first.
    fn contexts_from(&mut self, parent: &ContextKey, limit: usize) -> Result<Vec<ContextRecord>>;
    /// Lets go of a context with its turns, gaps and runs. Its session stays, and so does its route.
    fn drop_context(&mut self, key: &ContextKey) -> Result<()>;

    /// Notes a turn of a context; what was noted under its key is replaced.
    fn put_context_turn(&mut self, turn: &ContextTurn) -> Result<()>;
    /// The turn of a context that was handed over under this key.
    fn context_turn(&mut self, context: &ContextKey, key: &str) -> Result<Option<ContextTurn>>;
    /// The turns of a context that end behind a sequence of its log, in the order of the log.
    fn context_turns(&mut self, context: &ContextKey, after: u64) -> Result<Vec<ContextTurn>>;

    /// Notes a gap; what was noted of one that begins there is replaced.
    fn put_context_gap(&mut self, gap: &ContextGap) -> Result<()>;
    /// The gaps of a context, in the host's order.
    fn context_gaps(&mut self, context: &ContextKey) -> Result<Vec<ContextGap>>;

    /// Notes which context a run was given, unless that is known.
    fn put_context_run(&mut self, run: &ContextRun) -> Result<()>;
    /// Which context a run was given.
    fn context_run(&mut self, client: &str, run: &str) -> Result<Option<ContextRun>>;
    /// Lets go of what is noted of the oldest runs before a time, at most so many; gives how many that were.
    fn trim_context_runs(&mut self, before: Timestamp, limit: usize) -> Result<u64>;

    /// Notes that a route went over to another context.
    fn put_route_move(&mut self, moved: &RouteMove) -> Result<()>;
    /// When a route went over to another context, newest first.
    fn route_moves(&mut self, route: &RouteKey, limit: usize) -> Result<Vec<RouteMove>>;
}

/// The columns of a kind: its word, and how many messages it keeps.
pub(crate) const fn kind_columns(kind: ContextTurnKind) -> (&'static str, Option<i64>) {
    match kind {
        ContextTurnKind::Asked => ("asked", None),
        ContextTurnKind::Heartbeat => ("heartbeat", None),
        ContextTurnKind::Compaction { keep } => ("compaction", Some(keep as i64)),
    }
}

/// The kind of its columns.
pub(crate) fn kind_of(word: &str, keep: Option<i64>) -> Result<ContextTurnKind> {
    match (word, keep.map(u32::try_from)) {
        ("asked", None) => Ok(ContextTurnKind::Asked),
        ("heartbeat", None) => Ok(ContextTurnKind::Heartbeat),
        ("compaction", Some(Ok(keep))) => Ok(ContextTurnKind::Compaction { keep }),
        _ => Err(LedgerError::Damaged(format!("kind of a turn: {word}"))),
    }
}

/// A value of a grammar as it was stored.
pub(crate) fn stored<T: std::str::FromStr>(what: &str, text: &str) -> Result<T> {
    let damaged = |_| LedgerError::Damaged(format!("{what}: {text}"));
    text.parse().map_err(damaged)
}
