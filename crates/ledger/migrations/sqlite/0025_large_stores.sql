-- What a large store is asked for is found without a look at all of it.

-- When a session that works in a repository was active last, in hours, so that its newest sessions are found by an index;
-- and whether it works there, or only has a commit there: that may become another session's.
ALTER TABLE session_repositories ADD COLUMN hour INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_repositories ADD COLUMN works INTEGER NOT NULL DEFAULT 1;
UPDATE session_repositories SET hour = s.last_at / 3600000000000 FROM sessions s WHERE s.id = session_repositories.session;
INSERT OR IGNORE INTO session_repositories (repository, session, hour, works)
    SELECT DISTINCT c.repository, s.id, s.last_at / 3600000000000, 0 FROM commits c JOIN sessions s ON s.id = c.session;
CREATE INDEX session_repositories_by_hour ON session_repositories (repository, hour DESC);

-- The links that a session ever had, and whether each stood for all that the session did. A fold of the statements: what an
-- issue cost is found without a look at each message of each session that has a link.
CREATE TABLE session_links (
    session BLOB NOT NULL,
    field   TEXT NOT NULL,
    value   TEXT NOT NULL,
    whole   INTEGER NOT NULL,
    PRIMARY KEY (session, field, value)
) WITHOUT ROWID;
CREATE INDEX session_links_by_value ON session_links (field, value);
WITH stated AS (
    SELECT s.session, s.kind, s.at, l.key AS field,
        CASE l.key WHEN 'label' THEN (l.value ->> '$.key') || '=' || (l.value ->> '$.value') ELSE CAST(l.value AS TEXT) END AS value,
        CASE l.key WHEN 'label' THEN 'label ' || (l.value ->> '$.key') ELSE l.key END AS slot
    FROM statements s, json_each(CASE WHEN json_valid(s.body) THEN s.body ELSE '{}' END, '$.link') l
    WHERE s.kind IN ('link_attached', 'link_detached') AND s.session IS NOT NULL
), earliest AS (
    SELECT session, slot, min(at) AS at FROM stated WHERE kind = 'link_attached' GROUP BY session, slot
)
INSERT INTO session_links (session, field, value, whole)
    SELECT e.session, e.field, e.value,
        max(e.kind = 'link_detached') = 0 AND min(e.at) = min(f.at)
    FROM stated e JOIN earliest f ON f.session = e.session AND f.slot = e.slot
    GROUP BY e.session, e.field, e.value HAVING max(e.kind = 'link_attached');
-- Sums of usage are split where a session made a commit, and not only by quarters of an hour. Those that are there go to the
-- end of their quarter, and are not split before their session is folded again: until then, its messages are read instead.
ALTER TABLE usage_quarters ADD COLUMN past INTEGER;

-- The audit is asked for by time and by actor.
CREATE INDEX audit_by_at ON audit (at, number);
CREATE INDEX audit_by_actor ON audit (actor, number);
-- The sessions of a repository are found by the repositories that they work in. Each entry of a log moves the last activity,
-- and with it each index that has it.
DROP INDEX IF EXISTS sessions_by_repository;
-- Few sessions are damaged.
CREATE INDEX sessions_quarantined ON sessions (id) WHERE quarantined IS NOT NULL;

-- How far a session was verified and was sound: what has not changed since then is not verified again, unless all is.
CREATE TABLE verified (
    session      BLOB PRIMARY KEY,
    -- What was there of it, in numbers of which one changes with it.
    state        TEXT NOT NULL,
    forgotten_at INTEGER,
    -- Its last receipt, with the last entry under it.
    receipt      INTEGER NOT NULL,
    sequence     INTEGER NOT NULL,
    digest       TEXT NOT NULL,
    at           INTEGER NOT NULL
) WITHOUT ROWID;
