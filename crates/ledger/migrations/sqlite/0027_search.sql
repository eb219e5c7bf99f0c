-- Sessions whose texts the index of searches, which is a file of its own, lacks in their newest state. The number tells
-- one change of a session from another, and nothing of their order. Hooks of a running agent write nothing here: what
-- they add to a log is folded first.
CREATE TABLE unindexed (
    session BLOB PRIMARY KEY,
    change  INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO unindexed (session, change) SELECT id, random() FROM sessions;

CREATE TRIGGER text_folded AFTER UPDATE OF folded, cwd, worktree, agent, conversation_id ON sessions
    WHEN NEW.folded IS NOT OLD.folded OR NEW.cwd IS NOT OLD.cwd OR NEW.worktree IS NOT OLD.worktree
        OR NEW.agent IS NOT OLD.agent OR NEW.conversation_id IS NOT OLD.conversation_id BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.id, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_forgotten AFTER UPDATE OF forgotten_at ON sessions BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.id, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_dropped AFTER DELETE ON sessions BEGIN
    INSERT INTO unindexed (session, change) VALUES (OLD.id, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_named AFTER INSERT ON aliases BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_renamed AFTER UPDATE OF native ON aliases BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_renamed_elsewhere AFTER UPDATE OF native ON replica_aliases BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_placed AFTER INSERT ON session_repositories BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_stated AFTER INSERT ON statements WHEN NEW.session IS NOT NULL BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_restated AFTER UPDATE OF body ON statements WHEN NEW.session IS NOT NULL BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_unstated AFTER DELETE ON statements WHEN OLD.session IS NOT NULL BEGIN
    INSERT INTO unindexed (session, change) VALUES (OLD.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_committed AFTER INSERT ON commits WHEN NEW.session IS NOT NULL AND NEW.facts IS NOT NULL BEGIN
    INSERT INTO unindexed (session, change) VALUES (NEW.session, random())
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER text_recommitted AFTER UPDATE OF session, facts ON commits
    WHEN NEW.session IS NOT OLD.session OR NEW.facts IS NOT OLD.facts BEGIN
    INSERT INTO unindexed (session, change)
        SELECT s, random() FROM (SELECT NEW.session AS s UNION SELECT OLD.session) WHERE s IS NOT NULL
        ON CONFLICT (session) DO UPDATE SET change = excluded.change;
END;
