-- A session's permission rules.

-- name: get_permissions
SELECT permissions_json FROM chat_sessions WHERE id = :session;

-- name: session_standing
SELECT permissions_json, model_json, agent FROM chat_sessions WHERE id = :session;

-- name: set_permissions
UPDATE chat_sessions SET permissions_json = :permissions, updated_at = greatest(updated_at, :now) WHERE id = :session;
