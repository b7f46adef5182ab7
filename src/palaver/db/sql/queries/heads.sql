-- A session's head, and the reflog of its moves.

-- snippet: clock
-- Later than every time that this session has handed out, and than every row in it, whoever wrote it. A time more than a
-- day ahead, left by a broken clock, does not drag ours along.
greatest(last_at + 1, :now, coalesce((
    SELECT CAST(max(m.created_at) AS INTEGER) + 1 FROM chat_messages m
     WHERE m.session_id = :session AND m.created_at < :now + 86400000), 0))

-- snippet: newest_event
-- An open turn counts its chunks past the head's own number.
greatest(event_seq, coalesce((SELECT max(e.seq) FROM events e WHERE e.session_id = :session), 0))

-- snippet: message_time
-- When the session last got a message: where created_at values are reserved, it gets some.
last_message_at = CASE WHEN :stamps > 0 THEN greatest(coalesce(last_message_at, 0), :now) ELSE last_message_at END

-- name: insert_head
INSERT INTO heads (
    session_id, turn_id, prev_turn_id, revision, event_seq, last_at, relation, origin_id, origin_turn, origin_call,
    title, preview
) VALUES (
    :session, :turn, NULL, :revision, :event_seq, :last_at, :relation, :origin, :origin_turn, :origin_call,
    :title, :preview
);

-- name: lock_head
-- The lock that comes before a statement which changes a head; and whether a row is there that is younger than any of
-- ours: then another program wrote it.
-- postgres:
SELECT EXISTS (SELECT 1 FROM chat_messages m WHERE m.session_id = h.session_id AND m.created_at > h.last_at)
  FROM heads h WHERE h.session_id = :session FOR UPDATE;

-- name: take_head
-- Lock, clock and numbers at once: `stamps` strictly increasing created_at values end at last_at, `events` numbers at
-- event_seq.
UPDATE heads
   SET last_at = {clock} + :stamps - 1,
       event_seq = {newest_event} + :events,
       {message_time},
       preview = coalesce(preview, :preview)
 WHERE session_id = :session
RETURNING turn_id, revision, event_seq, last_at, looked_at, deleted_at,
    (SELECT s.archived_at FROM chat_sessions s WHERE s.id = :session),
    (SELECT count(*) FROM turns t WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL),
    EXISTS (SELECT 1 FROM chat_sessions s WHERE s.id = :session),
    turn_id IS NULL OR EXISTS (SELECT 1 FROM turns t WHERE t.id = heads.turn_id);

-- name: advance_head
-- A whole turn in one move: lock, clock, numbers, compare-and-swap. No row, or no permissions (the session is archived
-- or gone): something needs a closer look first.
UPDATE heads
   SET prev_turn_id = turn_id, turn_id = :turn, revision = revision + 1,
       last_at = {clock} + :stamps - 1, {message_time},
       event_seq = event_seq + 1 -- no turn is open, so none has counted past it
 WHERE session_id = :session AND revision = coalesce(:expected, revision) AND deleted_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL)
RETURNING prev_turn_id, revision, event_seq, last_at, looked_at,
    (SELECT s.permissions_json FROM chat_sessions s WHERE s.id = :session AND s.archived_at IS NULL), preview IS NULL,
    (SELECT s.model_json FROM chat_sessions s WHERE s.id = :session),
    (SELECT s.agent FROM chat_sessions s WHERE s.id = :session);

-- name: begin_head
-- The same for a turn that is begun: the head stays where it is.
UPDATE heads
   SET last_at = {clock} + :stamps - 1, {message_time},
       event_seq = event_seq + 1
 WHERE session_id = :session AND revision = coalesce(:expected, revision) AND deleted_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL)
RETURNING turn_id, revision, event_seq, last_at, looked_at,
    (SELECT s.permissions_json FROM chat_sessions s WHERE s.id = :session AND s.archived_at IS NULL), preview IS NULL,
    (SELECT s.model_json FROM chat_sessions s WHERE s.id = :session),
    (SELECT s.agent FROM chat_sessions s WHERE s.id = :session);

-- name: respond_head
-- The first chunk of an open turn: a stamp for its message, a number for the chunk. No row: the turn is not ours.
UPDATE heads
   SET last_at = {clock}, last_message_at = greatest(coalesce(last_message_at, 0), :now),
       event_seq = {newest_event} + 1
 WHERE session_id = :session
   AND EXISTS (SELECT 1 FROM turns t WHERE t.id = :turn AND t.sealed_at IS NULL AND t.fence = :fence)
RETURNING revision, event_seq, last_at, EXISTS (SELECT 1 FROM chat_sessions s WHERE s.id = :session);

-- name: seal_head
-- The seal of an open turn: the head moves from its parent to it, if both are still as they were.
UPDATE heads
   SET prev_turn_id = turn_id, turn_id = :turn, revision = revision + 1,
       event_seq = {newest_event} + 1
 WHERE session_id = :session AND revision = :expected
   AND EXISTS (SELECT 1 FROM turns t WHERE t.id = :turn AND t.sealed_at IS NULL AND t.fence = :fence)
RETURNING prev_turn_id, revision, event_seq, last_at, looked_at,
    (SELECT r.link FROM reflog r WHERE r.session_id = :session ORDER BY r.seq DESC LIMIT 1),
    (SELECT count(*) FROM turns t WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL);

-- name: read_head
SELECT turn_id, revision, event_seq, last_at, looked_at, deleted_at, relation, origin_id, origin_turn, title, preview
  FROM heads WHERE session_id = :session;

-- name: look_at_head
SELECT turn_id, revision, event_seq, last_at, looked_at, deleted_at,
    (SELECT s.archived_at FROM chat_sessions s WHERE s.id = :session),
    (SELECT count(*) FROM turns t WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL), 1,
    turn_id IS NULL OR EXISTS (SELECT 1 FROM turns t WHERE t.id = heads.turn_id)
  FROM heads WHERE session_id = :session;

-- name: move_head
-- The compare-and-swap. No row: somebody else moved it first.
UPDATE heads SET prev_turn_id = turn_id, turn_id = :turn, revision = revision + 1
 WHERE session_id = :session AND revision = :expected
RETURNING revision,
    (SELECT r.link FROM reflog r WHERE r.session_id = :session ORDER BY r.seq DESC LIMIT 1);

-- name: note_message
UPDATE heads SET last_message_at = greatest(coalesce(last_message_at, 0), :at) WHERE session_id = :session;

-- name: looked
UPDATE heads SET looked_at = greatest(looked_at, :at) WHERE session_id = :session;

-- name: newest_link
SELECT link FROM reflog WHERE session_id = :session ORDER BY seq DESC LIMIT 1;

-- name: insert_line
INSERT INTO reflog (session_id, seq, kind, turn_id, revision, at, ref_seq, reason, link)
VALUES (:session, :seq, :kind, :turn, :revision, :at, :ref_seq, :reason, :link);

-- name: history
SELECT seq, kind, turn_id, revision, at, ref_seq, reason, link FROM reflog
 WHERE session_id = :session ORDER BY seq;

-- name: head_at
SELECT turn_id, revision, seq FROM reflog WHERE session_id = :session AND at <= :at ORDER BY seq DESC LIMIT 1;
