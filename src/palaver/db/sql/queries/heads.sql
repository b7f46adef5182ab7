-- name: take_head
-- Lock, clock and numbers at once: `stamps` strictly increasing created_at values end at last_at, `events` numbers at
-- event_seq. A time more than a day ahead, left by a broken clock, does not drag ours along.
UPDATE heads
   SET last_at = greatest(last_at + 1, :now, coalesce((
           SELECT max(m.created_at) + 1 FROM chat_messages m
            WHERE m.session_id = :session AND m.created_at < :now + 86400000), 0)) + :stamps - 1,
       event_seq = greatest(event_seq, coalesce((
           SELECT max(e.seq) FROM events e WHERE e.session_id = :session), 0)) + :events,
       preview = coalesce(preview, :preview)
 WHERE session_id = :session
RETURNING turn_id, revision, event_seq, last_at, looked_at, deleted_at,
    (SELECT s.archived_at FROM chat_sessions s WHERE s.id = :session),
    (SELECT count(*) FROM turns t WHERE t.session_id = :session AND t.sealed_at IS NULL);

-- name: read_head
SELECT turn_id, revision, event_seq, last_at, looked_at, deleted_at, relation, origin_id, origin_turn, title, preview
  FROM heads WHERE session_id = :session;

-- name: move_head
-- The compare-and-swap. No row: somebody else moved it first.
UPDATE heads SET prev_turn_id = turn_id, turn_id = :turn, revision = revision + 1
 WHERE session_id = :session AND revision = :expected
RETURNING revision,
    (SELECT r.link FROM reflog r WHERE r.session_id = :session ORDER BY r.seq DESC LIMIT 1);

-- name: looked
UPDATE heads SET looked_at = greatest(looked_at, :at) WHERE session_id = :session;

-- name: insert_line
INSERT INTO reflog (session_id, seq, kind, turn_id, revision, at, ref_seq, reason, link)
VALUES (:session, :seq, :kind, :turn, :revision, :at, :ref_seq, :reason, :link);

-- name: history
SELECT seq, kind, turn_id, revision, at, ref_seq, reason, link FROM reflog
 WHERE session_id = :session ORDER BY seq;

-- name: head_at
SELECT turn_id, revision, seq FROM reflog WHERE session_id = :session AND at <= :at ORDER BY seq DESC LIMIT 1;
