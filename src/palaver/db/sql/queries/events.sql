-- What happens to a session, numbered.

-- name: append_chunk
-- The path of a streamed chunk: guarded by the turn's seal, its fence and the session's numbering. No row: read again.
INSERT INTO events (session_id, seq, kind, turn, data, at)
SELECT :session, :seq, 'chunk', t.begin_seq, :data, :at FROM turns t JOIN heads h ON h.session_id = :session
 WHERE t.id = :turn AND t.sealed_at IS NULL AND t.fence = :fence AND :seq > h.event_seq
-- postgres: FOR SHARE OF h
ON CONFLICT (session_id, seq) DO NOTHING;

-- snippet: chunks
INSERT INTO {space}.events (session_id, seq, kind, turn, data, at)
SELECT r.session_id, r.seq, 'chunk', t.begin_seq, r.data, r.at
  FROM unnest(:sessions::text[], :seqs::bigint[], :datas::text[], :ats::bigint[], :turns::text[], :fences::bigint[])
       AS r (session_id, seq, data, at, turn, fence)
  JOIN {space}.turns t ON t.id = r.turn JOIN {space}.heads h ON h.session_id = r.session_id
 WHERE t.sealed_at IS NULL AND t.fence = r.fence AND r.seq > h.event_seq
   FOR SHARE OF h
ON CONFLICT (session_id, seq) DO NOTHING RETURNING session_id, seq

-- name: append_chunks
-- The same for the chunks of many streams at once; it says which of them were taken. The names carry their space, so that
-- on a connection of our own it is a transaction by itself.
-- postgres:
{chunks};

-- name: append_chunks_and_parts
-- The same, and the rows of parts that are due: each only if its chunk is taken, whose session is then ours to the end.
-- postgres:
WITH taken AS ({chunks}), saved AS (
    UPDATE {space}.chat_parts p
       SET type = r.type, data_json = r.data, tool_call_id = r.call, tool_state = r.state,
           updated_at = greatest(p.updated_at, r.at)
      FROM unnest(:part_sessions::text[], :part_seqs::bigint[], :types::text[], :part_datas::text[],
                  :calls::text[], :states::text[], :part_ats::bigint[], :ids::text[])
           AS r (session_id, seq, type, data, call, state, at, id)
      JOIN taken t ON t.session_id = r.session_id AND t.seq = r.seq
     WHERE p.id = r.id)
SELECT session_id, seq FROM taken;

-- name: insert_event
INSERT INTO events (session_id, seq, kind, turn, data, at) VALUES (:session, :seq, :kind, :turn, :data, :at);

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

-- name: stray_events
SELECT seq, data FROM events WHERE session_id = :session AND kind = 'stray' ORDER BY seq;

-- name: floor_of
SELECT events_floor, event_seq FROM heads WHERE session_id = :session;
