-- name: find_queued
SELECT q.id, q.turn_id, q.payload, q.queued_at, q.claims, t.status, t.sealed_at, t.facts_json
  FROM queue q LEFT JOIN turns t ON t.id = q.turn_id
 WHERE q.session_id = :session AND q.id = :id;

-- name: queued_turn
SELECT id, queued_at, claims FROM queue WHERE turn_id = :turn;

-- name: pending
-- What waits in a session, in the order it was sent.
SELECT q.id, q.turn_id, q.queued_at, q.claims FROM turns t JOIN queue q ON q.turn_id = t.id
 WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL AND t.status = 'pending'
 ORDER BY q.queued_at, t.begin_seq;

-- name: insert_queued
INSERT INTO queue (session_id, id, turn_id, payload, queued_at, claims)
VALUES (:session, :id, :turn, :payload, :at, 0);

-- name: insert_pending_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, depth,
    thread_tokens, thread_messages, response_id, facts_json, live
) VALUES (:id, NULL, :session, -1, :begin_seq, 'turn', 'pending', NULL, 1, :now, 1, 0, 0, NULL, :facts, 1);

-- name: claim_turn
-- A pending turn is begun: it gets its place in the tree. No row: somebody else was first.
UPDATE turns SET parent_id = :parent, base_revision = :revision, begin_seq = :begin_seq, status = 'streaming',
       owner = :owner, fence = fence + 1, started_at = :now, depth = :depth, thread_tokens = :thread_tokens,
       thread_messages = :thread_messages, facts_json = :facts
 WHERE id = :turn AND status = 'pending' AND sealed_at IS NULL;

-- name: count_claim
UPDATE queue SET claims = claims + 1 WHERE turn_id = :turn;

-- name: give_back_turn
-- A start that failed before anything came: the message waits again.
UPDATE turns SET parent_id = NULL, base_revision = -1, status = 'pending', owner = NULL, fence = fence + 1, depth = 1,
       thread_tokens = 0, thread_messages = 0, facts_json = :facts
 WHERE id = :turn AND status = 'streaming' AND sealed_at IS NULL AND response_id IS NULL AND fence = :fence;

-- name: restamp_message
UPDATE chat_messages SET metadata_json = :metadata, created_at = :at, updated_at = greatest(updated_at, :now)
 WHERE id = :id;

-- name: put_behind
-- A row of another program.
UPDATE chat_messages SET created_at = :at, updated_at = greatest(updated_at, :at) WHERE id = :id;

-- name: find_delivery
SELECT session_id, turn_id, payload FROM deliveries WHERE source = :source AND delivery_id = :delivery;

-- name: insert_delivery
INSERT INTO deliveries (source, delivery_id, session_id, turn_id, payload, at)
VALUES (:source, :delivery, :session, :turn, :payload, :at);

-- name: get_permissions
SELECT permissions_json FROM chat_sessions WHERE id = :session;

-- name: set_permissions
UPDATE chat_sessions SET permissions_json = :permissions, updated_at = greatest(updated_at, :now) WHERE id = :session;

-- name: prune_part
INSERT INTO pruned (part_id, session_id, at) VALUES (:part, :session, :at) ON CONFLICT (part_id) DO NOTHING;

-- name: pruned_places
-- The pruned parts that a path lists: which message, which place in it.
WITH RECURSIVE path (id, parent_id, depth) AS (
    SELECT id, parent_id, depth FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth FROM turns t JOIN path ON t.id = path.parent_id AND t.depth < path.depth
)
SELECT p.message_id, p."index" FROM path CROSS JOIN turn_entries e CROSS JOIN pruned x CROSS JOIN chat_parts p
 WHERE e.turn_id = path.id AND e.kind = 'part' AND x.part_id = e.ref AND p.id = e.ref;

-- name: prunable_parts
-- Tool parts with an output, among those a turn lists.
SELECT p.id FROM turn_entries e JOIN chat_parts p ON p.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'part' AND p.tool_state = 'output-available';

-- name: path_kinds
-- The turns on the way to a turn, from the root.
WITH RECURSIVE path (id, parent_id, depth, kind) AS (
    SELECT id, parent_id, depth, kind FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth, t.kind FROM turns t JOIN path ON t.id = path.parent_id AND t.depth < path.depth
)
SELECT id, kind FROM path ORDER BY depth;

-- name: any_pruned
SELECT 1 FROM pruned LIMIT 1;

-- name: delete_part
-- Of an open turn that is cut back to its last step: the part goes on in the turn that continues it.
DELETE FROM chat_parts WHERE id = :id;
