-- Texts by their digest: system prompts, and definitions of tools and settings.

-- name: put_prompt
INSERT INTO system_prompts (digest, body, created_at) VALUES (:digest, :body, :now) ON CONFLICT (digest) DO NOTHING;

-- name: get_prompt
SELECT body FROM system_prompts WHERE digest = :digest;

-- name: put_body
INSERT INTO bodies (digest, kind, body, created_at) VALUES (:digest, :kind, :body, :now) ON CONFLICT (digest) DO NOTHING;

-- name: get_body
SELECT body FROM bodies WHERE digest = :digest;
