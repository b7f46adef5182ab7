-- Turns: begun, written, sealed.

-- name: insert_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, depth,
    thread_tokens, thread_messages, response_id, facts_json, live
) VALUES (
    :id, :parent, :session, :revision, :begin_seq, :kind, :status, :owner, 1, :now, :depth,
    :thread_tokens, :thread_messages, NULL, :facts, 1
);

-- name: insert_sealed_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, sealed_at, digest,
    depth, thread_tokens, thread_messages, response_id, input_tokens, output_tokens, reasoning_tokens, cache_read,
    cache_write, cost_usd, usage_told, facts_json
) VALUES (
    :id, :parent, :session, :revision, :begin_seq, :kind, :status, NULL, 1, :now, :now, :digest,
    :depth, :thread_tokens, :thread_messages, :response, :input, :output, :reasoning, :cache_read,
    :cache_write, :cost, :told, :facts
);

-- name: set_response
-- The guard of the first chunk: no row means that the turn is sealed or somebody else writes it now.
UPDATE turns SET response_id = :response WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: seal_turn
-- Its chunks are trimmed a little later, unless there are none, or the store keeps everything.
UPDATE turns SET status = :status, owner = NULL, sealed_at = :now, digest = :digest, thread_tokens = :thread_tokens,
       thread_messages = :thread_messages, facts_json = :facts,
       live = CASE WHEN :chunks = 0 OR EXISTS (SELECT 1 FROM settings s WHERE s.name = 'events' AND s.value = 'full')
              THEN 0 ELSE 1 END
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: set_status
UPDATE turns SET status = :status, owner = :owner, fence = fence + 1
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: turn_to_set_aside
SELECT base_revision, begin_seq, facts_json FROM turns WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: facts_of_turn
SELECT facts_json FROM turns WHERE id = :turn;

-- name: set_aside
-- A turn that cannot be sealed: closed without a digest. Its chunks stay, for they may be all that is left of it.
UPDATE turns SET status = 'aborted', owner = NULL, sealed_at = :now, facts_json = :facts, live = 0, fence = fence + 1
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: set_usage
UPDATE turns SET input_tokens = :input, output_tokens = :output, reasoning_tokens = :reasoning,
       cache_read = :cache_read, cache_write = :cache_write, cost_usd = :cost, usage_told = :told
 WHERE id = :turn;

-- name: set_facts
UPDATE turns SET facts_json = :facts WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: get_turn
SELECT id, parent_id, session_id, kind, status, base_revision, depth, started_at, sealed_at, digest, response_id,
       input_tokens, output_tokens, reasoning_tokens, cache_read, cache_write, cost_usd, thread_tokens,
       thread_messages, begin_seq, owner, fence, usage_told, facts_json
  FROM turns WHERE id = :turn;

-- name: thread_of
SELECT digest, depth, thread_tokens, thread_messages FROM turns WHERE id = :turn;

-- name: open_turn
SELECT session_id, id, begin_seq, response_id, status, facts_json FROM turns WHERE id = :turn AND sealed_at IS NULL;

-- name: open_turns
SELECT id, base_revision, status, owner, begin_seq, response_id, fence FROM turns
 WHERE session_id = :session AND live = 1 AND sealed_at IS NULL ORDER BY begin_seq;

-- name: all_open_turns
SELECT session_id, id, status, owner FROM turns WHERE live = 1 AND sealed_at IS NULL;

-- snippet: where_it_stands
SELECT t.status, t.sealed_at, t.fence, h.event_seq, h.revision,
       (SELECT max(e.seq) FROM events e WHERE e.session_id = :session)
  FROM turns t JOIN heads h ON h.session_id = t.session_id
 WHERE t.id = :turn AND t.session_id = :session

-- name: where_turn_stands
{where_it_stands};

-- name: take_turn
-- The same for who writes next: nobody else takes a number in this session until the commit.
-- postgres locks: session
{where_it_stands};

-- name: parent_of
SELECT parent_id FROM turns WHERE id = :turn;

-- name: parent_and_seal
-- Of a turn that has, or had, a place in the tree: not of a queued message.
SELECT parent_id, sealed_at FROM turns WHERE id = :turn AND base_revision >= 0;
