-- Rows as an export writes them, all columns in the order of schema.sql, a page or a row at a time.

-- name: export_lineage
SELECT s.id, coalesce(h.origin_id, s.parent_id) AS origin_id FROM chat_sessions s LEFT JOIN heads h ON h.session_id = s.id
 WHERE s.id > :after ORDER BY s.id LIMIT :limit;

-- name: export_turn_homes
SELECT id, session_id FROM turns WHERE id > :after ORDER BY id LIMIT :limit;

-- name: export_turn_edges
-- Which sessions' turns stand on turns of other sessions …
-- plan: free
SELECT DISTINCT t.session_id, p.session_id FROM turns t JOIN turns p ON p.id = t.parent_id
 WHERE p.session_id <> t.session_id;

-- name: export_message_edges
-- … or list messages of other sessions …
-- plan: free
SELECT DISTINCT t.session_id, m.session_id FROM turns t
  JOIN turn_entries e ON e.turn_id = t.id AND e.kind = 'message'
  JOIN chat_messages m ON m.id = e.ref
 WHERE m.session_id <> t.session_id;

-- name: export_reflog_edges
-- … and whose heads ever stood on turns of other sessions.
-- plan: free
SELECT DISTINCT r.session_id, t.session_id FROM reflog r JOIN turns t ON t.id = r.turn_id
 WHERE t.session_id <> r.session_id;

-- name: export_stood_on
SELECT DISTINCT t.id, t.session_id FROM reflog r JOIN turns t ON t.id = r.turn_id WHERE r.session_id = :session;

-- name: export_home_of
SELECT session_id FROM turns WHERE id = :turn;

-- name: export_parent
SELECT p.id, p.session_id FROM turns t JOIN turns p ON p.id = t.parent_id WHERE t.id = :turn;

-- name: export_listed
SELECT m.id, m.session_id FROM turn_entries e JOIN chat_messages m ON m.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'message' ORDER BY e.seq;

-- name: export_first_turn
-- The turn in which a message was written: the first one of its home that lists it.
SELECT t.id FROM turn_entries e JOIN turns t ON t.id = e.turn_id
 WHERE e.ref = :message AND e.kind = 'message' AND t.session_id = :home AND t.sealed_at IS NOT NULL
 ORDER BY t.begin_seq, t.id LIMIT 1;

-- name: export_session
SELECT {columns chat_sessions} FROM chat_sessions WHERE id = :session;

-- name: export_head
-- Chunks that are yet to be trimmed are not exported: the floor is what it will be.
SELECT session_id, turn_id, prev_turn_id, revision, event_seq,
       greatest(events_floor, coalesce((
           SELECT max(e.seq) FROM turns t JOIN events e ON e.session_id = :session AND e.turn = t.begin_seq
            WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NOT NULL AND e.kind = 'chunk'), 0)),
       last_at, looked_at, relation, origin_id,
       origin_turn, origin_call, scope_json, title, preview, deleted_at,
       ended_at, end_reason, last_message_at
  FROM heads WHERE session_id = :session;

-- name: export_reflog
SELECT {columns reflog} FROM reflog WHERE session_id = :session AND seq > :after ORDER BY seq LIMIT :limit;

-- name: export_turn
-- The owner is a process of this machine: it means nothing elsewhere.
SELECT id, parent_id, session_id, base_revision, begin_seq, kind, status, NULL, fence, started_at, sealed_at, digest,
       depth, thread_tokens, thread_messages, response_id, input_tokens, output_tokens, reasoning_tokens, cache_read,
       cache_write, cost_usd, usage_told, facts_json
  FROM turns WHERE id = :turn;

-- name: export_entries
SELECT {columns turn_entries} FROM turn_entries WHERE turn_id = :turn AND seq > :after ORDER BY seq LIMIT :limit;

-- name: export_message_keys
SELECT created_at, id FROM chat_messages
 WHERE session_id = :session AND created_at >= :at AND (created_at > :at OR id > :after)
 ORDER BY created_at, id LIMIT :limit;

-- name: export_message
SELECT {columns chat_messages} FROM chat_messages WHERE id = :id;

-- name: export_part_keys
SELECT "index", id FROM chat_parts
 WHERE message_id = :message AND "index" >= :place AND ("index" > :place OR id > :after)
 ORDER BY "index", id LIMIT :limit;

-- name: export_part
SELECT {columns chat_parts} FROM chat_parts WHERE id = :id;

-- snippet: stays
-- Chunks that are yet to be trimmed are not exported.
NOT (kind = 'chunk' AND turn IN (
       SELECT t.begin_seq FROM turns t WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NOT NULL))

-- name: export_event_sizes
SELECT seq, octet_length(data) FROM events
 WHERE session_id = :session AND seq > :after
   AND {stays}
 ORDER BY seq LIMIT :limit;

-- name: export_events
SELECT {columns events} FROM events
 WHERE session_id = :session AND seq > :after AND seq <= :upto
   AND {stays}
 ORDER BY seq;

-- name: export_copies
SELECT {columns copies} FROM copies
 WHERE session_id = :session AND message_id >= :message AND (message_id > :message OR copy_id > :after)
 ORDER BY message_id, copy_id LIMIT :limit;

-- name: export_aliases
SELECT {columns aliases} FROM aliases WHERE session_id = :session ORDER BY namespace, name;

-- name: export_has_foreign_ids
SELECT 1 FROM foreign_ids LIMIT 1;

-- name: export_foreign_ids
SELECT {columns foreign_ids} FROM foreign_ids WHERE id = :id ORDER BY origin, scope, foreign_id;

-- name: export_queue
SELECT {columns queue} FROM queue WHERE session_id = :session ORDER BY id;

-- name: export_deliveries
SELECT {columns deliveries} FROM deliveries WHERE session_id = :session ORDER BY source, delivery_id;

-- name: export_pruned
SELECT {columns pruned} FROM pruned WHERE session_id = :session ORDER BY part_id;

-- name: export_facts
SELECT {columns session_facts} FROM session_facts WHERE session_id = :session ORDER BY name, value;

-- name: export_has_natives
SELECT 1 FROM natives LIMIT 1;

-- name: export_native_sizes
SELECT seq, octet_length(body) FROM natives WHERE turn_id = :turn AND seq > :after ORDER BY seq LIMIT :limit;

-- name: export_natives
SELECT {columns natives} FROM natives WHERE turn_id = :turn AND seq > :after AND seq <= :upto ORDER BY seq;

-- name: export_prompt
SELECT {columns system_prompts} FROM system_prompts WHERE digest = :digest;

-- name: export_body
SELECT {columns bodies} FROM bodies WHERE digest = :digest;
