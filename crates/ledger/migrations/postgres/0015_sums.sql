-- Rows have a sum of their columns from here on (`ledger::sums`).
SELECT 1;
