-- How many rows each table has whose rows have sums, and what those add up to (`ledger::sums`): a row that is gone has no
-- sum that could tell of it.
CREATE TABLE tallies (
    name TEXT PRIMARY KEY,
    rows INTEGER NOT NULL,
    sum  INTEGER NOT NULL
) WITHOUT ROWID;
