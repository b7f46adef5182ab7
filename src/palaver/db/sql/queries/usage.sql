-- Usage: a row per response of an API.

-- name: insert_usage
INSERT INTO usage (
    session_id, n, turn_id, message_id, key, source, provider, model, input, output, reasoning, cache_read, cache_write,
    cost_reported, cost_computed, price, at
) SELECT :session, coalesce(max(u.n), 0) + 1, :turn, :message, :key, :source, :provider, :model, :input, :output,
         :reasoning, :cache_read, :cache_write, :cost_reported, :cost_computed, :price, :at
    FROM usage u WHERE u.session_id = :session;

-- name: replace_message_usage
-- What a message's metadata says is its whole usage so far.
UPDATE usage SET input = :input, output = :output, reasoning = :reasoning, cache_read = :cache_read,
       cache_write = :cache_write, at = :at
 WHERE message_id = :message AND source = 'metadata';

-- name: drop_told_usage
-- The metadata of a message wins over what was told of it before.
DELETE FROM usage WHERE message_id = :message AND source = 'turn';

-- name: drop_metadata_usage
DELETE FROM usage WHERE message_id = :message AND source = 'metadata';

-- name: change_usage
UPDATE usage SET input = :input, output = :output, reasoning = :reasoning, cache_read = :cache_read,
       cache_write = :cache_write, cost_reported = :cost_reported, cost_computed = :cost_computed, price = :price, at = :at
 WHERE session_id = :session AND key = :key;

-- name: usage_by_its_key
SELECT {columns usage} FROM usage WHERE session_id = :session AND key = :key;

-- name: usage_of_session
SELECT {columns usage} FROM usage WHERE session_id = :session AND n > :after ORDER BY n LIMIT :limit;

-- name: turn_has_usage
SELECT 1 FROM usage WHERE turn_id = :turn LIMIT 1;

-- name: newest_usage_of_turn
-- Of the newest answer that a turn lists, the newest response.
SELECT u.input, u.output, u.cache_read, u.cache_write
  FROM turn_entries e JOIN usage u ON u.message_id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'message'
 ORDER BY e.seq DESC, u.n DESC LIMIT 1;

-- name: usage_sums_of_turns
-- For verify: what the rows of each turn add up to, beside its columns.
SELECT u.turn_id, t.id, t.session_id, t.input_tokens, t.output_tokens, t.reasoning_tokens, t.cache_read, t.cache_write,
       CAST(sum(u.input) AS INTEGER) AS input, CAST(sum(u.output) AS INTEGER) AS output,
       CAST(sum(u.reasoning) AS INTEGER) AS reasoning, CAST(sum(u.cache_read) AS INTEGER) AS read_sum,
       CAST(sum(u.cache_write) AS INTEGER) AS write_sum, t.cost_usd, sum(u.cost_reported) AS cost_sum
  FROM usage u LEFT JOIN turns t ON t.id = u.turn_id
 WHERE u.turn_id > :after
 GROUP BY u.turn_id, t.id ORDER BY u.turn_id LIMIT :limit;

-- name: usage_sum_of_turn
SELECT CAST(sum(input) AS INTEGER), CAST(sum(output) AS INTEGER), CAST(sum(reasoning) AS INTEGER),
       CAST(sum(cache_read) AS INTEGER), CAST(sum(cache_write) AS INTEGER)
  FROM usage WHERE turn_id = :turn;

-- name: cost_sum_of_turn
SELECT sum(cost_reported) FROM usage WHERE turn_id = :turn;

-- name: set_turn_cost
UPDATE turns SET cost_usd = :cost WHERE id = :turn;

-- name: set_turn_tokens
UPDATE turns SET input_tokens = :input, output_tokens = :output, reasoning_tokens = :reasoning,
       cache_read = :cache_read, cache_write = :cache_write
 WHERE id = :turn;
