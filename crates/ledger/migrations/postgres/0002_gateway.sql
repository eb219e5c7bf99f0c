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

-- Repositories that are somewhere else. Their rows in `repositories` have the ledger before the path.
CREATE TABLE replica_repositories (
    tenant     text COLLATE "C" NOT NULL,
    repository uuid NOT NULL,
    home       uuid NOT NULL,
    host       text NOT NULL,
    common_dir text NOT NULL,
    PRIMARY KEY (tenant, repository)
);

-- Names that agents elsewhere gave to their sessions. No hook here finds a session by them.
CREATE TABLE replica_aliases (
    tenant  text COLLATE "C" NOT NULL,
    session uuid NOT NULL,
    native  text COLLATE "C" NOT NULL,
    place   bigint NOT NULL,
    PRIMARY KEY (tenant, session, native)
);
CREATE INDEX replica_aliases_by_native ON replica_aliases (tenant, native);

-- When the sender read the state that is here: an older one that comes later changes nothing.
CREATE TABLE replica_stamps (
    tenant   text COLLATE "C" NOT NULL,
    home     uuid NOT NULL,
    kind     text COLLATE "C" NOT NULL,
    document text COLLATE "C" NOT NULL,
    stamp    bigint NOT NULL,
    PRIMARY KEY (tenant, home, kind, document)
);

CREATE INDEX commits_by_oid ON commits (tenant, "commit");

-- Projections that are other ledgers, beside what they lack of each session's receipts.
CREATE TABLE destinations (
    tenant     text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    -- The last statement of this ledger that it has.
    stated     bigint NOT NULL DEFAULT 0,
    tries      bigint NOT NULL DEFAULT 0,
    reason     text,
    retry_at   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, projection)
);

-- What changes as a whole: how often it did, and up to which change a destination has it.
CREATE TABLE documents (
    tenant     text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    document   text COLLATE "C" NOT NULL,
    due        bigint NOT NULL,
    sent       bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, projection, kind, document)
);
CREATE INDEX documents_due ON documents (tenant, projection) WHERE due > sent;

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
