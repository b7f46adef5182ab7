-- Sessions: the rows of the contract, and lists of them.

-- name: insert_session
INSERT INTO chat_sessions (
    id, agent, workspace_root, model_json, parent_id, parent_message_id, permissions_json, metadata_json,
    prompt_tokens, completion_tokens, reasoning_tokens, cache_read, cache_write, total_tokens, cost_usd,
    created_at, updated_at, archived_at
) VALUES (
    :id, :agent, :workspace, :model, :parent, :parent_message, '[]', :metadata,
    0, 0, 0, 0, 0, 0, 0, :now, :now, NULL
);

-- name: session_exists
SELECT created_at, agent FROM chat_sessions WHERE id = :session;

-- name: any_session
SELECT 1 FROM chat_sessions LIMIT 1;

-- snippet: marks
-- What a list says of a session beside its row: the application's own id, and how its open turns stand.
(SELECT min(f.foreign_id) FROM foreign_ids f WHERE f.id = s.id AND f.origin = 'client' AND f.scope = 'session') AS app_id,
       (SELECT group_concat(o.status, ' ') FROM turns o
         WHERE o.session_id = s.id AND o.live = 1 AND o.sealed_at IS NULL) AS open_turns

-- name: get_session
-- One session as a list shows it; heads may be missing where another program made the session.
SELECT s.*, {marks} FROM session_rows s
 WHERE s.id = :session;

-- snippet: page
-- Each list is driven by one index; the other filters are checked on the row.
s.updated_at <= :before_at AND (s.updated_at < :before_at OR s.id < :before_id)
   AND {is_listed}

-- snippet: page_by_creation
s.created_at <= :before_at AND (s.created_at < :before_at OR s.id < :before_id)
   AND {is_listed}

-- snippet: is_listed
s.deleted_at IS NULL
   AND (:archived = 1 OR s.archived_at IS NULL)
   AND (:waiting = 0 OR EXISTS (SELECT 1 FROM turns w WHERE w.session_id = s.id AND w.live = 1 AND w.sealed_at IS NULL
                                  AND w.status = 'waiting'))
   AND {is_over}

-- snippet: is_over
-- Said to be over, if only those are asked for; and nothing was said in it since a time, if one is given.
(:ended = 0 OR s.ended_at IS NOT NULL)
   AND (CAST(:idle_since AS INTEGER) IS NULL OR coalesce(s.last_message_at, s.created_at) < :idle_since)

-- snippet: newest_first
ORDER BY s.updated_at DESC, s.id DESC LIMIT :limit

-- snippet: last_made_first
ORDER BY s.created_at DESC, s.id DESC LIMIT :limit

-- snippet: of_agent_and_workspace
(CAST(:agent AS TEXT) IS NULL OR s.agent = :agent)
   AND (CAST(:workspace AS TEXT) IS NULL OR s.workspace_root = :workspace)

-- name: list_recent
SELECT s.*, {marks} FROM session_rows s
 WHERE {page}
 {newest_first};

-- name: list_created
-- By creation: a row never moves, so a page is never skipped or repeated while others write.
SELECT s.*, {marks} FROM session_rows s
 WHERE {page_by_creation}
   AND {of_agent_and_workspace}
 {last_made_first};

-- name: list_by_agent
SELECT s.*, {marks} FROM session_rows s
 WHERE s.agent = :agent
   AND {page}
   AND (CAST(:workspace AS TEXT) IS NULL OR s.workspace_root = :workspace)
 {newest_first};

-- name: list_by_workspace
SELECT s.*, {marks} FROM session_rows s
 WHERE s.workspace_root = :workspace
   AND {page}
 {newest_first};

-- snippet: children
-- The sessions that came from one. Of those that other programs made only the contract's column tells; of ours it may
-- name another one (a fork in which nothing was said: where the nearest question is).
SELECT h.session_id AS id FROM heads h WHERE h.origin_id = :parent
UNION ALL
SELECT k.id FROM chat_sessions k LEFT JOIN heads h ON h.session_id = k.id
 WHERE k.parent_id = :parent AND h.origin_id IS NULL

-- name: list_by_parent
-- Few, and sorted.
-- plan: free
SELECT s.*, {marks} FROM ({children}) c CROSS JOIN session_rows s
 WHERE s.id = c.id
   AND {page}
   AND {of_agent_and_workspace}
   AND {has_facts}
 {newest_first};

-- name: list_by_parent_created
-- plan: free
SELECT s.*, {marks} FROM ({children}) c CROSS JOIN session_rows s
 WHERE s.id = c.id
   AND {page_by_creation}
   AND {of_agent_and_workspace}
   AND {has_facts}
 {last_made_first};

-- name: list_deleted
-- What was deleted, the last one first; a husk (revision 0) was on no list before. `delete` stamps the archive, too.
SELECT s.*, {marks} FROM session_rows s
 WHERE s.archived_at IS NOT NULL
   AND s.deleted_at <= :before_at AND (s.deleted_at < :before_at OR s.id < :before_id)
   AND s.revision > 0
   AND {is_over}
   AND {of_agent_and_workspace}
   AND (CAST(:parent AS TEXT) IS NULL OR s.id IN ({children}))
   AND {has_facts}
 ORDER BY s.deleted_at DESC, s.id DESC
 LIMIT :limit;

-- name: fork_source
SELECT s.agent, s.workspace_root, s.model_json, h.preview FROM chat_sessions s JOIN heads h ON h.session_id = s.id
 WHERE s.id = :session;

-- name: origin_of
SELECT coalesce(h.origin_id, s.parent_id) FROM chat_sessions s LEFT JOIN heads h ON h.session_id = s.id
 WHERE s.id = :session;

-- name: offspring_of
SELECT c.id FROM ({children}) c ORDER BY c.id;

-- name: continuations_of
-- The sessions that go on with one, the newest last.
SELECT h.session_id, h.deleted_at FROM heads h JOIN chat_sessions s ON s.id = h.session_id
 WHERE h.origin_id = :session AND h.relation = 'continue'
 ORDER BY s.created_at, h.session_id;

-- name: children_of
-- The sessions that came from one: where their heads stand, and by which call of which turn they were spawned.
SELECT h.session_id, h.relation, h.turn_id, h.origin_turn, h.origin_call, s.agent, h.title, h.preview, t.depth
  FROM heads h JOIN chat_sessions s ON s.id = h.session_id LEFT JOIN turns t ON t.id = h.turn_id
 WHERE h.origin_id = :session AND h.deleted_at IS NULL
 ORDER BY s.created_at, h.session_id;

-- name: session_stamps
SELECT s.metadata_json, s.archived_at, h.deleted_at FROM chat_sessions s
  LEFT JOIN heads h ON h.session_id = s.id WHERE s.id = :session;

-- name: session_columns
-- What `update` may change of the row, and what goes into the rows of its facts.
SELECT s.workspace_root, s.model_json, s.created_at, h.deleted_at FROM chat_sessions s
  LEFT JOIN heads h ON h.session_id = s.id WHERE s.id = :session;

-- name: set_workspace
UPDATE chat_sessions SET workspace_root = :workspace, updated_at = greatest(updated_at, :now) WHERE id = :session;

-- name: set_archived
UPDATE chat_sessions SET archived_at = :at, updated_at = greatest(updated_at, :now) WHERE id = :session;

-- name: set_session_metadata
UPDATE chat_sessions SET metadata_json = :metadata, updated_at = greatest(updated_at, :now) WHERE id = :session;

-- name: set_deleted
UPDATE heads SET deleted_at = :at WHERE session_id = :session;

-- name: set_ended
UPDATE heads SET ended_at = :at, end_reason = :reason WHERE session_id = :session;

-- name: set_title
UPDATE heads SET title = :title WHERE session_id = :session;

-- name: set_preview
UPDATE heads SET preview = :preview WHERE session_id = :session;

-- name: touch_session
UPDATE chat_sessions SET updated_at = greatest(updated_at, :now) WHERE id = :session;

-- name: touch_session_model
UPDATE chat_sessions SET updated_at = greatest(updated_at, :now), model_json = :model WHERE id = :session;

-- name: add_usage
-- Sums stop at 2^53 (`model.MOST`), whatever another program or an older version left there.
UPDATE chat_sessions
   SET prompt_tokens = least(least(prompt_tokens, 9007199254740992) + :input, 9007199254740992),
       completion_tokens = least(least(completion_tokens, 9007199254740992) + :output, 9007199254740992),
       reasoning_tokens = least(least(reasoning_tokens, 9007199254740992) + :reasoning, 9007199254740992),
       cache_read = least(least(cache_read, 9007199254740992) + :cache_read, 9007199254740992),
       cache_write = least(least(cache_write, 9007199254740992) + :cache_write, 9007199254740992),
       total_tokens = least(least(total_tokens, 9007199254740992) + :total, 9007199254740992),
       cost_usd = least(least(cost_usd, 1e15) + :cost, 1e15), updated_at = greatest(updated_at, :now)
 WHERE id = :session;

-- name: tokens_of_session
SELECT total_tokens FROM chat_sessions WHERE id = :session;

-- name: find_title
SELECT session_id FROM heads WHERE title = :title;

-- name: newest_titled
-- Of those that have a title, the one that was made last.
SELECT h.session_id, h.title FROM heads h JOIN chat_sessions s ON s.id = h.session_id
 WHERE h.title = :title AND h.deleted_at IS NULL
 ORDER BY s.created_at DESC, h.session_id DESC LIMIT 1;

-- name: highest_of_lineage
-- Titles with a number behind them: the longer number is the higher one, and of equally long ones the one that sorts
-- last. Others that begin like them ("X #2 again") are in between.
SELECT h.session_id, h.title FROM heads h JOIN chat_sessions s ON s.id = h.session_id
 WHERE h.title > :first AND h.title < :past AND h.deleted_at IS NULL
   AND rtrim(substr(h.title, length(CAST(:first AS TEXT))), '0123456789') = ''
 ORDER BY length(h.title) DESC, h.title DESC, s.created_at DESC, h.session_id DESC LIMIT 1;

-- name: find_id_pieces
SELECT id FROM chat_sessions
 WHERE (id >= :ours AND id < :ours_end) OR (id >= :bare AND id < :bare_end)
 ORDER BY id LIMIT 50;

-- name: find_id_tails
-- For a person who types the end of an id: this one reads every id.
-- plan: free
SELECT id FROM chat_sessions WHERE id LIKE :tail ESCAPE '\' ORDER BY id LIMIT 50;

-- name: first_words_shown
-- The same of those that are in the transcript: an edit replaces what was said first.
SELECT m.id, p.data_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
 WHERE m.session_id = :session AND m.role = 'user' AND p.type = 'text' AND m.metadata_json NOT LIKE '%"hidden_at":%'
   AND EXISTS (SELECT 1 FROM turn_entries e JOIN turns t ON t.id = e.turn_id
                WHERE e.ref = m.id AND e.kind = 'message' AND t.base_revision >= 0)
 ORDER BY m.created_at, m.id, p."index" LIMIT 50;

-- name: first_words
-- Text parts of the user's first messages, in the order they were said.
SELECT m.id, p.data_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
 WHERE m.session_id = :session AND m.role = 'user' AND p.type = 'text'
   AND EXISTS (SELECT 1 FROM turn_entries e JOIN turns t ON t.id = e.turn_id
                WHERE e.ref = m.id AND e.kind = 'message' AND t.base_revision >= 0) -- not what waits, or was taken back
 ORDER BY m.created_at, m.id, p."index" LIMIT 50;
