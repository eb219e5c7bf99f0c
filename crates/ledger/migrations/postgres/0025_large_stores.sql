-- What a large store is asked for is found without a look at all of it.

-- When a session that works in a repository was active last, in hours, so that its newest sessions are found by an index;
-- and whether it works there, or only has a commit there: that may become another session's.
ALTER TABLE session_repositories ADD COLUMN hour bigint NOT NULL DEFAULT 0, ADD COLUMN works boolean NOT NULL DEFAULT true;
UPDATE session_repositories r SET hour = s.last_at / 3600000000000 FROM sessions s
    WHERE s.tenant = r.tenant AND s.id = r.session;
INSERT INTO session_repositories (tenant, repository, session, hour, works)
    SELECT DISTINCT c.tenant, c.repository, s.id, s.last_at / 3600000000000, false
    FROM commits c JOIN sessions s ON s.tenant = c.tenant AND s.id = c.session
    ON CONFLICT DO NOTHING;
CREATE INDEX session_repositories_by_hour ON session_repositories (tenant, repository, hour DESC, session);

-- The links that a session ever had, and whether each stood for all that the session did. A fold of the statements: what an
-- issue cost is found without a look at each message of each session that has a link.
CREATE TABLE session_links (
    tenant  text COLLATE "C" NOT NULL,
    session uuid NOT NULL,
    field   text COLLATE "C" NOT NULL,
    value   text COLLATE "C" NOT NULL,
    whole   boolean NOT NULL,
    PRIMARY KEY (tenant, session, field, value)
);
CREATE INDEX session_links_by_value ON session_links (tenant, field, value);
WITH stated AS (
    SELECT s.tenant, s.session, s.kind, s.at, l.key AS field,
        CASE l.key WHEN 'label' THEN (l.value ->> 'key') || '=' || (l.value ->> 'value') ELSE l.value #>> '{}' END AS value,
        CASE l.key WHEN 'label' THEN 'label ' || (l.value ->> 'key') ELSE l.key END AS slot
    FROM statements s, json_each(s.body::json -> 'link') l
    WHERE s.kind IN ('link_attached', 'link_detached') AND s.session IS NOT NULL
), earliest AS (
    SELECT tenant, session, slot, min(at) AS at FROM stated WHERE kind = 'link_attached' GROUP BY tenant, session, slot
)
INSERT INTO session_links (tenant, session, field, value, whole)
    SELECT e.tenant, e.session, e.field, e.value, NOT bool_or(e.kind = 'link_detached') AND min(e.at) = min(f.at)
    FROM stated e JOIN earliest f ON f.tenant = e.tenant AND f.session = e.session AND f.slot = e.slot
    GROUP BY e.tenant, e.session, e.field, e.value HAVING bool_or(e.kind = 'link_attached');
-- Sums of usage are split where a session made a commit, and not only by quarters of an hour. Those that are there go to the
-- end of their quarter, and are not split before their session is folded again: until then, its messages are read instead.
ALTER TABLE usage_quarters ADD COLUMN past bigint;

-- The sessions of a repository are found by the repositories that they work in. Each entry of a log moves the last activity,
-- and with it each index that has it.
DROP INDEX IF EXISTS sessions_by_repository;
-- Few sessions are damaged.
CREATE INDEX sessions_quarantined ON sessions (tenant, id) WHERE quarantined IS NOT NULL;

-- How far a session was verified and was sound: what has not changed since then is not verified again, unless all is.
CREATE TABLE verified (
    tenant       text COLLATE "C" NOT NULL,
    session      uuid NOT NULL,
    -- What was there of it, in numbers of which one changes with it.
    state        text COLLATE "C" NOT NULL,
    forgotten_at bigint,
    -- Its last receipt, with the last entry under it.
    receipt      bigint NOT NULL,
    sequence     bigint NOT NULL,
    digest       text COLLATE "C" NOT NULL,
    at           bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);
