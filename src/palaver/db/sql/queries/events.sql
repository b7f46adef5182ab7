-- name: append_chunk
-- The path of a streamed chunk: guarded by the turn's seal, its fence and the session's numbering. No row: read again.
INSERT INTO events (session_id, seq, kind, turn, data, at)
SELECT :session, :seq, 'chunk', t.begin_seq, :data, :at FROM turns t JOIN heads h ON h.session_id = :session
 WHERE t.id = :turn AND t.sealed_at IS NULL AND t.fence = :fence AND :seq > h.event_seq
-- postgres: FOR SHARE OF h
ON CONFLICT (session_id, seq) DO NOTHING;

-- name: insert_event
INSERT INTO events (session_id, seq, kind, turn, data, at) VALUES (:session, :seq, :kind, :turn, :data, :at);

-- name: where_turn_stands
SELECT t.status, t.sealed_at, t.fence, h.event_seq, h.revision,
       (SELECT max(e.seq) FROM events e WHERE e.session_id = :session)
  FROM turns t JOIN heads h ON h.session_id = t.session_id
 WHERE t.id = :turn AND t.session_id = :session;

-- name: take_turn
-- The same for who writes next: nobody else takes a number in this session until the commit.
-- postgres locks: session
SELECT t.status, t.sealed_at, t.fence, h.event_seq, h.revision,
       (SELECT max(e.seq) FROM events e WHERE e.session_id = :session)
  FROM turns t JOIN heads h ON h.session_id = t.session_id
 WHERE t.id = :turn AND t.session_id = :session;

-- name: events_of_turn
SELECT seq, kind, data, at FROM events
 WHERE session_id = :session AND seq > :begin_seq AND turn = :begin_seq ORDER BY seq;

-- name: chunk_at
SELECT data FROM events WHERE session_id = :session AND seq > :begin_seq AND turn = :begin_seq AND kind = 'chunk'
 ORDER BY seq LIMIT 1 OFFSET :at;

-- name: events_after
-- What happened to a session, moves of its head included.
SELECT seq, kind, turn, data, at, NULL AS turn_id, NULL AS revision, NULL AS reason FROM events
 WHERE session_id = :session AND seq > :after
UNION ALL
SELECT seq, kind, NULL, NULL, at, turn_id, revision, reason FROM reflog
 WHERE session_id = :session AND seq > :after
 ORDER BY 1 LIMIT :limit;

-- name: strays
SELECT data FROM events WHERE session_id = :session AND kind = 'stray' ORDER BY seq;

-- name: floor_of
SELECT events_floor, event_seq FROM heads WHERE session_id = :session;

-- name: turns_to_trim
-- Sealed some time ago, and their chunks are still there.
SELECT session_id, id, begin_seq FROM turns WHERE live = 1 AND sealed_at <= :before LIMIT :limit;

-- name: line_after
-- The next move of a head, and where it went.
SELECT seq, turn_id FROM reflog WHERE session_id = :session AND seq > :after ORDER BY seq LIMIT 1;

-- name: events_between
-- Without their data: how large it is.
SELECT seq, kind, turn, octet_length(data) FROM events
 WHERE session_id = :session AND seq > :after AND seq < :before ORDER BY seq LIMIT :limit;

-- name: trim_chunks
DELETE FROM events
 WHERE session_id = :session AND seq >= :first AND seq <= :last AND turn = :begin_seq AND kind = 'chunk';

-- name: raise_floor
UPDATE heads SET events_floor = greatest(events_floor, :floor) WHERE session_id = :session;

-- name: set_trimmed
UPDATE turns SET live = 0 WHERE id = :turn AND sealed_at IS NOT NULL;

-- name: get_setting
SELECT value FROM settings WHERE name = :name;

-- name: put_setting
INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value;

-- name: write_journal
INSERT INTO journal (session_id, seq, statement, data)
SELECT CAST(:session AS TEXT), coalesce(max(j.seq), 0) + 1, :statement, :data FROM journal j WHERE j.session_id = :session;

-- name: streaming_response
-- The open turn whose response a message is.
SELECT t.begin_seq, t.usage_told, t.id FROM turn_entries e
  JOIN turns t ON t.id = e.turn_id AND t.response_id = e.ref AND t.sealed_at IS NULL
 WHERE e.ref = :message AND e.kind = 'message';

-- name: newest_journal
SELECT max(seq) FROM journal WHERE session_id = :session GROUP BY session_id;

-- name: part_is_listed
SELECT 1 FROM turn_entries WHERE turn_id = :turn AND ref = :part AND kind = 'part' LIMIT 1;

-- name: read_journal
SELECT seq, statement, data FROM journal WHERE session_id = :session ORDER BY seq;

-- name: journaled_sessions
SELECT session_id FROM journal UNION SELECT session_id FROM heads ORDER BY session_id;

-- name: home_of_part
SELECT session_id FROM chat_parts WHERE id = :id;

-- name: data_of_part
SELECT data_json FROM chat_parts WHERE id = :id;

-- name: home_of_message
SELECT session_id FROM chat_messages WHERE id = :id;

-- name: streamed_part
-- The open turn that a part streams in, and its place there.
SELECT t.begin_seq, p."index", t.id FROM chat_parts p
  JOIN turn_entries e ON e.ref = p.message_id AND e.kind = 'message'
  JOIN turns t ON t.id = e.turn_id AND t.response_id = p.message_id AND t.sealed_at IS NULL
 WHERE p.id = :id;

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

-- name: any_session
SELECT 1 FROM chat_sessions LIMIT 1;
