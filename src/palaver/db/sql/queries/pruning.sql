-- Tool outputs that a model need not see again.

-- name: prune_part
INSERT INTO pruned (part_id, session_id, at) VALUES (:part, :session, :at) ON CONFLICT (part_id) DO NOTHING;

-- name: any_pruned
SELECT 1 FROM pruned LIMIT 1;

-- name: pruned_places
-- The pruned parts that a path lists: which message, which place in it.
{path}
SELECT p.message_id, p."index" FROM path CROSS JOIN turn_entries e CROSS JOIN pruned x CROSS JOIN chat_parts p
 WHERE e.turn_id = path.id AND e.kind = 'part' AND x.part_id = e.ref AND p.id = e.ref;

-- name: prunable_parts
-- Tool parts with an output, among those a turn lists.
SELECT p.id FROM turn_entries e JOIN chat_parts p ON p.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'part' AND p.tool_state = 'output-available';
