-- Facts as columns and rows: what a list, a filter or a view reads without looking into JSON; usage by API response; an
-- ancestor to jump to; strays and compactions as rows of their own. Maintenance fills the columns of older turns.

ALTER TABLE turns ADD COLUMN jump TEXT;
ALTER TABLE turns ADD COLUMN thread_results INTEGER;
ALTER TABLE turns ADD COLUMN thread_calls INTEGER;
ALTER TABLE turns ADD COLUMN stray_seq INTEGER;
ALTER TABLE turns ADD COLUMN model TEXT;
ALTER TABLE turns ADD COLUMN provider TEXT;
ALTER TABLE turns ADD COLUMN role TEXT;
ALTER TABLE turns ADD COLUMN persona TEXT;
ALTER TABLE turns ADD COLUMN workspace TEXT;
ALTER TABLE turns ADD COLUMN mode TEXT;
ALTER TABLE turns ADD COLUMN toolset TEXT;
ALTER TABLE turns ADD COLUMN prompt_digest TEXT;
ALTER TABLE turns ADD COLUMN finish TEXT;
ALTER TABLE turns ADD COLUMN error_code TEXT;
ALTER TABLE turns ADD COLUMN source_event TEXT;

CREATE INDEX turns_unfilled ON turns (depth, id) WHERE jump IS NULL;
CREATE INDEX turns_stray ON turns (session_id, stray_seq) WHERE stray_seq IS NOT NULL;

UPDATE turns SET stray_seq = s.seq
  FROM (SELECT e.session_id, e.turn, max(e.seq) AS seq FROM events e
         WHERE e.kind = 'stray' GROUP BY e.session_id, e.turn) AS s
 WHERE s.session_id = turns.session_id AND s.turn = turns.begin_seq;

ALTER TABLE heads ADD COLUMN ended_at INTEGER;
ALTER TABLE heads ADD COLUMN end_reason TEXT;
ALTER TABLE heads ADD COLUMN last_message_at INTEGER;

UPDATE heads SET last_message_at =
    (SELECT CAST(max(m.created_at) AS INTEGER) FROM chat_messages m WHERE m.session_id = heads.session_id);

CREATE TABLE session_facts (
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    PRIMARY KEY (name, value, created_at, session_id)
) WITHOUT ROWID;

CREATE INDEX session_facts_by_session ON session_facts (session_id, name);

CREATE INDEX aliases_by_name ON aliases (name);

CREATE TABLE usage (
    session_id    TEXT NOT NULL,
    n             INTEGER NOT NULL,
    turn_id       TEXT,
    message_id    TEXT,
    key           TEXT,
    source        TEXT NOT NULL,
    provider      TEXT,
    model         TEXT,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cache_read    INTEGER NOT NULL,
    cache_write   INTEGER NOT NULL,
    cost_reported REAL,
    cost_computed REAL,
    price         TEXT,
    at            INTEGER NOT NULL,
    PRIMARY KEY (session_id, n)
) WITHOUT ROWID;

CREATE INDEX usage_by_turn ON usage (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX usage_by_message ON usage (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX usage_by_key ON usage (session_id, key) WHERE key IS NOT NULL;

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

CREATE TABLE bodies (
    digest     TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

DROP VIEW session_rows;

CREATE VIEW session_rows AS
SELECT s.id, s.agent, s.workspace_root, s.model_json, h.title, h.preview, s.parent_id, s.parent_message_id,
       h.relation, h.revision, h.turn_id, t.depth, t.thread_messages,
       s.prompt_tokens, s.completion_tokens, s.reasoning_tokens, s.cache_read, s.cache_write, s.total_tokens,
       s.cost_usd, s.metadata_json, s.created_at, s.updated_at, s.archived_at, h.deleted_at,
       h.ended_at, h.end_reason, h.last_message_at
  FROM chat_sessions s
  LEFT JOIN heads h ON h.session_id = s.id
  LEFT JOIN turns t ON t.id = h.turn_id;
