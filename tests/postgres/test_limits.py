"""Texts that an index must hold: the same limits on both engines; and what is longer from before is copied, cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver
from palaver import Session, Store

from ..cli.run import Cli

NASTY = "".join(chr(0x10000 + (n * 7919) % 0xEFFF) for n in range(4_000))  # four bytes each, and nothing repeats
WORDS = {"type": "text", "text": "hi"}
LIMITS: dict[str, tuple[Callable[[Session, str], Any], str, str]] = {
    "title": (lambda s, text: setattr(s, "title", text), NASTY[:650], NASTY[:651]),
    "title of letters": (lambda s, text: setattr(s, "title", text), "x" * 1_000, "x" * 1_001),
    "title of a fork": (lambda s, text: s.fork(title=text), NASTY[:650], NASTY[:651]),
    "alias": (lambda s, text: s.alias(text), NASTY[:128], NASTY[:129]),
    "namespace": (lambda s, text: s.alias("a", text), NASTY[:128], NASTY[:129]),
    "message id": (lambda s, text: s.commit({"id": text, "role": "user", "parts": [WORDS]}), NASTY[:128], NASTY[:129]),
    "queued id": (lambda s, text: s.enqueue("hi", id=text), NASTY[:128], NASTY[:129]),
    "session id": (lambda s, text: s._store.sessions.create("a", id=text), NASTY[:128], NASTY[:129]),
    "agent": (lambda s, text: s._store.sessions.create(text), NASTY[:128], NASTY[:129]),
    "workspace": (lambda s, text: s._store.sessions.create("a", workspace=text), NASTY[:650], NASTY[:651]),
    "foreign id": (lambda s, text: s._store.put_foreign_id(text, text, s.id, text), NASTY[:128], NASTY[:129]),
    "trigger": (
        lambda s, text: s.commit("hi", trigger={"source": text, "delivery_id": text}),
        NASTY[:128],
        NASTY[:129],
    ),
}


@pytest.fixture(params=["file", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with palaver.open(request.getfixturevalue("path" if request.param == "file" else "ready")) as opened:
        yield opened


@pytest.mark.parametrize("what", LIMITS)
def test_the_longest_goes_in_and_one_more_is_refused(store: Store, what: str) -> None:
    verb, longest, too_long = LIMITS[what]
    session = store.sessions.create("a")
    verb(session, longest)
    with pytest.raises(palaver.BadValue, match="the most"):
        verb(session, too_long)
    assert store.verify() == []


@pytest.mark.parametrize("name", ["", "@"])
def test_an_id_that_cannot_be_named_is_refused(store: Store, name: str) -> None:
    with pytest.raises(palaver.BadValue, match="cannot have the id"):
        store.sessions.create("a", id=name)


def test_a_tool_call_with_a_very_long_id_is_kept_whole(store: Store) -> None:
    session, call = store.sessions.create("a"), NASTY
    with session.turn("go") as turn:
        turn.write({"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {}})
        turn.write({"type": "tool-output-available", "toolCallId": call, "output": 1})
    (part,) = session.messages()[1]["parts"]
    assert (part["toolCallId"], part["output"]) == (call, 1)
    assert store.verify() == []


# ---------------------------------------------------------------- from before there were limits


@pytest.fixture
def old(path: str) -> str:
    """A file of an older version: long texts, and others beside them."""
    with palaver.open(path) as store:
        for number in range(5):
            session = store.sessions.create("a", title=f"talk {number}", id=f"chat-{number}")
            session.commit(f"question {number}")
            session.alias(f"name {number}")
    db = apsw.Connection(path)
    db.execute("UPDATE heads SET title = ? WHERE title = 'talk 1'", ("x" * 1_000_000,))
    db.execute("UPDATE aliases SET name = ? WHERE name = 'name 2'", (NASTY,))
    db.execute("UPDATE foreign_ids SET foreign_id = ? WHERE foreign_id = 'chat-3'", (NASTY,))
    db.execute("UPDATE turns SET unindexed = 1")  # a title is found with what its session begins with
    db.close()
    return path


def test_they_are_read_as_they_are(old: str) -> None:
    with palaver.open(old) as store:
        titles = {len(info.title or "") for info in store.sessions.list().sessions}
        assert titles == {6, 1_000_000}
        assert store.sessions.find(NASTY).messages() and store.sessions.get(NASTY).messages()
        assert store.verify() == []


def test_one_over_long_title_does_not_stop_a_copy_and_is_named(old: str, dsn: str) -> None:
    with palaver.open(old) as source, palaver.open(dsn) as target:
        report = palaver.copy(source, target)
        assert (report.copied, report.problems, len(report.cut)) == (5, [], 3)
        long = source.sessions.match("x" * 1_000_000)[0]
        copied = target.sessions.get(long.id).info
        assert copied.title == "x" * 999 + "…"
        assert copied.metadata["cut_short"] == {"heads.title": ["x" * 1_000_000]}
        assert {one.session for one in report.cut} >= {long.id}
        assert all("cut" in one.why and "metadata" in one.why for one in report.cut)
        assert target.verify() == []
        again = palaver.copy(source, target)
        assert (again.copied, again.already_there, again.problems, len(again.cut)) == (0, 5, [], 3)


def test_a_copy_into_a_file_keeps_them_whole(old: str, tmp_path: Path) -> None:
    with palaver.open(old) as source, palaver.open(str(tmp_path / "other.db")) as target:
        report = palaver.copy(source, target)
        assert (report.copied, report.problems, report.cut) == (5, [], [])
        assert len(target.sessions.match("x" * 1_000_000)) == 1


def test_the_command_says_what_was_cut(old: str, dsn: str, tmp_path: Path) -> None:
    done = Cli(tmp_path)("copy", old, f"{dsn}#acme")
    assert done.code == 0 and done.err.count("cut: session ses_") == 3
    told = json.loads(Cli(tmp_path).ok("copy", old, f"{dsn}#acme", "--json"))
    assert len(told["cut"]) == 3 and told["problems"] == []


@pytest.mark.parametrize("where", ["at the source", "at the target"])
def test_one_bad_session_never_stops_the_others(old: str, dsn: str, where: str) -> None:
    db = apsw.Connection(old)
    (bad,) = db.execute("SELECT session_id FROM heads WHERE title = 'talk 4'").fetchall()[0]
    if where == "at the source":
        db.execute("UPDATE chat_sessions SET cost_usd = 9e999 WHERE id = ?", (bad,))
    else:
        of_it = "turn_id IN (SELECT id FROM turns WHERE session_id = ?)"
        db.execute(f"UPDATE turn_entries SET ref = ? WHERE kind = 'message' AND {of_it}", (NASTY, bad))
    db.close()
    with palaver.open(old) as source, palaver.open(dsn) as target:
        report = palaver.copy(source, target)
        assert report.copied == 4
        assert [one.session for one in report.problems] == [bad]
        assert len(list(target.sessions)) == 4
