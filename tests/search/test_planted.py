"""The lives find bugs: each one here is planted into search, and a comparison must fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from palaver.core.search import sight, tail
from palaver.db.queries import Q

from ..postgres.engines import File
from . import lives
from .test_lives import live

Plant = Callable[[pytest.MonkeyPatch], None]


def deleted_sessions_are_seen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sight.Sight, "_sees", lambda self, session: True)


def the_tail_is_skipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tail.Tail, "__iter__", lambda self: iter(()))


def titles_are_not_indexed_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Q.unindex_titled, "text", Q.unindex_titled.text.replace("unindexed = 1", "unindexed = unindexed"))


PLANTED: list[Plant] = [deleted_sessions_are_seen, the_tail_is_skipped, titles_are_not_indexed_again]


@pytest.mark.planted("deleted_sessions_are_seen")
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    lives.quiet(monkeypatch)
    plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        for seed in range(14):
            live(File(tmp_path / f"{seed}.db"), seed, 90)
