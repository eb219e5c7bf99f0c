-- Heartbeats: what is run on a schedule, and what became of each tick.

CREATE TABLE heartbeats (
    name       TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    origin     TEXT NOT NULL,
    by         TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    -- Intervals are counted from here.
    anchor     INTEGER NOT NULL,
    paused_at  INTEGER,
    removed_at INTEGER,
    next_due   INTEGER,
    alive_at   INTEGER
) WITHOUT ROWID;
CREATE INDEX heartbeats_due ON heartbeats (next_due, name) WHERE next_due IS NOT NULL;

-- One row for each time, so that none is fired twice.
CREATE TABLE ticks (
    heartbeat    TEXT NOT NULL,
    due          INTEGER NOT NULL,
    cause        TEXT NOT NULL,
    fired_at     INTEGER NOT NULL,
    by           TEXT NOT NULL,
    -- Whoever runs it prolongs this.
    held_until   INTEGER NOT NULL,
    outcome      TEXT NOT NULL,
    reason       TEXT,
    ended_at     INTEGER,
    missed       INTEGER NOT NULL,
    session      BLOB,
    context      TEXT,
    tokens       INTEGER NOT NULL,
    nano_usd     INTEGER NOT NULL,
    target       TEXT NOT NULL,
    -- What is to be delivered, redacted; null once it is.
    owed         TEXT,
    tries        INTEGER NOT NULL,
    retry_at     INTEGER,
    delivered_at INTEGER,
    PRIMARY KEY (heartbeat, due)
) WITHOUT ROWID;
CREATE INDEX ticks_running ON ticks (held_until, heartbeat, due) WHERE outcome = 'running';
CREATE INDEX ticks_owed ON ticks (retry_at, heartbeat, due) WHERE outcome = 'owed';
CREATE INDEX ticks_by_session ON ticks (session) WHERE session IS NOT NULL;

-- What all ticks came to, also those that are not kept any more.
CREATE TABLE tick_totals (
    heartbeat TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    reason    TEXT NOT NULL,
    ticks     INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    nano_usd  INTEGER NOT NULL,
    PRIMARY KEY (heartbeat, outcome, reason)
) WITHOUT ROWID;

-- Sessions of ticks are let go of one by one.
CREATE INDEX head_moves_by_session ON head_moves (session);
CREATE INDEX pipeline_sessions_by_session ON pipeline_sessions (session);
CREATE INDEX links_by_session ON links (session);
