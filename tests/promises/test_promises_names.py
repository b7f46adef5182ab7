"""Rows 34 and 93 of the promise ledger: titles are free and aliases unique; titles count up, and mean the newest."""

from __future__ import annotations

import random

import pytest

import palaver
from palaver.db.queries import Q

from ..tools.planting import broken_by
from ..tools.sql import query, reading
from .support_schema import plan

# ---------------------------------------------------------------- 34: titles are free, what must be unique is an alias


def test_promise_034_titles_are_free_and_a_name_that_must_be_unique_is_an_alias(store: palaver.Store) -> None:
    first, second = (store.sessions.create("a", title="The build") for _ in range(2))
    assert first.title == second.title == "The build"
    first.alias("The build", "title")
    with pytest.raises(palaver.AliasTaken):
        second.alias("The build", "title")
    assert store.sessions.find("The build", "title") == first
    assert query(store.path, "SELECT session_id FROM aliases WHERE namespace = 'title'") == [(first.id,)]


def test_promise_034_sessions_without_a_title_are_as_many_as_anybody_likes(store: palaver.Store) -> None:
    for _ in range(3):
        store.sessions.create("a")
    assert query(store.path, "SELECT count(*) FROM heads WHERE title IS NULL") == [(3,)]


# ---------------------------------------------------------------- 93: titles count up, and mean the newest

BASES = ["X", "100%", "a_b", "a\\b", "%", "_", "C#", "Xx", "Über 🎉"]


class Titles:
    """What a lineage is, by heart: for each base, the numbers that are there, and who has them, the newest last."""

    def __init__(self) -> None:
        self.known: dict[str, dict[int, list[str]]] = {base: {} for base in BASES}

    def add(self, base: str, number: int, session_id: str) -> None:
        self.known[base].setdefault(number, []).append(session_id)

    def drop(self, base: str, number: int, session_id: str) -> None:
        self.known[base][number].remove(session_id)
        if not self.known[base][number]:
            del self.known[base][number]

    def following(self, base: str) -> str:
        return titled(base, max(self.known[base], default=0) + 1)

    def newest(self, base: str) -> str | None:
        numbers = self.known[base]
        return numbers[max(numbers)][-1] if numbers else None


def titled(base: str, number: int) -> str:
    return base if number == 1 else f"{base} #{number}"


@broken_by("titles_are_compared_as_text", "a_title_is_a_pattern", "deleted_titles_count")
def test_promise_093_the_next_title_and_the_newest_are_what_a_model_says(store: palaver.Store) -> None:
    dice, model = random.Random(93), Titles()
    living: list[tuple[str, int, palaver.Session]] = []
    for _ in range(150):
        base, number = dice.choice(BASES), dice.choice((1, 1, 2, 9, 10, 11, 99, 100))
        if living and dice.random() < 0.3:
            base, number, session = living.pop(dice.randrange(len(living)))
            session.delete()
            model.drop(base, number, session.id)
        else:
            session = store.sessions.create("a", title=titled(base, number))
            living.append((base, number, session))
            model.add(base, number, session.id)
        for each in BASES:
            assert store.sessions.next_title(each) == store.sessions.next_title(f"{each} #7") == model.following(each)
            newest = model.newest(each)
            if newest is not None:
                assert store.sessions.by_title(each).id == newest


def test_promise_093_the_next_title_is_x_2_and_after_9_comes_10(store: palaver.Store) -> None:
    for expected in ("X", *(f"X #{number}" for number in range(2, 13))):
        assert store.sessions.next_title("X") == expected
        session = store.sessions.create("a", title=expected)
        assert store.sessions.by_title("X") == session


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("newest_titled", "heads_by_title (title=?)"),
        ("highest_of_lineage", "heads_by_title (title>? AND title<?)"),
        ("continuations_of", "heads_by_origin (origin_id=?)"),
    ],
)
def test_promise_093_a_lineage_is_found_by_an_index(lived: str, name: str, index: str) -> None:
    statement = getattr(Q, name)
    with reading(lived) as db:
        steps = plan(db, statement.text, statement.names)
    assert steps[0] == f"SEARCH h USING INDEX {index}"
    assert not [step for step in steps if step.startswith("SCAN")]
