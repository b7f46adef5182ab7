"""A file of a newer version is left to newer programs: at open, and when it becomes one while we have it open; unless
it says that programs of our version may go on.

Here today's Palaver plays the older one; the newer one is the same with one migration more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import palaver
from palaver.db.migrate import VERSION

from ..exports import rich
from ..tools.puppet import Script
from ..tools.sql import everything, execute
from .old import version_5
from .support import from_another_process, next_version, versions

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
        with pytest.raises(palaver.SchemaTooNew, match=f"has schema 99, this Palaver knows up to {VERSION}; upgrade"):
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


# ---------------------------------------------------------------- beside a migration

ADDS = f"""
CREATE TABLE dreams (id TEXT PRIMARY KEY);
ALTER TABLE turns ADD COLUMN dream TEXT;
INSERT INTO settings VALUES ('writers_from', '{VERSION}');
"""
CHANGES = "CREATE TABLE dreams (id TEXT PRIMARY KEY);"
OLD_WRITER = """
import palaver
store = palaver.open(sys.argv[1])
session = store.sessions.create("coder", title="beside")
turn = session.turn("Who is there?")
turn.write({"type": "text-start", "id": "t"})
taken = ""
def say(*words):
    global taken
    for word in words:
        turn.write({"type": "text-delta", "id": "t", "delta": word})
        taken += word
say("It ", "is ")
print("streaming", flush=True)
input()
try:
    say("still ", "me.")
    turn.seal()
    session.commit("And on")
    store.close()
    print("sealed", flush=True)
except palaver.SchemaTooNew:
    print("refused", flush=True)
print(taken, flush=True)
input()
"""


@pytest.fixture
def newer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is of the next version; those that it starts are not."""
    next_version(monkeypatch, (f"{VERSION + 1:04}_dreams", request.param))


def migrated_beside_a_writer(path: str) -> list[str]:
    """What became of an older program that was streaming while a newer one migrated the file, and the answer as far as
    it was acknowledged. It has ended by now."""
    with Script(OLD_WRITER, path) as old:
        assert old.hear() == "streaming"
        palaver.open(path).close()
        assert versions(path)[-1] == (VERSION + 1, "dreams")
        old.write("go on")
        return [old.hear(), old.hear()]


@pytest.mark.parametrize("newer", [ADDS], indirect=True, ids=["adds"])
def test_promise_140_a_migration_that_only_adds_stops_no_program(newer: None, path: str) -> None:
    assert migrated_beside_a_writer(path) == ["sealed", "It is still me."]
    with palaver.open(path) as store:
        assert said(store) == ["Who is there?", "It is still me.", "And on"]
        assert [turn.status for turn in only(store).path()] == ["completed", "completed"]
        assert store.verify() == []


@pytest.mark.parametrize("newer", [CHANGES], indirect=True, ids=["changes"])
def test_promise_140_any_other_stops_it_and_its_turn_is_recovered_with_every_chunk(newer: None, path: str) -> None:
    came, taken = migrated_beside_a_writer(path)
    assert came == "refused" and taken.startswith("It is ")
    with palaver.open(path) as store:
        assert said(store) == ["Who is there?", taken]
        assert [turn.status for turn in only(store).path()] == ["aborted"]
        assert store.verify() == []


OF_SCHEMA_5 = """
import palaver.db.schema
from palaver.db import migrate
known = palaver.db.schema.migrations()[:5]
migrate.VERSION, palaver.db.schema.migrations = 5, lambda: known
"""


def test_promise_140_a_program_of_schema_5_goes_on_beside_schema_6(path: str) -> None:
    version_5(path)
    with Script(OF_SCHEMA_5 + OLD_WRITER, path) as old:
        assert old.hear() == "streaming"
        assert versions(path)[-1] == (5, "facts")
        with palaver.open(path) as store:
            store.graft(rich.grafted_source())
        assert versions(path)[-1] == (8, "row_numbers")
        old.write("go on")
        assert [old.hear(), old.hear()] == ["sealed", "It is still me."]
    with palaver.open(path) as store:
        (beside,) = store.sessions.match("beside")
        assert [turn.status for turn in store.sessions.get(beside.id).path()] == ["completed", "completed"]
        assert store.verify() == []


def only(store: palaver.Store) -> palaver.Session:
    (info,) = store.sessions
    return store.sessions.get(info.id)


def said(store: palaver.Store) -> list[str]:
    return [message["parts"][0]["text"] for message in only(store).messages()]


# ---------------------------------------------------------------- what a newer file says of older writers


def say_writers_from(path: str, value: object) -> None:
    execute(path, "INSERT INTO settings VALUES ('writers_from', ?) ON CONFLICT (name) DO UPDATE SET value = ?1", value)


@pytest.mark.parametrize("oldest", ["0", "1", str(VERSION)])
def test_promise_140_a_newer_file_that_takes_our_writers_is_opened_read_and_written(oldest: str, path: str) -> None:
    with palaver.open(path) as store:
        store.sessions.create("a").commit("before")
    from_another_process(path, FUTURE)
    say_writers_from(path, oldest)
    with palaver.open(path) as store:
        only(store).commit("after")
    with palaver.open(path, readonly=True) as store:
        assert said(store) == ["before", "after"]
        assert store.notes == []
    assert versions(path)[-1] == (99, "the future")


@pytest.mark.parametrize("oldest", [str(VERSION + 1), "99", "", "-1", "5.0", "five", "٥", b"5", 1.5])
def test_promise_140_one_that_does_not_is_refused_for_reading_too(oldest: object, path: str) -> None:
    with palaver.open(path) as store:
        store.sessions.create("a")
    from_another_process(path, FUTURE)
    say_writers_from(path, oldest)
    for options in ({}, {"create": False}, {"readonly": True}):
        with pytest.raises(palaver.SchemaTooNew):
            palaver.open(path, **options)


def test_promise_140_one_that_keeps_its_settings_elsewhere_is_refused(path: str) -> None:
    palaver.open(path).close()
    from_another_process(path, FUTURE)
    execute(path, "ALTER TABLE settings RENAME TO settings_of_the_future")
    with pytest.raises(palaver.SchemaTooNew):
        palaver.open(path, readonly=True)


def test_promise_140_who_was_let_in_is_stopped_by_the_next_that_does_not(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    say_writers_from(store.path, str(VERSION))
    from_another_process(store.path, FUTURE)
    session.commit("beside a newer one")
    from_another_process(store.path, f"UPDATE settings SET value = '{VERSION + 1}' WHERE name = 'writers_from'")
    with pytest.raises(palaver.SchemaTooNew):
        session.commit("too old by now")
