-- Sessions are listed by what the outside world calls them, and commits of all repositories by when they were noticed.
CREATE INDEX sessions_by_conversation ON sessions (conversation_id);
CREATE INDEX commits_by_at ON commits (at DESC, "commit" DESC, repository DESC);
