-- A part of a path. A place on it is found by jumps, and walked back from; nothing is sorted that grows with the path.
--
-- `e.kind || ''` is the kind of a line that a turn is gone through for: the index of messages is none of these statements'
-- business, and Postgres, where it knows nothing of a table, would go through all of it.

-- name: way_back
-- From a turn towards its root, as long as the turns are deeper than `above` and so many messages were said by then: by
-- jumps where these do not go too far, else from parent to parent. The last row is as far as that goes.
WITH RECURSIVE way (id, parent_id, depth, jump) AS (
    SELECT id, parent_id, depth, jump FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth, t.jump FROM way
      LEFT JOIN turns j ON j.id = way.jump
       AND j.depth < way.depth AND j.depth > :above AND j.thread_messages >= :messages
      JOIN turns t ON t.id = coalesce(j.id, way.parent_id)
       AND t.depth < way.depth AND t.depth > :above AND t.thread_messages >= :messages
)
SELECT id, depth FROM way;

-- name: meeting_turn
-- Where the ways from two turns to their roots meet. The deeper one goes up first; from one depth they jump equally far.
WITH RECURSIVE pair (one, one_parent, one_jump, one_depth, other, other_parent, other_jump, other_depth) AS (
    SELECT a.id, a.parent_id, a.jump, a.depth, b.id, b.parent_id, b.jump, b.depth
      FROM turns a CROSS JOIN turns b WHERE a.id = :one AND b.id = :other
    UNION ALL
    SELECT a.id, a.parent_id, a.jump, a.depth, b.id, b.parent_id, b.jump, b.depth FROM pair
      LEFT JOIN turns c ON c.id = one_jump AND c.depth < one_depth AND c.depth >= other_depth
      LEFT JOIN turns d ON d.id = other_jump AND d.depth < other_depth AND d.depth >= one_depth
      JOIN turns a ON a.id = CASE WHEN one_depth < other_depth THEN one
                                  WHEN one_depth > other_depth THEN coalesce(c.id, one_parent)
                                  WHEN one_jump <> other_jump THEN one_jump ELSE one_parent END
       AND (a.depth < one_depth OR one_depth < other_depth)
      JOIN turns b ON b.id = CASE WHEN other_depth < one_depth THEN other
                                  WHEN other_depth > one_depth THEN coalesce(d.id, other_parent)
                                  WHEN one_jump <> other_jump THEN other_jump ELSE other_parent END
       AND (b.depth < other_depth OR other_depth < one_depth)
     WHERE one <> other
)
SELECT one AS id, one_depth AS depth FROM pair WHERE one = other;

-- ---------------------------------------------------------------- where a message stands

-- name: listing_on_path
-- The turn on the way to a turn that lists a message: of those that list it, each is looked for at its depth.
WITH RECURSIVE listed (turn_id, seq, depth, thread_messages) AS (
    SELECT e.turn_id, e.seq, t.depth, t.thread_messages FROM turn_entries e JOIN turns t ON t.id = e.turn_id
     WHERE e.ref = :message AND e.kind = 'message'
), way (wanted, id, parent_id, depth, jump) AS (
    SELECT l.depth, t.id, t.parent_id, t.depth, t.jump FROM (SELECT DISTINCT depth FROM listed) l
      JOIN turns t ON t.id = :turn AND t.depth >= l.depth
    UNION ALL
    SELECT way.wanted, t.id, t.parent_id, t.depth, t.jump FROM way
      LEFT JOIN turns j ON j.id = way.jump AND j.depth < way.depth AND j.depth >= way.wanted
      JOIN turns t ON t.id = coalesce(j.id, way.parent_id) AND t.depth < way.depth AND t.depth >= way.wanted
)
SELECT listed.turn_id, listed.depth, listed.seq, listed.thread_messages FROM listed JOIN way ON way.id = listed.turn_id
 ORDER BY listed.depth DESC, listed.seq LIMIT 1;

-- snippet: known_as
-- The message that a turn lists under the id which a client knows it by.
(SELECT min(e.ref) FROM turn_entries e WHERE e.turn_id = t.id AND e.kind || '' = 'message' AND e.client_id = :name)

-- name: client_id_on_path
-- The nearest turn on the way from a turn to its root that lists one. No index has the ids of clients: it is walked to.
WITH RECURSIVE path (id, parent_id, depth, ref) AS (
    SELECT t.id, t.parent_id, t.depth, {known_as} FROM turns t WHERE t.id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth, {known_as} FROM path
      JOIN turns t ON t.id = path.parent_id AND t.depth < path.depth
     WHERE path.ref IS NULL
)
SELECT id AS turn_id, ref FROM path WHERE ref IS NOT NULL;

-- name: message_after
-- The next message that a turn lists behind a line.
SELECT e.seq FROM turn_entries e WHERE e.turn_id = :turn AND e.seq > :mark AND e.kind || '' = 'message' ORDER BY e.seq LIMIT 1;

-- name: line_of_part
SELECT e.seq FROM turn_entries e
 WHERE e.turn_id = :turn AND e.seq > :mark AND e.kind = 'part' AND e.ref = :part ORDER BY e.seq LIMIT 1;

-- name: part_at
SELECT id FROM chat_parts WHERE message_id = :message AND "index" = :place ORDER BY id LIMIT 1;

-- ---------------------------------------------------------------- lines

-- snippet: is_counted
-- What a window counts: messages, or parts (of a type), whose row is there.
e.kind || '' = :kind AND CASE :kind WHEN 'message' THEN EXISTS (SELECT 1 FROM chat_messages m WHERE m.id = e.ref)
         ELSE EXISTS (SELECT 1 FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id
                       WHERE p.id = e.ref AND p.type = coalesce(:type, p.type)) END

-- name: lines_back
-- The lines before one, nearest first: from line to line, and where a turn has no more, on to its parent.
WITH RECURSIVE walk (turn_id, parent_id, depth, seq) AS (
    SELECT t.id, t.parent_id, t.depth, (SELECT e.seq FROM turn_entries e
            WHERE e.turn_id = t.id AND e.seq < :mark AND {is_counted} ORDER BY e.seq DESC LIMIT 1)
      FROM turns t WHERE t.id = :turn
    UNION ALL
    SELECT coalesce(t.id, walk.turn_id), CASE WHEN t.id IS NULL THEN walk.parent_id ELSE t.parent_id END,
           coalesce(t.depth, walk.depth), (SELECT e.seq FROM turn_entries e
            WHERE e.turn_id = coalesce(t.id, walk.turn_id) AND e.seq < coalesce(walk.seq, :far) AND {is_counted}
            ORDER BY e.seq DESC LIMIT 1)
      FROM walk LEFT JOIN turns t ON walk.seq IS NULL AND t.id = walk.parent_id AND t.depth < walk.depth
     WHERE walk.seq IS NOT NULL OR t.id IS NOT NULL
)
SELECT turn_id, depth, seq FROM walk WHERE seq IS NOT NULL LIMIT :limit;

-- snippet: lines_of_turn
-- Behind which line they begin, and where they end if there are more than so many.
CASE t.depth WHEN :depth THEN :mark ELSE -1 END, (SELECT e.seq FROM turn_entries e
            WHERE e.turn_id = t.id AND e.seq > CASE t.depth WHEN :depth THEN :mark ELSE -1 END AND {is_counted}
            ORDER BY e.seq LIMIT 1 OFFSET :limit)

-- name: lines_forward
-- The turns from one back to a depth, each with its lines: at that depth those behind a line, else all; but of no turn
-- more than so many. A turn that has none is one row.
WITH RECURSIVE path (id, parent_id, depth, first, last) AS (
    SELECT t.id, t.parent_id, t.depth, {lines_of_turn} FROM turns t WHERE t.id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth, {lines_of_turn} FROM path
      JOIN turns t ON t.id = path.parent_id AND t.depth < path.depth AND t.depth >= :depth
)
SELECT path.id AS turn_id, path.depth, e.seq FROM path
  LEFT JOIN turn_entries e ON e.turn_id = path.id AND e.seq > path.first AND e.seq < coalesce(path.last, :far)
   AND {is_counted};

-- snippet: segment
-- The turns from one back to a depth.
WITH RECURSIVE path (id, parent_id, depth) AS (
    SELECT id, parent_id, depth FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth FROM path
      JOIN turns t ON t.id = path.parent_id AND t.depth < path.depth AND t.depth >= :depth
)

-- snippet: between_lines
-- From the first line, in the turn at that depth, to before the last one, in the turn that it began with.
e.turn_id = path.id AND e.seq >= CASE path.depth WHEN :depth THEN CAST(:first AS INTEGER) ELSE 0 END
   AND e.seq < CASE path.id WHEN :turn THEN CAST(:last AS INTEGER) ELSE CAST(:far AS INTEGER) END

-- name: rows_of_window
-- As `path_rows`.
{segment}
SELECT path.id, e.kind, e.ref, e.client_id, m.role, m.metadata_json, m.created_at, p.message_id, p.data_json
  FROM path
 CROSS JOIN turn_entries e
  LEFT JOIN chat_messages m ON e.kind = 'message' AND m.id = e.ref
  LEFT JOIN chat_parts p ON e.kind = 'part' AND p.id = e.ref
 WHERE {between_lines} AND e.kind <> 'result'
 ORDER BY path.depth, e.seq;

-- name: parts_of_window
-- `client_id`: of the message, as the turn lists it.
{segment}
SELECT path.id AS turn_id, p.message_id, (SELECT l.client_id FROM turn_entries l
        WHERE l.ref = p.message_id AND l.kind = 'message' AND l.turn_id = path.id) AS client_id,
       p.id, p."index", p.type, p.data_json
  FROM path
 CROSS JOIN turn_entries e
  JOIN chat_parts p ON p.id = e.ref AND p.type = coalesce(:type, p.type)
  JOIN chat_messages m ON m.id = p.message_id
 WHERE {between_lines} AND e.kind = 'part'
 ORDER BY path.depth, e.seq;

-- name: newest_loose
-- The loose ones among so many of the session's newest rows.
SELECT m.id, m.role, m.metadata_json, m.created_at
  FROM (SELECT id FROM chat_messages WHERE session_id = :session ORDER BY created_at DESC LIMIT :limit) newest
 CROSS JOIN chat_messages m
 WHERE m.id = newest.id AND {is_loose}
 ORDER BY m.created_at, m.id;

-- ---------------------------------------------------------------- turns

-- name: turns_back
-- So many turns from one towards its root, as `path_turns`; nothing says in which order.
{path}, page (id) AS (SELECT id FROM path LIMIT :limit)
SELECT {turn_columns} FROM page CROSS JOIN turns t WHERE t.id = page.id;

-- snippet: known
-- Every turn that a session pointed at, began or left beside the path, and their ancestors, each once.
WITH RECURSIVE known (id) AS (
    SELECT turn_id FROM reflog WHERE session_id = :session AND turn_id IS NOT NULL
    UNION SELECT id FROM turns WHERE session_id = :session AND live = 1 AND sealed_at IS NULL
    UNION SELECT id FROM turns WHERE session_id = :session AND stray_seq IS NOT NULL
    UNION SELECT t.parent_id FROM known CROSS JOIN turns t WHERE t.id = known.id AND t.parent_id IS NOT NULL
)

-- name: known_turns
{known}
SELECT {turn_columns} FROM known CROSS JOIN turns t WHERE t.id = known.id;

-- name: is_known
{known}
SELECT id FROM known WHERE id = :turn LIMIT 1;

-- name: strays_after
SELECT {turn_columns} FROM turns t
 WHERE t.session_id = :session AND t.stray_seq IS NOT NULL AND t.stray_seq > :after AND t.stray_seq < :before
 ORDER BY t.stray_seq LIMIT :limit;

-- name: strays_before
SELECT {turn_columns} FROM turns t
 WHERE t.session_id = :session AND t.stray_seq IS NOT NULL AND t.stray_seq > :after AND t.stray_seq < :before
 ORDER BY t.stray_seq DESC LIMIT :limit;

-- name: stray_seq_of
SELECT stray_seq FROM turns WHERE id = :turn AND session_id = :session;

-- ---------------------------------------------------------------- moves of a head

-- name: history_after
SELECT seq, kind, turn_id, revision, at, ref_seq, reason, link FROM reflog
 WHERE session_id = :session AND seq > :after AND seq < :before ORDER BY seq LIMIT :limit;

-- name: history_before
SELECT seq, kind, turn_id, revision, at, ref_seq, reason, link FROM reflog
 WHERE session_id = :session AND seq > :after AND seq < :before ORDER BY seq DESC LIMIT :limit;
