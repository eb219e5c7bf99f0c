-- Large payloads of entries may be kept in a blob store beside the database. The payload of such an entry names its blob
-- in place of its content: an at sign, the number of the blob, the digest of its bytes, and how many they are.
CREATE TABLE blobs (
    tenant   text COLLATE "C" NOT NULL,
    -- Part of its name in the blob store, so that no name is used twice.
    number   bigint GENERATED ALWAYS AS IDENTITY,
    -- The entry whose payload it is.
    session  uuid NOT NULL,
    sequence bigint NOT NULL,
    digest   bytea NOT NULL,
    bytes    bigint NOT NULL,
    -- Whether the entry names it. One that nobody names is on its way, or goes.
    held     boolean NOT NULL,
    -- When it was put last; 0 once it is to be deleted.
    at       bigint NOT NULL,
    PRIMARY KEY (tenant, number)
);
CREATE INDEX blobs_by_entry ON blobs (tenant, session, sequence);
CREATE INDEX blobs_unheld ON blobs (tenant, at) WHERE NOT held;
-- What is to be moved. Sightings of files are read in bulk, and are small but for long paths.
CREATE INDEX observations_large ON observations (tenant, recorded_at)
    WHERE octet_length(payload) > 4096 AND kind <> 'file_seen';
