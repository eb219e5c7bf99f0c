-- Tokens that hand over telemetry and do nothing else.

-- What a token is limited to that its session does not tell; none: that of a session, or of launchers.
ALTER TABLE tokens ADD COLUMN scope TEXT;
