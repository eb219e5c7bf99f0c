-- What the messages of a session cost together in each quarter of an hour, by model, branch and length of prompt. A fold of
-- `usages` alone (`ledger::usage::quarters`), filled by the program that migrates. By time, since most questions are about
-- the last days.
CREATE TABLE usage_quarters (
    start        INTEGER NOT NULL,
    session      BLOB NOT NULL REFERENCES sessions(id),
    number       INTEGER NOT NULL,
    model        TEXT,
    branch       TEXT,
    messages     INTEGER NOT NULL,
    input        INTEGER NOT NULL,
    output       INTEGER NOT NULL,
    cache_read   INTEGER NOT NULL,
    cache_write  INTEGER NOT NULL,
    -- What is not counted, in JSON; none: nothing.
    left_out     TEXT,
    prompt_least INTEGER NOT NULL,
    prompt_most  INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    PRIMARY KEY (start, session, number)
) WITHOUT ROWID;
CREATE INDEX usage_quarters_by_session ON usage_quarters (session);

-- The sessions that a link was ever attached to.
CREATE INDEX statements_of_links ON statements (session, kind) WHERE kind = 'link_attached' AND session IS NOT NULL;
