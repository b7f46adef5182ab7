-- Chunks of sealed turns go.

-- name: turns_to_trim
-- Sealed some time ago, and their chunks are still there.
SELECT session_id, id, begin_seq FROM turns WHERE live = 1 AND sealed_at <= :before LIMIT :limit;

-- name: line_after
-- The next move of a head, and where it went.
SELECT seq, turn_id FROM reflog WHERE session_id = :session AND seq > :after ORDER BY seq LIMIT 1;

-- name: events_between
-- Without their data: how large it is.
SELECT seq, kind, turn, octet_length(data) AS size FROM events
 WHERE session_id = :session AND seq > :after AND seq < :before ORDER BY seq LIMIT :limit;

-- name: trim_chunks
DELETE FROM events
 WHERE session_id = :session AND seq >= :first AND seq <= :last AND turn = :begin_seq AND kind = 'chunk';

-- name: raise_floor
UPDATE heads SET events_floor = greatest(events_floor, :floor) WHERE session_id = :session;

-- name: set_trimmed
UPDATE turns SET live = 0 WHERE id = :turn AND sealed_at IS NOT NULL;
