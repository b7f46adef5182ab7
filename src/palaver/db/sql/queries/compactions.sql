-- Compactions: the fields of their parts, as columns.

-- name: put_compaction
INSERT INTO compactions (
    turn_id, summary, summarized_through_turn_id, first_kept_turn_id, turns_summarized, compaction_type, model, provider,
    tokens_before, tokens_after, summary_tokens, summarization_input_tokens, summarization_output_tokens, duration_ms,
    trigger, metadata_json
) VALUES (
    :turn, :summary, :summarized_through_turn_id, :first_kept_turn_id, :turns_summarized, :compaction_type, :model,
    :provider, :tokens_before, :tokens_after, :summary_tokens, :summarization_input_tokens,
    :summarization_output_tokens, :duration_ms, :trigger, :metadata
) ON CONFLICT (turn_id) DO NOTHING;

-- name: drop_compaction
DELETE FROM compactions WHERE turn_id = :turn;

-- name: get_compaction
SELECT {columns compactions} FROM compactions WHERE turn_id = :turn;
