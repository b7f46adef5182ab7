-- System prompts, by the digest of their text.

-- name: put_prompt
INSERT INTO system_prompts (digest, body, created_at) VALUES (:digest, :body, :now) ON CONFLICT (digest) DO NOTHING;

-- name: get_prompt
SELECT body FROM system_prompts WHERE digest = :digest;
