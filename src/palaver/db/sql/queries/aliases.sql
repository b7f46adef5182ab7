-- Names for sessions and turns, unique in their namespace.

-- name: hold_name
-- Who gives a name holds it until the commit: of two who give the same one, the second then sees what the first wrote. A
-- row does it that both insert, and that is gone again before anybody can see it. (SQLite has one writer at a time.)
-- sqlite:
SELECT :name WHERE 0;
-- postgres:
INSERT INTO foreign_ids (origin, scope, foreign_id, id) VALUES ('palaver', 'name', :name, '');

-- name: let_go_of_name
-- sqlite:
SELECT :name WHERE 0;
-- postgres:
DELETE FROM foreign_ids WHERE origin = 'palaver' AND scope = 'name' AND foreign_id = :name;

-- name: holders_of_name
-- Whom `find` finds by a name: by our id, by the application's, by an alias.
SELECT s.id AS session_id, 'id' AS namespace, NULL AS turn_id FROM chat_sessions s WHERE s.id = :name
UNION ALL
SELECT f.id, 'id', NULL FROM foreign_ids f WHERE f.origin = 'client' AND f.scope = 'session' AND f.foreign_id = :name
UNION ALL
SELECT a.session_id, a.namespace, a.turn_id FROM aliases a WHERE a.name = :name;

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
