-- name: insert_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, depth,
    thread_tokens, thread_messages, response_id, facts_json, live
) VALUES (
    :id, :parent, :session, :revision, :begin_seq, :kind, :status, :owner, 1, :now, :depth,
    :thread_tokens, :thread_messages, NULL, :facts, 1
);

-- name: insert_sealed_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, sealed_at, digest,
    depth, thread_tokens, thread_messages, response_id, input_tokens, output_tokens, reasoning_tokens, cache_read,
    cache_write, cost_usd, usage_told, facts_json
) VALUES (
    :id, :parent, :session, :revision, :begin_seq, :kind, :status, NULL, 1, :now, :now, :digest,
    :depth, :thread_tokens, :thread_messages, :response, :input, :output, :reasoning, :cache_read,
    :cache_write, :cost, :told, :facts
);

-- name: insert_message
INSERT INTO chat_messages (id, session_id, role, metadata_json, created_at, updated_at)
VALUES (:id, :session, :role, :metadata, :at, :at);

-- name: insert_part
INSERT INTO chat_parts (
    id, message_id, session_id, "index", type, data_json, tool_call_id, tool_state, created_at, updated_at
) VALUES (:id, :message, :session, :place, :type, :data, :call, :state, :at, :at);

-- name: insert_streamed_part
-- The row of a part that streams. Another program may have removed its message: then there is no row to hold it.
INSERT INTO chat_parts (
    id, message_id, session_id, "index", type, data_json, tool_call_id, tool_state, created_at, updated_at
) SELECT :id, m.id, :session, :place, :type, :data, :call, :state, :at, :at FROM chat_messages m WHERE m.id = :message;

-- name: update_part
UPDATE chat_parts SET type = :type, data_json = :data, tool_call_id = :call, tool_state = :state,
       updated_at = greatest(updated_at, :now)
 WHERE id = :id;

-- name: insert_entry
INSERT INTO turn_entries (turn_id, seq, kind, ref, client_id, salt, leaf)
VALUES (:turn, :seq, :kind, :ref, :client, :salt, :leaf);

-- name: fill_entry
UPDATE turn_entries SET salt = :salt, leaf = :leaf WHERE turn_id = :turn AND seq = :seq;

-- name: set_client_id
UPDATE turn_entries SET client_id = :client WHERE turn_id = :turn AND seq = :seq;

-- name: drop_entries
DELETE FROM turn_entries WHERE turn_id = :turn;

-- name: set_response
-- The guard of the first chunk: no row means that the turn is sealed or somebody else writes it now.
UPDATE turns SET response_id = :response WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: seal_turn
-- Its chunks are trimmed a little later, unless there are none, or the store keeps everything.
UPDATE turns SET status = :status, owner = NULL, sealed_at = :now, digest = :digest, thread_tokens = :thread_tokens,
       thread_messages = :thread_messages, facts_json = :facts,
       live = CASE WHEN :chunks = 0 OR EXISTS (SELECT 1 FROM settings s WHERE s.name = 'events' AND s.value = 'full')
              THEN 0 ELSE 1 END
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: set_status
UPDATE turns SET status = :status, owner = :owner, fence = fence + 1
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: turn_to_set_aside
SELECT base_revision, begin_seq, facts_json FROM turns WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: facts_of_turn
SELECT facts_json FROM turns WHERE id = :turn;

-- name: set_aside
-- A turn that cannot be sealed: closed without a digest. Its chunks stay, for they may be all that is left of it.
UPDATE turns SET status = 'aborted', owner = NULL, sealed_at = :now, facts_json = :facts, live = 0, fence = fence + 1
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: set_usage
UPDATE turns SET input_tokens = :input, output_tokens = :output, reasoning_tokens = :reasoning,
       cache_read = :cache_read, cache_write = :cache_write, cost_usd = :cost, usage_told = :told
 WHERE id = :turn;

-- name: set_facts
UPDATE turns SET facts_json = :facts WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: get_turn
SELECT id, parent_id, session_id, kind, status, base_revision, depth, started_at, sealed_at, digest, response_id,
       input_tokens, output_tokens, reasoning_tokens, cache_read, cache_write, cost_usd, thread_tokens,
       thread_messages, begin_seq, owner, fence, usage_told, facts_json
  FROM turns WHERE id = :turn;

-- name: thread_of
SELECT digest, depth, thread_tokens, thread_messages FROM turns WHERE id = :turn;

-- name: open_turns
SELECT id, base_revision, status, owner, begin_seq, response_id, fence FROM turns
 WHERE session_id = :session AND live = 1 AND sealed_at IS NULL ORDER BY begin_seq;

-- name: all_open_turns
SELECT session_id, id, status, owner FROM turns WHERE live = 1 AND sealed_at IS NULL;

-- name: entries_of
SELECT seq, kind, ref, client_id, salt, leaf FROM turn_entries WHERE turn_id = :turn ORDER BY seq;

-- name: turns_of_message
SELECT e.turn_id, e.client_id, t.sealed_at, t.depth, t.session_id FROM turn_entries e JOIN turns t ON t.id = e.turn_id
 WHERE e.ref = :message AND e.kind = 'message' AND t.status <> 'pending' ORDER BY t.depth, t.id;

-- name: home_turn_of_message
-- A message of this session: the first turn that lists it, that turn's parent and seal. If the message is not hidden, it
-- is in the transcript, and nobody needs to walk there.
SELECT e.turn_id, t.parent_id, t.sealed_at, m.metadata_json
  FROM turn_entries e JOIN turns t ON t.id = e.turn_id JOIN chat_messages m ON m.id = e.ref
 WHERE e.ref = :message AND e.kind = 'message' AND t.status <> 'pending' AND m.session_id = :session
 ORDER BY e.turn_id LIMIT 1;

-- name: parent_and_seal
-- Of a turn that has, or had, a place in the tree: not of a queued message.
SELECT parent_id, sealed_at FROM turns WHERE id = :turn AND base_revision >= 0;

-- name: path
-- The turns from a turn to its root, nearest first. Every walk ends, for the depth falls with each step; parents that go
-- round in a circle are named by verify.
WITH RECURSIVE path (id, parent_id, depth) AS (
    SELECT id, parent_id, depth FROM turns WHERE id = :turn
    UNION ALL
    SELECT t.id, t.parent_id, t.depth FROM turns t JOIN path ON t.id = path.parent_id AND t.depth < path.depth
)
SELECT id FROM path ORDER BY depth DESC;

-- name: message_is_taken
SELECT 1 FROM chat_messages WHERE id = :id;

-- name: get_message
SELECT id, session_id, role, metadata_json, created_at FROM chat_messages WHERE id = :id;

-- name: set_message_metadata
UPDATE chat_messages SET metadata_json = :metadata, updated_at = greatest(updated_at, :now) WHERE id = :id;

-- name: parts_of_message
SELECT id, "index", type, data_json FROM chat_parts WHERE message_id = :message ORDER BY "index", id;

-- name: home_messages_of_turn
-- The messages a turn lists that were first written in this session.
SELECT m.id, m.metadata_json FROM turn_entries e JOIN chat_messages m ON m.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'message' AND m.session_id = :session;

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

-- name: insert_copy
INSERT INTO copies (copy_id, session_id, message_id) VALUES (:copy, :session, :message);

-- name: copied_messages
SELECT message_id, copy_id FROM copies WHERE session_id = :session ORDER BY message_id;

-- name: loose_messages
-- Rows that no turn lists: written by another program.
SELECT m.id, m.role, m.metadata_json, m.created_at FROM chat_messages m
 WHERE m.session_id = :session AND m.created_at >= :since
   AND NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
   AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id)
 ORDER BY m.created_at, m.id;

-- name: loose_after
-- SQLite only (`Tx.watermark` is None elsewhere): the same among the rows that came since.
SELECT m.id, m.role, m.metadata_json, m.created_at FROM chat_messages m
 WHERE m.rowid > :watermark AND +m.session_id = :session -- by the rows that came, not by the session's
   AND NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
   AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id)
 ORDER BY m.created_at, m.id;

-- name: loose_in_session_after
-- SQLite only: the same where very many rows came, by the session's own.
SELECT m.id, m.role, m.metadata_json, m.created_at FROM chat_messages m
 WHERE m.session_id = :session AND +m.rowid > :watermark
   AND NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
   AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id)
 ORDER BY m.created_at, m.id;

-- name: newest_row
-- SQLite only.
SELECT max(rowid) FROM chat_messages;

-- name: sessions_with_loose_rows
SELECT DISTINCT m.session_id FROM chat_messages m
 WHERE NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
   AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id)
 ORDER BY 1;
