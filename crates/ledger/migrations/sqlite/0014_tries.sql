-- How often an item was tried without an end; its row has no reason before it is set aside.
ALTER TABLE parked ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
