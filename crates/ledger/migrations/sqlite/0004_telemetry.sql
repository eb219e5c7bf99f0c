-- What came with telemetry from outside.

-- Batches that were taken and not looked at yet, as zstd frames of redacted protobuf. Bounded by whoever puts them there.
CREATE TABLE telemetry_inbox (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    signal   TEXT NOT NULL,
    -- The only session that whoever sent it may speak for; none: each of the tenant.
    session  BLOB,
    records  INTEGER NOT NULL,
    -- It was sent on before its session was known.
    forwarded INTEGER NOT NULL DEFAULT 0,
    bytes    INTEGER NOT NULL,
    payload  BLOB NOT NULL
);
-- How much waits is asked with every batch.
CREATE INDEX telemetry_inbox_sizes ON telemetry_inbox (sequence, records, bytes);

-- The sessions that a trace was seen to belong to. One that runs of several sessions share tells nothing by itself.
CREATE TABLE traced_sessions (
    trace   BLOB NOT NULL,
    session BLOB NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (trace, session)
) WITHOUT ROWID;
CREATE INDEX traced_sessions_by_session ON traced_sessions (session);

-- What no session was found for, kept until one is.
CREATE TABLE unassigned (
    sequence  INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    signal    TEXT NOT NULL,
    trace     BLOB,
    span      BLOB,
    agent     TEXT,
    -- What the first record of it is called.
    name      TEXT NOT NULL,
    session   BLOB,
    records   INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    -- Nobody waits any more for a session before it is sent on.
    forwarded INTEGER NOT NULL DEFAULT 0,
    bytes     INTEGER NOT NULL,
    payload   BLOB NOT NULL
);
CREATE INDEX unassigned_by_trace ON unassigned (trace, sequence) WHERE trace IS NOT NULL;
CREATE INDEX unassigned_to_forward ON unassigned (at, sequence) WHERE forwarded = 0;
CREATE INDEX unassigned_sizes ON unassigned (sequence, records, bytes);

-- What waits for a downstream collector.
CREATE TABLE forwards (
    sequence    INTEGER PRIMARY KEY AUTOINCREMENT,
    destination TEXT NOT NULL,
    at          INTEGER NOT NULL,
    signal      TEXT NOT NULL,
    -- The session that is stamped on it.
    session     BLOB,
    records     INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    payload     BLOB NOT NULL
);
CREATE INDEX forwards_by_destination ON forwards (destination, sequence, records, bytes);
CREATE INDEX forwards_by_session ON forwards (session) WHERE session IS NOT NULL;

-- What was counted: conflicts, what was lost, what was refused.
CREATE TABLE telemetry_counts (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

-- Telemetry finds the session of a tool call, or of a sub-agent, by its id.
CREATE INDEX observations_by_call ON observations (event, session) WHERE kind IN ('tool_started', 'tool_ended', 'subagent_started');
