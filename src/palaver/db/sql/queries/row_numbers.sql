-- Rows with numbers: a message is a row, and so is the result of each call. For dialects that know them so.

-- name: give_number
-- Rows of one session get theirs under its lock, so they rise in the order of the commits. No row: a fork, which shares
-- it and has another lock, was first.
INSERT INTO row_numbers (ref, stamp) VALUES (:ref, :stamp) ON CONFLICT (ref) DO NOTHING RETURNING number;

-- name: number_of
SELECT number, stamp FROM row_numbers WHERE ref = :ref;

-- name: numbers_of
SELECT n.ref, n.number, n.stamp FROM row_numbers n WHERE n.ref IN ({those});

-- name: numbers_at_home
-- Of the rows that were first written in a session.
SELECT n.ref, n.number, n.stamp FROM chat_messages m JOIN row_numbers n ON n.ref = m.id WHERE m.session_id = :session
UNION ALL
SELECT n.ref, n.number, n.stamp FROM chat_parts p JOIN row_numbers n ON n.ref = p.id
 WHERE p.session_id = :session AND p.tool_state IS NOT NULL;

-- name: unnumbered_of_turn
-- Whether a turn has a row without a number. Who appends through a dialect numbers what it follows, so where the turn
-- before has its numbers, all before it have. A message may have got steps since it was numbered.
SELECT 1 FROM turn_entries e LEFT JOIN chat_parts p ON p.id = e.ref
 WHERE e.turn_id = :turn
   AND ((e.kind IN ('message', 'result') AND NOT EXISTS (SELECT 1 FROM row_numbers n WHERE n.ref = e.ref))
        OR (e.kind = 'part' AND p.type = 'step-start'
            AND NOT EXISTS (SELECT 1 FROM stepped_sessions x WHERE x.session_id = p.session_id)))
 LIMIT 1;

-- snippet: has_steps
-- Whether a message of a session may be several rows: marked sessions have one; where a turn has no numbers, parts tell.
EXISTS (SELECT 1 FROM stepped_sessions x WHERE x.session_id = h.session_id)
       OR (t.thread_calls > 0
           AND EXISTS (SELECT 1 FROM chat_parts p WHERE p.message_id = t.response_id AND p.type = 'step-start'))
       OR (EXISTS (SELECT 1 FROM turn_entries e WHERE e.turn_id = h.turn_id AND e.kind = 'message'
                      AND NOT EXISTS (SELECT 1 FROM row_numbers n WHERE n.ref = e.ref))
           AND EXISTS (SELECT 1 FROM chat_parts p WHERE p.session_id = h.session_id AND p.type = 'step-start'))

-- snippet: is_irregular
-- Rows have to be read to be counted in forks, where sums are not filled yet, and where a message may be several rows.
h.relation = 'fork' OR (h.turn_id IS NOT NULL AND t.thread_results IS NULL) OR {has_steps}

-- snippet: is_open
-- A turn that stands where the session goes on: its rows are seen.
w.session_id = h.session_id AND w.live = 1 AND w.sealed_at IS NULL AND w.status <> 'pending'
           AND w.base_revision = h.revision

-- snippet: is_open_or_hidden
-- Also where a turn is open, and where a file of a dialect says that some rows are not seen.
EXISTS (SELECT 1 FROM turns w WHERE {is_open})
       OR EXISTS (SELECT 1 FROM chat_sessions c WHERE c.id = h.session_id AND c.metadata_json LIKE '%"compacted":[[%')

-- name: open_rows
-- The rows of turns that are open: how many, how many calls, when the last was written, and whether they have to be read.
SELECT (SELECT count(*) FROM turns w JOIN turn_entries e ON e.turn_id = w.id
         WHERE {is_open} AND e.kind IN ('message', 'result')) AS row_count,
       (SELECT count(*) FROM turns w JOIN chat_parts p ON p.message_id = w.response_id
         WHERE {is_open} AND p.tool_state IS NOT NULL) AS call_count,
       (SELECT max(n.stamp) FROM turns w JOIN turn_entries e ON e.turn_id = w.id JOIN row_numbers n ON n.ref = e.ref
         WHERE {is_open}) AS last_stamp,
       CASE WHEN EXISTS (SELECT 1 FROM turns w LEFT JOIN chat_parts p ON p.message_id = w.response_id
                          WHERE {is_open} AND (w.status = 'streaming' OR p.type = 'step-start'))
            THEN 1 ELSE 0 END AS is_irregular
  FROM heads h WHERE h.session_id = :session;

-- name: mark_stepped
INSERT INTO stepped_sessions (session_id, noted_at) VALUES (:session, :now) ON CONFLICT (session_id) DO NOTHING;

-- snippet: client_id
-- What an application calls a session.
SELECT min(f.foreign_id) FROM foreign_ids f WHERE f.origin = 'client' AND f.scope = 'session'

-- snippet: fact
SELECT min(f.value) FROM session_facts f

-- snippet: interrupted
-- Calls of a session that ended without a result.
(SELECT count(*) FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id
  WHERE p.session_id = h.session_id AND p.tool_state = 'output-error'
    AND p.data_json LIKE '%"errorText":"interrupted"}' AND m.metadata_json NOT LIKE '%"hidden_at":%')

-- snippet: summary
-- A session as a row: its counts, as far as they follow from the head's turn.
s.id, ({client_id} AND f.id = s.id) AS app_id, s.model_json, s.metadata_json, s.created_at,
       s.prompt_tokens, s.completion_tokens, s.reasoning_tokens, s.cache_read, s.cache_write, s.cost_usd,
       h.title, h.preview, h.relation, h.ended_at, h.end_reason, h.last_message_at,
       CASE WHEN o.deleted_at IS NULL THEN o.session_id END AS parent_id,
       CASE WHEN o.deleted_at IS NULL THEN ({client_id} AND f.id = o.session_id) END AS parent_app_id,
       ({fact} WHERE f.session_id = s.id AND f.name = 'source') AS source,
       ({fact} WHERE f.session_id = s.id AND f.name = 'user') AS user_id,
       coalesce(t.thread_messages, 0) + coalesce(t.thread_results, 0)
           - CASE WHEN t.thread_results > 0 THEN {interrupted} ELSE 0 END AS row_count,
       coalesce(t.thread_calls, 0) AS call_count,
       CASE WHEN {is_irregular} THEN 1 ELSE 0 END AS is_irregular,
       EXISTS (SELECT 1 FROM turns w WHERE w.session_id = s.id AND w.live = 1 AND w.sealed_at IS NULL) AS has_open,
       (SELECT n.stamp FROM turn_entries e JOIN row_numbers n ON n.ref = e.ref
         WHERE e.turn_id = h.turn_id AND e.kind IN ('message', 'result') ORDER BY e.seq DESC LIMIT 1) AS last_stamp

-- snippet: summarised
chat_sessions s JOIN heads h ON h.session_id = s.id LEFT JOIN turns t ON t.id = h.turn_id
       LEFT JOIN heads o ON o.session_id = h.origin_id

-- snippet: is_summarised
h.deleted_at IS NULL AND (:roots = 0 OR h.relation = 'fork' OR o.session_id IS NULL OR o.deleted_at IS NOT NULL)

-- name: summary_of
SELECT {summary} FROM {summarised} WHERE s.id = :session AND h.deleted_at IS NULL;

-- name: summaries
SELECT {summary} FROM {summarised}
 WHERE s.created_at <= :before_at AND (s.created_at < :before_at OR s.id < :before_id) AND {is_summarised}
 ORDER BY s.created_at DESC, s.id DESC LIMIT :limit;

-- name: summaries_by_source
SELECT {summary} FROM session_facts k CROSS JOIN {summarised}
 WHERE k.name = 'source' AND k.value = :source AND k.session_id = s.id
   AND k.created_at <= :before_at AND (k.created_at < :before_at OR k.session_id < :before_id) AND {is_summarised}
 ORDER BY k.created_at DESC, k.session_id DESC LIMIT :limit;

-- name: summaries_of_children
SELECT {summary} FROM {summarised}
 WHERE h.origin_id = :parent AND h.deleted_at IS NULL
 ORDER BY s.created_at DESC, s.id DESC;

-- name: count_sessions
SELECT count(*) AS sessions FROM chat_sessions s JOIN heads h ON h.session_id = s.id
 WHERE h.deleted_at IS NULL
   AND (CAST(:source AS TEXT) IS NULL
        OR EXISTS (SELECT 1 FROM session_facts f WHERE f.session_id = s.id AND f.name = 'source' AND f.value = :source));

-- name: count_rows
-- Of all living sessions, but for those that `irregular_sessions` lists.
SELECT CAST(coalesce(sum(t.thread_messages + t.thread_results
            - CASE WHEN t.thread_results > 0 THEN {interrupted} ELSE 0 END), 0) AS INTEGER) AS found
  FROM heads h JOIN turns t ON t.id = h.turn_id
 WHERE h.deleted_at IS NULL AND NOT ({is_irregular} OR {is_open_or_hidden});

-- name: irregular_sessions
SELECT h.session_id FROM heads h LEFT JOIN turns t ON t.id = h.turn_id
 WHERE h.deleted_at IS NULL AND ({is_irregular} OR {is_open_or_hidden});

-- name: sessions_beginning
-- Living sessions by the beginning of what the application calls them, or of our id where it calls them nothing.
SELECT f.id AS session_id FROM foreign_ids f JOIN heads h ON h.session_id = f.id
 WHERE f.origin = 'client' AND f.scope = 'session' AND f.foreign_id >= :first AND f.foreign_id < :past
   AND h.deleted_at IS NULL
UNION
SELECT h.session_id FROM heads h
 WHERE h.session_id >= :first AND h.session_id < :past AND h.deleted_at IS NULL
   AND ({client_id} AND f.id = h.session_id) IS NULL
LIMIT 2;

-- name: titled
-- Living sessions by their title, or by one that goes on from it.
SELECT h.session_id, h.title, s.created_at FROM heads h JOIN chat_sessions s ON s.id = h.session_id
 WHERE h.deleted_at IS NULL AND h.title = :title
UNION ALL
SELECT h.session_id, h.title, s.created_at FROM heads h JOIN chat_sessions s ON s.id = h.session_id
 WHERE h.deleted_at IS NULL AND h.title >= :first AND h.title < :past;

-- name: drop_client_id
DELETE FROM foreign_ids WHERE origin = 'client' AND scope = 'session' AND foreign_id = :name;

-- name: usage_by_source
-- What a dialect was told of the usage of several sessions.
SELECT u.session_id, CAST(sum(u.input) AS INTEGER) AS input, CAST(sum(u.output) AS INTEGER) AS output,
       CAST(sum(u.reasoning) AS INTEGER) AS reasoning, CAST(sum(u.cache_read) AS INTEGER) AS cache_read,
       CAST(sum(u.cache_write) AS INTEGER) AS cache_write, sum(u.cost_reported) AS reported,
       sum(u.cost_computed) AS computed
  FROM usage u WHERE u.session_id IN ({those}) AND u.source = :source GROUP BY u.session_id;

-- name: first_said
-- Not of messages that only wait in a queue (base_revision -1), nor where a row of Hermes had no content at all.
-- The text that the user said first in several sessions.
SELECT s.id AS session_id, (
    SELECT p.data_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
     WHERE m.session_id = s.id AND m.role = 'user' AND p.type = 'text' AND m.metadata_json NOT LIKE '%"hidden_at":%'
       AND m.metadata_json NOT LIKE '%"hermes":{"content":null%'
       AND EXISTS (SELECT 1 FROM turn_entries e JOIN turns t ON t.id = e.turn_id
                    WHERE e.ref = m.id AND e.kind = 'message' AND t.base_revision >= 0)
     ORDER BY m.created_at, m.id, p."index" LIMIT 1) AS data_json
  FROM chat_sessions s WHERE s.id IN ({those});

-- name: usage_of_source
-- What a dialect was told of a session's usage.
SELECT {columns usage} FROM usage WHERE session_id = :session AND source = :source ORDER BY n;

-- name: zero_usage
UPDATE usage SET input = 0, output = 0, reasoning = 0, cache_read = 0, cache_write = 0, cost_computed = 0,
       cost_reported = :cost, at = :at
 WHERE session_id = :session AND n = :n;
