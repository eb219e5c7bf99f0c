-- Runs as other gateways of the store see them.

-- The newest run of a session. It goes on while the lease of the session is its driver's and has not run out.
CREATE TABLE active_runs (
    tenant       text COLLATE "C" NOT NULL,
    session      uuid NOT NULL,
    driver       text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    by           text COLLATE "C" NOT NULL,
    since        bigint NOT NULL,
    -- None while its agent starts.
    turn         uuid,
    cancelled_by text COLLATE "C",
    PRIMARY KEY (tenant, session)
);

-- What those who follow a run are told, for the time that it goes on and a while longer.
CREATE TABLE run_events (
    tenant  text COLLATE "C" NOT NULL,
    turn    uuid NOT NULL,
    first   bigint NOT NULL,
    last    bigint NOT NULL,
    session uuid NOT NULL,
    at      bigint NOT NULL,
    events  text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, turn, first)
);
CREATE INDEX run_events_by_session ON run_events (tenant, session);
CREATE INDEX run_events_by_time ON run_events (tenant, at);
