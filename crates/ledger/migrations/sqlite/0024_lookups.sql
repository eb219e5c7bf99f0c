-- Whatever a command asks for is found by an index, however long the history is.

-- Ids by their last eight digits, which is what people see of them.
CREATE INDEX sessions_by_short_id ON sessions (lower(substr(hex(id), -8)));
CREATE INDEX checkpoints_by_short_id ON checkpoints (lower(substr(hex(id), -8)));
CREATE INDEX tokens_by_short_id ON tokens (lower(substr(hex(id), -8)));
-- An agent's own ids, where nobody says which agent it is.
CREATE INDEX aliases_by_native ON aliases (native);
CREATE INDEX checkpoints_by_repository ON checkpoints (repository, at DESC, id DESC);
-- What continues the context of a session.
CREATE INDEX contexts_by_session ON contexts (session);
CREATE INDEX authorships_by_commit ON authorships (repository, "commit");
CREATE INDEX declines_by_at ON declines (at DESC, position DESC);
-- Edits whose lines have no hashes yet: the worker asks for them all the time.
CREATE INDEX edits_unhashed ON edits (session) WHERE lines IS NULL;
