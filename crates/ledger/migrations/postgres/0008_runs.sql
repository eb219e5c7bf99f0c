-- Runs of agents: what they ask people.

CREATE TABLE runs (
    tenant     text COLLATE "C" NOT NULL,
    turn       uuid NOT NULL,
    session    uuid NOT NULL,
    key        text COLLATE "C" NOT NULL,
    native     text COLLATE "C",
    route      text COLLATE "C",
    context    text COLLATE "C",
    by         text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    ended_at   bigint,
    status     text COLLATE "C",
    error      text COLLATE "C",
    PRIMARY KEY (tenant, turn)
);
CREATE INDEX runs_by_session ON runs (tenant, session, started_at DESC, turn DESC);

CREATE TABLE interactions (
    tenant     text COLLATE "C" NOT NULL,
    id         uuid NOT NULL,
    session    uuid NOT NULL,
    turn       uuid NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    title      text COLLATE "C" NOT NULL,
    call       text COLLATE "C",
    options    text COLLATE "C" NOT NULL,
    raised_at  bigint NOT NULL,
    settled_at bigint,
    how        text COLLATE "C",
    option     text COLLATE "C",
    by         text COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE INDEX interactions_by_session ON interactions (tenant, session, raised_at DESC, id DESC);
