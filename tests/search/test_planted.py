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
    sees = sight.Sight._sees

    def sees_also_deleted(self: sight.Sight, session: sight.Session) -> bool:
        session.is_deleted = False
        return sees(self, session)

    patch.setattr(sight.Sight, "_sees", sees_also_deleted)


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
        live_on(tmp_path)


@pytest.mark.long
def test_without_a_bug_the_same_lives_find_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lives.quiet(monkeypatch)
    live_on(tmp_path)


def live_on(folder: Path) -> None:
    for seed in range(30):
        live(File(folder / f"{seed}.db"), seed, 90)
