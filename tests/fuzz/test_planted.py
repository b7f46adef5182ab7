"""The fuzz finds what it is there to find: with a bug planted in the library, it fails, and says which call it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palaver import permissions, session
from palaver.background.background import Background
from palaver.base import arguments, exact_json
from palaver.core import digests
from palaver.core.turn import message_input
from palaver.core.upkeep.trim_slices import Slices
from palaver.db.queries import Query
from palaver.permissions import decision

from . import run
from .values import nested

Break = Callable[[pytest.MonkeyPatch], None]


def revisions_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    """An OverflowError of the driver comes out."""
    patch.setattr(session, "arguments", SimpleNamespace(**vars(arguments) | {"revision": lambda value: value}))


def names_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(session, "arguments", SimpleNamespace(**vars(arguments) | {"text": lambda name, value: value}))


def a_leaf_is_of_another_text(patch: pytest.MonkeyPatch) -> None:
    """What is stored is not what its digest says: only `verify` sees it."""
    careless = {"leaf": lambda salt, kind, text: digests.leaf(salt, kind, text.replace("é", "e"))}
    patch.setattr(message_input, "digests", SimpleNamespace(**vars(digests) | careless))


def rules_may_be_too_deep_for_a_turn(patch: pytest.MonkeyPatch) -> None:
    """Every error is ours, and the session can take no turn any more."""
    check = permissions.check_rule

    def with_a_note(given: Any, source: str = "session") -> dict[str, Any]:
        rule = check(given, source)
        return {**rule, "note": nested(998)} if rule["pattern"] == "*" else rule

    patch.setattr(decision, "exact_json", SimpleNamespace(**vars(exact_json) | {"check": lambda value: None}))
    for module in (permissions, decision):
        patch.setattr(module, "check_rule", with_a_note)


def housekeeping_fails(patch: pytest.MonkeyPatch) -> None:
    """In a thread, where no caller meets it."""

    def broken(self: Any) -> bool:
        raise ZeroDivisionError("planted")

    patch.setattr(Slices, "trim_one", broken)


def opening_fails_after_a_title(patch: pytest.MonkeyPatch) -> None:
    """A value that `open` chokes on: it looks at every title."""
    recover = Background.recover

    def choking(self: Background) -> int:
        with self.db.read() as tx:
            titles = tx.all(Query("titles", "SELECT title FROM heads"))
        for (title,) in titles:
            (title or "").encode("latin-1")
        return recover(self)

    patch.setattr(Background, "recover", choking)


@pytest.mark.planted("housekeeping_fails")
@pytest.mark.parametrize(
    ("planted", "verbs", "found"),
    [
        (revisions_are_not_looked_at, ("Session.commit", "Session.undo"), "(Overflow|Type|Recursion)Error"),
        (names_are_not_looked_at, ("Session.messages_of", "Session.cancel"), "(Overflow|Type)Error"),
        (a_leaf_is_of_another_text, ("Session.commit",), "holds: AssertionError"),
        (rules_may_be_too_deep_for_a_turn, ("SessionRules.add",), "holds: BadValue"),
        (housekeeping_fails, ("Session.turn",), "ZeroDivisionError"),
        (opening_fails_after_a_title, ("Session.title",), "opens: UnicodeEncodeError"),
    ],
)
def test_a_planted_bug_is_found(
    planted: Break, verbs: tuple[str, ...], found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    planted(monkeypatch)
    with pytest.raises(run.Failure, match=found):
        run.run(1, 400, verbs)


@pytest.mark.planted("verbs1")
@pytest.mark.parametrize("verbs", [("Session.commit", "Session.undo"), ("Session.title",), ("Session.turn",)])
def test_without_a_bug_nothing_is_found(
    verbs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run.run(1, 40, verbs) >= 40
