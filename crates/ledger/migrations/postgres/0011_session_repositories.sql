-- The repositories that a session works in: its own, those that were stated, and those of its edits. A fold.
CREATE TABLE session_repositories (
    tenant     text COLLATE "C" NOT NULL,
    repository uuid NOT NULL,
    session    uuid NOT NULL,
    PRIMARY KEY (tenant, repository, session)
);
CREATE INDEX session_repositories_by_session ON session_repositories (tenant, session);
INSERT INTO session_repositories (tenant, repository, session)
    SELECT tenant, repository, id FROM sessions WHERE repository IS NOT NULL
    UNION SELECT tenant, repository, session FROM edits
    UNION SELECT s.tenant, substr(named.value, 5)::uuid, s.session
        FROM statements s, json_array_elements_text(s.body::json -> 'repositories') named
        WHERE s.kind = 'works_in';
-- Whose commits are in a repository is asked of the commits, since a judgement may change.
CREATE INDEX commits_by_repository ON commits (tenant, repository, session) WHERE session IS NOT NULL;
