-- What a turn lists, in the order of record.

-- name: insert_entry
INSERT INTO turn_entries (turn_id, seq, kind, ref, client_id, salt, leaf)
VALUES (:turn, :seq, :kind, :ref, :client, :salt, :leaf);

-- name: fill_entry
UPDATE turn_entries SET salt = :salt, leaf = :leaf WHERE turn_id = :turn AND seq = :seq;

-- name: set_client_id
UPDATE turn_entries SET client_id = :client WHERE turn_id = :turn AND seq = :seq;

-- name: drop_entries
DELETE FROM turn_entries WHERE turn_id = :turn;

-- name: entries_of
SELECT seq, kind, ref, client_id, salt, leaf FROM turn_entries WHERE turn_id = :turn ORDER BY seq;

-- name: turns_of_message
SELECT e.turn_id, e.client_id, t.sealed_at, t.depth, t.session_id FROM turn_entries e JOIN turns t ON t.id = e.turn_id
 WHERE e.ref = :message AND e.kind = 'message' AND t.status <> 'pending' ORDER BY t.depth, t.id;

-- name: home_turn_of_message
-- A message of this session: the turn that lists it, that turn's parent and seal; a second one, if there are several. If
-- there is one, and the message is not hidden, that turn is on the path, and nobody needs to walk there.
SELECT e.turn_id, t.parent_id, t.sealed_at, m.metadata_json
  FROM turn_entries e JOIN turns t ON t.id = e.turn_id JOIN chat_messages m ON m.id = e.ref
 WHERE e.ref = :message AND e.kind = 'message' AND t.status <> 'pending' AND m.session_id = :session
 LIMIT 2;

-- name: home_messages_of_turn
-- The messages a turn lists that were first written in this session.
SELECT m.id, m.metadata_json FROM turn_entries e JOIN chat_messages m ON m.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'message' AND m.session_id = :session;

-- snippet: last_said
-- The last message of the user that a turn lists.
(SELECT m.id FROM turn_entries e JOIN chat_messages m ON m.id = e.ref AND m.role = 'user'
            WHERE e.turn_id = t.id AND e.kind || '' = 'message' ORDER BY e.seq DESC LIMIT 1)

-- name: nearest_user_message
-- The last thing the user said on the way to a turn: mostly a step or two away, and the walk ends there.
WITH RECURSIVE path (id, parent_id, depth, said) AS (
    SELECT t.id, t.parent_id, t.depth, {last_said} FROM turns t WHERE t.id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth, {last_said} FROM path
      JOIN turns t ON t.id = path.parent_id AND t.depth < path.depth
     WHERE path.said IS NULL
)
SELECT m.id, m.session_id FROM path CROSS JOIN chat_messages m WHERE m.id = path.said;
