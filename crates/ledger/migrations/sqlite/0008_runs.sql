-- Runs of agents: what they ask people.

CREATE TABLE runs (
    turn       BLOB PRIMARY KEY,
    session    BLOB NOT NULL,
    key        TEXT NOT NULL,
    native     TEXT,
    route      TEXT,
    context    TEXT,
    by         TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    status     TEXT,
    error      TEXT
) WITHOUT ROWID;
CREATE INDEX runs_by_session ON runs (session, started_at DESC, turn DESC);

CREATE TABLE interactions (
    id         BLOB PRIMARY KEY,
    session    BLOB NOT NULL,
    turn       BLOB NOT NULL,
    kind       TEXT NOT NULL,
    title      TEXT NOT NULL,
    call       TEXT,
    options    TEXT NOT NULL,
    raised_at  INTEGER NOT NULL,
    settled_at INTEGER,
    how        TEXT,
    option     TEXT,
    by         TEXT
) WITHOUT ROWID;
CREATE INDEX interactions_by_session ON interactions (session, raised_at DESC, id DESC);
