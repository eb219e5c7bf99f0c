-- What came with the launcher and the gateway.

-- Credentials.

-- Whoever may call the gateway: what is kept of a token is the digest of its text.
CREATE TABLE tokens (
    id           BLOB PRIMARY KEY,
    digest       TEXT NOT NULL UNIQUE,
    -- The session that it may act for; none: a launcher's.
    session      BLOB REFERENCES sessions(id),
    name         TEXT NOT NULL,
    by           TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    replaced_by  BLOB,
    last_used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX tokens_by_session ON tokens (session, id) WHERE session IS NOT NULL;

-- The audit.

-- Who did what, or was refused what. Rows are added and never changed, each chained to the one before.
CREATE TABLE audit (
    number      INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    actor       TEXT NOT NULL,
    action      TEXT NOT NULL,
    outcome     TEXT NOT NULL,
    reason      TEXT,
    field       TEXT,
    session     BLOB,
    pipeline    TEXT,
    -- The details in JSON, and the salt of their digest; neither, where they were erased.
    body        TEXT,
    salt        BLOB,
    body_digest TEXT NOT NULL,
    previous    TEXT NOT NULL,
    digest      TEXT NOT NULL
);
CREATE INDEX audit_by_session ON audit (session, number) WHERE session IS NOT NULL;
CREATE INDEX audit_by_pipeline ON audit (pipeline, number) WHERE pipeline IS NOT NULL;
CREATE INDEX audit_by_action ON audit (action, number);

-- The last entry, so that it is missed where it is taken away.
CREATE TABLE audit_end (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL,
    digest TEXT NOT NULL
);

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
-- What was asked with a key, and what came of it: asked again, it is not done again.
CREATE TABLE requests (
    key     TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    outcome TEXT NOT NULL,
    at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX requests_by_at ON requests (at);
CREATE INDEX checkpoints_by_commit ON checkpoints ("commit") WHERE "commit" IS NOT NULL;
