-- Whatever a request asks for is found by an index, however long the history is.

-- Ids by their last eight digits, which is what people see of them.
CREATE INDEX sessions_by_short_id ON sessions (tenant, right(replace(id::text, '-', ''), 8));
CREATE INDEX checkpoints_by_short_id ON checkpoints (tenant, right(replace(id::text, '-', ''), 8));
CREATE INDEX tokens_by_short_id ON tokens (tenant, right(replace(id::text, '-', ''), 8));
-- An agent's own ids, where nobody says which agent it is.
CREATE INDEX aliases_by_native ON aliases (tenant, native);
CREATE INDEX checkpoints_by_repository ON checkpoints (tenant, repository, at DESC, id DESC);
-- What continues the context of a session.
CREATE INDEX contexts_by_session ON contexts (tenant, session);
CREATE INDEX declines_by_at ON declines (tenant, at DESC, position DESC);
CREATE INDEX audit_by_at ON audit (tenant, at, number);
CREATE INDEX audit_by_actor ON audit (tenant, actor, number);

-- What waits, in the order in which it is taken. The server takes a third of all rows to wait, and goes through all of them
-- in that order where no smaller index has it.
DROP INDEX sessions_unsealed;
CREATE INDEX sessions_unsealed ON sessions (tenant, last_at) WHERE head > sealed;
DROP INDEX sessions_unfolded;
CREATE INDEX sessions_unfolded ON sessions (tenant, last_at) WHERE head > folded;
DROP INDEX documents_due;
CREATE INDEX documents_due ON documents (tenant, projection, kind, document) WHERE due > sent;
