"""A journal that misses anything is noticed: each kind of line is left out once, and a talk must come out different."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

import pytest

import palaver
from palaver.base import clock
from palaver.core.upkeep import journal, rebuild

from ..tools.chunks import tool
from .support import dump, replays, text
from .verbs import LONG, VERBS, on_a_session

SHOWN_BY = {
    "insert_session": "create",
    "set_archived": "archive",
    "set_session_metadata": "delete",
    "touch_session": "wait_and_stay",
    "touch_session_model": "stream",
    "add_usage": "stream",
    "set_rollups": "take_in_one_fork_and_then_another",
    "insert_message": "commit",
    "insert_part": "commit",
    "insert_streamed_part": "stream",
    "update_part": "stream_much",
    "set_message_metadata": "rewind_undo_redo",
    "restamp_message": "queue",
    "set_permissions": "permissions",
    "set_workspace": "update",
    "import_session": "take_in_an_export",
    "import_message": "take_in_an_export",
    "import_part": "take_in_an_export",
    "complete_session": "take_in_a_fork_and_then_all",
    "complete_message": "take_in_a_fork_and_then_all",
}


def test_every_kind_of_line_is_tried() -> None:
    """But those that change only what another program wrote: no journal makes that again."""
    assert SHOWN_BY.keys() | {"delete_part", "put_behind"} == journal.LOGGED


def test_promise_148_a_part_that_its_sealed_turn_does_not_list_is_not_brought_back(
    kept: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even by a journal that does not say that it was taken away."""
    monkeypatch.setattr(journal, "LOGGED", journal.LOGGED - {"delete_part"})
    on_a_session(kept, VERBS["compact_in_the_middle"])
    before = dump(kept.path)
    assert kept.rebuild() == []
    assert dump(kept.path) == before


@pytest.mark.planted("insert_message")
@pytest.mark.parametrize("statement", SHOWN_BY)
def test_promise_148_a_journal_that_misses_a_kind_of_line_is_noticed(
    statement: str, kept: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(1_800_000_000_000)
    monkeypatch.setattr(clock, "_now_ns", lambda: next(ticks) * 1_000_000)
    monkeypatch.setattr(journal, "LOGGED", journal.LOGGED - {statement})
    on_a_session(kept, VERBS[SHOWN_BY[statement]])
    with contextlib.suppress(palaver.StoreError):  # what is left does not even fit together
        assert replays(kept) != []


def folds_too_little(patch: pytest.MonkeyPatch) -> None:
    fold = rebuild._Folds._at
    patch.setattr(rebuild._Folds, "_at", lambda self, turn, begin_seq, upto: fold(self, turn, begin_seq, upto - 1))


def another_part(patch: pytest.MonkeyPatch) -> None:
    part = rebuild._Folds.part
    patch.setattr(rebuild._Folds, "part", lambda self, **source: part(self, **{**source, "part": 0}))


def no_metadata(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rebuild._Folds, "metadata", lambda self, **source: "{}")


@pytest.mark.planted("another_part")
@pytest.mark.parametrize("plant", [folds_too_little, another_part, no_metadata], ids=lambda plant: plant.__name__)
def test_promise_148_a_replay_that_folds_wrongly_is_noticed(
    plant: Callable[[pytest.MonkeyPatch], None], kept: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    turn = kept.sessions.create("coder").turn("go")
    for chunk in (*text("w" * LONG), *tool("c1", LONG, answered=False)):
        turn.write(chunk)
    turn.write({"type": "message-metadata", "messageMetadata": {"long": "m" * LONG}})
    assert replays(kept) != []
