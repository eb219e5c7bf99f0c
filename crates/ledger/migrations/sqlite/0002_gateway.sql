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

-- Repositories that are somewhere else. Their rows in `repositories` have the ledger before the path.
CREATE TABLE replica_repositories (
    repository BLOB PRIMARY KEY REFERENCES repositories(id),
    home       BLOB NOT NULL,
    host       TEXT NOT NULL,
    common_dir TEXT NOT NULL
) WITHOUT ROWID;

-- Names that agents elsewhere gave to their sessions. No hook here finds a session by them.
CREATE TABLE replica_aliases (
    session  BLOB NOT NULL REFERENCES sessions(id),
    native   TEXT NOT NULL,
    place    INTEGER NOT NULL,
    PRIMARY KEY (session, native)
) WITHOUT ROWID;
CREATE INDEX replica_aliases_by_native ON replica_aliases (native);

-- When the sender read the state that is here: an older one that comes later changes nothing.
CREATE TABLE replica_stamps (
    home     BLOB NOT NULL,
    kind     TEXT NOT NULL,
    document TEXT NOT NULL,
    stamp    INTEGER NOT NULL,
    PRIMARY KEY (home, kind, document)
) WITHOUT ROWID;

CREATE INDEX commits_by_oid ON commits ("commit");

-- Projections that are other ledgers, beside what they lack of each session's receipts.
CREATE TABLE destinations (
    projection TEXT PRIMARY KEY,
    -- The last statement of this ledger that it has.
    stated     INTEGER NOT NULL DEFAULT 0,
    tries      INTEGER NOT NULL DEFAULT 0,
    reason     TEXT,
    retry_at   INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- What changes as a whole: how often it did, and up to which change a destination has it.
CREATE TABLE documents (
    projection TEXT NOT NULL,
    kind       TEXT NOT NULL,
    document   TEXT NOT NULL,
    due        INTEGER NOT NULL,
    sent       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (projection, kind, document)
) WITHOUT ROWID;
CREATE INDEX documents_due ON documents (projection) WHERE due > sent;

CREATE TRIGGER destination_added AFTER INSERT ON projections WHEN NEW.kind = 'gateway' BEGIN
    INSERT INTO destinations (projection) VALUES (NEW.name);
    INSERT INTO documents (projection, kind, document, due)
        SELECT NEW.name, 'repository', lower(hex(id)), 1 FROM repositories
        UNION ALL SELECT NEW.name, 'session', lower(hex(id)), 1 FROM sessions
        UNION ALL SELECT NEW.name, 'checkpoint', lower(hex(id)), 1 FROM checkpoints
        UNION ALL SELECT NEW.name, 'commit', lower(hex(repository)) || ':' || "commit", 1 FROM commits;
END;
CREATE TRIGGER destination_removed AFTER DELETE ON projections WHEN OLD.kind = 'gateway' BEGIN
    DELETE FROM destinations WHERE projection = OLD.name;
    DELETE FROM documents WHERE projection = OLD.name;
END;
CREATE TRIGGER repository_added AFTER INSERT ON repositories BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'repository', lower(hex(NEW.id)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER session_added AFTER INSERT ON sessions BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'session', lower(hex(NEW.id)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER session_changed AFTER UPDATE OF agent, parent, ended_at, cwd, repository, worktree, forgotten_at, forgotten_whole, archived_at ON sessions
    WHEN NEW.agent IS NOT OLD.agent OR NEW.parent IS NOT OLD.parent OR NEW.ended_at IS NOT OLD.ended_at OR NEW.cwd IS NOT OLD.cwd OR NEW.repository IS NOT OLD.repository OR NEW.worktree IS NOT OLD.worktree OR NEW.forgotten_at IS NOT OLD.forgotten_at OR NEW.forgotten_whole IS NOT OLD.forgotten_whole OR NEW.archived_at IS NOT OLD.archived_at BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'session', lower(hex(NEW.id)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER payload_replaced AFTER UPDATE OF payload ON observations BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'session', lower(hex(NEW.session)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER alias_added AFTER INSERT ON aliases BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'session', lower(hex(NEW.session)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER checkpoint_added AFTER INSERT ON checkpoints BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'checkpoint', lower(hex(NEW.id)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER checkpoint_withdrawn AFTER DELETE ON checkpoints BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'checkpoint', lower(hex(OLD.id)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER pin_added AFTER INSERT ON pins BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'checkpoint', lower(hex(NEW.checkpoint)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER commit_added AFTER INSERT ON commits BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'commit', lower(hex(NEW.repository)) || ':' || NEW."commit", 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER commit_changed AFTER UPDATE ON commits BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'commit', lower(hex(NEW.repository)) || ':' || NEW."commit", 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER authors_found AFTER INSERT ON authors
    WHEN NEW.path = '' BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'commit', lower(hex(NEW.repository)) || ':' || NEW."commit", 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
CREATE TRIGGER rewrite_added AFTER INSERT ON rewrites BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'commit', lower(hex(NEW.repository)) || ':' || NEW.new, 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;

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
