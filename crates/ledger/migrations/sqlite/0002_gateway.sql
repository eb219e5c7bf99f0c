-- What came with the launcher and the gateway.

-- Credentials.

-- The audit.

-- Pipelines.

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
