-- Rows as an import takes them in. No row changed: the key is taken, or what the row belongs to is not there.

-- name: import_session
{put chat_sessions};

-- name: import_head
{put heads};

-- name: import_line
{put reflog};

-- name: import_turn
-- What is derived (jump, sums of tools, the facts that are columns) is filled afterwards, as in an older store.
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, sealed_at, digest,
    depth, thread_tokens, thread_messages, response_id, input_tokens, output_tokens, reasoning_tokens, cache_read,
    cache_write, cost_usd, usage_told, facts_json, live
) VALUES (
    :id, :parent_id, :session_id, :base_revision, :begin_seq, :kind, :status, NULL, :fence, :started_at, :sealed_at,
    :digest, :depth, :thread_tokens, :thread_messages, :response_id, :input_tokens, :output_tokens, :reasoning_tokens,
    :cache_read, :cache_write, :cost_usd, :usage_told, :facts_json, CASE WHEN CAST(:sealed_at AS INTEGER) IS NULL THEN 1 ELSE 0 END
) ON CONFLICT (id) DO NOTHING;

-- name: import_entry
INSERT INTO turn_entries ({columns turn_entries}) SELECT {values turn_entries} FROM turns t
 WHERE t.id = :turn_id AND t.session_id = :group
ON CONFLICT (turn_id, seq) DO NOTHING;

-- name: import_message
{put chat_messages};

-- name: import_part
INSERT INTO chat_parts ({columns chat_parts}) SELECT {values chat_parts}
  FROM chat_messages m WHERE m.id = :message_id AND m.session_id = :group
ON CONFLICT (id) DO NOTHING;

-- name: import_event
{put events};

-- name: import_copy
INSERT INTO copies ({columns copies}) SELECT {values copies} FROM chat_messages m
 WHERE m.id = :copy_id AND m.session_id = :group
ON CONFLICT (copy_id) DO NOTHING;

-- name: import_alias
{put aliases};

-- name: import_foreign_id
INSERT INTO foreign_ids ({columns foreign_ids})
SELECT :origin, :scope, :foreign_id, s.id_there FROM (
    SELECT id AS id_there FROM chat_sessions WHERE id = :id AND id = :group
    UNION ALL SELECT id FROM turns WHERE id = :id AND session_id = :group
    UNION ALL SELECT id FROM chat_messages WHERE id = :id AND session_id = :group
    UNION ALL SELECT id FROM chat_parts WHERE id = :id AND session_id = :group
) s WHERE s.id_there IS NOT NULL
ON CONFLICT (origin, scope, foreign_id) DO NOTHING;

-- name: import_queued
INSERT INTO queue ({columns queue})
SELECT :session_id, :id, t.id, :payload, :queued_at, :claims FROM turns t
 WHERE t.id = :turn_id AND t.session_id = :group
ON CONFLICT (session_id, id) DO NOTHING;

-- name: import_delivery
INSERT INTO deliveries ({columns deliveries})
SELECT :source, :delivery_id, :session_id, t.id, :payload, :at FROM turns t
 WHERE t.id = :turn_id AND t.session_id = :group
ON CONFLICT (source, delivery_id) DO NOTHING;

-- name: import_pruned
INSERT INTO pruned ({columns pruned})
SELECT p.id, :session_id, :at FROM chat_parts p WHERE p.id = :part_id
ON CONFLICT (part_id) DO NOTHING;

-- name: import_fact
{put session_facts};

-- name: import_usage
INSERT INTO usage ({columns usage}) SELECT {values usage} FROM chat_sessions c
 WHERE c.id = :group
   AND (CAST(:turn_id AS TEXT) IS NULL
        OR EXISTS (SELECT 1 FROM turns t WHERE t.id = :turn_id AND t.session_id = :group))
   AND (CAST(:message_id AS TEXT) IS NULL
        OR EXISTS (SELECT 1 FROM chat_messages m WHERE m.id = :message_id AND m.session_id = :group))
ON CONFLICT (session_id, n) DO NOTHING;

-- name: import_native
INSERT INTO natives ({columns natives}) SELECT {values natives} FROM turns t
 WHERE t.id = :turn_id AND t.session_id = :group AND t.sealed_at IS NOT NULL
ON CONFLICT (turn_id, seq) DO NOTHING;

-- name: import_prompt
{put system_prompts};

-- name: import_body
{put bodies};

-- What follows from rows that came in.

-- name: import_live
-- Chunks of sealed turns, from a store that keeps everything, are trimmed here like others, unless this one does, too.
UPDATE turns SET live = 1
 WHERE session_id = :session AND sealed_at IS NOT NULL
   AND begin_seq IN (SELECT e.turn FROM events e WHERE e.session_id = :session AND e.kind = 'chunk')
   AND NOT EXISTS (SELECT 1 FROM settings s WHERE s.name = 'events' AND s.value = 'full');

-- name: import_last_message
-- An export of version 1 does not say it, and a husk that takes in more has another.
UPDATE heads SET last_message_at =
       (SELECT CAST(max(m.created_at) AS INTEGER) FROM chat_messages m WHERE m.session_id = :session)
 WHERE session_id = :session;

-- A husk that an import makes whole: its own rows are replaced, what it holds for others stays.

-- name: complete_session
-- Who it was opened with, and when, is what the husk says already.
UPDATE chat_sessions
   SET workspace_root = :workspace_root, model_json = :model_json, parent_id = :parent_id,
       parent_message_id = :parent_message_id, permissions_json = :permissions_json, metadata_json = :metadata_json,
       prompt_tokens = :prompt_tokens, completion_tokens = :completion_tokens, reasoning_tokens = :reasoning_tokens,
       cache_read = :cache_read, cache_write = :cache_write, total_tokens = :total_tokens, cost_usd = :cost_usd,
       updated_at = :updated_at, archived_at = :archived_at
 WHERE id = :id AND agent = :agent AND created_at = :created_at;

-- name: complete_message
UPDATE chat_messages SET metadata_json = :metadata_json, updated_at = :updated_at
 WHERE id = :id AND session_id = :session_id;

-- name: drop_head
DELETE FROM heads WHERE session_id = :session;

-- name: drop_reflog
DELETE FROM reflog WHERE session_id = :session;

-- name: drop_usage
DELETE FROM usage WHERE session_id = :session;

-- name: drop_facts
DELETE FROM session_facts WHERE session_id = :session;

-- name: drop_natives
DELETE FROM natives WHERE session_id = :session;

-- name: count_turns
SELECT count(*) FROM turns WHERE session_id = :session;

-- name: count_messages
SELECT count(*) FROM chat_messages WHERE session_id = :session;

-- name: count_usage
SELECT count(*) FROM usage WHERE session_id = :session;

-- name: count_facts
SELECT count(*) FROM session_facts WHERE session_id = :session;

-- name: count_natives
SELECT count(*) FROM natives WHERE session_id = :session;

-- Proof of what came in.

-- name: import_standing
SELECT h.revision, h.deleted_at FROM chat_sessions s LEFT JOIN heads h ON h.session_id = s.id WHERE s.id = :session;

-- name: import_owner_of
-- Whose row it is that is in the way.
SELECT session_id FROM chat_messages WHERE id = :id
UNION ALL SELECT session_id FROM chat_parts WHERE id = :id
UNION ALL SELECT session_id FROM turns WHERE id = :id;

-- name: import_fact_twice
SELECT name FROM session_facts WHERE session_id = :session GROUP BY name HAVING count(*) > 1 ORDER BY name LIMIT 1;

-- name: import_key_twice
-- A response that is counted twice: its later row.
SELECT max(n) FROM usage WHERE session_id = :session AND key IS NOT NULL GROUP BY key HAVING count(*) > 1
 ORDER BY max(n) LIMIT 1;

-- name: import_too_much
-- A turn that would have used more than can be counted (2⁵³); added up so that no sum overflows.
SELECT turn_id FROM usage WHERE session_id = :session AND turn_id IS NOT NULL GROUP BY turn_id
HAVING greatest(sum(input * 1.0), sum(output * 1.0), sum(reasoning * 1.0), sum(cache_read * 1.0),
                sum(cache_write * 1.0)) > 9007199254740992
 ORDER BY turn_id LIMIT 1;

-- name: import_sizes
SELECT e.seq, coalesce(octet_length(m.metadata_json), 0) + coalesce(octet_length(p.data_json), 0) FROM turn_entries e
  LEFT JOIN chat_messages m ON e.kind = 'message' AND m.id = e.ref
  LEFT JOIN chat_parts p ON e.kind = 'part' AND p.id = e.ref
 WHERE e.turn_id = :turn AND e.seq > :after ORDER BY e.seq LIMIT :limit;

-- name: import_lines
-- A turn's lines beside the rows that they are about; `told`: the store added usage to the message.
SELECT e.kind, e.ref, e.salt, e.leaf, coalesce(m.role, p.type) AS name,
       coalesce(m.metadata_json, p.data_json) AS stored,
       (SELECT max(t.usage_told) FROM turn_entries o JOIN turns t ON t.id = o.turn_id AND t.response_id = e.ref
         WHERE e.kind = 'message' AND o.ref = e.ref AND o.kind = 'message') AS usage_told, p.message_id
  FROM turn_entries e
  LEFT JOIN chat_messages m ON e.kind = 'message' AND m.id = e.ref
  LEFT JOIN chat_parts p ON e.kind = 'part' AND p.id = e.ref
 WHERE e.turn_id = :turn AND e.seq > :after AND e.seq <= :upto ORDER BY e.seq;
