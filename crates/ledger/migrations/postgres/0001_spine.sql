-- The spine. A tenant leads every key, index and condition, so that rows of one tenant can lie together on one
-- node. Ids are UUIDs, times nanoseconds since the epoch, payloads JSON, larger ones zstd. Words are ordered by
-- their bytes ("C"), as in the other store, and whatever the database's own language is. There are no foreign
-- keys and no triggers: distributed databases check the former at a price and lack the latter.

-- One ledger for each tenant.
CREATE TABLE tenants (
    tenant text COLLATE "C" PRIMARY KEY,
    ledger uuid NOT NULL,
    key    bytea NOT NULL
);

-- Numbers without holes. Whoever takes one holds it to the end of the transaction, so only what is rare has one.
CREATE TABLE counters (
    tenant text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE repositories (
    tenant     text COLLATE "C" NOT NULL,
    id         uuid NOT NULL,
    common_dir text COLLATE "C" NOT NULL,
    first_at   bigint NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, common_dir)
);

CREATE TABLE worktrees (
    tenant     text COLLATE "C" NOT NULL,
    repository uuid NOT NULL,
    path       text COLLATE "C" NOT NULL,
    swept_head text,
    PRIMARY KEY (tenant, repository, path)
);

CREATE TABLE sessions (
    tenant          text COLLATE "C" NOT NULL,
    id              uuid NOT NULL,
    agent           text COLLATE "C" NOT NULL,
    conversation_id text NOT NULL,
    home            uuid NOT NULL,
    mode            text NOT NULL CHECK (mode IN ('observed', 'driven')),
    origin          text NOT NULL CHECK (origin IN ('live', 'import', 'api', 'launch')),
    parent          uuid,
    parent_relation text,
    -- A fork by reference: this much of the parent's log is its history, too.
    parent_at       bigint,
    created_at      bigint NOT NULL,
    last_at         bigint NOT NULL,
    ended_at        bigint,
    unseen          boolean NOT NULL DEFAULT false,
    cwd             text,
    repository      uuid,
    worktree        text,
    head            bigint NOT NULL DEFAULT 0,
    sealed          bigint NOT NULL DEFAULT 0,
    folded          bigint NOT NULL DEFAULT 0,
    -- What was seen up to then was erased, in parts or as a whole; a sighting of it that comes late keeps no payload.
    forgotten_at    bigint,
    forgotten_whole boolean NOT NULL DEFAULT false,
    -- Nothing is written any more: for good, or because what is stored of it is damaged.
    archived_at     bigint,
    quarantined     text,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_by_last ON sessions (tenant, last_at DESC);
CREATE INDEX sessions_by_repository ON sessions (tenant, repository, last_at DESC);
CREATE INDEX sessions_by_parent ON sessions (tenant, parent) WHERE parent IS NOT NULL;
-- By id and not by time, since each hook moves the time, and few sessions are in them.
CREATE INDEX sessions_open ON sessions (tenant, id) WHERE ended_at IS NULL AND NOT unseen;
CREATE INDEX sessions_unsealed ON sessions (tenant, id) WHERE head > sealed;
CREATE INDEX sessions_unfolded ON sessions (tenant, id) WHERE head > folded;

CREATE TABLE aliases (
    tenant   text COLLATE "C" NOT NULL,
    agent    text COLLATE "C" NOT NULL,
    native   text COLLATE "C" NOT NULL,
    session  uuid NOT NULL,
    first_at bigint NOT NULL,
    PRIMARY KEY (tenant, agent, native)
);
CREATE INDEX aliases_by_session ON aliases (tenant, session);

CREATE TABLE processes (
    tenant   text COLLATE "C" NOT NULL,
    process  text COLLATE "C" NOT NULL,
    session  uuid NOT NULL,
    identity text NOT NULL,
    first_at bigint NOT NULL,
    bound_at bigint NOT NULL,
    -- The variables of other agents in its environment; null where nobody looked.
    carried  text,
    PRIMARY KEY (tenant, process, session)
);
CREATE INDEX processes_by_session ON processes (tenant, session);

CREATE TABLE turns (
    tenant    text COLLATE "C" NOT NULL,
    id        uuid NOT NULL,
    session   uuid NOT NULL,
    native    text COLLATE "C" NOT NULL,
    opened_at bigint NOT NULL,
    prompt    bigint,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, session, native)
);
CREATE INDEX turns_by_session ON turns (tenant, session, opened_at DESC);
CREATE INDEX turns_asked ON turns (tenant, session, opened_at) WHERE prompt IS NOT NULL;

-- The log: what was seen, immutable. The position is given out when a row is written, not when it is committed:
-- it names a row and orders a walk through all of them, and has holes.
CREATE TABLE observations (
    tenant      text COLLATE "C" NOT NULL,
    position    bigint GENERATED ALWAYS AS IDENTITY,
    id          uuid NOT NULL,
    session     uuid NOT NULL,
    sequence    bigint NOT NULL,
    source      text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    event       text NOT NULL,
    turn        uuid,
    subagent    text,
    kind        text COLLATE "C" NOT NULL,
    at          bigint NOT NULL,
    recorded_at bigint NOT NULL,
    salt        bytea NOT NULL,
    digest      text NOT NULL,
    payload     bytea,
    PRIMARY KEY (tenant, session, sequence),
    UNIQUE (tenant, session, source, key)
);
CREATE UNIQUE INDEX observations_by_position ON observations (tenant, position);

-- What runs right now, for the hooks of git. A fold of the log.
CREATE TABLE running_calls (
    tenant   text COLLATE "C" NOT NULL,
    session  uuid NOT NULL,
    event    text COLLATE "C" NOT NULL,
    worktree text COLLATE "C" NOT NULL,
    started  bigint NOT NULL,
    PRIMARY KEY (tenant, session, event)
);
CREATE INDEX running_calls_by_worktree ON running_calls (tenant, worktree, started);

-- What a session amounts to. A fold of the log.
CREATE TABLE summaries (
    tenant      text COLLATE "C" NOT NULL,
    session     uuid NOT NULL,
    state       text NOT NULL,
    title       text,
    models      text NOT NULL,
    turns       bigint NOT NULL,
    tool_calls  bigint NOT NULL,
    subagents   bigint NOT NULL,
    input       bigint NOT NULL,
    output      bigint NOT NULL,
    cache_read  bigint NOT NULL,
    cache_write bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- Every change of one file by one tool call. A fold of the log.
CREATE TABLE edits (
    tenant     text COLLATE "C" NOT NULL,
    session    uuid NOT NULL,
    event      text COLLATE "C" NOT NULL,
    turn       uuid,
    repository uuid NOT NULL,
    worktree   text NOT NULL,
    path       text COLLATE "C" NOT NULL,
    began      bigint NOT NULL,
    at         bigint NOT NULL,
    before     text,
    before_object text,
    before_bytes  bigint,
    after      text COLLATE "C",
    after_object  text,
    after_bytes   bigint,
    lines      bytea,
    PRIMARY KEY (tenant, session, event, path)
);
CREATE INDEX edits_by_path ON edits (tenant, repository, path, at);
CREATE INDEX edits_by_after ON edits (tenant, after);
CREATE INDEX edits_unhashed ON edits (tenant) WHERE lines IS NULL;

-- Commits that HEAD came to while a tool call ran, and what the call said of them. A fold of the
-- log.
CREATE TABLE head_moves (
    tenant     text COLLATE "C" NOT NULL,
    repository uuid NOT NULL,
    "commit"   text COLLATE "C" NOT NULL,
    session    uuid NOT NULL,
    event      text COLLATE "C" NOT NULL,
    said       text NOT NULL,
    at         bigint NOT NULL,
    PRIMARY KEY (tenant, repository, "commit", session, event)
);

CREATE TABLE receipts (
    tenant   text COLLATE "C" NOT NULL,
    session  uuid NOT NULL,
    number   bigint NOT NULL,
    first    bigint NOT NULL,
    last     bigint NOT NULL,
    turns    text NOT NULL,
    previous text NOT NULL,
    digest   text NOT NULL,
    at       bigint NOT NULL,
    -- Of a driven turn: what its driver calls it, and a keyed digest of what it said in it.
    key      text COLLATE "C",
    content  text,
    PRIMARY KEY (tenant, session, number)
);
CREATE UNIQUE INDEX receipts_by_key ON receipts (tenant, session, key) WHERE key IS NOT NULL;

-- The turn that a driver has open. Nothing of it is in the log before it is committed.
CREATE TABLE open_turns (
    tenant    text COLLATE "C" NOT NULL,
    session   uuid NOT NULL,
    id        uuid NOT NULL,
    key       text NOT NULL,
    epoch     bigint NOT NULL,
    base      bigint NOT NULL,
    opened_at bigint NOT NULL,
    -- Why a person has to decide what becomes of it.
    held      text,
    PRIMARY KEY (tenant, session)
);

CREATE TABLE pending (
    tenant      text COLLATE "C" NOT NULL,
    session     uuid NOT NULL,
    place       bigint GENERATED ALWAYS AS IDENTITY,
    id          uuid NOT NULL,
    source      text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    event       text NOT NULL,
    subagent    text,
    kind        text NOT NULL,
    at          bigint NOT NULL,
    recorded_at bigint NOT NULL,
    salt        bytea NOT NULL,
    digest      text NOT NULL,
    payload     bytea NOT NULL,
    PRIMARY KEY (tenant, session, place),
    UNIQUE (tenant, session, source, key)
);

-- Whoever shows what is committed, and how far each has come with each session.
CREATE TABLE projections (
    tenant text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    kind   text NOT NULL,
    target text NOT NULL,
    at     bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE deliveries (
    tenant     text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    session    uuid NOT NULL,
    -- The last receipt that the sink has, and the last one that there is.
    taken      bigint NOT NULL,
    due        bigint NOT NULL,
    -- Up to here a person said to go on without what the sink refuses.
    left_out   bigint NOT NULL DEFAULT 0,
    -- When the oldest one that it lacks was sealed.
    since      bigint NOT NULL,
    -- Nobody else tries it before.
    retry_at   bigint NOT NULL,
    tries      bigint NOT NULL DEFAULT 0,
    reason     text,
    parked_at  bigint,
    PRIMARY KEY (tenant, projection, session)
);
CREATE INDEX deliveries_due ON deliveries (tenant, projection, retry_at, session) WHERE due > taken AND parked_at IS NULL;
CREATE INDEX deliveries_troubled ON deliveries (tenant, projection, since, session) WHERE tries > 0;

CREATE TABLE leases (
    tenant     text COLLATE "C" NOT NULL,
    session    uuid NOT NULL,
    epoch      bigint NOT NULL,
    holder     text NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- Somebody is about to commit: raw evidence, closed by the commit or by the death of its git.
CREATE TABLE intents (
    tenant     text COLLATE "C" NOT NULL,
    checkpoint uuid NOT NULL,
    repository uuid NOT NULL,
    worktree   text NOT NULL,
    git        text COLLATE "C",
    at         bigint NOT NULL,
    scene      text NOT NULL,
    state      text NOT NULL CHECK (state IN ('open', 'landed', 'expired')),
    "commit"   text,
    PRIMARY KEY (tenant, checkpoint)
);
CREATE INDEX intents_open ON intents (tenant, repository, at) WHERE state = 'open';
CREATE INDEX intents_by_git ON intents (tenant, git);

CREATE TABLE checkpoints (
    tenant     text COLLATE "C" NOT NULL,
    id         uuid NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('commit', 'end', 'manual')),
    repository uuid,
    "commit"   text,
    at         bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX checkpoints_by_at ON checkpoints (tenant, at DESC);

CREATE TABLE pins (
    tenant     text COLLATE "C" NOT NULL,
    checkpoint uuid NOT NULL,
    session    uuid NOT NULL,
    sequence   bigint NOT NULL,
    PRIMARY KEY (tenant, checkpoint, session)
);
CREATE INDEX pins_by_session ON pins (tenant, session);

-- What is known of a commit, and the judgement over it.
CREATE TABLE commits (
    tenant     text COLLATE "C" NOT NULL,
    repository uuid NOT NULL,
    "commit"   text COLLATE "C" NOT NULL,
    checkpoint uuid,
    intent     uuid,
    session    uuid,
    committer  text NOT NULL,
    verdict    text NOT NULL,
    judgement  text NOT NULL,
    facts      text,
    patch      text COLLATE "C",
    at         bigint NOT NULL,
    seen_by    text NOT NULL,
    PRIMARY KEY (tenant, repository, "commit")
);
CREATE INDEX commits_by_time ON commits (tenant, repository, at DESC);
CREATE INDEX commits_by_session ON commits (tenant, session, at DESC);
CREATE INDEX commits_by_patch ON commits (tenant, repository, patch);
CREATE INDEX commits_by_checkpoint ON commits (tenant, checkpoint);
CREATE INDEX commits_unfinished ON commits (tenant, repository) WHERE facts IS NULL;

CREATE TABLE authors (
    tenant     text COLLATE "C" NOT NULL,
    repository uuid NOT NULL,
    "commit"   text COLLATE "C" NOT NULL,
    path       text COLLATE "C" NOT NULL,
    spans      text NOT NULL,
    PRIMARY KEY (tenant, repository, "commit", path)
);

CREATE TABLE authorships (
    tenant     text COLLATE "C" NOT NULL,
    session    uuid NOT NULL,
    repository uuid NOT NULL,
    "commit"   text COLLATE "C" NOT NULL,
    lines      bigint NOT NULL,
    PRIMARY KEY (tenant, session, repository, "commit")
);
CREATE INDEX authorships_by_commit ON authorships (tenant, repository, "commit");

CREATE TABLE rewrites (
    tenant     text COLLATE "C" NOT NULL,
    repository uuid NOT NULL,
    old        text COLLATE "C" NOT NULL,
    new        text COLLATE "C" NOT NULL,
    command    text NOT NULL,
    at         bigint NOT NULL,
    PRIMARY KEY (tenant, repository, old, new)
);
CREATE INDEX rewrites_by_new ON rewrites (tenant, repository, new);

-- Statements: streams of their own, keyed (ledger, sequence), merged by union.
CREATE TABLE statements (
    tenant   text COLLATE "C" NOT NULL,
    ledger   uuid NOT NULL,
    sequence bigint NOT NULL,
    at       bigint NOT NULL,
    by       text NOT NULL,
    source   text NOT NULL,
    kind     text NOT NULL,
    body     text NOT NULL,
    session  uuid,
    repository uuid,
    "commit" text COLLATE "C",
    PRIMARY KEY (tenant, ledger, sequence)
);
CREATE INDEX statements_by_session ON statements (tenant, session) WHERE session IS NOT NULL;
CREATE INDEX statements_by_commit ON statements (tenant, repository, "commit") WHERE "commit" IS NOT NULL;

-- The links that are attached now. A fold of the statements.
CREATE TABLE links (
    tenant  text COLLATE "C" NOT NULL,
    field   text COLLATE "C" NOT NULL,
    value   text COLLATE "C" NOT NULL,
    session uuid NOT NULL,
    PRIMARY KEY (tenant, field, value, session)
);

CREATE TABLE declines (
    tenant     text COLLATE "C" NOT NULL,
    position   bigint GENERATED ALWAYS AS IDENTITY,
    key        text COLLATE "C" NOT NULL,
    at         bigint NOT NULL,
    edge       text NOT NULL,
    reason     text NOT NULL,
    detail     text COLLATE "C" NOT NULL,
    common_dir text,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX declines_by_position ON declines (tenant, position);

CREATE TABLE transcripts (
    tenant   text COLLATE "C" NOT NULL,
    stream   text COLLATE "C" NOT NULL,
    agent    text COLLATE "C" NOT NULL,
    session  uuid NOT NULL,
    path     text NOT NULL,
    subagent text,
    file     text NOT NULL DEFAULT '',
    read_to  bigint NOT NULL DEFAULT 0,
    tail     text NOT NULL DEFAULT '',
    turn     text,
    own      boolean NOT NULL DEFAULT false,
    wanted   boolean NOT NULL DEFAULT true,
    PRIMARY KEY (tenant, stream)
);
CREATE INDEX transcripts_wanted ON transcripts (tenant, stream) WHERE wanted;
CREATE INDEX transcripts_by_session ON transcripts (tenant, session);

-- Transcript text, once: redacted lines, compressed.
CREATE TABLE segments (
    tenant text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    first  bigint NOT NULL,
    past   bigint NOT NULL,
    bytes  bigint NOT NULL,
    data   bytea NOT NULL,
    PRIMARY KEY (tenant, stream, first)
);

CREATE TABLE outbox (
    tenant   text COLLATE "C" NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    at       bigint NOT NULL,
    topic    text NOT NULL,
    body     text NOT NULL,
    PRIMARY KEY (tenant, position)
);

CREATE TABLE cursors (
    tenant     text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    position   bigint NOT NULL,
    failures   bigint NOT NULL DEFAULT 0,
    retry_at   bigint,
    PRIMARY KEY (tenant, projection)
);

CREATE TABLE parked (
    tenant text COLLATE "C" NOT NULL,
    queue  text COLLATE "C" NOT NULL,
    item   text COLLATE "C" NOT NULL,
    at     bigint NOT NULL,
    reason text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, queue, item)
);
