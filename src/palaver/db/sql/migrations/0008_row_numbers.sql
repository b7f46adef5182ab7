-- Numbers for rows of dialects that know messages and tool results by a number; rows get theirs when somebody asks.

CREATE INDEX chat_parts_failed ON chat_parts (session_id) WHERE tool_state = 'output-error';

CREATE TABLE stepped_sessions (session_id TEXT PRIMARY KEY, noted_at INTEGER NOT NULL) WITHOUT ROWID;

-- What the index holds of a title is told apart since: it is made again, by maintenance.
INSERT INTO settings SELECT 'search_mark', '' WHERE EXISTS (SELECT 1 FROM documents)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
UPDATE settings SET value = (CAST(value AS INTEGER) + 1) || '' WHERE name = 'search';
DELETE FROM documents;

INSERT INTO settings VALUES ('writers_from', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- sqlite:
INSERT INTO document_words (document_words) VALUES ('delete-all');
CREATE TABLE row_numbers (number INTEGER PRIMARY KEY AUTOINCREMENT, ref TEXT NOT NULL, stamp REAL);
CREATE UNIQUE INDEX row_numbers_by_ref ON row_numbers (ref);
-- postgres:
DELETE FROM document_words;
CREATE TABLE row_numbers (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ref TEXT NOT NULL, stamp REAL);
CREATE UNIQUE INDEX row_numbers_by_ref ON row_numbers (ref);
