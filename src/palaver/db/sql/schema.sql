-- The whole schema, top to bottom. Contract half first: seed 000's three tables, column for column, with the
-- indexes it requires. Another program may read and write them without our code, so they carry no extra
-- column, no trigger and no key into the sidecar.

CREATE TABLE chat_sessions (
    id                TEXT PRIMARY KEY,
    agent             TEXT NOT NULL,
    workspace_root    TEXT,
    model_json        TEXT NOT NULL,
    parent_id         TEXT,
    parent_message_id TEXT,
    permissions_json  TEXT NOT NULL DEFAULT '[]',
    metadata_json     TEXT NOT NULL DEFAULT '{}',
    prompt_tokens     INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens  INTEGER NOT NULL DEFAULT 0,
    cache_read        INTEGER NOT NULL DEFAULT 0,
    cache_write       INTEGER NOT NULL DEFAULT 0,
    total_tokens      INTEGER NOT NULL DEFAULT 0,
    cost_usd          REAL NOT NULL DEFAULT 0,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    archived_at       INTEGER
);
CREATE INDEX chat_sessions_by_agent ON chat_sessions (agent, updated_at);
CREATE INDEX chat_sessions_by_workspace ON chat_sessions (workspace_root, updated_at);
CREATE INDEX chat_sessions_by_parent ON chat_sessions (parent_id);
CREATE INDEX chat_sessions_by_archived ON chat_sessions (archived_at);
CREATE INDEX chat_sessions_by_update ON chat_sessions (updated_at); -- ours: the list without a filter
CREATE INDEX chat_sessions_by_creation ON chat_sessions (created_at); -- ours: the list that stands still

CREATE TABLE chat_messages (
    id            TEXT PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES chat_sessions (id) ON DELETE CASCADE,
    role          TEXT NOT NULL,
    metadata_json TEXT NOT NULL DEFAULT '{}',
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
);
CREATE INDEX chat_messages_by_session ON chat_messages (session_id, created_at);

CREATE TABLE chat_parts (
    id           TEXT PRIMARY KEY,
    message_id   TEXT NOT NULL REFERENCES chat_messages (id) ON DELETE CASCADE,
    session_id   TEXT NOT NULL,
    "index"      INTEGER NOT NULL,
    type         TEXT NOT NULL,
    data_json    TEXT NOT NULL,
    tool_call_id TEXT,
    tool_state   TEXT,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
);
CREATE INDEX chat_parts_by_message ON chat_parts (message_id, "index");
CREATE INDEX chat_parts_by_session ON chat_parts (session_id);
CREATE INDEX chat_parts_by_tool_call ON chat_parts (tool_call_id);
CREATE INDEX chat_parts_failed ON chat_parts (session_id) WHERE tool_state = 'output-error'; -- ours: calls that ended so

-- Sidecar half: ours.

-- A node of the tree. Open while sealed_at is NULL; then frozen, and its digest covers its parent's.
CREATE TABLE turns (
    id              TEXT PRIMARY KEY,
    parent_id       TEXT,                      -- NULL: a root
    session_id      TEXT NOT NULL,             -- home: the session that began it
    base_revision   INTEGER NOT NULL,          -- the head's revision it was begun on
    begin_seq       INTEGER NOT NULL,          -- the event it began with; its chunks carry this number
    kind            TEXT NOT NULL,             -- turn, compaction, foreign
    status          TEXT NOT NULL,             -- pending, streaming, waiting; completed, failed, aborted
    owner           TEXT,                      -- who writes it; NULL: nobody (waiting, sealed)
    fence           INTEGER NOT NULL,          -- goes up with every change of owner; each append names it
    started_at      INTEGER NOT NULL,
    sealed_at       INTEGER,
    digest          BLOB,                      -- set by the seal
    depth           INTEGER NOT NULL,          -- turns from the root to here
    thread_tokens   INTEGER NOT NULL,          -- their tokens,
    thread_messages INTEGER NOT NULL,          -- and messages
    response_id     TEXT,                      -- the assistant message it writes
    input_tokens    INTEGER NOT NULL DEFAULT 0,
    output_tokens   INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read      INTEGER NOT NULL DEFAULT 0,
    cache_write     INTEGER NOT NULL DEFAULT 0,
    cost_usd        REAL NOT NULL DEFAULT 0,
    usage_told      INTEGER NOT NULL DEFAULT 0, -- 1: turn.usage() told us, and we added it to the message
    facts_json      TEXT NOT NULL DEFAULT '{}', -- what was in force: model, toolset, error, …
    live            INTEGER NOT NULL DEFAULT 0, -- 1: it is open, or its chunks are yet to be trimmed
    jump            TEXT,                      -- an ancestor far away, '': it is a root; NULL: not filled yet
    thread_results  INTEGER,                   -- tool results from the root to here,
    thread_calls    INTEGER,                   -- and tool calls; NULL: not filled yet
    stray_seq       INTEGER,                   -- the event that left it beside the path
    -- Copies of facts that lists, filters and views read; facts_json has the rest.
    model           TEXT,
    provider        TEXT,
    role            TEXT,
    persona         TEXT,
    workspace       TEXT,
    mode            TEXT,
    toolset         TEXT,
    prompt_digest   TEXT,
    finish          TEXT,
    error_code      TEXT,
    source_event    TEXT,
    unindexed       INTEGER NOT NULL DEFAULT 1 -- 1: its text is not indexed, 2: it is as it stood while it waited
) WITHOUT ROWID;
CREATE INDEX turns_live ON turns (session_id, sealed_at) WHERE live = 1;
CREATE INDEX turns_unindexed ON turns (id) WHERE unindexed > 0;
CREATE INDEX turns_unfilled ON turns (depth, id) WHERE jump IS NULL;
CREATE INDEX turns_stray ON turns (session_id, stray_seq) WHERE stray_seq IS NOT NULL;

-- One line per thing that became durable in a turn: the order of record. It refers to a message or a part,
-- which may have been written first in another turn.
CREATE TABLE turn_entries (
    turn_id   TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    kind      TEXT NOT NULL,                   -- message, part, result
    ref       TEXT NOT NULL,                   -- id of the message or the part
    client_id TEXT,                            -- the id the client knows the message by, if another
    salt      BLOB,                            -- erased with the bytes; the leaf stays
    leaf      BLOB,                            -- NULL for a result, and until the seal
    PRIMARY KEY (turn_id, seq)
) WITHOUT ROWID;
CREATE INDEX turn_entries_by_message ON turn_entries (ref) WHERE kind = 'message';

-- A session's pointer into the tree, and what a list shows of it.
CREATE TABLE heads (
    session_id   TEXT PRIMARY KEY,
    turn_id      TEXT,                         -- always sealed; NULL: nothing yet, or deleted
    prev_turn_id TEXT,
    revision     INTEGER NOT NULL,             -- how often the head moved
    event_seq    INTEGER NOT NULL,             -- at least this many events; open turns count on from here
    events_floor INTEGER NOT NULL DEFAULT 0,   -- events at or below were trimmed
    last_at      INTEGER NOT NULL,             -- the newest created_at handed out
    looked_at    INTEGER NOT NULL DEFAULT 0,   -- rows older than this were looked at for foreign ones
    relation     TEXT NOT NULL,                -- root, fork, spawn, continue, import
    origin_id    TEXT,                         -- lineage: the session it came from,
    origin_turn  TEXT,                         -- at which turn,
    origin_call  TEXT,                         -- by which tool call
    scope_json   TEXT NOT NULL DEFAULT '{}',   -- account, project, workspace, persona … of hub and ledger
    title        TEXT,
    preview      TEXT,                         -- the first thing the user said
    deleted_at   INTEGER,
    ended_at     INTEGER,                      -- the application said that it is over,
    end_reason   TEXT,                         -- and why
    last_message_at INTEGER                    -- when it last got a message of its own
) WITHOUT ROWID;

CREATE INDEX heads_by_title ON heads (title) WHERE title IS NOT NULL;
CREATE INDEX heads_by_origin ON heads (origin_id) WHERE origin_id IS NOT NULL;

-- Every move of a head, in the transaction that made it. The line is the event of the move: it has a number in
-- the session's event sequence. `link` chains each line to the one before.
CREATE TABLE reflog (
    session_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    kind       TEXT NOT NULL,                  -- create, fork, seal, begin, rewind, undo, redo, adopt, recover, …
    turn_id    TEXT,
    revision   INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    ref_seq    INTEGER,                        -- undo and redo: the line whose head they brought back
    reason     TEXT,
    link       BLOB NOT NULL,
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;

-- Everything else that happens to a session: chunks while a turn is open, and the other state changes.
CREATE TABLE events (
    session_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    kind       TEXT NOT NULL,                  -- chunk, begin, resolve, usage, wait, resume, stray, title, …
    turn       INTEGER,                        -- begin_seq of its turn
    data       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;

-- What a session belongs to: source, user, project …, one row each. created_at is the session's own, so that no append
-- touches it, and a list by a fact is a range of the key.
CREATE TABLE session_facts (
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    PRIMARY KEY (name, value, created_at, session_id)
) WITHOUT ROWID;
CREATE INDEX session_facts_by_session ON session_facts (session_id, name);

-- Tokens and money, one row per response of an API. Those of a turn and a message add up to what these say.
CREATE TABLE usage (
    session_id    TEXT NOT NULL,
    n             INTEGER NOT NULL,            -- 1, 2, 3 … in each session
    turn_id       TEXT,
    message_id    TEXT,
    key           TEXT,                        -- of the response: the same again counts once
    source        TEXT NOT NULL,               -- who told: turn, metadata, or the name of a dialect
    provider      TEXT,
    model         TEXT,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cache_read    INTEGER NOT NULL,
    cache_write   INTEGER NOT NULL,
    cost_reported REAL,                        -- what the caller said it cost,
    cost_computed REAL,                        -- and what a price list says
    price         TEXT,                        -- which price list
    at            INTEGER NOT NULL,
    PRIMARY KEY (session_id, n)
) WITHOUT ROWID;
CREATE INDEX usage_by_turn ON usage (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX usage_by_message ON usage (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX usage_by_key ON usage (session_id, key) WHERE key IS NOT NULL;

-- The fields of each compaction, as its part has them.
CREATE TABLE compactions (
    turn_id                     TEXT PRIMARY KEY,
    summary                     TEXT NOT NULL,
    summarized_through_turn_id  TEXT,
    first_kept_turn_id          TEXT,
    turns_summarized            INTEGER,
    compaction_type             TEXT NOT NULL,
    model                       TEXT,
    provider                    TEXT,
    tokens_before               INTEGER,
    tokens_after                INTEGER,
    summary_tokens              INTEGER,
    summarization_input_tokens  INTEGER,
    summarization_output_tokens INTEGER,
    duration_ms                 INTEGER,
    trigger                     TEXT,
    metadata_json               TEXT
) WITHOUT ROWID;

-- Tool definitions and request settings by SHA-256 of their JSON text; the facts of a turn carry the digest.
CREATE TABLE bodies (
    digest     TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,                  -- tools, settings
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Only where every event is kept (`events="full"`): each change of a contract row, as the statement that made it and
-- what it was given. Carried out again, in order, they give the three tables of a session row for row.
CREATE TABLE journal (
    session_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,               -- 1, 2, 3 … in each session, without gaps
    statement  TEXT NOT NULL,
    data       TEXT NOT NULL,                  -- its parameters; large text is named by the events it folds from
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;

-- What holds for the store as a whole, whoever opens it.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,                    -- events: live or full; writers_from: the oldest version that may write
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Messages sent while a turn runs. Each is the one message of a `pending` turn without a parent; the turn's status says
-- whether it waits, was fired, or was taken back.
CREATE TABLE queue (
    session_id TEXT NOT NULL,
    id         TEXT NOT NULL,                  -- of the message, as the client knows it
    turn_id    TEXT NOT NULL,
    payload    BLOB NOT NULL,                  -- digest of what was sent: the same again is no second message
    queued_at  INTEGER NOT NULL,
    claims     INTEGER NOT NULL DEFAULT 0,     -- how often it was started
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;
CREATE INDEX queue_by_turn ON queue (turn_id);

-- Deliveries of triggers: each (source, delivery_id) fires once.
CREATE TABLE deliveries (
    source      TEXT NOT NULL,                 -- schedule, webhook, api, agent, mcp, …
    delivery_id TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    turn_id     TEXT NOT NULL,
    payload     BLOB NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (source, delivery_id)
) WITHOUT ROWID;
CREATE INDEX deliveries_by_session ON deliveries (session_id);

-- Tool outputs that a model need not see again. Only `context()` obeys; the part stays as it is.
CREATE TABLE pruned (
    part_id    TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,                  -- who pruned it
    at         INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX pruned_by_session ON pruned (session_id);

-- Rows that stand in a fork for messages of its path that live elsewhere, for readers who know only the contract.
CREATE TABLE copies (
    copy_id    TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    message_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX copies_by_message ON copies (session_id, message_id);

-- Unique names for sessions (slug, label, title …) and for turns (thread_key).
CREATE TABLE aliases (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id    TEXT,
    created_at INTEGER NOT NULL,
    reason     TEXT,
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE INDEX aliases_by_session ON aliases (session_id);
CREATE INDEX aliases_by_name ON aliases (name);

-- Ids of other programs, and which of ours they are.
CREATE TABLE foreign_ids (
    origin     TEXT NOT NULL,
    scope      TEXT NOT NULL,
    foreign_id TEXT NOT NULL,
    id         TEXT NOT NULL,
    PRIMARY KEY (origin, scope, foreign_id)
) WITHOUT ROWID;
CREATE INDEX foreign_ids_by_id ON foreign_ids (id);

-- Items of other programs, as they were given: which turn says what they say. An item that comes again is known by its
-- digest, never by what we made of it.
CREATE TABLE natives (
    turn_id    TEXT NOT NULL,
    seq        INTEGER NOT NULL,               -- their order in the turn
    session_id TEXT NOT NULL,                  -- home of the turn
    origin     TEXT NOT NULL,                  -- the program it came from
    item       TEXT NOT NULL,                  -- its id there; '#' and its place, where it has none
    digest     BLOB NOT NULL,                  -- SHA-256 of the item
    body       BLOB,                           -- the item itself; NULL: erased
    codec      TEXT,                           -- zstd; NULL: the body is as it was given
    file       TEXT,                           -- where it stood,
    place      INTEGER,                        -- and at which byte
    PRIMARY KEY (turn_id, seq)
) WITHOUT ROWID;
CREATE INDEX natives_by_item ON natives (session_id, origin, item);

-- What search finds: a message's own text, or one result of a tool. Derived; `reindex` makes it again. The words of a
-- document are in document_words, under its number.
CREATE TABLE documents (
    number     INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL,
    part_id    TEXT,                           -- of a result; NULL: the message's own text
    role       TEXT NOT NULL,                  -- of the message; tool: a result
    at         INTEGER NOT NULL,               -- the message's time,
    newest     INTEGER NOT NULL,               -- and the newest of all documents up to this number
    titled     TEXT,                           -- the session whose title is in it
    checksum   INTEGER NOT NULL                -- of its words
);
CREATE INDEX documents_by_message ON documents (message_id);
CREATE INDEX documents_titled ON documents (titled) WHERE titled IS NOT NULL;

-- Sessions in which a message is several numbered rows (see row_numbers), one for each step of an answer: they are
-- counted by reading them.
CREATE TABLE stepped_sessions (
    session_id TEXT PRIMARY KEY,
    noted_at   INTEGER NOT NULL
) WITHOUT ROWID;

-- Who writes. Alive exactly while the flock on the owner's file is held; on Postgres, until its lease is over.
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    pid        INTEGER NOT NULL,
    host       TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    lease_until INTEGER                        -- by the server's clock; NULL: a file says
) WITHOUT ROWID;

-- System prompts by SHA-256 of their text; messages carry the digest.
CREATE TABLE system_prompts (
    digest     TEXT PRIMARY KEY,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
);

-- A session as a list shows it. heads has no row where another program made the session.
CREATE VIEW session_rows AS
SELECT s.id, s.agent, s.workspace_root, s.model_json, h.title, h.preview, s.parent_id, s.parent_message_id,
       h.relation, h.revision, h.turn_id, t.depth, t.thread_messages,
       s.prompt_tokens, s.completion_tokens, s.reasoning_tokens, s.cache_read, s.cache_write, s.total_tokens,
       s.cost_usd, s.metadata_json, s.created_at, s.updated_at, s.archived_at, h.deleted_at,
       h.ended_at, h.end_reason, h.last_message_at
  FROM chat_sessions s
  LEFT JOIN heads h ON h.session_id = s.id
  LEFT JOIN turns t ON t.id = h.turn_id;

-- The words of each document, made by palaver.search: an index alone, without the text. On Postgres a long document is
-- several slices.
-- sqlite:
-- Numbers for rows of dialects that know messages and tool results by a number: each is handed out once, and never again.
CREATE TABLE row_numbers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    ref    TEXT NOT NULL,                      -- a message, or the part of a call: its result
    stamp  REAL                                -- when it was written, in seconds; NULL: as the row of `ref` says
);
CREATE UNIQUE INDEX row_numbers_by_ref ON row_numbers (ref);
CREATE VIRTUAL TABLE document_words USING fts5(words, pieces, content='', contentless_delete=1, tokenize='ascii');
-- postgres:
CREATE TABLE row_numbers (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ref TEXT NOT NULL, stamp REAL
);
CREATE UNIQUE INDEX row_numbers_by_ref ON row_numbers (ref);
CREATE TABLE document_words (
    number BIGINT NOT NULL, slice BIGINT NOT NULL, words tsvector NOT NULL, PRIMARY KEY (number, slice)
);
CREATE INDEX document_words_by_word ON document_words USING gin (words);
