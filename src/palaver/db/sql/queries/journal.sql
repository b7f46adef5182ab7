-- The journal of a store that keeps everything, and rows made again from it.

-- name: write_journal
INSERT INTO journal (session_id, seq, statement, data)
SELECT CAST(:session AS TEXT), coalesce(max(j.seq), 0) + 1, :statement, :data FROM journal j WHERE j.session_id = :session;

-- name: newest_journal
SELECT max(seq) FROM journal WHERE session_id = :session GROUP BY session_id;

-- name: read_journal
SELECT seq, statement, data FROM journal WHERE session_id = :session ORDER BY seq;

-- name: journaled_sessions
SELECT session_id FROM journal UNION SELECT session_id FROM heads ORDER BY session_id;

-- name: home_of_message
SELECT session_id FROM chat_messages WHERE id = :id;

-- name: home_of_part
SELECT session_id FROM chat_parts WHERE id = :id;

-- name: data_of_part
SELECT data_json FROM chat_parts WHERE id = :id;

-- name: streaming_response
-- The open turn whose response a message is.
SELECT t.begin_seq, t.usage_told, t.id AS turn_id FROM turn_entries e
  JOIN turns t ON t.id = e.turn_id AND t.response_id = e.ref AND t.sealed_at IS NULL
 WHERE e.ref = :message AND e.kind = 'message';

-- name: streamed_part
-- The open turn that a part streams in, and its place there.
SELECT t.begin_seq, p."index", t.id AS turn_id FROM chat_parts p
  JOIN turn_entries e ON e.ref = p.message_id AND e.kind = 'message'
  JOIN turns t ON t.id = e.turn_id AND t.response_id = p.message_id AND t.sealed_at IS NULL
 WHERE p.id = :id;

-- name: part_is_listed
SELECT 1 FROM turn_entries WHERE turn_id = :turn AND ref = :part AND kind = 'part' LIMIT 1;

-- name: rows_of_session_messages
SELECT {columns chat_messages} FROM chat_messages WHERE session_id = :session ORDER BY created_at, id;

-- name: rows_of_session_parts
SELECT {columns chat_parts} FROM chat_parts WHERE session_id = :session ORDER BY message_id, "index";

-- name: restore_session
INSERT INTO chat_sessions ({columns chat_sessions}) VALUES ({values chat_sessions})
ON CONFLICT (id) DO UPDATE SET {sets chat_sessions};

-- name: restore_message
INSERT INTO chat_messages ({columns chat_messages}) VALUES ({values chat_messages})
ON CONFLICT (id) DO UPDATE SET {sets chat_messages};

-- name: restore_part
INSERT INTO chat_parts ({columns chat_parts}) VALUES ({values chat_parts})
ON CONFLICT (id) DO UPDATE SET {sets chat_parts};
