-- Messages and parts: the rows of the contract.

-- name: insert_message
INSERT INTO chat_messages (id, session_id, role, metadata_json, created_at, updated_at)
VALUES (:id, :session, :role, :metadata, :at, :at);

-- name: message_is_taken
SELECT 1 FROM chat_messages WHERE id = :id;

-- name: get_message
SELECT id, session_id, role, metadata_json, created_at FROM chat_messages WHERE id = :id;

-- name: set_message_metadata
UPDATE chat_messages SET metadata_json = :metadata, updated_at = greatest(updated_at, :now) WHERE id = :id;

-- name: restamp_message
UPDATE chat_messages SET metadata_json = :metadata, created_at = :at, updated_at = greatest(updated_at, :now)
 WHERE id = :id;

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

-- name: delete_part
-- Of an open turn that is cut back to its last step: the part goes on in the turn that continues it.
DELETE FROM chat_parts WHERE id = :id;

-- name: parts_of_message
SELECT id, "index", type, data_json FROM chat_parts WHERE message_id = :message ORDER BY "index", id;
