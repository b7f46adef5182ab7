-- Rows that stand in a fork for messages of its path that live elsewhere.

-- name: insert_copy
INSERT INTO copies (copy_id, session_id, message_id) VALUES (:copy, :session, :message);

-- name: copied_messages
SELECT message_id, copy_id FROM copies WHERE session_id = :session ORDER BY message_id;

-- name: standing_rows
-- The rows of this session that stand for messages a turn lists: the messages themselves, or copies of them; and which
-- messages those are.
SELECT m.id, m.id, m.metadata_json FROM turn_entries e JOIN chat_messages m ON m.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'message' AND m.session_id = :session
UNION ALL
SELECT m.id, e.ref, m.metadata_json FROM turn_entries e
  JOIN copies c ON c.session_id = :session AND c.message_id = e.ref
  JOIN chat_messages m ON m.id = c.copy_id
 WHERE e.turn_id = :turn AND e.kind = 'message';

-- name: standing_on_way
-- The same for all turns from one towards its root that are deeper than `above`.
WITH RECURSIVE path (id, parent_id, depth) AS (
    SELECT id, parent_id, depth FROM turns WHERE id = :turn AND depth > :above
    UNION ALL
    SELECT t.id, t.parent_id, t.depth FROM path
      JOIN turns t ON t.id = path.parent_id AND t.depth < path.depth AND t.depth > :above
)
SELECT m.id, m.id, m.metadata_json FROM path CROSS JOIN turn_entries e JOIN chat_messages m ON m.id = e.ref
 WHERE e.turn_id = path.id AND e.kind || '' = 'message' AND m.session_id = :session
UNION ALL
SELECT m.id, e.ref, m.metadata_json FROM path CROSS JOIN turn_entries e
  JOIN copies c ON c.session_id = :session AND c.message_id = e.ref
  JOIN chat_messages m ON m.id = c.copy_id
 WHERE e.turn_id = path.id AND e.kind || '' = 'message';
