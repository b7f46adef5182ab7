-- Facts of sessions: what each belongs to, a row for each name.

-- name: facts_of_session
SELECT name, value FROM session_facts WHERE session_id = :session ORDER BY name;

-- name: put_fact
INSERT INTO session_facts (name, value, created_at, session_id) VALUES (:name, :value, :at, :session);

-- name: drop_fact
DELETE FROM session_facts WHERE session_id = :session AND name = :name;

-- name: inherit_facts
-- What a new session has of the one it came from. The task and the key by which messages are routed are the other's own.
INSERT INTO session_facts (name, value, created_at, session_id)
SELECT f.name, f.value, :at, :session FROM session_facts f
 WHERE f.session_id = :origin AND (:goes_on = 1 OR f.name NOT IN ('task', 'routing_key'));

-- name: facts_of_another_time
-- Of `verify`: rows that do not have their session's created_at.
SELECT name FROM session_facts WHERE session_id = :session AND created_at <> :at ORDER BY name;

-- name: restamp_facts
UPDATE session_facts SET created_at = (SELECT s.created_at FROM chat_sessions s WHERE s.id = :session)
 WHERE session_id = :session;

-- name: count_fact
-- How many sessions have it, up to so many.
SELECT count(*) FROM (SELECT 1 FROM session_facts f WHERE f.name = :name AND f.value = :value LIMIT :most) AS few;

-- snippet: has_facts
-- The session has all that are given; a place that is empty asks for nothing. By the whole key: no engine can then read
-- everything that has the fact.
(CAST(:name_a AS TEXT) IS NULL OR NOT EXISTS (
       SELECT 1 FROM (VALUES (:name_a, :value_a), (:name_b, :value_b), (:name_c, :value_c), (:name_d, :value_d),
                      (:name_e, :value_e), (:name_f, :value_f), (:name_g, :value_g), (:name_h, :value_h),
                      (:name_i, :value_i), (:name_j, :value_j), (:name_k, :value_k), (:name_l, :value_l)) AS w
        WHERE w.column1 IS NOT NULL AND NOT EXISTS (
              SELECT 1 FROM session_facts x
               WHERE x.name = w.column1 AND x.value = w.column2 AND x.created_at = s.created_at AND x.session_id = s.id)))

-- name: list_by_fact
-- By creation, from the range of the key that one fact has: as quick for a value that all have as for a rare one.
SELECT s.*, {marks} FROM session_facts f CROSS JOIN session_rows s
 WHERE f.name = :name AND f.value = :value AND s.id = f.session_id
   AND f.created_at <= :before_at AND (f.created_at < :before_at OR f.session_id < :before_id)
   AND {is_listed}
   AND {of_agent_and_workspace}
   AND {has_facts}
 ORDER BY f.created_at DESC, f.session_id DESC LIMIT :limit;

-- name: list_by_fact_updated
-- By update, where few have it: all of them, sorted.
-- plan: free
SELECT s.*, {marks} FROM session_facts f CROSS JOIN session_rows s
 WHERE f.name = :name AND f.value = :value AND s.id = f.session_id
   AND {page}
   AND {of_agent_and_workspace}
   AND {has_facts}
 {newest_first};

-- name: list_updated_with_facts
-- By update, where many have it: along the updates, passing by those that do not.
SELECT s.*, {marks} FROM session_rows s
 WHERE {page}
   AND {of_agent_and_workspace}
   AND {has_facts}
 {newest_first};
