-- What came with telemetry from outside.

-- Batches that were taken and not looked at yet, as zstd frames of redacted protobuf. Bounded by whoever puts them there.
CREATE TABLE telemetry_inbox (
    tenant   text COLLATE "C" NOT NULL,
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    at       bigint NOT NULL,
    signal   text COLLATE "C" NOT NULL,
    -- The only session that whoever sent it may speak for; none: each of the tenant.
    session  uuid,
    records  bigint NOT NULL,
    -- It was sent on before its session was known.
    forwarded boolean NOT NULL DEFAULT false,
    bytes    bigint NOT NULL,
    payload  bytea NOT NULL,
    PRIMARY KEY (tenant, sequence)
);

-- The sessions that a trace was seen to belong to. One that runs of several sessions share tells nothing by itself.
CREATE TABLE traced_sessions (
    tenant  text COLLATE "C" NOT NULL,
    trace   bytea NOT NULL,
    session uuid NOT NULL,
    at      bigint NOT NULL,
    PRIMARY KEY (tenant, trace, session)
);
CREATE INDEX traced_sessions_by_session ON traced_sessions (tenant, session);

-- What no session was found for, kept until one is.
CREATE TABLE unassigned (
    tenant    text COLLATE "C" NOT NULL,
    sequence  bigint GENERATED ALWAYS AS IDENTITY,
    at        bigint NOT NULL,
    signal    text COLLATE "C" NOT NULL,
    trace     bytea,
    span      bytea,
    agent     text COLLATE "C",
    -- What the first record of it is called.
    name      text NOT NULL,
    session   uuid,
    records   bigint NOT NULL,
    reason    text NOT NULL,
    -- Nobody waits any more for a session before it is sent on.
    forwarded boolean NOT NULL DEFAULT false,
    bytes     bigint NOT NULL,
    payload   bytea NOT NULL,
    PRIMARY KEY (tenant, sequence)
);
CREATE INDEX unassigned_by_trace ON unassigned (tenant, trace, sequence) WHERE trace IS NOT NULL;
CREATE INDEX unassigned_to_forward ON unassigned (tenant, at, sequence) WHERE NOT forwarded;

-- What waits for a downstream collector.
CREATE TABLE forwards (
    tenant      text COLLATE "C" NOT NULL,
    sequence    bigint GENERATED ALWAYS AS IDENTITY,
    destination text COLLATE "C" NOT NULL,
    at          bigint NOT NULL,
    signal      text COLLATE "C" NOT NULL,
    -- The session that is stamped on it.
    session     uuid,
    records     bigint NOT NULL,
    bytes       bigint NOT NULL,
    payload     bytea NOT NULL,
    PRIMARY KEY (tenant, sequence)
);
CREATE INDEX forwards_by_destination ON forwards (tenant, destination, sequence);
CREATE INDEX forwards_by_session ON forwards (tenant, session) WHERE session IS NOT NULL;

-- What was counted: conflicts, what was lost, what was refused.
CREATE TABLE telemetry_counts (
    tenant text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Telemetry finds the session of a tool call, or of a sub-agent, by its id.
CREATE INDEX observations_by_call ON observations (tenant, event, session) WHERE kind IN ('tool_started', 'tool_ended', 'subagent_started');
