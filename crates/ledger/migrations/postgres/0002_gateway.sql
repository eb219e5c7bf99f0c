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
