-- The ledgers that send here, and the credential that registered each of them first: it alone speaks for that ledger,
-- until another one takes its place.
CREATE TABLE registrations (
    tenant text COLLATE "C" NOT NULL,
    ledger uuid NOT NULL,
    token  uuid NOT NULL,
    at     bigint NOT NULL,
    PRIMARY KEY (tenant, ledger)
);

-- Replicas of which a batch erased something: up to which receipt their home sent it again since then.
CREATE TABLE erasures (
    tenant   text COLLATE "C" NOT NULL,
    session  uuid NOT NULL,
    restored bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);
-- Places of repositories that are somewhere else say nothing here, and two of them may have the same text.
UPDATE repositories r SET common_dir = 'replica:' || replace(r.id::text, '-', '') FROM replica_repositories e
    WHERE e.tenant = r.tenant AND e.repository = r.id;
