-- How many rows each table has whose rows have sums, and what those add up to (`ledger::sums`): a row that is gone has no
-- sum that could tell of it. Each of those who write at once has a stripe of its own, so that nobody waits for another.
CREATE TABLE tallies (
    tenant text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    stripe integer NOT NULL,
    rows   bigint NOT NULL,
    sum    numeric NOT NULL,
    PRIMARY KEY (tenant, name, stripe)
);
