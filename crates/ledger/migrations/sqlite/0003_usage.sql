-- What each message of a session cost, counted once. A fold of the log.

CREATE TABLE usages (
    session     BLOB NOT NULL REFERENCES sessions(id),
    event       TEXT NOT NULL,
    request     TEXT,
    turn        BLOB,
    at          INTEGER NOT NULL,
    model       TEXT,
    subagent    TEXT,
    branch      TEXT,
    source      TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    -- What is not counted, in JSON; none: nothing.
    left_out    TEXT,
    PRIMARY KEY (session, event)
) WITHOUT ROWID;
-- The same message of another session is a copy.
CREATE INDEX usages_by_event ON usages (event, at);

-- All sessions are folded once more.
UPDATE sessions SET folded = 0;
