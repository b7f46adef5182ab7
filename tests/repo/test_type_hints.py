"""`typing.get_type_hints` answers for everything that is public, also in a process that has used nothing of it yet."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args, get_type_hints

import pytest

import palaver

from .public import MODULES, callables_of


def unresolved(module: str) -> dict[str, str]:
    """What cannot be resolved, and why."""
    found = {}
    for name, function in callables_of(module):
        try:
            get_type_hints(function)
        except Exception as error:
            found[name] = repr(error)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_public_callable_can_be_asked_for_its_types(module: str) -> None:
    assert unresolved(module) == {}


def test_they_are_the_classes_themselves() -> None:
    assert get_type_hints(palaver.Session.turn)["return"] is palaver.Turn
    assert get_type_hints(palaver.Session.claim)["return"] == palaver.Turn | None
    assert get_type_hints(palaver.Session.permissions.fget)["return"] is palaver.SessionRules  # type: ignore[attr-defined]
    (family,) = get_args(get_type_hints(palaver.open)["options"])
    assert family is palaver.keywords.OpenKeywords


FRESH = ["Store", "Sessions", "Session", "Moment", "Turn", "SessionRules"]


@pytest.mark.parametrize("name", FRESH)
def test_a_process_that_has_used_nothing_yet_is_answered_too(name: str) -> None:
    code = f"""
import inspect, typing, palaver
kind = palaver.{name}
for member in vars(kind).values():
    member = member.fget if isinstance(member, property) else member
    if inspect.isfunction(member) and (not member.__name__.startswith("_") or member.__name__ == "__init__"):
        typing.get_type_hints(member)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_name_that_only_type_checkers_know_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish(self: Any) -> NotThere:  # type: ignore[name-defined] # noqa: F821
        raise NotImplementedError

    monkeypatch.setattr(palaver.Session, "vanish", vanish, raising=False)
    assert list(unresolved("palaver")) == ["palaver.Session.vanish"]
