"""A file of a newer version is left to newer programs: at open, and when it becomes one while we have it open."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import palaver

from ..tools.sql import everything
from .support import from_another_process, versions

FUTURE = "INSERT INTO schema_migrations VALUES (99, 'the future', 1)"
GONE = "DELETE FROM schema_migrations WHERE version = 99"
WRITE_SOMETHING = "import palaver, sys; palaver.open(sys.argv[1], timeout=5).sessions.create('b').commit('hello')"

Verb = Callable[[palaver.Store, palaver.Session], object]

VERBS: dict[str, Verb] = {
    "begin": lambda store, session: session.turn("hello"),
    "commit": lambda store, session: session.commit("hello"),
    "create": lambda store, session: store.sessions.create("b"),
    "fork": lambda store, session: session.fork(),
    "regenerate": lambda store, session: session.regenerate(),
    "undo": lambda store, session: session.undo(),
    "archive": lambda store, session: session.archive(),
    "delete": lambda store, session: session.delete(),
    "alias": lambda store, session: session.alias("a-name"),
    "title": lambda store, session: setattr(session, "title", "another"),
    "verify": lambda store, session: store.verify(fix=True),
}


def test_promise_140_a_newer_file_is_refused_and_not_touched(path: str) -> None:
    with palaver.open(path) as store:
        store.sessions.create("a").commit("hello")
    from_another_process(path, FUTURE)
    before = Path(path).read_bytes()
    for options in ({}, {"create": False}, {"events": "full"}):
        with pytest.raises(palaver.SchemaTooNew, match="has schema 99, this Palaver knows up to 4; upgrade"):
            palaver.open(path, **options)
    assert Path(path).read_bytes() == before
    assert [entry.name for entry in Path(path).parent.iterdir() if "wal" in entry.name] == []


@pytest.mark.parametrize("name", VERBS)
def test_promise_140_a_file_that_becomes_newer_under_us_takes_nothing_more_from_us(
    name: str, store: palaver.Store
) -> None:
    session = store.sessions.create("a")
    session.commit(["hello", {"role": "assistant", "parts": [{"type": "text", "text": "yes"}]}])
    from_another_process(store.path, FUTURE)
    before = everything(store.path)
    for _ in range(2):
        with pytest.raises(palaver.SchemaTooNew):
            VERBS[name](store, session)
    assert everything(store.path) == before
    from_another_process(store.path, GONE)
    session.commit("it was not us who broke")


def test_promise_140_a_turn_that_is_open_when_the_file_becomes_newer_is_not_sealed_by_us(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    turn = session.turn("open before")
    turn.write({"type": "text-start", "id": "t"})
    from_another_process(store.path, FUTURE)
    before = everything(store.path)
    for verb in (turn.seal, turn.abort, turn.wait, lambda: turn.usage(input=1), lambda: turn.write({"type": "finish"})):
        with pytest.raises(palaver.SchemaTooNew):
            verb()
    assert everything(store.path) == before
    assert session.messages()[0]["parts"][0]["text"] == "open before"
    from_another_process(store.path, GONE)
    turn.seal()
    assert turn.status == "completed"


def test_promise_140_whoever_is_refused_holds_no_lock(store: palaver.Store) -> None:
    """The first write of a process that only signs in is refused at its very end."""
    session = store.sessions.create("a")
    from_another_process(store.path, FUTURE)
    with pytest.raises(palaver.SchemaTooNew):
        session.turn("hello")
    from_another_process(store.path, GONE)
    subprocess.run([sys.executable, "-c", WRITE_SOMETHING, store.path], check=True, timeout=60)
    assert len(list(store.sessions)) == 2


def test_promise_140_a_store_whose_file_became_newer_can_still_be_let_go(path: str) -> None:
    store = palaver.open(path)
    store.sessions.create("a").turn("left open").write({"type": "start-step"})
    from_another_process(path, FUTURE)
    with pytest.raises(palaver.SchemaTooNew):
        store.close()
    assert held(path) == []
    from_another_process(path, GONE)
    with palaver.open(path) as again:
        assert [turn.status for turn in again.sessions.get(next(iter(again.sessions)).id).path()] == ["aborted"]
        assert again.verify() == []


def held(path: str) -> list[str]:
    """Descriptors of this process on the store's files, where the system tells (Linux)."""
    found = []
    for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []:
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the one that listed them
            pass
    return [name for name in found if name.startswith(path)]


def test_promise_140_another_migration_row_of_a_version_we_know_changes_nothing(store: palaver.Store) -> None:
    before = versions(store.path)
    from_another_process(store.path, "INSERT INTO schema_migrations VALUES (0, 'before us', 1)")
    store.sessions.create("a").commit("hello")
    assert versions(store.path) == [(0, "before us"), *before]
