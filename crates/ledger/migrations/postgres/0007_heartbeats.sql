-- Heartbeats: what is run on a schedule, and what became of each tick.

CREATE TABLE heartbeats (
    tenant     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    definition text NOT NULL,
    origin     text NOT NULL,
    by         text NOT NULL,
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    -- Intervals are counted from here.
    anchor     bigint NOT NULL,
    paused_at  bigint,
    removed_at bigint,
    next_due   bigint,
    alive_at   bigint,
    PRIMARY KEY (tenant, name)
);
CREATE INDEX heartbeats_due ON heartbeats (tenant, next_due, name) WHERE next_due IS NOT NULL;

-- One row for each time, so that none is fired twice.
CREATE TABLE ticks (
    tenant       text COLLATE "C" NOT NULL,
    heartbeat    text COLLATE "C" NOT NULL,
    due          bigint NOT NULL,
    cause        text NOT NULL,
    fired_at     bigint NOT NULL,
    by           text NOT NULL,
    -- Whoever runs it prolongs this.
    held_until   bigint NOT NULL,
    outcome      text COLLATE "C" NOT NULL,
    reason       text,
    ended_at     bigint,
    missed       bigint NOT NULL,
    session      uuid,
    context      text COLLATE "C",
    tokens       bigint NOT NULL,
    nano_usd     bigint NOT NULL,
    target       text NOT NULL,
    -- What is to be delivered, redacted; null once it is.
    owed         text,
    tries        bigint NOT NULL,
    retry_at     bigint,
    delivered_at bigint,
    PRIMARY KEY (tenant, heartbeat, due)
);
CREATE INDEX ticks_running ON ticks (tenant, held_until, heartbeat, due) WHERE outcome = 'running';
CREATE INDEX ticks_owed ON ticks (tenant, retry_at, heartbeat, due) WHERE outcome = 'owed';
CREATE INDEX ticks_by_session ON ticks (tenant, session) WHERE session IS NOT NULL;

-- What all ticks came to, also those that are not kept any more.
CREATE TABLE tick_totals (
    tenant    text COLLATE "C" NOT NULL,
    heartbeat text COLLATE "C" NOT NULL,
    outcome   text COLLATE "C" NOT NULL,
    reason    text COLLATE "C" NOT NULL,
    ticks     bigint NOT NULL,
    tokens    bigint NOT NULL,
    nano_usd  bigint NOT NULL,
    PRIMARY KEY (tenant, heartbeat, outcome, reason)
);

-- Sessions of ticks are let go of one by one.
CREATE INDEX head_moves_by_session ON head_moves (tenant, session);
CREATE INDEX pipeline_sessions_by_session ON pipeline_sessions (tenant, session);
CREATE INDEX links_by_session ON links (tenant, session);
