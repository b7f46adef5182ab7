-- Messages sent while a turn runs.

-- name: find_queued
SELECT q.id, q.turn_id, q.payload, q.queued_at, q.claims, t.status, t.sealed_at, t.facts_json
  FROM queue q LEFT JOIN turns t ON t.id = q.turn_id
 WHERE q.session_id = :session AND q.id = :id;

-- name: queued_turn
SELECT id, queued_at, claims FROM queue WHERE turn_id = :turn;

-- name: pending
-- What waits in a session, in the order it was sent.
SELECT q.id, q.turn_id, q.queued_at, q.claims FROM turns t JOIN queue q ON q.turn_id = t.id
 WHERE t.session_id = :session AND t.live = 1 AND t.sealed_at IS NULL AND t.status = 'pending'
 ORDER BY q.queued_at, t.begin_seq;

-- name: insert_queued
INSERT INTO queue (session_id, id, turn_id, payload, queued_at, claims)
VALUES (:session, :id, :turn, :payload, :at, 0);

-- name: insert_pending_turn
INSERT INTO turns (
    id, parent_id, session_id, base_revision, begin_seq, kind, status, owner, fence, started_at, depth,
    thread_tokens, thread_messages, response_id, facts_json, live, jump, thread_results, thread_calls, {facts}
) VALUES (
    :id, NULL, :session, -1, :begin_seq, 'turn', 'pending', NULL, 1, :now, 1, 0, 0, NULL, :facts, 1, '', 0, 0,
    {given_facts}
);

-- name: claim_turn
-- A pending turn is begun: it gets its place in the tree. No row: somebody else was first.
UPDATE turns SET parent_id = :parent, base_revision = :revision, begin_seq = :begin_seq, status = 'streaming',
       owner = :owner, fence = fence + 1, started_at = :now, depth = :depth, thread_tokens = :thread_tokens,
       thread_messages = :thread_messages, facts_json = :facts, jump = :jump, thread_results = :thread_results,
       thread_calls = :thread_calls, {set_fact_columns}
 WHERE id = :turn AND status = 'pending' AND sealed_at IS NULL;

-- name: count_claim
UPDATE queue SET claims = claims + 1 WHERE turn_id = :turn;

-- name: give_back_turn
-- A start that failed before anything came: the message waits again.
UPDATE turns SET parent_id = NULL, base_revision = -1, status = 'pending', owner = NULL, fence = fence + 1, depth = 1,
       thread_tokens = 0, thread_messages = 0, facts_json = :facts, jump = '', thread_results = 0, thread_calls = 0,
       {set_fact_columns}
 WHERE id = :turn AND status = 'streaming' AND sealed_at IS NULL AND response_id IS NULL AND fence = :fence;
