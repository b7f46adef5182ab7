"""Of the bugs that a checker must find, the one that is named stays in `make test`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from .. import planted


class Item:
    def __init__(self, name: str, stays: str | None) -> None:
        self.name = name
        self.nodeid = f"tests/test_it.py::{name}"
        self.stays = stays
        self.added: list[str] = []

    def get_closest_marker(self, name: str) -> Any:
        return self.stays and getattr(pytest.mark, name)(self.stays).mark

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.added.append(marker.name)


def marked(items: list[Item], *args: str) -> list[list[str]]:
    planted.mark_long(SimpleNamespace(args=args), items)  # type: ignore[arg-type]
    return [item.added for item in items]


def test_all_bugs_but_the_named_one_are_long() -> None:
    items = [Item("test_found[lost]", "lost"), Item("test_found[doubled]", "lost"), Item("test_other", None)]
    assert marked(items, "tests") == [[], ["long"], []]


def test_a_name_that_fits_no_bug_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match="test_found"):
        marked([Item("test_found[lost]", "nothing")], "tests")


def test_one_bug_alone_may_be_asked_for() -> None:
    assert marked([Item("test_found[doubled]", "lost")], "tests/test_it.py::test_found[doubled]") == [["long"]]
