-- Whether all that a run said is committed. If not, the agent's own session has more than the log.
ALTER TABLE runs ADD COLUMN committed INTEGER NOT NULL DEFAULT 1;

-- A session is found by what its agent calls it, and by what a caller calls it. Only the first is a native id.
ALTER TABLE aliases ADD COLUMN by_caller INTEGER NOT NULL DEFAULT 0;
-- Of what is there already, this is sure: no agent was asked before it.
UPDATE aliases SET by_caller = 1 WHERE native = 'ses_' || lower(hex(session));
-- The agent calls it so, too: what other ledgers are told of the session changes.
CREATE TRIGGER alias_given AFTER UPDATE OF by_caller ON aliases BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'session', lower(hex(NEW.session)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
