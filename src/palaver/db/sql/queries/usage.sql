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
SELECT t.id, t.session_id, t.input_tokens, t.output_tokens, t.reasoning_tokens, t.cache_read, t.cache_write, t.cost_usd,
       s.input, s.output, s.reasoning, s.cache_read_sum, s.cache_write_sum, s.cost
  FROM (SELECT turn_id, sum(input) AS input, sum(output) AS output, sum(reasoning) AS reasoning,
               sum(cache_read) AS cache_read_sum, sum(cache_write) AS cache_write_sum,
               sum(coalesce(cost_reported, 0)) AS cost
          FROM usage WHERE turn_id > :after GROUP BY turn_id ORDER BY turn_id LIMIT :limit) s
  LEFT JOIN turns t ON t.id = s.turn_id
 ORDER BY s.turn_id;
