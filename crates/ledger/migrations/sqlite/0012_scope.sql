-- What may leave for a projection, in JSON. Nothing leaves for one that has none: those that are older than scopes wait
-- until somebody says what they may get.
ALTER TABLE projections ADD COLUMN scope TEXT;
