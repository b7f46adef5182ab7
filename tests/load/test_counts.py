"""What a verb costs, counted: frames of the write-ahead log (of 2 KB), statements, syncs.

The tables hold the costs of today, so that a verb that becomes dearer is noticed. Lower them when it becomes cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import apsw
import pytest

import palaver

from .counting import PAGE, frames, statements, steps
from .crowd import CREW

pytestmark = pytest.mark.on_disk

FRAMES = {  # at most, on average
    "a whole turn of one message": 25.0,  # one of them says that it is to be indexed
    "a question and a streamed answer of 5 chunks": 61.5,
    "a chunk": 1.8,
}
STATEMENTS = {  # at most
    "a whole turn of one message": 13,  # two fewer once the process knows the tip
    "begin": 12,
    "first chunk": 11,
    "chunk": 1,
    "last chunk": 6,
    "seal": 10,
    "fork": 10,
    "messages": 9,
    "list": 3,
    "list by a fact": 3,
}
SYNCS = {  # exactly, of the log: begin, each chunk, seal
    "boundary": (1, 0, 1),
    "full": (1, 1, 1),
    "normal": (0, 0, 0),
}
LONG_AGO = 3_600_000.0  # ms; no part row is due because time has passed


@pytest.fixture(autouse=True)
def nothing_is_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is done beside the verbs, by maintenance."""
    monkeypatch.setattr("palaver.background.jobs.Index.due", lambda *_: None)


@pytest.fixture
def quiet(path: str) -> Iterator[palaver.Store]:
    """A store in which nothing is written but what a verb writes."""
    with palaver.open(path, save_buffer_ms=LONG_AGO) as store:
        yield store


@pytest.fixture
def session(quiet: palaver.Store) -> palaver.Session:
    """One with a past, so that its trees have some depth."""
    session = quiet.sessions.create("counted")
    for number in range(200):
        session.commit(f"message {number}")
    return session


def text(*kinds: str) -> list[dict[str, Any]]:
    words = {"start": {}, "delta": {"delta": "some words, no more "}, "end": {}}
    return [{"type": f"text-{kind}", "id": "t", **words[kind]} for kind in kinds]


def answer(turn: palaver.Turn, chunks: int = 5) -> None:
    for chunk in text("start", *["delta"] * chunks, "end"):
        turn.write(chunk)
    turn.seal()


def hold(kind: str, table: dict[str, Any], counted: float) -> None:
    print(f"{kind}: {counted:g} (at most {table[kind]})")
    assert 0 < counted <= table[kind]


# ---------------------------------------------------------------- frames


def test_a_page_has_two_kilobytes(quiet: palaver.Store) -> None:
    db = apsw.Connection(quiet.path, flags=apsw.SQLITE_OPEN_READONLY)
    assert db.execute("PRAGMA page_size").fetchall() == [(2048,)] == [(PAGE,)]
    db.close()


def test_frames_of_a_whole_turn(quiet: palaver.Store, session: palaver.Session) -> None:
    hold("a whole turn of one message", FRAMES, frames(quiet.path, 50, lambda n: session.commit(f"message {n}")))


def test_frames_of_a_streamed_turn(quiet: palaver.Store, session: palaver.Session) -> None:
    answer(session.turn("the first signs in"))
    counted = frames(quiet.path, 25, lambda n: answer(session.turn(f"question {n}")))
    hold("a question and a streamed answer of 5 chunks", FRAMES, counted)


def test_frames_of_a_chunk(quiet: palaver.Store, session: palaver.Session) -> None:
    turn = session.turn("question")
    turn.append(text("start"))
    hold("a chunk", FRAMES, frames(quiet.path, 500, lambda n: turn.append(text("delta"))))


def test_frames_of_a_chunk_do_not_grow_with_the_text(quiet: palaver.Store, session: palaver.Session) -> None:
    turn = session.turn("question")
    turn.append([*text("start"), {"type": "text-delta", "id": "t", "delta": "x" * 1_000_000}])
    hold("a chunk", FRAMES, frames(quiet.path, 500, lambda n: turn.append(text("delta"))))


# ---------------------------------------------------------------- statements


def test_statements_of_every_verb(path: str) -> None:
    with statements() as run, palaver.open(path, save_buffer_ms=LONG_AGO) as store:
        session = store.sessions.create("counted")
        answer(session.turn("the first signs in"))

        def count(kind: str, verb: Callable[[], Any]) -> Any:
            run.clear()
            result = verb()
            hold(kind, STATEMENTS, len(run))
            return result

        count("a whole turn of one message", lambda: session.commit("question"))
        turn = count("begin", lambda: session.turn("question"))
        for kind, chunk in zip(("first chunk", "chunk", "last chunk"), text("start", "delta", "end"), strict=True):
            count(kind, lambda chunk=chunk: turn.write(chunk))  # type: ignore[misc]
        count("seal", turn.seal)
        count("fork", session.fork)
        session.messages()  # its connection is set up once
        count("messages", session.messages)
        count("list", store.sessions.list)
        count("list by a fact", lambda: store.sessions.list(project="x"))


def test_no_turn_touches_the_facts_of_its_session(path: str) -> None:
    with statements() as run, palaver.open(path) as store:
        session = store.sessions.create("counted", project="x", facts={"ticket": "7"})
        assert any("session_facts" in statement for statement in run)
        run.clear()
        session.commit("question")
        answer(session.turn("question"))
        session.rewind(to=session.path()[0])
        assert run and not any("session_facts" in statement for statement in run)


# ---------------------------------------------------------------- steps


def test_a_verb_takes_no_more_steps_in_a_long_session(path: str) -> None:
    """Right after another handle has written there, so that it has to be looked at what came."""
    with steps() as taken, palaver.open(path, durability="normal") as store:
        session, counted = store.sessions.create("counted"), dict[int, dict[str, int]]()
        with palaver.open(path, durability="normal") as second:
            other = second.sessions.get(session.id)
            for length in (50, 600):
                while session.revision < length:
                    session.commit([f"message {n}" for n in range(5)])
                verbs = {"commit": lambda: session.commit("one"), "turn": lambda: session.turn("two").seal()}
                counted[length] = {name: _steps_beside(other, taken, verb) for name, verb in verbs.items()}
    print(f"steps: {counted}")
    assert all(0 < steps <= 1.5 * counted[50][name] for name, steps in counted[600].items())


def _steps_beside(other: palaver.Session, taken: list[int], verb: Callable[[], object]) -> int:
    for _ in range(3):  # the last one counts: it knows what was there before
        other.commit("from elsewhere")
        taken.clear()
        verb()
    return sum(taken)


# ---------------------------------------------------------------- syncs


@pytest.mark.parametrize("durability", SYNCS)
@pytest.mark.parametrize("chunks", [1, 40])
def test_syncs_of_a_streamed_turn(path: str, durability: str, chunks: int) -> None:
    begin, chunk, seal = SYNCS[durability]
    counted = CREW.alone("stream_and_count_syncs", path=path, durability=durability, chunks=chunks)
    assert counted == {"begin": begin, "chunks": chunk * (chunks + 2), "seal": seal, "other files": 0}


@pytest.mark.parametrize("durability", SYNCS)
def test_syncs_of_a_whole_turn(path: str, durability: str) -> None:
    counted = CREW.alone("commit_and_count_syncs", path=path, durability=durability, commits=20)
    assert counted == {"log": 20 * (durability != "normal"), "other files": 0}


@pytest.mark.parametrize("kind", ["finish-step", "tool-output-available"])
def test_a_boundary_inside_a_turn_is_synced_once(path: str, kind: str) -> None:
    assert CREW.alone("count_syncs_of_a_chunk", path=path, kind=kind) == {"log": 1, "other files": 0}


def test_threads_that_commit_at_once_share_their_syncs(path: str) -> None:
    counted = CREW.alone("commit_in_threads_and_count_syncs", path=path, threads=16, commits=10)
    print(f"160 commits: {counted['log']} syncs")
    assert counted["whole"]
    assert 10 <= counted["log"] <= 160 / 2
