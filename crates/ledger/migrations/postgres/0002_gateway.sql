-- What came with the launcher and the gateway.

-- Credentials.

-- The audit.

-- Pipelines.

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
