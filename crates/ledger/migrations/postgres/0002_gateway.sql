-- What came with the launcher and the gateway.

-- Credentials.

-- Whoever may call the gateway: what is kept of a token is the digest of its text.
CREATE TABLE tokens (
    tenant       text COLLATE "C" NOT NULL,
    id           uuid NOT NULL,
    digest       text COLLATE "C" NOT NULL,
    -- The session that it may act for; none: a launcher's.
    session      uuid,
    name         text NOT NULL,
    by           text NOT NULL,
    created_at   bigint NOT NULL,
    expires_at   bigint,
    revoked_at   bigint,
    replaced_by  uuid,
    last_used_at bigint,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, digest)
);
CREATE INDEX tokens_by_session ON tokens (tenant, session, id) WHERE session IS NOT NULL;

-- The audit.

-- Who did what, or was refused what. Rows are added and never changed, each chained to the one before.
CREATE TABLE audit (
    tenant      text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    at          bigint NOT NULL,
    actor       text COLLATE "C" NOT NULL,
    action      text COLLATE "C" NOT NULL,
    outcome     text NOT NULL,
    reason      text,
    field       text,
    session     uuid,
    pipeline    text COLLATE "C",
    -- The details in JSON, and the salt of their digest; neither, where they were erased.
    body        text,
    salt        bytea,
    body_digest text NOT NULL,
    previous    text NOT NULL,
    digest      text NOT NULL,
    PRIMARY KEY (tenant, number)
);
CREATE INDEX audit_by_session ON audit (tenant, session, number) WHERE session IS NOT NULL;
CREATE INDEX audit_by_pipeline ON audit (tenant, pipeline, number) WHERE pipeline IS NOT NULL;
CREATE INDEX audit_by_action ON audit (tenant, action, number);

-- The last entry, so that it is missed where it is taken away. Whoever adds one holds this row.
CREATE TABLE audit_ends (
    tenant text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL,
    digest text NOT NULL
);

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
-- What was asked with a key, and what came of it: asked again, it is not done again.
CREATE TABLE requests (
    tenant  text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    content text NOT NULL,
    outcome text NOT NULL,
    at      bigint NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX requests_by_at ON requests (tenant, at);
CREATE INDEX checkpoints_by_commit ON checkpoints (tenant, "commit") WHERE "commit" IS NOT NULL;
