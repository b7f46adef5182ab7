-- History that comes from elsewhere: the items it came as, and the head that it moves.

-- name: lock_for_graft
-- Lock and numbers; the clock stays, for what comes in has times of its own. `last_at` is the newest time in use.
UPDATE heads SET event_seq = {newest_event} WHERE session_id = :session
RETURNING turn_id, revision, event_seq,
    greatest(last_at, coalesce((SELECT CAST(max(m.created_at) AS INTEGER) FROM chat_messages m
                                 WHERE m.session_id = :session AND m.created_at < :now + 86400000), 0)),
    looked_at, deleted_at,
    (SELECT s.archived_at FROM chat_sessions s WHERE s.id = :session),
    (SELECT count(*) FROM turns t WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL),
    EXISTS (SELECT 1 FROM chat_sessions s WHERE s.id = :session),
    turn_id IS NULL OR EXISTS (SELECT 1 FROM turns t WHERE t.id = heads.turn_id);

-- name: finish_graft
UPDATE heads
   SET prev_turn_id = CASE WHEN :revision > revision THEN turn_id ELSE prev_turn_id END,
       turn_id = :turn, preview = coalesce(preview, :preview), revision = :revision, event_seq = :event_seq, last_at = greatest(last_at, :last_at),
       last_message_at = CASE WHEN CAST(:said AS INTEGER) IS NULL THEN last_message_at
                              ELSE greatest(coalesce(last_message_at, 0), :said) END
 WHERE session_id = :session;

-- name: newest_line
SELECT seq, at, link FROM reflog WHERE session_id = :session ORDER BY seq DESC LIMIT 1;

-- name: newest_graft
-- Where the last graft left the head.
SELECT turn_id FROM reflog WHERE session_id = :session AND kind = 'graft' ORDER BY seq DESC LIMIT 1;

-- name: insert_native
INSERT INTO natives (turn_id, seq, session_id, origin, item, digest, body, codec, file, place)
VALUES (:turn, :seq, :session, :origin, :item, :digest, :body, :codec, :file, :place);

-- name: natives_beginning
-- The turns below a parent that begin with an item.
SELECT n.turn_id, n.digest FROM natives n JOIN turns t ON t.id = n.turn_id
 WHERE n.session_id = :session AND n.origin = :origin AND n.item = :item AND n.seq = 0
   AND coalesce(t.parent_id, '') = :parent
 ORDER BY n.turn_id;

-- name: natives_ending
-- The turns that end with an item, the last one first.
SELECT n.turn_id FROM natives n
 WHERE n.session_id = :session AND n.origin = :origin AND n.item = :item
   AND NOT EXISTS (SELECT 1 FROM natives l WHERE l.turn_id = n.turn_id AND l.seq > n.seq)
 ORDER BY n.turn_id DESC;

-- name: native_items
SELECT item, digest FROM natives WHERE turn_id = :turn ORDER BY seq;

-- name: natives_of_turn
SELECT turn_id, origin, item, digest, body, codec, file, place FROM natives WHERE turn_id = :turn ORDER BY seq;
