-- Contexts: what conversational state is kept under, beside the routes that replies go by.

CREATE TABLE routes (
    tenant       text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    -- The context that its ordinary runs see; none where all of them were isolated.
    current      text COLLATE "C",
    agent        text COLLATE "C" NOT NULL,
    created_at   bigint NOT NULL,
    seen_at      bigint NOT NULL,
    runs         bigint NOT NULL,
    last_context text COLLATE "C",
    last_session uuid,
    last_outcome text,
    last_at      bigint,
    PRIMARY KEY (tenant, key)
);

-- Each is kept in one session, in whose log all that was said stands.
CREATE TABLE contexts (
    tenant     text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    route      text COLLATE "C" NOT NULL,
    session    uuid NOT NULL,
    -- What the session will be, while nobody has used the context.
    prepared   text,
    parent     text COLLATE "C",
    -- So much of the parent's log may be seen from here.
    parent_at  bigint,
    cause      text COLLATE "C" NOT NULL,
    inherit    text COLLATE "C" NOT NULL,
    by         text NOT NULL,
    created_at bigint NOT NULL,
    seen_at    bigint NOT NULL,
    ended_at   bigint,
    -- The position after the last one that its host told of.
    next       bigint,
    anchors    text NOT NULL,
    PRIMARY KEY (tenant, key),
    UNIQUE (tenant, session)
);
CREATE INDEX contexts_by_route ON contexts (tenant, route, created_at DESC, key DESC);
CREATE INDEX contexts_by_parent ON contexts (tenant, parent, created_at, key) WHERE parent IS NOT NULL;

CREATE TABLE context_turns (
    tenant    text COLLATE "C" NOT NULL,
    context   text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    turn      uuid NOT NULL,
    log_first bigint NOT NULL,
    log_last  bigint NOT NULL,
    -- Its part of the host's own order.
    first     bigint,
    last      bigint,
    kind      text COLLATE "C" NOT NULL CHECK (kind IN ('asked', 'heartbeat', 'compaction')),
    -- Of a compaction: how many messages stay beside the summary.
    keep      bigint,
    -- The turn that was broken off and that this one does again.
    recovers  text COLLATE "C",
    digest    text,
    at        bigint NOT NULL,
    PRIMARY KEY (tenant, context, key)
);
CREATE INDEX context_turns_by_log ON context_turns (tenant, context, log_last);

-- Parts of a host's order that nobody handed over.
CREATE TABLE context_gaps (
    tenant      text COLLATE "C" NOT NULL,
    context     text COLLATE "C" NOT NULL,
    first       bigint NOT NULL,
    last        bigint NOT NULL,
    reason      text NOT NULL,
    since       bigint NOT NULL,
    filled_at   bigint,
    accepted_at bigint,
    accepted_by text,
    PRIMARY KEY (tenant, context, first)
);

-- Which context a run was given, so that asking again gives the same one.
CREATE TABLE context_runs (
    tenant  text COLLATE "C" NOT NULL,
    client  text COLLATE "C" NOT NULL,
    run     text COLLATE "C" NOT NULL,
    context text COLLATE "C" NOT NULL,
    content text NOT NULL,
    made    boolean NOT NULL,
    at      bigint NOT NULL,
    PRIMARY KEY (tenant, client, run)
);
CREATE INDEX context_runs_by_context ON context_runs (tenant, context);
CREATE INDEX context_runs_by_at ON context_runs (tenant, at);

-- When a route went over to another context.
CREATE TABLE route_moves (
    tenant text COLLATE "C" NOT NULL,
    route  text COLLATE "C" NOT NULL,
    at     bigint NOT NULL,
    "to"   text COLLATE "C" NOT NULL,
    "from" text COLLATE "C",
    by     text NOT NULL,
    cause  text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, route, at, "to")
);
