-- The repositories that a session works in: its own, those that were stated, and those of its edits. A fold.
CREATE TABLE session_repositories (
    repository BLOB NOT NULL,
    session    BLOB NOT NULL,
    PRIMARY KEY (repository, session)
) WITHOUT ROWID;
CREATE INDEX session_repositories_by_session ON session_repositories (session);
INSERT OR IGNORE INTO session_repositories (repository, session)
    SELECT repository, id FROM sessions WHERE repository IS NOT NULL
    UNION SELECT repository, session FROM edits
    UNION SELECT unhex(substr(named.value, 5)), s.session FROM statements s, json_each(s.body, '$.repositories') named
        WHERE s.kind = 'works_in';
-- Whose commits are in a repository is asked of the commits, since a judgement may change.
CREATE INDEX commits_by_repository ON commits (repository, session) WHERE session IS NOT NULL;
