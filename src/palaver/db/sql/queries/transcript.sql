-- What a reader sees: the path from a head to the root, then the live tail.

-- snippet: path
-- The turns from a turn to its root. Every walk ends, for the depth falls with each step; parents that go round in a
-- circle are named by verify.
WITH RECURSIVE path (id, parent_id, depth) AS (
    SELECT id, parent_id, depth FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth FROM turns t JOIN path ON t.id = path.parent_id AND t.depth < path.depth
)

-- name: path
-- Nearest first.
{path}
SELECT id FROM path ORDER BY depth DESC;

-- name: path_kinds
-- The turns on the way to a turn, from the root.
WITH RECURSIVE path (id, parent_id, depth, kind) AS (
    SELECT id, parent_id, depth, kind FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth, t.kind FROM turns t JOIN path ON t.id = path.parent_id AND t.depth < path.depth
)
SELECT id, kind FROM path ORDER BY depth;

-- name: path_rows
-- Everything a reader sees on the way from a turn to its root, in the order of record.
{path}
SELECT path.id, e.kind, e.ref, e.client_id, m.role, m.metadata_json, m.created_at, p.message_id, p.data_json
  FROM path
  JOIN turn_entries e ON e.turn_id = path.id
  LEFT JOIN chat_messages m ON e.kind = 'message' AND m.id = e.ref
  LEFT JOIN chat_parts p ON e.kind = 'part' AND p.id = e.ref
 WHERE e.kind <> 'result'
 ORDER BY path.depth, e.seq;

-- name: path_lines
-- What the turns on the way from the root list: the messages of each as one text, and how many parts. They are asked for
-- turn by turn, for no engine can then choose a way that is quadratic because it does not know how large the tables are.
{path}
SELECT path.id, (SELECT coalesce(group_concat(
               CASE kind WHEN 'message' THEN ref || :field || coalesce(client_id, '') END, :line) || :line, '')
               || CAST(coalesce(sum(CASE kind WHEN 'part' THEN 1 ELSE 0 END), 0) AS TEXT) FROM (
           SELECT e.kind, e.ref, e.client_id FROM turn_entries e WHERE e.turn_id = path.id ORDER BY e.seq) lines)
  FROM path ORDER BY path.depth;

-- name: whole_messages
-- Messages with the texts of their parts joined (`between`: a comma, and blanks that hardly anybody writes).
SELECT m.id, m.role, m.metadata_json,
       (SELECT group_concat(only_text(data_json), :between) FROM (
           SELECT p.data_json FROM chat_parts p WHERE p.message_id = m.id ORDER BY p."index", p.id) parts), m.created_at
  FROM chat_messages m WHERE m.session_id = :session;

-- name: whole_messages_with_ids
-- The same, each part behind its id.
SELECT m.id, m.role, m.metadata_json,
       (SELECT group_concat(id || :field || only_text(data_json), :between) FROM (
           SELECT p.id, p.data_json FROM chat_parts p WHERE p.message_id = m.id ORDER BY p."index", p.id) parts),
       m.created_at
  FROM chat_messages m WHERE m.session_id = :session;

-- name: turn_rows
SELECT e.turn_id, e.kind, e.ref, e.client_id, m.role, m.metadata_json, m.created_at, p.message_id, p.data_json
  FROM turn_entries e
  LEFT JOIN chat_messages m ON e.kind = 'message' AND m.id = e.ref
  LEFT JOIN chat_parts p ON e.kind = 'part' AND p.id = e.ref
 WHERE e.turn_id = :turn AND e.kind <> 'result'
 ORDER BY e.seq;

-- name: tail_turns
-- Open turns begun on the current revision: the live tail.
SELECT t.id, t.begin_seq, t.response_id, t.status, t.facts_json FROM turns t JOIN heads h ON h.session_id = t.session_id
 WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL AND t.base_revision = h.revision AND t.status <> 'pending'
 ORDER BY t.begin_seq;
