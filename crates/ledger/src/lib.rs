//! The store of record.
//!
//! [`Ledger`] is blocking and object-safe; it is opened for one tenant and hands out
//! [`Transaction`]s, whose verbs are grouped by what they speak of: [`Sessions`], [`Log`],
//! [`Commits`], [`Queue`], [`Forgetting`], [`Turns`], [`Projections`], [`Integrity`],
//! [`Access`], [`Audit`], [`Pipelines`], [`Replicas`], [`Requests`], [`Usages`], [`Telemetry`],
//! [`Contexts`], [`Heartbeats`], [`Runs`], [`Retention`].
//! The engine composes them; nothing here judges or decides. [`SearchIndex`] is beside them. SQL lives in
//! this crate alone.

mod access;
mod attempt;
mod audit;
mod cancellation;
mod columns;
mod commits;
mod contexts;
mod database;
mod error;
mod forgetting;
mod heartbeats;
mod integrity;
mod launch;
mod links;
mod log;
mod lookup;
mod pipelines;
#[cfg(feature = "postgres")]
pub mod postgres;
mod projections;
mod queue;
mod record;
#[cfg(any(test, feature = "testing"))]
mod recording;
mod replicas;
mod requests;
mod retention;
mod row;
mod runs;
mod schema;
mod search;
mod sessions;
mod spool;
mod sql;
pub mod sqlite;
mod statement;
mod stored;
mod sums;
mod telemetry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod texts;
mod transaction;
mod turns;
mod usage;
mod verbs;

pub use access::{Access, TokenRecord};
pub use attempt::{Refusal, attempt, attempt_read};
pub use audit::{Audit, AuditFilter};
pub use cancellation::Cancellation;
pub use commits::{CheckpointFilter, CommitFilter, Commits};
pub use contexts::{
    ContextGap, ContextRecord, ContextRun, ContextTurn, ContextTurnKind, Contexts, LastRun,
    RouteMove, RouteRecord,
};
pub use error::LedgerError;
pub use forgetting::Forgetting;
pub use heartbeats::{HeartbeatRecord, Heartbeats, TickRecord, TickTotal};
pub use integrity::{
    Integrity, Read, SessionState, Stored, StoredEntry, StoredSegment, StoredSession, Stray,
    Verified,
};
pub use log::{Appended, Log, NewEntry};
pub use pipelines::{NewPipelineEvent, PipelineRecord, Pipelines};
#[cfg(feature = "postgres")]
pub use postgres::{
    BlobError, BlobSettings, BlobStore, ConnectionLimit, PostgresConnection, PostgresHints,
    PostgresLedger, PostgresSettings, SharedLedger,
};
pub use projections::{Delivery, Lag, Projection, Projections, Reach};
pub use queue::Queue;
pub use record::*;
pub use replicas::{
    DESTINATION, Destination, DueDocument, ReplicaRepository, ReplicaRow, ReplicaTurn, Replicas,
    RewriteRecord,
};
pub use requests::{RequestRecord, Requests};
pub use retention::Retention;
pub use row::{LogRow, stored_facts, stored_name};
pub use runs::{
    ActiveRun, InteractionOption, InteractionRecord, RunEnd, RunEvents, RunRecord, Runs, Settlement,
};
pub use search::{
    IndexCheck, IndexMatch, IndexQuery, IndexStanding, IndexUpdate, IndexedPart, PartKey, PartMark,
    SearchIndex, WaitingSession,
};
pub use sessions::Sessions;
pub use spool::{Aside, Spool, SpoolError, SpoolRepository, Spooled};
pub use sqlite::SqliteLedger;
pub use sums::{Miscount, Unlike};
pub use telemetry::{
    Depth, ForwardRecord, KeptTelemetry, Telemetry, TelemetryBatch, TelemetryStore,
    UnassignedRecord,
};
pub use texts::{TextColumn, TextForm};
pub use transaction::{BlobWork, Durability, Joined, Ledger, Transaction, read, write};
pub use turns::{KeyedReceipt, Lease, OpenTurn, Turns};
pub use usage::{
    QUARTER, QuarterFilter, QuarterRecord, SessionCommit, SessionLink, UsageFilter, UsageQuarter,
    UsageRecord, UsageSession, Usages, UsingSessions, made_at, quarter_start,
};
