-- name: append_chunk
-- The path of a streamed chunk: guarded by the turn's seal, its fence and the session's numbering. No row: read again.
INSERT INTO events (session_id, seq, kind, turn, data, at)
SELECT :session, :seq, 'chunk', t.begin_seq, :data, :at FROM turns t
 WHERE t.id = :turn AND t.sealed_at IS NULL AND t.fence = :fence
   AND :seq > (SELECT h.event_seq FROM heads h WHERE h.session_id = :session)
ON CONFLICT (session_id, seq) DO NOTHING;

-- name: insert_event
INSERT INTO events (session_id, seq, kind, turn, data, at) VALUES (:session, :seq, :kind, :turn, :data, :at);

-- name: where_turn_stands
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
