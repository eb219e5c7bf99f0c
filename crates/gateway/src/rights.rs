//! Which right each operation needs, and how it keeps to the repositories of a token that is limited to some: one table,
//! which the router holds callers to and which the document has.
//!
//! An operation that is not in it refuses every token with limits.

use siglum_domain::access::Right;
use siglum_engine::identity::links;

use Reach::{Own, Session, Tenant};
use Right::{Admin, Drive, Read, Run, Sync};

/// How an operation keeps to the repositories of a token that is limited to some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It acts for the session in its path, which must work in one of them.
    Session,
    /// It leaves out or refuses by itself what is outside.
    Own,
    /// What it gives or does belongs to no repository: it refuses such a token.
    Tenant,
}

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) right: Right,
    pub(crate) reach: Reach,
}

/// What the export of telemetry needs, over whichever protocol.
pub(crate) const EXPORT: Needs = Needs {
    right: Right::Drive,
    reach: Reach::Tenant,
};

/// What an operation needs, by its id in the document.
pub(crate) fn needs(operation: &str) -> Option<Needs> {
    let (_, right, reach) = *TABLE.iter().find(|(id, ..)| *id == operation)?;
    Some(Needs { right, reach })
}

/// Operations by their id.
pub(crate) const TABLE: &[(&str, Right, Reach)] = &[
    // Replicas.
    ("pushReplicas", Sync, Own),
    // Sessions.
    ("listSessions", Read, Own),
    ("searchSessions", Read, Own),
    ("getSession", Read, Session),
    ("getCost", Read, Own),
    ("getLinks", Read, Session),
    ("createSession", Drive, Own),
    ("keepSessionAlive", Drive, Session),
    ("endSession", Drive, Session),
    ("attachLinks", links::RIGHT, Session),
    ("detachLinks", links::RIGHT, Session),
    ("rotateSessionToken", Admin, Session),
    // What was said.
    ("listEvents", Read, Session),
    ("listReceipts", Read, Session),
    ("streamEvents", Read, Session),
    ("listMessages", Read, Own),
    ("streamMessages", Read, Own),
    ("listInteractions", Read, Own),
    // Runs. An agent on the machine of the gateway reads what it likes there, whatever its session works in.
    ("sendMessages", Run, Tenant),
    ("sendSessionMessages", Run, Tenant),
    ("cancelRun", Run, Own),
    ("answerInteraction", Run, Own),
    ("listHeartbeats", Read, Tenant),
    ("getHeartbeat", Read, Tenant),
    ("listHeartbeatTicks", Read, Tenant),
    ("createHeartbeat", Run, Tenant),
    ("deleteHeartbeat", Run, Tenant),
    ("runHeartbeat", Run, Tenant),
    ("pauseHeartbeat", Run, Tenant),
    ("resumeHeartbeat", Run, Tenant),
    // Turns.
    ("getTurnReceipt", Read, Session),
    ("acquireLease", Drive, Session),
    ("renewLease", Drive, Session),
    ("releaseLease", Drive, Session),
    ("openTurn", Drive, Session),
    ("appendToTurn", Drive, Session),
    ("commitTurn", Drive, Session),
    ("abortTurn", Drive, Session),
    ("listHeldTurns", Read, Tenant),
    ("decideTurn", Admin, Session),
    // Contexts.
    ("assembleContext", Read, Tenant),
    ("getContext", Read, Session),
    ("listContextGaps", Read, Session),
    ("getContextLineage", Read, Tenant),
    ("getContextExplanation", Read, Tenant),
    ("listRoutes", Read, Tenant),
    ("getRoute", Read, Tenant),
    ("resolveContext", Drive, Tenant),
    ("bootstrapContext", Drive, Tenant),
    ("ingestContextMessage", Drive, Tenant),
    ("commitContextTurn", Drive, Tenant),
    ("backfillContext", Drive, Tenant),
    ("recordAfterTurn", Drive, Tenant),
    ("compactContext", Drive, Tenant),
    ("maintainContext", Drive, Tenant),
    ("prepareSubagent", Drive, Tenant),
    ("endSubagent", Drive, Tenant),
    ("acceptContextGap", Drive, Tenant),
    // Commits and checkpoints.
    ("listCommits", Read, Own),
    ("explainCommit", Read, Own),
    ("explainCommits", Read, Own),
    ("listCheckpoints", Read, Own),
    ("getCheckpoint", Read, Own),
    ("listSessionCheckpoints", Read, Session),
    ("createCheckpoint", Drive, Session),
    ("attestCommit", Drive, Session),
    ("withdrawAttestation", Drive, Session),
    // Pipelines.
    ("listPipelines", Read, Tenant),
    ("getPipeline", Read, Tenant),
    ("getPipelineDrawing", Read, Tenant),
    ("getPipelineBundle", Read, Tenant),
    ("recordPipelineEvents", Drive, Tenant),
    // The audit.
    ("listAuditEntries", Admin, Tenant),
    ("verifyAudit", Admin, Tenant),
    // Telemetry.
    ("exportTraces", EXPORT.right, EXPORT.reach),
    ("exportLogs", EXPORT.right, EXPORT.reach),
    ("exportMetrics", EXPORT.right, EXPORT.reach),
    ("listUnassignedTelemetry", Read, Tenant),
    ("assignTrace", Drive, Tenant),
];
