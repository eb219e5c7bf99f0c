-- Runs as other gateways of the store see them.

-- The newest run of a session. It goes on while the lease of the session is its driver's and has not run out.
CREATE TABLE active_runs (
    session      BLOB PRIMARY KEY,
    driver       TEXT NOT NULL,
    key          TEXT NOT NULL,
    by           TEXT NOT NULL,
    since        INTEGER NOT NULL,
    -- None while its agent starts.
    turn         BLOB,
    cancelled_by TEXT
) WITHOUT ROWID;

-- What those who follow a run are told, for the time that it goes on and a while longer.
CREATE TABLE run_events (
    turn    BLOB NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    session BLOB NOT NULL,
    at      INTEGER NOT NULL,
    events  TEXT NOT NULL,
    PRIMARY KEY (turn, first)
) WITHOUT ROWID;
CREATE INDEX run_events_by_session ON run_events (session);
CREATE INDEX run_events_by_time ON run_events (at);
