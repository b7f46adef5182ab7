-- The event log: which turns have chunks to be trimmed, and the journal of a store that keeps everything.

ALTER TABLE turns ADD COLUMN live INTEGER NOT NULL DEFAULT 0;
UPDATE turns SET live = 1
 WHERE sealed_at IS NULL
    OR (session_id, begin_seq) IN (SELECT e.session_id, e.turn FROM events e WHERE e.kind = 'chunk');
DROP INDEX turns_open;
CREATE INDEX turns_live ON turns (session_id, sealed_at) WHERE live = 1;

CREATE TABLE journal (
    session_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    statement  TEXT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
