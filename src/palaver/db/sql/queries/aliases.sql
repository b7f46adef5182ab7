-- Names for sessions and turns, unique in their namespace.

-- name: insert_alias
INSERT INTO aliases (namespace, name, session_id, turn_id, created_at, reason)
VALUES (:namespace, :name, :session, :turn, :now, :reason) ON CONFLICT (namespace, name) DO NOTHING;

-- name: find_alias
SELECT session_id, turn_id FROM aliases WHERE namespace = :namespace AND name = :name;

-- name: find_alias_anywhere
SELECT session_id, turn_id, namespace FROM aliases WHERE name = :name ORDER BY namespace;

-- name: delete_alias
DELETE FROM aliases WHERE namespace = :namespace AND name = :name AND session_id = :session;

-- name: aliases_of
SELECT namespace, name FROM aliases WHERE session_id = :session ORDER BY namespace, name;
