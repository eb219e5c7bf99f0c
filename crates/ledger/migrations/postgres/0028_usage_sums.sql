-- What messages cost, and how far replicas came back, has sums from here on (`ledger::sums`). Of a session that was
-- forgotten, nothing makes it anew.
SELECT 1;
