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
