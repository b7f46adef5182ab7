"""The machine finds bugs: each one here is planted into the store, and a run must end in a difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from palaver.core import rows
from palaver.core.foreign import hidden_stamps
from palaver.core.read import context, transcript
from palaver.core.settle import preflight, recovery, requeue
from palaver.core.turn import foreign_entries, seal
from palaver.core.verbs import moves, queue
from palaver.db.queries import Q
from palaver.streaming import changes

from .runs import run

Plant = Callable[[pytest.MonkeyPatch], None]


def nothing_is_hidden(patch: pytest.MonkeyPatch) -> None:
    show = hidden_stamps._apply
    patch.setattr(hidden_stamps, "_apply", lambda tx, shown, gone: show(tx, shown, {}))


def nothing_comes_back(patch: pytest.MonkeyPatch) -> None:
    hide = hidden_stamps._apply
    patch.setattr(hidden_stamps, "_apply", lambda tx, shown, gone: hide(tx, {}, gone))


def undo_stops_at_a_begin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(moves._Log, "before", lambda self, at: self.state(at - 1) if at > 0 else None)


def recovery_makes_only_strays(patch: pytest.MonkeyPatch) -> None:
    def finish(tx: Any, head: Any, turn: str, status: str, **_: Any) -> Any:
        return recovery.abandon(tx, head, turn, status)

    patch.setattr(recovery, "finish", finish)


def the_tail_is_not_in_order(patch: pytest.MonkeyPatch) -> None:
    read = transcript.read_tail
    patch.setattr(transcript, "read_tail", lambda tx, session: sorted(read(tx, session), key=lambda m: m.role))


def loose_rows_are_taken_in_last(patch: pytest.MonkeyPatch) -> None:
    def take(tx: Any, turn: Any, found: Any) -> None:
        for line in [line for message in found for line in foreign_entries.of_message(tx, message)]:
            turn.add(tx, line.kind, line.ref, line.client_id, line.salt, line.leaf)

    patch.setattr(foreign_entries, "take", take)


def loose_rows_are_adopted_under_an_open_turn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(preflight, "stands_still", lambda tx, head: False)


def usage_is_counted_twice(patch: pytest.MonkeyPatch) -> None:
    count = changes.count_usage

    def twice(recorder: Any, given: Any, *rest: Any) -> None:
        count(recorder, given + given, *rest)

    patch.setattr(changes, "count_usage", twice)


def open_tools_stay_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(seal, "close_parts", lambda turn, status: None)


def a_cancelled_message_can_be_claimed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "_named", lambda tx, session, key: rows.queued.one(tx, session=session, id=key))


class Forgetful:
    """A transaction in which every claim is the first."""

    def __init__(self, tx: Any) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def one(self, statement: Any, **given: Any) -> Any:
        row = self._tx.one(statement, **given)
        return (*row[:2], 1) if row and statement is Q.queued_turn else row


def a_message_is_given_back_twice(patch: pytest.MonkeyPatch) -> None:
    give_back = requeue.give_back
    patch.setattr(requeue, "give_back", lambda tx, *rest: give_back(Forgetful(tx), *rest))


def a_claimed_message_keeps_its_old_place(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Q, "restamp_message", Q.set_message_metadata)


def a_context_keeps_what_was_summarised(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(context, "_after_summary", lambda tx, turn, messages: messages)


def a_context_shows_what_was_pruned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(context, "_pruned", lambda tx, turn: set())


PLANTED = [
    nothing_is_hidden,
    nothing_comes_back,
    undo_stops_at_a_begin,
    recovery_makes_only_strays,
    the_tail_is_not_in_order,
    loose_rows_are_taken_in_last,
    loose_rows_are_adopted_under_an_open_turn,
    usage_is_counted_twice,
    open_tools_stay_open,
    a_cancelled_message_can_be_claimed,
    a_message_is_given_back_twice,
    a_claimed_message_keeps_its_old_place,
    a_context_keeps_what_was_summarised,
    a_context_shows_what_was_pruned,
]


@pytest.mark.planted("open_tools_stay_open")
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_the_machine_finds_what_is_planted(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        run(400, shrink=False)  # it stops at the first difference
