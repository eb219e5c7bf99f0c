-- What came with the launcher and the gateway.

-- Credentials.

-- The audit.

-- Pipelines.

-- A pipeline that a link or an event has named. A fold of both.
CREATE TABLE pipelines (
    tenant   text COLLATE "C" NOT NULL,
    id       text COLLATE "C" NOT NULL,
    first_at bigint NOT NULL,
    last_at  bigint NOT NULL,
    events   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX pipelines_by_first ON pipelines (tenant, first_at DESC, id);

-- What was recorded of a pipeline. Nothing of it changes; only texts are forgotten.
CREATE TABLE pipeline_events (
    tenant   text COLLATE "C" NOT NULL,
    pipeline text COLLATE "C" NOT NULL,
    number   bigint NOT NULL,
    at       bigint NOT NULL,
    by       text NOT NULL,
    source   text NOT NULL,
    session  uuid,
    kind     text COLLATE "C" NOT NULL,
    body     text NOT NULL,
    text     text,
    -- What its caller calls it, and a keyed digest of what was said.
    key      text COLLATE "C",
    content  text NOT NULL,
    PRIMARY KEY (tenant, pipeline, number)
);
CREATE UNIQUE INDEX pipeline_events_by_key ON pipeline_events (tenant, pipeline, key) WHERE key IS NOT NULL;
CREATE INDEX pipeline_events_by_session ON pipeline_events (tenant, session) WHERE session IS NOT NULL;

-- The sessions that were ever linked to a pipeline. A fold of the statements.
CREATE TABLE pipeline_sessions (
    tenant   text COLLATE "C" NOT NULL,
    pipeline text COLLATE "C" NOT NULL,
    session  uuid NOT NULL,
    PRIMARY KEY (tenant, pipeline, session)
);

INSERT INTO pipeline_sessions (tenant, pipeline, session)
    SELECT DISTINCT tenant, body::json -> 'link' ->> 'pipeline_id', session FROM statements
    WHERE kind = 'link_attached' AND body::json -> 'link' ->> 'pipeline_id' IS NOT NULL;
INSERT INTO pipelines (tenant, id, first_at, last_at)
    SELECT tenant, body::json -> 'link' ->> 'pipeline_id', min(at), max(at) FROM statements
    WHERE kind = 'link_attached' AND body::json -> 'link' ->> 'pipeline_id' IS NOT NULL GROUP BY 1, 2;

-- Replicas of what other ledgers are the home of.

-- Requests over HTTP.
