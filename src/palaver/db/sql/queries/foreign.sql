-- Rows that other programs wrote, and their ids for ours.

-- snippet: is_loose
-- No turn lists the row, and it is no copy of ours: another program wrote it.
NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
   AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id)

-- name: loose_messages
SELECT m.id, m.role, m.metadata_json, m.created_at FROM chat_messages m
 WHERE m.session_id = :session AND m.created_at >= :since
   AND {is_loose}
 ORDER BY m.created_at, m.id;

-- name: loose_after
-- SQLite only (`Tx.watermark` is None elsewhere): the same among the rows that came since.
-- sqlite:
SELECT m.id, m.role, m.metadata_json, m.created_at FROM chat_messages m
 WHERE m.rowid > :watermark AND +m.session_id = :session -- by the rows that came, not by the session's
   AND {is_loose}
 ORDER BY m.created_at, m.id;

-- name: loose_in_session_after
-- SQLite only: the same where very many rows came, by the session's own.
-- sqlite:
SELECT m.id, m.role, m.metadata_json, m.created_at FROM chat_messages m
 WHERE m.session_id = :session AND +m.rowid > :watermark
   AND {is_loose}
 ORDER BY m.created_at, m.id;

-- name: newest_row
-- SQLite only.
-- sqlite:
SELECT max(rowid) FROM chat_messages;

-- name: sessions_with_loose_rows
-- plan: free
SELECT DISTINCT m.session_id FROM chat_messages m
 WHERE {is_loose}
 ORDER BY 1;

-- name: put_behind
-- A row of another program.
UPDATE chat_messages SET created_at = :at, updated_at = greatest(updated_at, :at) WHERE id = :id;

-- name: put_foreign_id
INSERT INTO foreign_ids (origin, scope, foreign_id, id) VALUES (:origin, :scope, :foreign, :id)
ON CONFLICT (origin, scope, foreign_id) DO NOTHING;

-- name: find_foreign_id
SELECT id FROM foreign_ids WHERE origin = :origin AND scope = :scope AND foreign_id = :foreign;
