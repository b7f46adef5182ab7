"""Breaks of the promises about tables, parts and threads: each patches the product so that one does not hold."""

from __future__ import annotations

import json
from typing import Any

from palaver.core import heads
from palaver.core.turn import message_input, seal
from palaver.core.upkeep import verify
from palaver.db.queries import Q, Query

from ..planting import planted


def rewrite(query: Query, old: str, new: str) -> None:
    """Ship another SQL text under the same name."""
    assert old in query.text, query.text
    query.text = query.text.replace(old, new)


# ---------------------------------------------------------------- sessions


@planted
def a_turn_changes_the_sessions_agent() -> None:
    for query in (Q.touch_session, Q.touch_session_model):
        rewrite(query, "SET updated_at", "SET agent = 'builder', updated_at")


@planted
def verify_does_not_know_who_opened_a_session() -> None:
    known = verify._findings
    verify._findings = lambda *given: (f for f in known(*given) if f[0].rule != "agent")


@planted
def the_model_is_not_refreshed() -> None:
    rewrite(Q.touch_session_model, "model_json = :model", "model_json = coalesce(model_json, :model)")


@planted
def a_fork_names_its_last_message() -> None:
    rewrite(Q.nearest_user_message, "AND m.role = 'user'", "")


@planted
def updated_at_follows_the_clock_back() -> None:
    for query in (Q.set_archived, Q.set_session_metadata, Q.touch_session, Q.touch_session_model, Q.add_usage):
        rewrite(query, "max(updated_at, :now)", ":now")


# ---------------------------------------------------------------- parts


@planted
def parts_are_encoded_again() -> None:
    prepare = message_input.prepare_part
    message_input.prepare_part = lambda given: prepare(
        json.loads(given) if isinstance(given, bytes | message_input.Raw) else given
    )


@planted
def parts_do_not_name_their_session() -> None:
    for query in (Q.insert_part, Q.insert_streamed_part):
        rewrite(query, ":session,", "'x' || :session,")


@planted
def part_indexes_repeat() -> None:
    for query in (Q.insert_part, Q.insert_streamed_part):
        rewrite(query, ":place,", ":place / 2,")


@planted
def verify_does_not_look_where_rows_were_written() -> None:
    known = verify._findings
    verify._findings = lambda *given: (f for f in known(*given) if f[0].rule != "home")


@planted
def a_late_output_lands_on_every_call_of_that_id() -> None:
    rewrite(Q.update_part, "WHERE id = :id", "WHERE id = :id OR tool_call_id = :call")


@planted
def a_late_output_is_not_kept_after_the_seal() -> None:
    seal.mark_stray = lambda tx, head, turn: None


@planted
def a_tool_state_stays_what_it_was() -> None:
    rewrite(Q.update_part, "tool_state = :state", "tool_state = coalesce(tool_state, :state)")


# ---------------------------------------------------------------- threads


@planted
def a_turn_forgets_what_came_before_it() -> None:
    from palaver.core.turn import seal

    known = seal._thread
    seal._thread = lambda before, *rest: known(before._replace(tokens=0), *rest)


@planted
def an_alias_goes_to_whoever_asks_last() -> None:
    rewrite(Q.insert_alias, "DO NOTHING", "DO UPDATE SET session_id = excluded.session_id, turn_id = excluded.turn_id")


@planted
def a_fork_begins_with_nothing() -> None:
    create = heads.create

    def create_head(tx: Any, *given: Any, kind: str, turn_id: str | None = None, **rest: Any) -> None:
        create(tx, *given, kind=kind, turn_id=None if kind == "fork" else turn_id, **rest)

    heads.create = create_head


@planted
def a_turn_may_go_anywhere() -> None:
    from palaver.streaming.recorder import Recorder

    Recorder.refuse_ended = lambda self, *, waiting=False: None


@planted
def a_committed_turn_does_not_name_its_response() -> None:
    from palaver.core.turn import seal

    seal.last_answer = lambda messages: None
