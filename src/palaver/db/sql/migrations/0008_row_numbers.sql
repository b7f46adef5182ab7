-- Numbers for rows of dialects that know messages and tool results by a number; rows get theirs when somebody asks.

CREATE INDEX chat_parts_failed ON chat_parts (session_id) WHERE tool_state = 'output-error';

CREATE TABLE stepped_sessions (session_id TEXT PRIMARY KEY, noted_at INTEGER NOT NULL) WITHOUT ROWID;

INSERT INTO settings VALUES ('writers_from', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- sqlite:
CREATE TABLE row_numbers (number INTEGER PRIMARY KEY AUTOINCREMENT, ref TEXT NOT NULL, stamp REAL);
CREATE UNIQUE INDEX row_numbers_by_ref ON row_numbers (ref);
-- postgres:
CREATE TABLE row_numbers (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ref TEXT NOT NULL, stamp REAL);
CREATE UNIQUE INDEX row_numbers_by_ref ON row_numbers (ref);
