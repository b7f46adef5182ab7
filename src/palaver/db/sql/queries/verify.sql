-- name: all_turns
SELECT id, parent_id, session_id, kind, status, base_revision, depth, started_at, sealed_at, digest, response_id,
       input_tokens, output_tokens, reasoning_tokens, cache_read, cache_write, cost_usd, thread_tokens,
       thread_messages, begin_seq, owner, fence, usage_told, facts_json
  FROM turns ORDER BY depth, id;

-- name: stored_lines
-- A turn's lines beside the rows that they are about.
SELECT e.seq, e.kind, e.ref, e.salt, e.leaf, m.role, m.metadata_json, m.session_id, p.type, p.data_json, p.message_id
  FROM turn_entries e
  LEFT JOIN chat_messages m ON e.kind = 'message' AND m.id = e.ref
  LEFT JOIN chat_parts p ON e.kind = 'part' AND p.id = e.ref
 WHERE e.turn_id = :turn ORDER BY e.seq;

-- name: messages_per_turn
SELECT turn_id, count(*) FROM turn_entries WHERE kind = 'message' GROUP BY turn_id;

-- name: all_sessions
SELECT s.id, s.agent, s.model_json, s.permissions_json, s.metadata_json, s.prompt_tokens, s.completion_tokens,
       s.reasoning_tokens, s.cache_read, s.cache_write, s.total_tokens, h.turn_id, h.revision, h.event_seq, h.preview,
       h.deleted_at, h.session_id
  FROM chat_sessions s LEFT JOIN heads h ON h.session_id = s.id ORDER BY s.id;

-- name: heads_without_session
SELECT h.session_id FROM heads h WHERE NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.id = h.session_id);

-- name: messages_of_session
SELECT m.id, m.role, m.metadata_json, m.created_at,
       EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
  FROM chat_messages m WHERE m.session_id = :session ORDER BY m.created_at, m.id;

-- name: copies_of_session
SELECT c.copy_id, c.message_id, m.metadata_json FROM copies c JOIN chat_messages m ON m.id = c.copy_id
 WHERE c.session_id = :session ORDER BY c.copy_id;

-- name: visible_messages
-- What is on a path, or in an open turn that stands on the head.
WITH RECURSIVE path (id, parent_id) AS (
    SELECT id, parent_id FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id FROM turns t JOIN path ON t.id = path.parent_id
)
SELECT e.ref FROM path CROSS JOIN turn_entries e WHERE e.turn_id = path.id AND e.kind = 'message'
UNION
SELECT e.ref FROM turns t CROSS JOIN turn_entries e
 WHERE e.turn_id = t.id AND e.kind = 'message' AND t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL
   AND t.base_revision = :revision AND t.status <> 'pending';

-- name: misplaced_parts
SELECT p.id, p.session_id, m.session_id FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id
 WHERE p.session_id <> m.session_id;

-- name: hoisted_parts
SELECT id, type, data_json, tool_call_id, tool_state FROM chat_parts
 WHERE tool_call_id IS NOT NULL OR tool_state IS NOT NULL OR type = 'dynamic-tool' OR type LIKE 'tool-%';

-- name: uneven_messages
-- Messages whose parts are not numbered 0 to n-1, each once.
SELECT p.message_id, count(*), min(p."index"), max(p."index"), count(DISTINCT p."index") FROM chat_parts p
 WHERE EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = p.message_id AND e.kind = 'message')
 GROUP BY p.message_id
HAVING min(p."index") <> 0 OR max(p."index") <> count(*) - 1 OR count(DISTINCT p."index") <> count(*);

-- name: homeless_messages
-- Messages of ours that no turn of their own session lists: their session_id was changed.
SELECT m.id, m.session_id FROM chat_messages m
 WHERE EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
   AND NOT EXISTS (SELECT 1 FROM turn_entries e JOIN turns t ON t.id = e.turn_id
                    WHERE e.ref = m.id AND e.kind = 'message' AND t.session_id = m.session_id);

-- name: all_prompts
SELECT digest, body FROM system_prompts;

-- name: max_event
SELECT max(seq) FROM events WHERE session_id = :session;

-- name: set_thread
UPDATE turns SET depth = :depth, thread_tokens = :tokens, thread_messages = :messages WHERE id = :turn;

-- name: set_rollups
UPDATE chat_sessions SET prompt_tokens = :input, completion_tokens = :output, reasoning_tokens = :reasoning,
       cache_read = :cache_read, cache_write = :cache_write, total_tokens = :total
 WHERE id = :session;
