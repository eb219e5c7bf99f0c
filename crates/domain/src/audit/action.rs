//! What is audited, in words that stay the same.

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
        /// What was done, or was to be done.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Action {
            $($(#[$doc])* $name,)*
            /// What this program does not know by name.
            Other(String),
        }

        impl Action {
            /// The words that this program knows.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Its word.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for Action {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$name,)*
                    _ => Self::Other(word),
                }
            }
        }
    };
}

actions! {
    /// A session was created: launched, over the API, or as a fork of another one.
    SessionCreated = "session.created";
    /// A session was to be created.
    SessionRefused = "session.refused";
    SessionEnded = "session.ended";
    SessionArchived = "session.archived";
    /// Somebody decided what becomes of a turn that its driver left with calls without a result.
    TurnDecided = "turn.decided";
    /// What is stored of a session was erased.
    SessionForgotten = "session.forgotten";
    /// What a batch had erased of a session was sent again by its home.
    SessionRestored = "session.restored";
    /// A ledger that sends here was registered, and by which token.
    LedgerRegistered = "ledger.registered";
    /// A ledger that sends here may be registered anew.
    LedgerReleased = "ledger.released";
    /// What another ledger sent changed something.
    ReplicaTaken = "replica.taken";
    /// What another ledger sent was not taken, or not all of it.
    ReplicaRefused = "replica.refused";
    /// Texts were erased wherever they stood.
    TextForgotten = "text.forgotten";
    LinkAttached = "link.attached";
    LinkDetached = "link.detached";
    /// Somebody said whose a trace is.
    TraceAssigned = "trace.assigned";
    /// A person said whose a commit is.
    CommitAdopted = "commit.adopted";
    /// A person took that back.
    CommitDisowned = "commit.disowned";
    /// A trusted platform stated that a session made a commit.
    CommitAttested = "commit.attested";
    /// An attestation was withdrawn.
    AttestationWithdrawn = "attestation.withdrawn";
    TokenCreated = "token.created";
    /// A token took the place of another one.
    TokenRotated = "token.rotated";
    TokenRevoked = "token.revoked";
    /// A token was used, for the first time or for the first time in an hour.
    TokenUsed = "token.used";
    /// A token was shown that is worth nothing.
    TokenRefused = "token.refused";
    TranscriptRead = "transcript.read";
    /// A checkpoint was recorded by the one who made the commit.
    CheckpointRecorded = "checkpoint.recorded";
    /// Something was recorded of a pipeline.
    PipelineRecorded = "pipeline.recorded";
    /// A heartbeat was written down, or changed.
    HeartbeatChanged = "heartbeat.changed";
    /// A heartbeat was paused, or goes on.
    HeartbeatPaused = "heartbeat.paused";
    HeartbeatRemoved = "heartbeat.removed";
    /// Old ticks were let go, with their sessions.
    HeartbeatSwept = "heartbeat.swept";
    /// The ledger was brought back from a backup.
    LedgerRestored = "ledger.restored";
    AuditExported = "audit.exported";
    /// The first entries were let go because of their age. It has the number and the digest of the last one of them.
    AuditTrimmed = "audit.trimmed";
    /// What was older than it is kept was let go: sessions were forgotten, telemetry went.
    RetentionApplied = "retention.applied";
}

impl From<&str> for Action {
    fn from(word: &str) -> Self {
        Self::from(word.to_owned())
    }
}
