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
