-- Turns: begun, written, sealed.

-- snippet: facts
-- The facts that are columns, too; `core.facts.columns` gives their values.
model, provider, role, persona, workspace, mode, toolset, prompt_digest, finish, error_code, source_event

-- snippet: given_facts
:model, :provider, :role, :persona, :workspace, :mode, :toolset, :prompt_digest, :finish, :error_code, :source_event

-- snippet: set_fact_columns
model = :model, provider = :provider, role = :role, persona = :persona, workspace = :workspace, mode = :mode,
       toolset = :toolset, prompt_digest = :prompt_digest, finish = :finish, error_code = :error_code,
       source_event = :source_event

-- name: insert_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, depth,
    thread_tokens, thread_messages, response_id, facts_json, live, jump, thread_results, thread_calls, {facts}
) VALUES (
    :id, :parent, :session, :revision, :begin_seq, :kind, :status, :owner, 1, :now, :depth,
    :thread_tokens, :thread_messages, NULL, :facts, 1, :jump, :thread_results, :thread_calls, {given_facts}
);

-- name: insert_sealed_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, sealed_at, digest,
    depth, thread_tokens, thread_messages, response_id, input_tokens, output_tokens, reasoning_tokens, cache_read,
    cache_write, cost_usd, usage_told, facts_json, jump, thread_results, thread_calls, {facts}
) VALUES (
    :id, :parent, :session, :revision, :begin_seq, :kind, :status, NULL, 1, :started, :now, :digest,
    :depth, :thread_tokens, :thread_messages, :response, :input, :output, :reasoning, :cache_read,
    :cache_write, :cost, :told, :facts, :jump, :thread_results, :thread_calls, {given_facts}
);

-- name: set_response
-- The guard of the first chunk: no row means that the turn is sealed or somebody else writes it now.
UPDATE turns SET response_id = :response WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: seal_turn
-- Its chunks are trimmed a little later, unless there are none, or the store keeps everything.
UPDATE turns SET status = :status, owner = NULL, sealed_at = :now, digest = :digest, thread_tokens = :thread_tokens,
       thread_messages = :thread_messages, facts_json = :facts, thread_results = :thread_results,
       thread_calls = :thread_calls, jump = CASE WHEN CAST(:thread_calls AS INTEGER) IS NULL THEN NULL ELSE jump END,
       {set_fact_columns},
       live = CASE WHEN :chunks = 0 OR EXISTS (SELECT 1 FROM settings s WHERE s.name = 'events' AND s.value = 'full')
              THEN 0 ELSE 1 END
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: set_status
-- What the index has of it is old then.
UPDATE turns SET status = :status, owner = :owner, fence = fence + 1, unindexed = 1
 WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: turn_to_set_aside
SELECT base_revision, begin_seq, facts_json FROM turns WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- name: set_stray
-- The event that left a turn of the session beside the path.
UPDATE turns SET stray_seq = :seq WHERE id = :turn AND session_id = :session;

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
UPDATE turns SET facts_json = :facts, {set_fact_columns} WHERE id = :turn AND sealed_at IS NULL AND fence = :fence;

-- snippet: turn_columns
t.id, t.parent_id, t.session_id, t.kind, t.status, t.base_revision, t.depth, t.started_at, t.sealed_at, t.digest,
       t.response_id, t.input_tokens, t.output_tokens, t.reasoning_tokens, t.cache_read, t.cache_write, t.cost_usd,
       t.thread_tokens, t.thread_messages, t.begin_seq, t.owner, t.fence, t.usage_told, t.facts_json

-- name: get_turn
SELECT {turn_columns} FROM turns t WHERE t.id = :turn;

-- name: thread_of
SELECT t.digest, t.depth, t.thread_tokens, t.thread_messages, t.thread_results, t.thread_calls,
       t.jump, j.depth AS jump_depth, j.jump AS jump_on, o.depth AS depth_on
  FROM turns t LEFT JOIN turns j ON j.id = t.jump LEFT JOIN turns o ON o.id = j.jump
 WHERE t.id = :turn;

-- name: sums_of_turn
SELECT digest, depth, thread_tokens, thread_messages FROM turns WHERE id = :turn;

-- name: jump_of
SELECT t.jump, j.depth FROM turns t LEFT JOIN turns j ON j.id = t.jump WHERE t.id = :turn;

-- name: tools_listed
-- How many tool calls the entries of a turn list, and how many of those have a result.
SELECT count(*), coalesce(sum(CASE WHEN p.tool_state IN ('output-available', 'output-error', 'output-denied')
                              THEN 1 ELSE 0 END), 0)
  FROM turn_entries e JOIN chat_parts p ON p.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'part' AND p.tool_state IS NOT NULL;

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
SELECT parent_id, sealed_at, session_id FROM turns WHERE id = :turn AND base_revision >= 0;

-- name: unfilled_turns
SELECT id, session_id, parent_id, depth, kind, sealed_at, facts_json FROM turns
 WHERE jump IS NULL AND depth >= 0 ORDER BY depth, id LIMIT :limit;

-- name: unfilled_turn
SELECT id, session_id, parent_id, depth, kind, sealed_at, facts_json FROM turns WHERE id = :turn;

-- name: fill_turn
UPDATE turns SET jump = :jump, thread_results = :thread_results, thread_calls = :thread_calls, {set_fact_columns}
 WHERE id = :turn;
