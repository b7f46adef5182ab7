"""How many statements a read or a move takes does not grow with the path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import palaver

from ..load.counting import statements
from .long_path import LongPath

Count = Callable[[Callable[[], Any]], list[str]]


@pytest.fixture
def counted(path: str) -> Iterator[tuple[palaver.Store, Count]]:
    with statements() as run, palaver.open(path, durability="normal") as store:

        def count(verb: Callable[[], Any]) -> list[str]:
            run.clear()
            verb()
            return [
                text.split()[0] for text in run if text.startswith(("SELECT", "WITH", "UPDATE", "INSERT", "DELETE"))
            ]

        yield store, count


def verbs(path: LongPath) -> dict[str, Callable[[], Any]]:
    session, near, far = path.session, path.turns[-2], path.turns[10]
    message = path.messages[10]
    return {
        "path": session.path,
        "tree": session.tree,
        "strays": session.strays,
        "fork at the head": session.fork,
        "fork at a turn": lambda: session.fork(at=far),
        "fork at a message": lambda: session.fork(at=message),
        "rewind by one": lambda: session.rewind(near),
        "move on by one": lambda: session.move(path.turns[-1], expected=session.info.revision),
        "edit": lambda: session.edit(path.messages[-1], "otherwise").abort(),
    }


def test_no_verb_takes_more_of_them_on_a_long_path(counted: tuple[palaver.Store, Count]) -> None:
    store, count = counted
    short, long = LongPath(store, 20), LongPath(store, 400)
    for path in (short, long):
        path.session.commit("so that the session is known")
        path.session.undo()
    few, many = verbs(short), verbs(long)
    for name, verb in few.items():
        once, again = count(verb), count(many[name])
        print(f"{name}: {len(once)} statements")
        assert 0 < len(again) <= len(once), name


def test_a_rewind_reads_no_turn_by_itself(counted: tuple[palaver.Store, Count]) -> None:
    """What it writes is one row for each message that is hidden."""
    store, count = counted
    path = LongPath(store, 300)
    run = count(lambda: path.session.rewind(path.turns[99]))
    assert run.count("UPDATE") in range(200, 210)
    assert len(run) - run.count("UPDATE") < 25
    assert len(path.session.path()) == 100 and len(path.session.messages()) == 100
    back = count(path.session.undo)
    assert len(back) - back.count("UPDATE") < 25
    assert len(path.session.messages()) == 300


def test_an_id_of_a_client_is_found_by_one_statement(counted: tuple[palaver.Store, Count]) -> None:
    store, count = counted
    counts = []
    for length in (5, 60):
        session = store.sessions.create("coder")
        session.commit({"role": "user", "content": "first", "id": "the first"})
        for number in range(length):
            session.commit(str(number))
        counts.append(len(count(lambda session=session: session.fork(at="the first"))))  # type: ignore[misc]
        assert len(session.fork(at="the first").messages()) == 1
    assert counts[0] == counts[1]
