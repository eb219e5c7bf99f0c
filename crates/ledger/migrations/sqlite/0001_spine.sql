-- The spine. Ids are 16 bytes, times nanoseconds since the epoch, payloads JSON, larger ones zstd.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE repositories (
    id         BLOB PRIMARY KEY,
    common_dir TEXT NOT NULL UNIQUE,
    first_at   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE worktrees (
    repository BLOB NOT NULL REFERENCES repositories(id),
    path       TEXT NOT NULL,
    swept_head TEXT,
    PRIMARY KEY (repository, path)
) WITHOUT ROWID;

CREATE TABLE sessions (
    id              BLOB PRIMARY KEY,
    agent           TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    home            BLOB NOT NULL,
    mode            TEXT NOT NULL CHECK (mode IN ('observed', 'driven')),
    origin          TEXT NOT NULL CHECK (origin IN ('live', 'import', 'api', 'launch')),
    parent          BLOB,
    parent_relation TEXT,
    -- A fork by reference: this much of the parent's log is its history, too.
    parent_at       INTEGER,
    created_at      INTEGER NOT NULL,
    last_at         INTEGER NOT NULL,
    ended_at        INTEGER,
    unseen          INTEGER NOT NULL DEFAULT 0,
    cwd             TEXT,
    repository      BLOB REFERENCES repositories(id),
    worktree        TEXT,
    head            INTEGER NOT NULL DEFAULT 0,
    sealed          INTEGER NOT NULL DEFAULT 0,
    folded          INTEGER NOT NULL DEFAULT 0,
    -- What was seen up to then was erased, in parts or as a whole; a sighting of it that comes late keeps no payload.
    forgotten_at    INTEGER,
    forgotten_whole INTEGER NOT NULL DEFAULT 0,
    -- Nothing is written any more: for good, or because what is stored of it is damaged.
    archived_at     INTEGER,
    quarantined     TEXT
);
CREATE INDEX sessions_by_last ON sessions (last_at DESC);
CREATE INDEX sessions_by_repository ON sessions (repository, last_at DESC);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
-- By id and not by time, since each hook moves the time, and few sessions are in them.
CREATE INDEX sessions_open ON sessions (id) WHERE ended_at IS NULL AND unseen = 0;
CREATE INDEX sessions_unsealed ON sessions (id) WHERE head > sealed;
CREATE INDEX sessions_unfolded ON sessions (id) WHERE head > folded;

CREATE TABLE aliases (
    agent    TEXT NOT NULL,
    native   TEXT NOT NULL,
    session  BLOB NOT NULL REFERENCES sessions(id),
    first_at INTEGER NOT NULL,
    PRIMARY KEY (agent, native)
) WITHOUT ROWID;
CREATE INDEX aliases_by_session ON aliases (session);

CREATE TABLE processes (
    process  TEXT NOT NULL,
    session  BLOB NOT NULL REFERENCES sessions(id),
    identity TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    bound_at INTEGER NOT NULL,
    -- The variables of other agents in its environment; null where nobody looked.
    carried  TEXT,
    PRIMARY KEY (process, session)
) WITHOUT ROWID;
CREATE INDEX processes_by_session ON processes (session);

CREATE TABLE turns (
    id        BLOB PRIMARY KEY,
    session   BLOB NOT NULL REFERENCES sessions(id),
    native    TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    prompt    INTEGER,
    UNIQUE (session, native)
);
CREATE INDEX turns_by_session ON turns (session, opened_at DESC);
CREATE INDEX turns_asked ON turns (session, opened_at) WHERE prompt IS NOT NULL;

-- The log: what was seen, immutable, in the order in which the ledger took it.
CREATE TABLE observations (
    position    INTEGER PRIMARY KEY,
    id          BLOB NOT NULL,
    session     BLOB NOT NULL REFERENCES sessions(id),
    sequence    INTEGER NOT NULL,
    source      TEXT NOT NULL,
    key         TEXT NOT NULL,
    event       TEXT NOT NULL,
    turn        BLOB,
    subagent    TEXT,
    kind        TEXT NOT NULL,
    at          INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    salt        BLOB NOT NULL,
    digest      BLOB NOT NULL,
    payload     BLOB,
    UNIQUE (session, sequence)
);
CREATE UNIQUE INDEX observations_by_key ON observations (session, source, key);

-- What runs right now, for the hooks of git. A fold of the log.
CREATE TABLE running_calls (
    session  BLOB NOT NULL REFERENCES sessions(id),
    event    TEXT NOT NULL,
    worktree TEXT NOT NULL,
    started  INTEGER NOT NULL,
    PRIMARY KEY (session, event)
) WITHOUT ROWID;
CREATE INDEX running_calls_by_worktree ON running_calls (worktree, started);

-- What a session amounts to. A fold of the log.
CREATE TABLE summaries (
    session     BLOB PRIMARY KEY REFERENCES sessions(id),
    state       TEXT NOT NULL,
    title       TEXT,
    models      TEXT NOT NULL,
    turns       INTEGER NOT NULL,
    tool_calls  INTEGER NOT NULL,
    subagents   INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL
) WITHOUT ROWID;

-- Every change of one file by one tool call. A fold of the log.
CREATE TABLE edits (
    session    BLOB NOT NULL REFERENCES sessions(id),
    event      TEXT NOT NULL,
    turn       BLOB,
    repository BLOB NOT NULL,
    worktree   TEXT NOT NULL,
    path       TEXT NOT NULL,
    began      INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    before     TEXT,
    before_object TEXT,
    before_bytes  INTEGER,
    after      TEXT,
    after_object  TEXT,
    after_bytes   INTEGER,
    lines      BLOB,
    PRIMARY KEY (session, event, path)
) WITHOUT ROWID;
CREATE INDEX edits_by_path ON edits (repository, path, at);
CREATE INDEX edits_by_after ON edits (after);

-- Commits that HEAD came to while a tool call ran, and what the call said of them. A fold of the
-- log.
CREATE TABLE head_moves (
    repository BLOB NOT NULL,
    "commit"   TEXT NOT NULL,
    session    BLOB NOT NULL REFERENCES sessions(id),
    event      TEXT NOT NULL,
    said       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (repository, "commit", session, event)
) WITHOUT ROWID;

CREATE TABLE receipts (
    session  BLOB NOT NULL REFERENCES sessions(id),
    number   INTEGER NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    turns    TEXT NOT NULL,
    previous TEXT NOT NULL,
    digest   TEXT NOT NULL,
    at       INTEGER NOT NULL,
    -- Of a driven turn: what its driver calls it, and a keyed digest of what it said in it.
    key      TEXT,
    content  TEXT,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX receipts_by_key ON receipts (session, key) WHERE key IS NOT NULL;

-- The turn that a driver has open. Nothing of it is in the log before it is committed.
CREATE TABLE open_turns (
    session   BLOB PRIMARY KEY REFERENCES sessions(id),
    id        BLOB NOT NULL,
    key       TEXT NOT NULL,
    epoch     INTEGER NOT NULL,
    base      INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    -- Why a person has to decide what becomes of it.
    held      TEXT
) WITHOUT ROWID;

CREATE TABLE pending (
    session     BLOB NOT NULL REFERENCES sessions(id),
    place       INTEGER NOT NULL,
    id          BLOB NOT NULL,
    source      TEXT NOT NULL,
    key         TEXT NOT NULL,
    event       TEXT NOT NULL,
    subagent    TEXT,
    kind        TEXT NOT NULL,
    at          INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    salt        BLOB NOT NULL,
    digest      TEXT NOT NULL,
    payload     BLOB NOT NULL,
    PRIMARY KEY (session, place),
    UNIQUE (session, source, key)
);

-- Whoever shows what is committed, and how far each has come with each session.
CREATE TABLE projections (
    name   TEXT PRIMARY KEY,
    kind   TEXT NOT NULL,
    target TEXT NOT NULL,
    at     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE deliveries (
    projection TEXT NOT NULL,
    session    BLOB NOT NULL,
    -- The last receipt that the sink has, and the last one that there is.
    taken      INTEGER NOT NULL,
    due        INTEGER NOT NULL,
    -- Up to here a person said to go on without what the sink refuses.
    left_out   INTEGER NOT NULL DEFAULT 0,
    -- When the oldest one that it lacks was sealed.
    since      INTEGER NOT NULL,
    -- Nobody else tries it before.
    retry_at   INTEGER NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,
    reason     TEXT,
    parked_at  INTEGER,
    PRIMARY KEY (projection, session)
) WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (projection, retry_at) WHERE due > taken AND parked_at IS NULL;
CREATE INDEX deliveries_troubled ON deliveries (projection, since, session) WHERE tries > 0;

CREATE TABLE leases (
    session    BLOB PRIMARY KEY REFERENCES sessions(id),
    epoch      INTEGER NOT NULL,
    holder     TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Somebody is about to commit: raw evidence, closed by the commit or by the death of its git.
CREATE TABLE intents (
    checkpoint BLOB PRIMARY KEY,
    repository BLOB NOT NULL REFERENCES repositories(id),
    worktree   TEXT NOT NULL,
    git        TEXT,
    at         INTEGER NOT NULL,
    scene      TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'landed', 'expired')),
    "commit"   TEXT
);
CREATE INDEX intents_open ON intents (repository, worktree, at) WHERE state = 'open';
CREATE INDEX intents_by_git ON intents (git);

CREATE TABLE checkpoints (
    id         BLOB PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('commit', 'end', 'manual')),
    repository BLOB,
    "commit"   TEXT,
    at         INTEGER NOT NULL
);
CREATE INDEX checkpoints_by_at ON checkpoints (at DESC);

CREATE TABLE pins (
    checkpoint BLOB NOT NULL REFERENCES checkpoints(id),
    session    BLOB NOT NULL REFERENCES sessions(id),
    sequence   INTEGER NOT NULL,
    PRIMARY KEY (checkpoint, session)
) WITHOUT ROWID;
CREATE INDEX pins_by_session ON pins (session);

-- What is known of a commit, and the judgement over it.
CREATE TABLE commits (
    repository BLOB NOT NULL REFERENCES repositories(id),
    "commit"   TEXT NOT NULL,
    checkpoint BLOB,
    intent     BLOB,
    session    BLOB,
    committer  TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    judgement  TEXT NOT NULL,
    facts      TEXT,
    patch      TEXT,
    at         INTEGER NOT NULL,
    seen_by    TEXT NOT NULL,
    PRIMARY KEY (repository, "commit")
) WITHOUT ROWID;
CREATE INDEX commits_by_time ON commits (repository, at DESC);
CREATE INDEX commits_by_session ON commits (session, at DESC);
CREATE INDEX commits_by_patch ON commits (repository, patch);
CREATE INDEX commits_by_checkpoint ON commits (checkpoint);
CREATE INDEX commits_unfinished ON commits (repository) WHERE facts IS NULL;

CREATE TABLE authors (
    repository BLOB NOT NULL,
    "commit"   TEXT NOT NULL,
    path       TEXT NOT NULL,
    spans      TEXT NOT NULL,
    PRIMARY KEY (repository, "commit", path)
) WITHOUT ROWID;

CREATE TABLE authorships (
    session    BLOB NOT NULL,
    repository BLOB NOT NULL,
    "commit"   TEXT NOT NULL,
    lines      INTEGER NOT NULL,
    PRIMARY KEY (session, repository, "commit")
) WITHOUT ROWID;

CREATE TABLE rewrites (
    repository BLOB NOT NULL,
    old        TEXT NOT NULL,
    new        TEXT NOT NULL,
    command    TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (repository, old, new)
) WITHOUT ROWID;
CREATE INDEX rewrites_by_new ON rewrites (repository, new);

-- Statements: streams of their own, keyed (ledger, sequence), merged by union.
CREATE TABLE statements (
    ledger   BLOB NOT NULL,
    sequence INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    by       TEXT NOT NULL,
    source   TEXT NOT NULL,
    kind     TEXT NOT NULL,
    body     TEXT NOT NULL,
    session  BLOB,
    repository BLOB,
    "commit" TEXT,
    PRIMARY KEY (ledger, sequence)
) WITHOUT ROWID;
CREATE INDEX statements_by_session ON statements (session) WHERE session IS NOT NULL;

-- The links that are attached now. A fold of the statements.
CREATE TABLE links (
    field   TEXT NOT NULL,
    value   TEXT NOT NULL,
    session BLOB NOT NULL,
    PRIMARY KEY (field, value, session)
) WITHOUT ROWID;
CREATE INDEX statements_by_commit ON statements (repository, "commit") WHERE "commit" IS NOT NULL;

CREATE TABLE declines (
    position   INTEGER PRIMARY KEY,
    key        TEXT NOT NULL UNIQUE,
    at         INTEGER NOT NULL,
    edge       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    detail     TEXT NOT NULL,
    common_dir TEXT
);

CREATE TABLE transcripts (
    stream   TEXT PRIMARY KEY,
    agent    TEXT NOT NULL,
    session  BLOB NOT NULL REFERENCES sessions(id),
    path     TEXT NOT NULL,
    subagent TEXT,
    file     TEXT NOT NULL DEFAULT '',
    read_to  INTEGER NOT NULL DEFAULT 0,
    tail     TEXT NOT NULL DEFAULT '',
    turn     TEXT,
    own      INTEGER NOT NULL DEFAULT 0,
    wanted   INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE INDEX transcripts_wanted ON transcripts (wanted) WHERE wanted = 1;
CREATE INDEX transcripts_by_session ON transcripts (session);

-- Transcript text, once: redacted lines, compressed.
CREATE TABLE segments (
    stream TEXT NOT NULL,
    first  INTEGER NOT NULL,
    past   INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    data   BLOB NOT NULL,
    PRIMARY KEY (stream, first)
);

CREATE TABLE outbox (
    position INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    topic    TEXT NOT NULL,
    body     TEXT NOT NULL
);

CREATE TABLE cursors (
    projection TEXT PRIMARY KEY,
    position   INTEGER NOT NULL,
    failures   INTEGER NOT NULL DEFAULT 0,
    retry_at   INTEGER
) WITHOUT ROWID;

CREATE TABLE parked (
    queue  TEXT NOT NULL,
    item   TEXT NOT NULL,
    at     INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (queue, item)
) WITHOUT ROWID;
