"""Writes that fail while chunks are held: what was taken stays taken and is written once; what was refused, was not.

A full disk, and Ctrl-C in the moment of a commit, where Python raises a signal that came while SQLite was at work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import palaver

from ..tools.chunks import delta
from ..tools.planting import broken_by
from ..tools.sql import one, query
from ..tools.waiting import until
from .disk import Disk, commits_watched
from .support import CALL, NEVER, START, STEP_ENDS, Begin, stored, text_of

pytestmark = pytest.mark.on_disk

HELD = pytest.mark.parametrize("save_on", ["step", "turn"])
EACH = pytest.mark.parametrize("save_on", ["chunk", "step", "turn"])

# ---------------------------------------------------------------- a full disk


@HELD
@broken_by("held_chunks_are_forgotten_when_a_flush_fails")
def test_a_flush_that_finds_the_disk_full_keeps_what_is_held_and_a_later_one_writes_it_once(
    disk: Disk, path: str, begin: Begin, save_on: str
) -> None:
    session, turn = begin(save_on)
    turn.append([*START, delta("before ")])
    turn.flush()
    turn.append([delta("held "), CALL])
    disk.full = True
    for _ in range(3):
        with pytest.raises(palaver.StoreFull):
            turn.flush()
        assert (turn.chunks, turn.stored) == (5, 3)
    disk.full = False
    turn.append([delta("after")])
    turn.flush()
    assert (turn.chunks, turn.stored) == (6, 6)
    assert stored(path) == [*START, delta("before "), delta("held "), CALL, delta("after")]
    turn.seal()
    assert text_of(session) == "before held after"


@EACH
def test_a_write_that_fails_was_not_taken_and_can_be_made_again(
    disk: Disk, path: str, begin: Begin, save_on: str
) -> None:
    session, turn = begin(save_on, save_buffer_size=100)
    turn.append([*START, delta("one ")])
    turn.flush()
    large = delta("two " * 50)
    disk.full = True
    for _ in range(2):
        with pytest.raises(palaver.StoreFull):
            turn.write(large)
    with pytest.raises(palaver.StoreFull):
        turn.append([large, STEP_ENDS])
    disk.full = False
    assert (turn.chunks, turn.message()["parts"][1]["text"]) == (3, "one ")
    turn.write(large)
    turn.append([STEP_ENDS])
    turn.seal()
    assert stored(path) == [*START, delta("one "), large, STEP_ENDS]
    assert text_of(session) == "one " + "two " * 50


@HELD
def test_what_was_held_before_a_write_failed_is_still_held(disk: Disk, path: str, begin: Begin, save_on: str) -> None:
    _, turn = begin(save_on, save_buffer_size=150)
    turn.append([*START, delta("held")])
    disk.full = True
    with pytest.raises(palaver.StoreFull):
        turn.write(delta("large " * 50))
    disk.full = False
    assert (turn.chunks, turn.stored) == (3, 0)
    turn.seal()
    assert stored(path) == [*START, delta("held")]


@HELD
@pytest.mark.parametrize("verb", ["seal", "abort", "wait"])
def test_an_end_that_finds_the_disk_full_can_be_made_again(
    disk: Disk, path: str, begin: Begin, save_on: str, verb: str
) -> None:
    _, turn = begin(save_on)
    turn.append([*START, delta("held"), CALL])
    disk.full = True
    with pytest.raises(palaver.StoreFull):
        getattr(turn, verb)()
    disk.full = False
    getattr(turn, verb)()
    assert stored(path) == [*START, delta("held"), CALL]
    assert one(path, "SELECT count(*) FROM turns WHERE status IN ('completed', 'aborted', 'waiting')") == 1


def test_a_store_can_be_closed_on_a_full_disk_and_what_it_had_stored_is_there(disk: Disk, path: str) -> None:
    store = palaver.open(path, trim_after=0)
    session = store.sessions.create("a")
    with session.turn("one") as turn:
        turn.append([*START, delta("said")])
    session.turn("two").append([*START, delta("half")])
    disk.full = True
    with pytest.raises(palaver.StoreFull):
        store.close()
    store.close()
    disk.full = False
    with palaver.open(path) as store:  # nobody lives who could write the second turn
        assert text_of(store.sessions.get(session.id)) == "saidhalf"
        assert query(path, "SELECT status FROM turns ORDER BY begin_seq") == [("completed",), ("aborted",)]


@HELD
def test_what_the_clock_could_not_flush_it_flushes_later(
    disk: Disk, path: str, begin: Begin, save_on: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, turn = begin(save_on, save_buffer_ms=20)
    disk.full = True
    with caplog.at_level(logging.WARNING, "palaver"):
        turn.append(START)
        until(lambda: caplog.records, "the failed flush is logged")
    disk.full = False
    until(lambda: stored(path) == START, "the flush is tried again")
    turn.seal()
    assert stored(path) == START


# ---------------------------------------------------------------- Ctrl-C


class Interrupt:
    """Raises KeyboardInterrupt in whoever commits next."""

    def __init__(self) -> None:
        self.armed = False

    def __call__(self) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt


@pytest.fixture
def after_commit() -> Iterator[Interrupt]:
    """The signal comes when the commit is done, and before the call returns."""
    interrupt = Interrupt()
    with commits_watched(interrupt):
        yield interrupt


@pytest.fixture
def in_commit(disk: Disk) -> Interrupt:
    """The signal comes before the log is synced: the commit fails."""
    disk.before_sync = interrupt = Interrupt()
    return interrupt


@HELD
@broken_by("an_interrupted_flush_is_written_again")
def test_chunks_whose_flush_was_interrupted_behind_its_commit_are_there_once(
    after_commit: Interrupt, path: str, begin: Begin, save_on: str
) -> None:
    session, turn = begin(save_on)
    turn.append([*START, delta("once")])
    after_commit.armed = True
    with pytest.raises(KeyboardInterrupt):
        turn.flush()
    assert (turn.chunks, turn.stored) == (3, 3)
    turn.append([delta(", and more")])
    turn.seal()
    assert stored(path) == [*START, delta("once"), delta(", and more")]
    assert text_of(session) == "once, and more"


@HELD
@broken_by("held_chunks_are_forgotten_when_a_flush_fails")
def test_chunks_whose_flush_was_interrupted_before_its_commit_are_written_later(
    in_commit: Interrupt, path: str, begin: Begin, save_on: str
) -> None:
    session, turn = begin(save_on, durability="full")
    turn.append([*START, delta("once")])
    in_commit.armed = True
    with pytest.raises((KeyboardInterrupt, palaver.StoreError)):
        turn.flush()
    turn.flush()
    turn.seal()
    assert stored(path) == [*START, delta("once")]
    assert text_of(session) == "once"


@EACH
def test_a_block_that_is_left_by_ctrl_c_in_a_commit_is_sealed_with_every_chunk_once(
    after_commit: Interrupt, path: str, save_on: str
) -> None:
    with palaver.open(path, save_on=save_on, trim_after=NEVER) as store:
        session = store.sessions.create("a")
        with pytest.raises(KeyboardInterrupt), session.turn("hello") as turn:
            turn.append([*START, delta("once")])
            after_commit.armed = True
            turn.append([STEP_ENDS])
            turn.flush()
    assert not after_commit.armed
    assert stored(path) == [*START, delta("once"), STEP_ENDS]
    with palaver.open(path) as store:
        assert text_of(store.sessions.get(session.id)) == "once"
        assert store.verify() == []


@pytest.mark.parametrize(
    ("durability", "when"),
    [
        ("boundary", "in_commit"),
        ("boundary", "after_commit"),
        ("full", "in_commit"),
        ("full", "after_commit"),
        ("normal", "after_commit"),  # it syncs nothing: there is no other moment
    ],
)
def test_ctrl_c_in_a_commit_does_not_leave_the_store_locked(
    request: pytest.FixtureRequest, path: str, durability: str, when: str
) -> None:
    interrupt = request.getfixturevalue(when)
    with palaver.open(path, durability=durability, timeout=0.5) as store:
        session = store.sessions.create("a")
        for number in range(3):
            interrupt.armed = True
            with pytest.raises((KeyboardInterrupt, palaver.StoreError)):
                session.commit(f"interrupted {number}")
            session.commit(f"said {number}")
            with palaver.open(path, timeout=0.5) as other:
                other.sessions.get(session.id).commit(f"said elsewhere {number}")
        said = [message["parts"][0]["text"] for message in session.messages()]
        assert [words for words in said if words.startswith("said")] == [
            f"said {where}{n}" for n in range(3) for where in ("", "elsewhere ")
        ]
        assert store.verify() == []


# ---------------------------------------------------------------- facts that are only in memory


def test_the_reason_of_an_abort_and_the_text_of_an_error_outlive_a_refused_append(path: str, begin: Begin) -> None:
    _, aborted = begin("chunk")
    _, failed = begin("chunk")
    failed.append([*START, {"type": "error", "errorText": "the model is away"}])
    for turn in (aborted, failed):
        with pytest.raises(palaver.ChunkError):
            turn.append([{"type": "start-step"}, delta("x", "never started")])
    aborted.abort("the user pressed stop")
    failed.seal()
    told = "facts_json ->> 'abort_reason', facts_json -> 'error' ->> 'message'"
    facts = f"SELECT status, {told} FROM turns ORDER BY status"
    assert query(path, facts) == [("aborted", "the user pressed stop", None), ("failed", None, "the model is away")]
