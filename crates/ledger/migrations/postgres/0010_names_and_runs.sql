-- Whether all that a run said is committed. If not, the agent's own session has more than the log.
ALTER TABLE runs ADD COLUMN committed boolean NOT NULL DEFAULT true;

-- A session is found by what its agent calls it, and by what a caller calls it. Only the first is a native id.
ALTER TABLE aliases ADD COLUMN by_caller boolean NOT NULL DEFAULT false;
-- Of what is there already, this is sure: no agent was asked before it.
UPDATE aliases SET by_caller = true WHERE native = 'ses_' || replace(session::text, '-', '');
