-- Statements of `verify` go by windows: so many rows from a key on, and then from the last one on. None takes long,
-- however large the store is. Large values are left out (`inline`), and read one at a time. The lines that list a message
-- come as one text (turn, number; turn, number …), asked for message by message: no engine can then choose a way that is
-- quadratic because it does not know how large the tables are.

-- name: turn_edges
-- The tree, and what is summed up along it.
SELECT t.id, t.parent_id, t.session_id, t.base_revision, t.status, t.live, t.sealed_at, t.response_id, t.usage_told,
       t.input_tokens, t.output_tokens, t.reasoning_tokens, t.cache_read, t.cache_write, t.started_at, t.begin_seq,
       t.fence, t.cost_usd,
       (SELECT count(CASE e.kind WHEN 'message' THEN 1 END) FROM turn_entries e WHERE e.turn_id = t.id) AS messages
  FROM turns t WHERE t.id >= :after ORDER BY t.id LIMIT :limit;

-- name: turns_beside_parents
SELECT t.id, t.parent_id, t.session_id, t.kind, t.status, t.sealed_at, t.digest, t.depth, t.thread_tokens,
       t.thread_messages, t.response_id, p.sealed_at AS parent_sealed_at, p.digest AS parent_digest, t.facts_json
  FROM turns t LEFT JOIN turns p ON p.id = t.parent_id WHERE t.id >= :after ORDER BY t.id LIMIT :limit;

-- name: stored_lines
-- Lines of turns beside the rows that they are about.
SELECT e.turn_id, e.seq, e.kind, e.ref, e.salt, e.leaf, coalesce(m.role, p.type) AS name, p.message_id,
       coalesce(octet_length(m.metadata_json), octet_length(p.data_json)) AS size,
       CASE WHEN octet_length(m.metadata_json) <= :inline THEN m.metadata_json
            WHEN octet_length(p.data_json) <= :inline THEN p.data_json END AS stored
  FROM turn_entries e
  LEFT JOIN chat_messages m ON e.kind = 'message' AND m.id = e.ref
  LEFT JOIN chat_parts p ON e.kind = 'part' AND p.id = e.ref
 WHERE (e.turn_id, e.seq) > (:turn, :seq) AND e.turn_id <= :last ORDER BY e.turn_id, e.seq LIMIT :limit;

-- name: parts_of_listed
-- The parts that the messages of some turns have, whoever wrote them.
SELECT e.turn_id, e.ref, p.id FROM turn_entries e CROSS JOIN chat_parts p
 WHERE e.turn_id >= :first AND e.turn_id <= :last AND e.kind = 'message' AND p.message_id = e.ref
 ORDER BY e.turn_id, e.seq, p."index", p.id;

-- name: metadata_of_message
SELECT metadata_json FROM chat_messages WHERE id = :id;

-- name: all_sessions
SELECT s.id, s.agent, s.model_json, s.permissions_json, s.metadata_json, s.prompt_tokens, s.completion_tokens,
       s.reasoning_tokens, s.cache_read, s.cache_write, s.total_tokens, h.session_id AS head_of, h.turn_id, h.revision,
       h.event_seq, h.preview, h.deleted_at, h.relation, s.created_at, s.updated_at,
       s.cost_usd, h.last_at
  FROM chat_sessions s LEFT JOIN heads h ON h.session_id = s.id WHERE s.id >= :after ORDER BY s.id LIMIT :limit;

-- name: messages_of_session
SELECT m.id, m.role, CASE WHEN octet_length(m.metadata_json) <= :inline THEN m.metadata_json END AS metadata_json,
       m.created_at,
       (SELECT group_concat(e.turn_id || :field || CAST(e.seq AS TEXT), :line) FROM turn_entries e
         WHERE e.ref = m.id AND e.kind = 'message') AS entries
  FROM chat_messages m
 WHERE m.session_id = :session AND (m.created_at, m.id) > (:at, :after) ORDER BY m.created_at, m.id LIMIT :limit;

-- name: copies_of_session
-- And the lines that list what they are copies of.
SELECT c.copy_id, c.message_id, m.id AS row_id,
       CASE WHEN octet_length(m.metadata_json) <= :inline THEN m.metadata_json END AS metadata_json,
       (SELECT group_concat(e.turn_id || :field || CAST(e.seq AS TEXT), :line) FROM turn_entries e
         WHERE e.ref = c.message_id AND e.kind = 'message') AS entries
  FROM copies c LEFT JOIN chat_messages m ON m.id = c.copy_id
 WHERE c.session_id = :session AND (c.message_id, c.copy_id) > (:message, :after)
 ORDER BY c.message_id, c.copy_id LIMIT :limit;

-- name: lines_of_session
SELECT seq, kind, turn_id, revision, at, ref_seq, reason, link FROM reflog
 WHERE session_id = :session AND seq > :after ORDER BY seq LIMIT :limit;

-- name: max_event
SELECT max(seq) FROM events WHERE session_id = :session;

-- name: homes_of_messages
SELECT m.id, m.session_id,
       (SELECT group_concat(e.turn_id || :field || CAST(e.seq AS TEXT), :line) FROM turn_entries e
         WHERE e.ref = m.id AND e.kind = 'message') AS entries
  FROM chat_messages m WHERE m.id >= :after ORDER BY m.id LIMIT :limit;

-- name: lines_that_list
SELECT turn_id, seq FROM turn_entries WHERE ref = :message AND kind = 'message';

-- name: places_of_parts
-- How the parts of messages are numbered.
SELECT p.message_id, count(*) AS parts, min(p."index") AS lowest, max(p."index") AS highest,
       count(DISTINCT p."index") AS different
  FROM chat_parts p
 WHERE p.message_id >= :first AND p.message_id <= :last GROUP BY p.message_id ORDER BY p.message_id;

-- name: columns_of_parts
-- Where a part says it is, where its message is; of a tool's part, what its columns are taken from.
SELECT w.id, w.session_id, m.session_id AS home, w.type, w.tool_call_id, w.tool_state, w.size,
       CASE WHEN w.size <= :inline THEN w.data_json END AS data_json
  FROM (SELECT p.id, p.message_id, p.session_id, p.type, p.tool_call_id, p.tool_state, p.data_json,
               CASE WHEN p.tool_call_id IS NOT NULL OR p.tool_state IS NOT NULL OR p.type = 'dynamic-tool'
                      OR (p.type >= 'tool-' AND p.type < 'tool.') THEN octet_length(p.data_json) END AS size
          FROM chat_parts p WHERE p.id >= :after ORDER BY p.id LIMIT :limit) w
  LEFT JOIN chat_messages m ON m.id = w.message_id
 ORDER BY w.id;

-- name: all_prompts
SELECT digest, octet_length(body) AS size, CASE WHEN octet_length(body) <= :inline THEN body END AS body
  FROM system_prompts
 WHERE digest >= :after ORDER BY digest LIMIT :limit;

-- name: natives_beside_turns
-- Items of other programs beside the turns that they were given for.
SELECT n.turn_id, n.seq, n.session_id, n.item, n.digest, octet_length(n.body) AS size,
       CASE WHEN octet_length(n.body) <= :inline THEN n.body END AS body, n.codec, t.session_id AS home, t.sealed_at
  FROM natives n LEFT JOIN turns t ON t.id = n.turn_id
 WHERE (n.turn_id, n.seq) > (:turn, :seq) ORDER BY n.turn_id, n.seq LIMIT :limit;

-- name: body_of_native
SELECT body FROM natives WHERE turn_id = :turn AND seq = :seq;

-- name: heads_beside_sessions
SELECT h.session_id, s.id AS row_id FROM heads h LEFT JOIN chat_sessions s ON s.id = h.session_id
 WHERE h.session_id >= :after ORDER BY h.session_id LIMIT :limit;

-- name: lock_session
-- Who mends a copy holds these rows until the commit.
-- postgres locks: session
SELECT s.id FROM chat_sessions s WHERE s.id = :session
-- postgres: FOR UPDATE
;

-- name: sums_beside_parent
-- Of a sealed turn: what its parent has, and what it adds.
SELECT coalesce(p.depth, 0) AS parent_depth, coalesce(p.thread_tokens, 0) AS parent_tokens,
       coalesce(p.thread_messages, 0) AS parent_messages,
       (SELECT count(CASE e.kind WHEN 'message' THEN 1 END) FROM turn_entries e WHERE e.turn_id = t.id) AS messages,
       t.input_tokens, t.output_tokens, t.reasoning_tokens, t.cache_read, t.cache_write
  FROM turns t LEFT JOIN turns p ON p.id = t.parent_id WHERE t.id = :turn AND t.sealed_at IS NOT NULL;

-- name: set_thread
UPDATE turns SET depth = :depth, thread_tokens = :tokens, thread_messages = :messages WHERE id = :turn;

-- name: usage_texts
SELECT metadata_json FROM chat_messages
 WHERE session_id = :session AND role = 'assistant' AND metadata_json LIKE '%"usage"%';

-- name: set_rollups
UPDATE chat_sessions SET prompt_tokens = :input, completion_tokens = :output, reasoning_tokens = :reasoning,
       cache_read = :cache_read, cache_write = :cache_write, total_tokens = :total
 WHERE id = :session;

-- name: filled_turns
SELECT id, session_id, parent_id, depth, kind, sealed_at, facts_json, jump, thread_results, thread_calls, {facts}
  FROM turns WHERE id >= :after ORDER BY id LIMIT :limit;
