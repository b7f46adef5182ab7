"""Trimming: some time after its seal the chunks of a turn go. Nothing else does, and nothing that is read changes."""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import exports
from palaver.background import background
from palaver.base import clock
from palaver.core.upkeep import trim_slices, trimming

from ..load.counting import steps
from ..tools.chunks import delta
from ..tools.planting import broken_by
from ..tools.sql import one, query
from ..tools.waiting import together, until
from .puppet import CREW
from .support import CALL, ENDS, NEVER, START, STEP_ENDS, Chunk, words

FLOOR = "SELECT events_floor FROM heads WHERE session_id = ?"


@pytest.fixture
def store(path: str) -> Iterator[palaver.Store]:
    """Nothing is trimmed but by a call."""
    with palaver.open(path, trim_after=NEVER) as opened:
        yield opened


def stream(session: palaver.Session, chunks: list[Chunk], said: str = "hello") -> palaver.Turn:
    with session.turn(said) as turn:
        turn.append(chunks)
    return turn


def kinds(session: palaver.Session) -> Counter[str]:
    return Counter(event.kind for event in session.events(limit=100_000))


def exported(store: palaver.Store) -> bytes:
    text = io.BytesIO()
    exports.write(store.db, text)
    return text.getvalue()


class Shifted:
    """The clock of the store, moved on by hand."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        patch.setattr(clock, "_now_ns", lambda: time.time_ns() + round(self.seconds * 1e9))


# ---------------------------------------------------------------- what goes, and when


@broken_by("everything_of_a_turn_is_trimmed", "open_turns_are_trimmed")
def test_the_chunks_of_sealed_turns_go_and_everything_else_stays(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    turn = session.turn("hello")
    turn.append([*START, delta("hi"), CALL])
    turn.resolve("c", output=1)
    turn.usage(input=1)
    turn.seal()
    session.title = "a talk"
    running = session.turn("more")
    running.append(START)
    last = max(event.seq for event in session.events() if event.kind == "chunk" and event.turn == 2)
    assert store.trim(older_than=0) == 4
    assert kinds(session) == {
        "create": 1, "begin": 2, "resolve": 1, "usage": 1, "seal": 1, "title": 1, "chunk": 2,
    }  # fmt: skip
    assert one(path, FLOOR, session.id) == last
    running.write(delta("goes on"))
    running.seal()
    assert session.messages()[3]["parts"][1]["text"] == "goes on"
    assert store.verify() == []


def test_chunks_stay_as_long_as_trim_after_says(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shifted = Shifted(monkeypatch)
    with palaver.open(path, trim_after=60) as store:
        session = store.sessions.create("a")
        stream(session, [*START, delta("one")])
        shifted.seconds = 30
        stream(session, [*START, delta("two")])
        assert store.trim() == 0
        shifted.seconds = 61
        assert store.trim() == 3
        assert [e.data for e in session.events() if e.kind == "chunk"] == [*START, delta("two")]
        assert store.trim() == 0
        assert store.trim(older_than=0) == 3


@broken_by("open_turns_are_trimmed")
def test_turns_that_wait_or_stream_keep_their_chunks_however_old_they_are(
    store: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shifted, session, other = Shifted(monkeypatch), store.sessions.create("a"), store.sessions.create("b")
    waiting, streaming = session.turn("hello"), other.turn("hello")
    waiting.append([*START, delta("hi"), CALL, ENDS])
    streaming.append([*START, delta("hi")])
    shifted.seconds = 1e6
    assert store.trim(older_than=0) == 0
    with session.resume(waiting.id) as resumed:
        resumed.resolve("c", output=2)
    streaming.seal()
    assert [part["type"] for part in session.messages()[1]["parts"]] == ["step-start", "text", "tool-run"]
    assert other.messages()[1]["parts"][1]["text"] == "hi"
    assert store.trim(older_than=0) == 8
    assert store.verify() == []


def test_strays_and_recovered_turns_are_trimmed_too(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    first, second = session.turn("one"), session.turn("two")
    for turn in (first, second):
        turn.append(START)
    first.seal()
    with pytest.raises(palaver.HeadConflict):
        second.seal()
    with CREW.start("act", path=path) as writer:
        turn = writer("begin", session.id, "question")
        writer("call", turn, "append", START)
        writer.kill()
    store.recover()
    assert store.trim(older_than=0) == 6
    assert kinds(session)["chunk"] == 0
    assert query(path, "SELECT count(*) FROM turns WHERE live <> 0") == [(0,)]


def test_a_store_that_keeps_everything_trims_nothing(path: str) -> None:
    with palaver.open(path, events="full", trim_after=0) as store:
        session = store.sessions.create("a")
        stream(session, [*START, delta("hi")])
        assert store.trim(older_than=0) == 0
    with palaver.open(path, trim_after=0) as store:
        stream(store.sessions.get(session.id), START)
    assert one(path, "SELECT count(*) FROM events WHERE kind = 'chunk'") == 5
    assert one(path, FLOOR, session.id) == 0


# ---------------------------------------------------------------- numbers


@broken_by("numbers_are_used_again_after_a_trim")
def test_no_number_is_ever_used_again(store: palaver.Store) -> None:
    session, numbers = store.sessions.create("a"), list[int]()
    for number in range(6):
        before = {event.seq for event in session.events()}
        turn = session.turn(f"question {number}")
        turn.append([*START, *words(number)])
        turn.seal()
        if number == 3:
            session.commit("said at once")
        if number == 4:
            session.rewind(to=session.path()[0])
        made = [event.seq for event in session.events() if event.seq not in before]
        assert min(made) > max(numbers, default=0)
        numbers += made
        store.trim(older_than=0)
    assert numbers == sorted(set(numbers))
    assert store.verify() == []


@broken_by("numbers_are_used_again_after_a_trim")
def test_a_turn_that_is_open_while_another_is_trimmed_counts_on(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    running, other = session.turn("one"), session.turn("two")
    for turn in (running, other, running, other):
        turn.append(START)
    other.abort()
    newest = session.events()[-1].seq
    assert store.trim(older_than=0) == 4
    running.append([{"type": "start-step"}])
    assert session.events()[-1].seq > newest
    with pytest.raises(palaver.HeadConflict):
        running.seal()
    assert len(session.fork(at=running.id).messages()[1]["parts"]) == 5


# ---------------------------------------------------------------- nothing that is read changes


def a_rich_store(store: palaver.Store) -> palaver.Session:
    session = store.sessions.create("a")
    stream(session, [*START, delta("hi"), CALL, STEP_ENDS, ENDS])
    with session.resume(session.waiting()[0].id) as resumed:
        resumed.resolve("c", output=2)
    stream(session, [*START, *words(50)])
    session.rewind(to=session.path()[0])
    stream(session, [*START, delta("another way")])
    session.fork()
    store.sessions.create("b").turn("open").append([*START, delta("half")])
    return session


@broken_by("open_turns_are_trimmed", "everything_of_a_turn_is_trimmed")
def test_an_export_is_the_same_to_the_byte_before_and_after(store: palaver.Store) -> None:
    session = a_rich_store(store)
    before, messages, history = exported(store), session.messages_json(), session.history()
    assert store.trim(older_than=0) == 61
    assert exported(store) == before
    assert (session.messages_json(), session.history()) == (messages, history)
    assert store.verify() == []


def test_readers_beside_a_trim_read_the_same_all_the_time(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for number in range(30):
        stream(session, [*START, *words(40)], f"question {number}")
    messages = session.messages_json()

    def read() -> set[str]:
        return {session.messages_json() for _ in range(30)}

    assert together(read, lambda: store.trim(older_than=0)) == [{messages}, 30 * 42]


def test_two_stores_that_trim_at_once_take_each_chunk_away_once(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    for _ in range(20):
        stream(session, [*START, *words(20)])
    with palaver.open(path, trim_after=NEVER) as other:
        gone = together(lambda: store.trim(older_than=0), lambda: other.trim(older_than=0))
    assert sum(gone) == 20 * 22
    assert kinds(session)["chunk"] == 0 and store.verify() == []


# ---------------------------------------------------------------- in slices


def long_turn(session: palaver.Session, count: int) -> None:
    with session.turn("tell me everything") as turn:
        turn.append(START)
        for _ in range(0, count - 2, 1_000):
            turn.append(words(min(1_000, count - turn.chunks)))
        assert turn.chunks == count


def test_a_turn_of_twelve_thousand_chunks_goes_in_several_slices(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    long_turn(session, 12_000)
    last, commits = session.events(limit=100_000)[-2].seq, store.db.writes
    before = session.messages_json()
    assert store.trim(older_than=0) == 12_000
    assert store.db.writes - commits >= 3
    assert (kinds(session)["chunk"], one(path, FLOOR, session.id)) == (0, last)
    assert session.messages_json() == before and store.verify() == []


@pytest.mark.parametrize("slices", [0, 1, 3])
@broken_by("a_trim_that_was_cut_off_counts_as_done")
def test_a_trim_that_is_killed_between_slices_is_finished_by_the_next_store(path: str, slices: int) -> None:
    with palaver.open(path, trim_after=NEVER) as store:
        session = store.sessions.create("a")
        long_turn(session, 450)
        before = session.messages_json()
    with CREW.start("trim", path=path, slices=slices) as trimmer:
        assert trimmer.wait() == []
    chunks = "SELECT count(*) FROM events WHERE kind = 'chunk'"
    assert one(path, chunks) == 450 - 100 * slices
    assert one(path, FLOOR, session.id) == (2 + 100 * slices if slices else 0)
    with palaver.open(path, trim_after=0.01) as store:
        session = store.sessions.get(session.id)
        assert session.messages_json() == before
        store.sessions.create("b").turn("hello").seal()
        until(lambda: one(path, chunks) == 0, "the next store that streams takes the rest")
        assert session.messages_json() == before and store.verify() == []


def interleaved(session: palaver.Session, rounds: int) -> tuple[palaver.Turn, palaver.Turn]:
    """Two turns that stream in turns; both are open."""
    turns = session.turn("one"), session.turn("two")
    for turn in turns:
        turn.append(START)
    for number in range(rounds):
        for turn in turns:
            turn.write(delta(f"word {number} "))
    return turns


def drive(store: palaver.Store) -> None:
    """As maintenance does: one slice, and again."""
    slices = trim_slices.Slices(store.db, store._background.trim_after)
    for _ in range(1_000):
        if not slices.trim_one():
            return
    raise AssertionError("it does not come to an end")


@broken_by("each_slice_begins_again_at_the_beginning")
def test_slices_go_on_behind_the_chunks_of_a_turn_that_still_streams(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trimming, "SLICE", 10)
    with palaver.open(path, trim_after=NEVER) as store:
        session = store.sessions.create("a")
        streaming, sealed = interleaved(session, 30)
        sealed.seal()
        monkeypatch.setattr(store._background, "trim_after", 0)
        drive(store)
        assert kinds(session)["chunk"] == streaming.chunks == 32
        assert query(path, "SELECT count(*) FROM turns WHERE live = 1 AND sealed_at IS NOT NULL") == [(0,)]
        with pytest.raises(palaver.HeadConflict):
            streaming.seal()
        drive(store)
        assert kinds(session)["chunk"] == 0


def trimmed_with(path: str, turns: int) -> int:
    """Steps of SQLite's machine to trim so many turns of one session."""
    with steps() as taken, palaver.open(path, trim_after=NEVER, durability="normal") as store:
        session = store.sessions.create("a")
        for _ in range(turns):
            stream(session, [*START, *words(20)])
        taken.clear()
        assert store.trim(older_than=0) == turns * 22
        return sum(taken)


@broken_by("a_trim_walks_to_the_end_of_the_session")
def test_a_turn_is_trimmed_in_as_many_steps_in_a_long_session_as_in_a_short_one(tmp_path: Path) -> None:
    few, many = trimmed_with(str(tmp_path / "few.db"), 20), trimmed_with(str(tmp_path / "many.db"), 100)
    print(f"20 turns: {few} steps; 100 turns: {many}")
    assert many < 6 * few


def test_large_chunks_go_a_few_at_a_time(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    stream(session, [*START, *[delta("x" * 100_000)] * 12])
    commits = store.db.writes
    assert store.trim(older_than=0) == 14
    assert store.db.writes - commits >= 4


# ---------------------------------------------------------------- by itself


def test_a_store_trims_by_itself_a_little_after_each_seal(path: str) -> None:
    with palaver.open(path, trim_after=0.05) as store:
        session = store.sessions.create("a")
        for number in range(3):
            stream(session, [*START, delta(f"answer {number}")])
            until(lambda: kinds(session)["chunk"] == 0, "its chunks go")
            assert kinds(session)["seal"] == number + 1
        assert store.verify() == []


def test_a_store_that_is_closed_trims_what_is_due(path: str) -> None:
    with palaver.open(path, trim_after=0) as store:
        stream(store.sessions.create("a"), [*START, delta("hi")])
    assert one(path, "SELECT count(*) FROM events WHERE kind = 'chunk'") == 0


@broken_by("close_trims_to_the_end")
def test_close_trims_for_a_moment_and_leaves_the_rest_to_the_next_store(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice takes half of the moment here, whatever the machine does."""
    clock_reads, slices, trim_some = [0.0], list[int](), trimming.trim_some

    def slowly(tx: Any, turns: Any) -> int:
        clock_reads[0] += background._CLOSING / 2
        slices.append(trim_some(tx, turns))
        return slices[-1]

    monkeypatch.setattr(trimming, "SLICE", 100)
    store = palaver.open(path, trim_after=NEVER)
    session = store.sessions.create("a")
    long_turn(session, 450)
    before = session.messages_json()
    with monkeypatch.context() as patch:
        patch.setattr(store._background, "trim_after", 0)
        patch.setattr(trim_slices, "monotonic", lambda: clock_reads[0])
        patch.setattr(trimming, "trim_some", slowly)
        store.close()
    assert slices == [100, 100]
    chunks = "SELECT count(*) FROM events WHERE kind = 'chunk'"
    assert one(path, chunks) == 250
    with palaver.open(path, trim_after=0) as following:
        following.sessions.create("b").turn("hello").seal()
        until(lambda: one(path, chunks) == 0, "the next store that streams takes the rest")
        assert following.sessions.get(session.id).messages_json() == before and following.verify() == []


def test_a_store_that_only_reads_or_commits_trims_nothing(path: str) -> None:
    with palaver.open(path, trim_after=NEVER) as store:
        session = store.sessions.create("a")
        stream(session, START)
    with palaver.open(path, trim_after=0) as reader:
        reader.sessions.get(session.id).messages()
        reader.sessions.create("b").commit("whole")
    assert one(path, "SELECT count(*) FROM events WHERE kind = 'chunk'") == 2
