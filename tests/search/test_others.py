"""What another program wrote is found at once, in whatever session and with whatever date, on both engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

import palaver
from palaver.background import jobs
from palaver.core.search import loose
from palaver.core.search.tail import state

from ..postgres.engines import Engine, File, Postgres, connect

OLD = 1_600_000_000_000


class Place(NamedTuple):
    engine: Engine
    store: palaver.Store


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Nothing is indexed by itself."""
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)
    is_file = request.param == "file"
    engine = File(tmp_path / "store.db") if is_file else Postgres(*request.getfixturevalue("ready_space"))
    with engine.open() as store:
        yield Place(engine, store)


def put(place: Place, session: palaver.Session, words: str, at: int = OLD) -> str:
    """Another program adds a message."""
    name = f"of another program: {words}"
    row = (name, session.id, "user", "{}", at, at)
    part = (name, name, session.id, 0, "text", json.dumps({"type": "text", "text": words}), None, None, at, at)
    place.engine.write(place.store, "INSERT INTO chat_messages VALUES (?, ?, ?, ?, ?, ?)", [row])
    place.engine.write(place.store, "INSERT INTO chat_parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [part])
    return name


def found(place: Place, typed: str) -> list[str]:
    return sorted(hit.snippet for hit in place.store.search(typed))


def looked_at(place: Place) -> list[str]:
    """The rows that are other programs' beyond those that are remembered."""
    with place.store.db.read() as tx:
        now = state(tx).looked
        assert now is not None
        return [row.id for row in loose.find(tx, loose.Looked(now.mark, now.guard), 100)]


def test_a_row_in_the_oldest_of_200_sessions_is_found_though_it_is_dated_long_ago(place: Place) -> None:
    oldest, *_ = sessions = [place.store.sessions.create() for _ in range(200)]
    for session in sessions[:3]:
        session.commit("a fox")
    for is_indexed in (False, True):
        if is_indexed:
            place.store.reindex()
        word = f"heron{is_indexed:d}"
        put(place, oldest, word)
        assert found(place, word) == [word]
        assert found(place, "heron*") == ["heron0", "heron1"][: is_indexed + 1]


def test_a_row_that_nobody_adopts_is_found_ever_after_and_costs_no_look_at_all_that_came_since(place: Place) -> None:
    left, other = place.store.sessions.create(), place.store.sessions.create()
    name = put(place, left, "a heron")
    for _ in range(3):
        other.commit("a fox")
        place.store.reindex(only_missing=True)
        assert found(place, "heron") == ["a heron"]
    assert looked_at(place) == []
    left.commit("a dog")
    assert left.transcript()[0].id == name
    for _ in range(2):
        assert found(place, "heron") == ["a heron"]
        place.store.reindex(only_missing=True)


def test_more_rows_than_are_remembered_are_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loose, "_MOST_KNOWN", 2)
    session, other = place.store.sessions.create(), place.store.sessions.create()
    for number in range(4):
        put(place, session, f"heron {number}")
        other.commit("a fox")
        place.store.reindex(only_missing=True)
    assert found(place, "heron") == [f"heron {number}" for number in range(4)]


def test_copies_of_ours_hide_no_row(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loose, "_MOST_KNOWN", 2)
    left, session = place.store.sessions.create(), place.store.sessions.create()
    put(place, left, "a heron")
    for number in range(5):
        session.commit(f"fox {number}")
    session.fork(copy=True)
    place.store.reindex(only_missing=True)
    assert looked_at(place) == []
    assert found(place, "heron") == ["a heron"]


def test_a_row_of_a_transaction_that_was_under_way_when_the_index_was_written_is_found(
    ready_space: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)
    engine = Postgres(*ready_space)
    with engine.open() as store, closing(connect(*ready_space)) as slow:
        session = store.sessions.create()
        slow.execute("BEGIN")
        slow.execute("INSERT INTO chat_messages VALUES ('m', %s, 'user', '{}', 1, 1)", (session.id,))
        store.sessions.create().commit("a fox")
        store.reindex()
        store.sessions.create().commit("a fox")
        store.reindex(only_missing=True)
        part = ("p", "m", session.id, 0, "text", '{"type":"text","text":"a heron"}', None, None, 1, 1)
        slow.execute("INSERT INTO chat_parts VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", part)
        slow.execute("COMMIT")
        assert [hit.snippet for hit in store.search("heron")] == ["a heron"]


def test_where_the_mark_is_of_another_place_all_rows_are_looked_at(place: Place) -> None:
    """As in a copy that a program made elsewhere: rows that were written there may have any number."""
    session = place.store.sessions.create()
    session.commit("a fox")
    place.store.reindex()
    put(place, session, "a heron")
    place.engine.write(place.store, "UPDATE settings SET value = ? WHERE name = 'search_looked'", [(marked(place),)])
    assert found(place, "heron") == ["a heron"]


def marked(place: Place) -> str:
    """The mark is far ahead, its guard as it was."""
    [(text,)] = place.engine.rows(place.store, "SELECT value FROM settings WHERE name = 'search_looked'")
    _, guard, known = json.loads(text)
    return json.dumps([2**31, guard, known])


def test_a_message_that_begins_its_session_in_one_of_its_turns_has_the_title_whichever_is_indexed_last(
    place: Place,
) -> None:
    """A row of another program comes before it in a turn that is sealed, and not in a fork that was made meanwhile."""
    session = place.store.sessions.create()
    session.title = "Waders"
    with session.turn("a fox"):
        asked = session.transcript()[0]
        session.fork(at=asked.id)
        put(place, session, "a heron", at=asked.created_at - 1)
    for _ in range(3):
        assert found(place, "waders fox") == ["Waders a fox"]
        assert place.store.verify() == []
        place.store.reindex()


def test_a_message_keeps_the_title_when_another_turn_lists_it_behind_a_row_of_another_program(place: Place) -> None:
    session = place.store.sessions.create()
    session.title = "Waders"
    with session.turn("a fox") as turn:
        turn.abort()
    asked = session.transcript()[0]
    place.store.reindex()
    with session.regenerate() as turn:
        put(place, session, "a heron", at=asked.created_at - 1)
        turn.abort()
    for _ in range(2):
        assert found(place, "waders fox") == ["Waders a fox"]
        assert place.store.verify() == []
        place.store.reindex(only_missing=True)


def test_a_message_that_goes_back_to_the_queue_and_on_again_is_no_damage_of_the_index(place: Place) -> None:
    """Nothing stands before what is queued, so it has the title; what stood before it as it was claimed comes again."""
    session = place.store.sessions.create()
    session.title = "Waders"
    session.commit("a fox")
    session.enqueue("a heron")
    turn = session.claim()
    assert turn is not None
    session.fork(at=session.messages()[-1]["id"])  # where it is listed, too, and indexed
    place.store.reindex()
    assert place.store.verify() == []
    assert turn.give_back()
    assert place.store.verify() == []
    place.store.reindex()
    assert place.store.verify() == []
    turn = session.claim()
    assert place.store.verify() == []
    assert turn is not None
    turn.seal()
    assert place.store.verify() == []
    place.store.reindex(only_missing=True)
    assert (found(place, "heron"), found(place, "waders heron")) == (["a heron"], [])
    assert place.store.verify() == []


def test_what_the_index_lost_is_named_and_mended_though_a_turn_that_waits_lists_it_too(place: Place) -> None:
    session = place.store.sessions.create()
    with session.turn("a fox"):
        pass
    with session.regenerate() as turn:
        turn.tool("look")
    place.store.reindex()
    assert place.store.verify() == []
    asked = session.messages()[0]["id"]
    place.engine.write(place.store, "DELETE FROM documents WHERE message_id = ?", [(asked,)])
    assert asked in [problem.where for problem in place.store.verify()]
    place.store.verify(fix=True)
    if place.store.db.name.startswith("/"):  # FTS5 has its words still, and the sum of its rows with them
        place.store.reindex()
    assert found(place, "fox") == ["a fox"]
    assert place.store.verify() == []
