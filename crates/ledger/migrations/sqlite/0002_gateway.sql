-- What came with the launcher and the gateway.

-- Credentials.

-- The audit.

-- Pipelines.

-- A pipeline that a link or an event has named. A fold of both.
CREATE TABLE pipelines (
    id       TEXT PRIMARY KEY,
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    events   INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX pipelines_by_first ON pipelines (first_at DESC, id);

-- What was recorded of a pipeline. Nothing of it changes; only texts are forgotten.
CREATE TABLE pipeline_events (
    pipeline TEXT NOT NULL,
    number   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    by       TEXT NOT NULL,
    source   TEXT NOT NULL,
    session  BLOB,
    kind     TEXT NOT NULL,
    body     TEXT NOT NULL,
    text     TEXT,
    -- What its caller calls it, and a keyed digest of what was said.
    key      TEXT,
    content  TEXT NOT NULL,
    PRIMARY KEY (pipeline, number)
);
CREATE UNIQUE INDEX pipeline_events_by_key ON pipeline_events (pipeline, key) WHERE key IS NOT NULL;
CREATE INDEX pipeline_events_by_session ON pipeline_events (session) WHERE session IS NOT NULL;

-- The sessions that were ever linked to a pipeline. A fold of the statements.
CREATE TABLE pipeline_sessions (
    pipeline TEXT NOT NULL,
    session  BLOB NOT NULL,
    PRIMARY KEY (pipeline, session)
) WITHOUT ROWID;

INSERT INTO pipeline_sessions (pipeline, session)
    SELECT DISTINCT json_extract(body, '$.link.pipeline_id'), session FROM statements
    WHERE kind = 'link_attached' AND json_extract(body, '$.link.pipeline_id') IS NOT NULL;
INSERT INTO pipelines (id, first_at, last_at)
    SELECT json_extract(body, '$.link.pipeline_id'), min(at), max(at) FROM statements
    WHERE kind = 'link_attached' AND json_extract(body, '$.link.pipeline_id') IS NOT NULL GROUP BY 1;

-- Replicas of what other ledgers are the home of.

-- Requests over HTTP.
