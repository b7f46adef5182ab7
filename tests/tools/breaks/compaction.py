"""Breaks of the promises about compaction, and about which model and prompt a turn had."""

from __future__ import annotations

from typing import Any

from ..planting import planted


@planted
def a_compaction_changes_the_model() -> None:
    """The model that wrote a summary is taken for the session's."""
    from palaver.core.verbs import compaction

    write = compaction.write

    def careless(tx: Any, head: Any, given: Any, which: Any) -> Any:
        turn = write(tx, head, given, which)
        if given.model is not None:
            turn.facts["model"] = {"provider_id": given.provider or "", "model_id": given.model}
        return turn

    compaction.write = careless


@planted
def data_compaction_may_be_streamed() -> None:
    from palaver.streaming import recorder

    recorder.COMPACTION = "data-compaction-of-no-use"


@planted
def data_compaction_may_be_committed() -> None:
    from palaver.core.turn import message_input

    message_input.COMPACTION = "data-compaction-of-no-use"


@planted
def prompts_are_named_by_their_stripped_text() -> None:
    from hashlib import sha256

    from palaver.core.turn import options

    options.sha256 = lambda text: sha256(text.strip())


@planted
def a_compaction_is_a_new_root() -> None:
    """The chain is cut where the summary stands."""
    from palaver.core.turn import seal
    from palaver.core.verbs import compaction

    commit = seal.commit

    def cut(tx: Any, head: Any, messages: Any, **given: Any) -> Any:
        if given.get("kind") == compaction.KIND:
            given["parent_id"] = None
        return commit(tx, head, messages, **given)

    seal.commit = cut


@planted
def a_compaction_is_an_ordinary_turn() -> None:
    from palaver.core.verbs import compaction

    compaction.KIND = "turn"


@planted
def a_compaction_has_no_details() -> None:
    """Its message is plain text."""
    from palaver.core.turn import message_input

    message_input.compaction_message = lambda part, extra: message_input.prepare_message(
        {"role": "assistant", "content": part["data"]["summary"]}
    )


@planted
def kept_turns_are_forgotten() -> None:
    """The context is the summary and what came after it."""
    from palaver.core.read import summaries

    real = summaries.details
    summaries.details = lambda parts: {**(real(parts) or {}), "first_kept_turn_id": None}


@planted
def the_summary_comes_last() -> None:
    from palaver.core.read import context

    real = context._after_summary
    context._after_summary = lambda *given: (found := real(*given))[1:] + found[:1]


@planted
def the_summary_claims_a_turn_that_is_kept() -> None:
    from palaver.core.verbs import compaction

    real = compaction.scope

    def greedy(tx: Any, head: Any, keep_from: str | None) -> Any:
        found = real(tx, head, keep_from)
        return found._replace(through=keep_from or found.through)

    compaction.scope = greedy
