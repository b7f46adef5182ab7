"""An import can be run again: what is there is left alone, what an interruption left is finished."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import palaver

from ..tools.puppet import Script
from .conftest import Source
from .support import contents, export, groups, joined, take

Scratch = Callable[[str], palaver.Store]

CHILD = """
import palaver
from palaver import exports
from palaver.exports import import_checks as proof
def stop(*_, **__):
    print("here", flush=True)
    sys.stdin.read()
def tell(sessions, size):
    if str(sessions) == sys.argv[3]:
        stop()
if sys.argv[3] == "inside":
    proof.prove = stop
with palaver.open(sys.argv[1]) as store, open(sys.argv[2], "rb") as source:
    exports.read(store.db, source, progress=tell)
"""


def kill_import(store: Path, file: Path, when: str) -> None:
    """Import in another process; when it has taken in so many sessions, or all rows of one, it is killed."""
    with Script(CHILD, str(store), str(file), when) as child:
        assert child.hear() == "here"


def test_a_second_import_changes_nothing(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    before = contents(target.path)
    summary, refused = take(target, source.data)
    assert (summary.imported, summary.already_there, refused) == (0, 12, [])
    assert contents(target.path) == before


def test_an_import_into_the_store_it_came_from_changes_nothing(source: Source) -> None:
    before = contents(source.store.path)
    summary, refused = take(source.store, source.data)
    assert (summary.imported, summary.already_there, refused) == (0, 12, [])
    assert contents(source.store.path) == before


def test_a_session_that_others_forked_since_is_still_the_same(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    main = target.sessions.get(source.ids["main"])
    main.fork()
    main.fork(at=main.messages()[0]["id"])
    summary, refused = take(target, source.data)
    assert (summary.already_there, refused) == (12, [])


def test_a_system_prompt_that_was_there_before_is_no_difference(source: Source, target: palaver.Store) -> None:
    with target.sessions.create("x").turn("hello", system_prompt="Be exact.") as turn:
        turn.write({"type": "start"})
    take(target, source.data)
    assert take(target, source.data)[0].already_there == 12


@pytest.mark.parametrize("what", ["turn", "title", "alias"])
def test_a_session_that_differs_is_refused_and_nothing_changes(what: str, source: Source, scratch: Scratch) -> None:
    store = scratch("target")
    take(store, source.data)
    main = store.sessions.get(source.ids["main"])
    {"turn": lambda: main.commit(["more"]), "title": lambda: setattr(main, "title", "Other"),
     "alias": lambda: main.alias("another")}[what]()  # fmt: skip
    before = contents(store.path)
    summary, refused = take(store, source.data)
    assert (summary.imported, summary.already_there, summary.refused) == (0, 11, 1)
    assert (refused[0].session, refused[0].why) == (
        main.id,
        f"session {main.id} exists and differs; nothing was changed",
    )
    assert source.data.split(b"\n")[refused[0].line - 1] == b'{"session":"%s"}' % main.id.encode()
    assert contents(store.path) == before


def test_the_rest_of_the_file_comes_in_when_one_session_is_refused(source: Source, target: palaver.Store) -> None:
    take(target, joined([g for g in groups(source.data)][:1]))
    first = next(iter(target.sessions), None) or target.sessions.get(source.ids["deleted"], deleted=True).info
    target.sessions.get(first.id, deleted=True).alias("mine")
    summary, refused = take(target, source.data)
    assert (summary.imported, summary.refused) == (11, 1)
    assert [r.session for r in refused] == [first.id]


def test_a_name_that_is_taken_is_said_and_comes_in_when_it_is_free(source: Source, target: palaver.Store) -> None:
    mine = target.sessions.create("x")
    mine.alias("the helper")
    summary, refused = take(target, source.data)
    assert (summary.imported, summary.refused) == (11, 1)
    assert refused[0].why == f"alias 'the helper' already names session {mine.id}"
    mine.unalias("the helper")
    assert take(target, source.data)[0].imported == 1


def test_an_id_of_the_application_that_is_taken_is_said(source: Source, target: palaver.Store) -> None:
    mine = target.sessions.create("x", id="my own id")
    refused = take(target, source.data)[1]
    assert [r.why for r in refused] == [f"the id 'my own id' of 'client' already stands for {mine.id}"]


def test_an_import_killed_half_way_is_finished_by_running_it_again(tmp_path: Path, scratch: Scratch) -> None:
    here = scratch("here")
    for number in range(40):
        session = here.sessions.create("coder")
        session.commit([f"question {number}"])
    file = tmp_path / "file.jsonl"
    file.write_bytes(export(here))
    kill_import(tmp_path / "there.db", file, "25")
    with palaver.open(tmp_path / "there.db") as store:
        assert store.verify() == []
        summary, refused = take(store, file.read_bytes())
        assert (summary.imported, summary.already_there, refused) == (15, 25, [])
        assert export(store) == file.read_bytes()


def test_a_session_whose_import_was_killed_is_not_there_at_all(tmp_path: Path, scratch: Scratch) -> None:
    here = scratch("here")
    session = here.sessions.create("coder")
    for number in range(40):
        session.commit([f"{number} " + "y" * 200_000])
    file = tmp_path / "file.jsonl"
    file.write_bytes(export(here))
    there = tmp_path / "there.db"
    kill_import(there, file, "inside")
    assert (tmp_path / "there.db-wal").stat().st_size > 4_000_000, "the rows were on their way to the disk"
    with palaver.open(there) as store:
        assert sum(map(len, contents(str(there)).values())) == 0
        assert take(store, file.read_bytes())[0].imported == 1
        assert export(store) == file.read_bytes()
