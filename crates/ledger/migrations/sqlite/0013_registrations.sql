-- The ledgers that send here, and the credential that registered each of them first: it alone speaks for that ledger,
-- until another one takes its place.
CREATE TABLE registrations (
    ledger BLOB PRIMARY KEY,
    token  BLOB NOT NULL,
    at     INTEGER NOT NULL
) WITHOUT ROWID;

-- Replicas of which a batch erased something: up to which receipt their home sent it again since then.
CREATE TABLE erasures (
    session  BLOB PRIMARY KEY REFERENCES sessions(id),
    restored INTEGER NOT NULL
) WITHOUT ROWID;
-- Places of repositories that are somewhere else say nothing here, and two of them may have the same text.
UPDATE repositories SET common_dir = 'replica:' || lower(hex(id)) WHERE id IN (SELECT repository FROM replica_repositories);
