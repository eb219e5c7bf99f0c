-- Sessions whose texts the index of searches lacks in their newest state. The number tells one change of a session from
-- another, and nothing of their order.
CREATE TABLE unindexed (
    tenant  text COLLATE "C" NOT NULL,
    session uuid NOT NULL,
    change  bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);
INSERT INTO unindexed (tenant, session, change) SELECT tenant, id, 1 FROM sessions;

-- The index: parts of turns with their texts and words. A turn of zeros is what is outside of all turns.
CREATE TABLE search_parts (
    tenant  text COLLATE "C" NOT NULL,
    id      bigint GENERATED ALWAYS AS IDENTITY,
    session uuid NOT NULL,
    turn    uuid NOT NULL,
    part    bigint NOT NULL,
    number  bigint NOT NULL,
    began   bigint NOT NULL,
    mark    bytea NOT NULL,
    text    bytea NOT NULL,
    words   tsvector NOT NULL,
    PRIMARY KEY (tenant, session, turn, part)
);
CREATE UNIQUE INDEX search_parts_by_id ON search_parts (tenant, id);
CREATE INDEX search_parts_by_time ON search_parts (tenant, began DESC, id DESC);
CREATE INDEX search_parts_by_word ON search_parts USING gin (words);
