-- The promises of the contract as queries that must return no row. The number is the promise's in the ledger.

-- 1: every message belongs to a session that exists
SELECT m.id FROM chat_messages m LEFT JOIN chat_sessions s ON s.id = m.session_id WHERE s.id IS NULL;

-- 1: foreign keys hold
SELECT * FROM pragma_foreign_key_check;

-- 2: ids begin with the prefix of their table
SELECT id FROM chat_sessions WHERE substr(id, 1, 4) <> 'ses_'
UNION ALL SELECT id FROM chat_messages WHERE substr(id, 1, 4) <> 'msg_'
UNION ALL SELECT id FROM chat_parts WHERE substr(id, 1, 4) <> 'prt_';

-- 5: model_json names provider and model
SELECT id, model_json FROM chat_sessions
 WHERE json_valid(model_json)
   AND (json_type(model_json, '$.provider_id') IS NOT 'text' OR json_type(model_json, '$.model_id') IS NOT 'text');

-- 6: a branch forks from a user message of its parent
SELECT s.id, s.parent_id, s.parent_message_id
  FROM chat_sessions s LEFT JOIN chat_messages m ON m.id = s.parent_message_id
 WHERE s.parent_message_id IS NOT NULL AND (m.session_id IS NOT s.parent_id OR m.role IS NOT 'user');

-- 7: permissions_json is an array, [] when there are none
SELECT id, permissions_json FROM chat_sessions
 WHERE permissions_json IS NULL OR (json_valid(permissions_json) AND json_type(permissions_json) <> 'array');

-- 7: a permission rule has the four fields of the contract
SELECT s.id, r.value FROM chat_sessions s, json_each(s.permissions_json) r
 WHERE json_valid(s.permissions_json) AND json_type(s.permissions_json) = 'array'
   AND (json_type(r.value, '$.permission') IS NOT 'text' OR json_type(r.value, '$.pattern') IS NOT 'text'
        OR coalesce(json_extract(r.value, '$.action'), '') NOT IN ('allow', 'deny', 'ask')
        OR coalesce(json_extract(r.value, '$.source'), 'session') NOT IN ('manifest', 'session', 'project'));

-- 8: metadata_json is an object, {} when there is none
SELECT id, metadata_json FROM chat_sessions
 WHERE metadata_json IS NULL OR (json_valid(metadata_json) AND json_type(metadata_json) <> 'object')
UNION ALL
SELECT id, metadata_json FROM chat_messages
 WHERE metadata_json IS NULL OR (json_valid(metadata_json) AND json_type(metadata_json) <> 'object');

-- 9: JSON columns hold valid JSON
SELECT id, model_json FROM chat_sessions WHERE model_json IS NULL OR NOT json_valid(model_json)
UNION ALL SELECT id, permissions_json FROM chat_sessions WHERE NOT json_valid(permissions_json)
UNION ALL SELECT id, metadata_json FROM chat_sessions WHERE NOT json_valid(metadata_json)
UNION ALL SELECT id, metadata_json FROM chat_messages WHERE NOT json_valid(metadata_json)
UNION ALL SELECT id, data_json FROM chat_parts WHERE data_json IS NULL OR NOT json_valid(data_json);

-- 10: times are integers of milliseconds since 1970
WITH times (id, created_at, updated_at) AS (
    SELECT id, created_at, updated_at FROM chat_sessions
    UNION ALL SELECT id, created_at, updated_at FROM chat_messages
    UNION ALL SELECT id, created_at, updated_at FROM chat_parts)
SELECT id, created_at, updated_at FROM times
 WHERE typeof(created_at) <> 'integer' OR typeof(updated_at) <> 'integer'
    OR created_at NOT BETWEEN 100000000000 AND 100000000000000;

-- 10: updated_at is not before created_at
SELECT id FROM chat_sessions WHERE updated_at < created_at
UNION ALL SELECT id FROM chat_messages WHERE updated_at < created_at
UNION ALL SELECT id FROM chat_parts WHERE updated_at < created_at;

-- 15: a role is one of three
SELECT id, role FROM chat_messages WHERE role NOT IN ('user', 'assistant', 'system');

-- 16: the parts of a message are numbered 0 to n-1, no gap, no repeat
SELECT message_id, count(*), min("index"), max("index") FROM chat_parts
 GROUP BY message_id
HAVING min("index") <> 0 OR max("index") <> count(*) - 1 OR count(DISTINCT "index") <> count(*);

-- 17: type is the type in data_json
SELECT id, type FROM chat_parts
 WHERE json_valid(data_json) AND type IS NOT json_extract(data_json, '$.type');

-- 17: a type is one of the AI SDK's
SELECT id, type FROM chat_parts
 WHERE type NOT IN ('text', 'reasoning', 'dynamic-tool', 'file', 'source-url', 'source-document', 'step-start')
   AND type NOT LIKE 'tool-_%' AND type NOT LIKE 'data-_%';

-- 18: data_json is an object
SELECT id, data_json FROM chat_parts WHERE json_valid(data_json) AND json_type(data_json) <> 'object';

-- 20: a tool state is one of seven
SELECT id, tool_state FROM chat_parts
 WHERE tool_state NOT IN ('input-streaming', 'input-available', 'approval-requested', 'approval-responded',
                          'output-available', 'output-error', 'output-denied');

-- 20: tool_call_id and tool_state are those in data_json
SELECT id, tool_call_id, tool_state FROM chat_parts
 WHERE (type = 'dynamic-tool' OR type LIKE 'tool-%') AND json_valid(data_json)
   AND (tool_call_id IS NOT json_extract(data_json, '$.toolCallId')
        OR tool_state IS NOT json_extract(data_json, '$.state'));

-- 20: only tool parts have tool columns
SELECT id, tool_call_id, tool_state FROM chat_parts
 WHERE NOT (type = 'dynamic-tool' OR type LIKE 'tool-%') AND (tool_call_id IS NOT NULL OR tool_state IS NOT NULL);

-- 22: a part is in its message's session
SELECT p.id FROM chat_parts p LEFT JOIN chat_messages m ON m.id = p.message_id
 WHERE m.session_id IS NOT p.session_id;

-- 26: parts are flat
SELECT name FROM pragma_table_info('chat_parts') WHERE name LIKE '%parent%' OR name LIKE '%part_id%';

-- 74: created_at strictly increases within a session
SELECT session_id, created_at FROM chat_messages GROUP BY session_id, created_at HAVING count(*) > 1;

-- 158: rollups are the sums of usage over the session's assistant messages
WITH told AS (
    SELECT session_id,
           coalesce(sum(json_extract(metadata_json, '$.usage.input')), 0) AS input,
           coalesce(sum(json_extract(metadata_json, '$.usage.output')), 0) AS output,
           coalesce(sum(json_extract(metadata_json, '$.usage.reasoning')), 0) AS reasoning,
           coalesce(sum(json_extract(metadata_json, '$.usage.cache_read')), 0) AS cache_read,
           coalesce(sum(json_extract(metadata_json, '$.usage.cache_write')), 0) AS cache_write
      FROM chat_messages WHERE role = 'assistant' AND json_valid(metadata_json)
     GROUP BY session_id)
SELECT s.id, s.prompt_tokens, t.input, s.completion_tokens, t.output
  FROM chat_sessions s LEFT JOIN told t ON t.session_id = s.id
 WHERE s.prompt_tokens <> coalesce(t.input, 0) OR s.completion_tokens <> coalesce(t.output, 0)
    OR s.reasoning_tokens <> coalesce(t.reasoning, 0) OR s.cache_read <> coalesce(t.cache_read, 0)
    OR s.cache_write <> coalesce(t.cache_write, 0);

-- 159: total_tokens is the sum of the five
SELECT id, total_tokens FROM chat_sessions
 WHERE total_tokens <> prompt_tokens + completion_tokens + reasoning_tokens + cache_read + cache_write;
