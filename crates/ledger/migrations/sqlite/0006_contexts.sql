-- Contexts: what conversational state is kept under, beside the routes that replies go by.

CREATE TABLE routes (
    key          TEXT PRIMARY KEY,
    -- The context that its ordinary runs see; none where all of them were isolated.
    current      TEXT,
    agent        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL,
    runs         INTEGER NOT NULL,
    last_context TEXT,
    last_session BLOB,
    last_outcome TEXT,
    last_at      INTEGER
) WITHOUT ROWID;

-- Each is kept in one session, in whose log all that was said stands.
CREATE TABLE contexts (
    key        TEXT PRIMARY KEY,
    route      TEXT NOT NULL,
    session    BLOB NOT NULL UNIQUE,
    -- What the session will be, while nobody has used the context.
    prepared   TEXT,
    parent     TEXT,
    -- So much of the parent's log may be seen from here.
    parent_at  INTEGER,
    cause      TEXT NOT NULL,
    inherit    TEXT NOT NULL,
    by         TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    ended_at   INTEGER,
    -- The position after the last one that its host told of.
    next       INTEGER,
    anchors    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX contexts_by_route ON contexts (route, created_at DESC, key DESC);
CREATE INDEX contexts_by_parent ON contexts (parent, created_at, key) WHERE parent IS NOT NULL;

CREATE TABLE context_turns (
    context   TEXT NOT NULL,
    key       TEXT NOT NULL,
    turn      BLOB NOT NULL,
    log_first INTEGER NOT NULL,
    log_last  INTEGER NOT NULL,
    -- Its part of the host's own order.
    first     INTEGER,
    last      INTEGER,
    kind      TEXT NOT NULL CHECK (kind IN ('asked', 'heartbeat', 'compaction')),
    -- Of a compaction: how many messages stay beside the summary.
    keep      INTEGER,
    -- The turn that was broken off and that this one does again.
    recovers  TEXT,
    digest    TEXT,
    at        INTEGER NOT NULL,
    PRIMARY KEY (context, key)
) WITHOUT ROWID;
CREATE INDEX context_turns_by_log ON context_turns (context, log_last);

-- Parts of a host's order that nobody handed over.
CREATE TABLE context_gaps (
    context     TEXT NOT NULL,
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    since       INTEGER NOT NULL,
    filled_at   INTEGER,
    accepted_at INTEGER,
    accepted_by TEXT,
    PRIMARY KEY (context, first)
) WITHOUT ROWID;

-- Which context a run was given, so that asking again gives the same one.
CREATE TABLE context_runs (
    client  TEXT NOT NULL,
    run     TEXT NOT NULL,
    context TEXT NOT NULL,
    content TEXT NOT NULL,
    made    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (client, run)
) WITHOUT ROWID;
CREATE INDEX context_runs_by_context ON context_runs (context);
CREATE INDEX context_runs_by_at ON context_runs (at);

-- When a route went over to another context.
CREATE TABLE route_moves (
    route TEXT NOT NULL,
    at    INTEGER NOT NULL,
    "to"  TEXT NOT NULL,
    "from" TEXT,
    by    TEXT NOT NULL,
    cause TEXT NOT NULL,
    PRIMARY KEY (route, at, "to")
) WITHOUT ROWID;
