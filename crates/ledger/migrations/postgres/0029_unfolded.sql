-- Whether a log has entries that nobody folded or sealed yet, as columns of their own, which change at the first of them and
-- not at each. An index that looked at `head` had every entry of a log write all indexes of its session anew.
DROP INDEX sessions_unsealed;
DROP INDEX sessions_unfolded;
ALTER TABLE sessions
    ADD COLUMN unfolded boolean GENERATED ALWAYS AS (head > folded) STORED,
    ADD COLUMN unsealed boolean GENERATED ALWAYS AS (head > sealed AND mode = 'observed') STORED;
CREATE INDEX sessions_unsealed ON sessions (tenant, last_at) WHERE unsealed;
CREATE INDEX sessions_unfolded ON sessions (tenant, last_at) WHERE unfolded;
-- Room beside a session for its next version.
ALTER TABLE sessions SET (fillfactor = 80);
