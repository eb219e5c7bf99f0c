-- What came with the launcher and the gateway.

-- Credentials.

-- The audit.

-- Pipelines.

-- Replicas of what other ledgers are the home of.

-- Requests over HTTP.
