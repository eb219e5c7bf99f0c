-- What each message of a session cost, counted once. A fold of the log.

CREATE TABLE usages (
    tenant      text COLLATE "C" NOT NULL,
    session     uuid NOT NULL,
    event       text COLLATE "C" NOT NULL,
    request     text,
    turn        uuid,
    at          bigint NOT NULL,
    model       text,
    subagent    text,
    branch      text,
    source      text NOT NULL,
    input       bigint NOT NULL,
    output      bigint NOT NULL,
    cache_read  bigint NOT NULL,
    cache_write bigint NOT NULL,
    -- What is not counted, in JSON; none: nothing.
    left_out    text,
    PRIMARY KEY (tenant, session, event)
);
-- The same message of another session is a copy.
CREATE INDEX usages_by_event ON usages (tenant, event, at);

-- All sessions are folded once more.
UPDATE sessions SET folded = 0;
