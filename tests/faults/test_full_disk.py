"""The disk fills up in the middle of an answer, somebody frees some space, and the answer goes on: no restart.

Once the disk is ours, which lets the files grow by so many bytes and then says ENOSPC (after writing what still fits);
once it is the system's own limit on the size of a file.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ..tools.puppet import Refusal
from ..tools.waiting import until
from .conftest import Other

Start = Callable[..., Other]
ROOM = 60_000
INDEX = 100  # SQLite gives up the index of a log that nobody has open, and takes it again


def streaming(start: Start, **options: Any) -> tuple[Other, str, str]:
    """A process in the middle of an answer: (it, its session, its turn)."""
    writer = start(**options)
    session = writer("create")
    turn = writer("begin", session, "hi")
    writer("say", turn, "first ")
    return writer, session, turn


def words_until_full(writer: Other, turn: str) -> tuple[list[str], str, str]:
    """(the words that were taken, the one that was not, what the store said)"""
    taken: list[str] = []
    for number in count():
        word = f"{number} ".ljust(200, ".")
        assert number < 10_000, "the disk is never full"
        try:
            writer("say", turn, word)
        except Refusal as refusal:
            return taken, word, refusal.name
        taken.append(word)
    raise AssertionError


def refusals(writer: Other, *command: Any, times: int = 3) -> list[str]:
    """What the store says each time."""
    said = []
    for _ in range(times):
        with pytest.raises(Refusal) as refused:
            writer(*command)
        said.append(refused.value.name)
    return said


# ---------------------------------------------------------------- a stream


@pytest.mark.parametrize("durability", ["boundary", "full", "normal"])
def test_a_stream_goes_on_when_there_is_room_again(durability: str, other: Start) -> None:
    writer, session, turn = streaming(other, durability=durability)
    writer("leave_room", ROOM)
    taken, word, error = words_until_full(writer, turn)
    assert error == "StoreFull" and len(taken) > 10
    assert refusals(writer, "say", turn, word) == ["StoreFull"] * 3
    writer("heal")
    for each in (word, "last"):
        writer("say", turn, each)
    writer("seal", turn)
    assert writer("read", session) == ["user: hi", "assistant: first " + "".join(taken) + word + "last"]
    assert writer("statuses", session) == {turn: "completed"}
    assert writer("verify") == []


def test_while_the_disk_is_full_everything_can_be_read(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("leave_room", ROOM)
    taken, _, _ = words_until_full(writer, turn)
    told = ["user: hi", "assistant: first " + "".join(taken)]
    assert writer("read", session) == told
    assert other()("read", session) == told
    assert writer("statuses", session) == {turn: "streaming"}
    assert writer("verify") == []


def test_a_turn_that_cannot_be_sealed_on_a_full_disk_is_still_open_and_seals_later(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("leave_room", 0)
    assert refusals(writer, "seal", turn) == ["StoreFull"] * 3
    assert writer("statuses", session) == {turn: "streaming"}
    writer("heal")
    writer("seal", turn)
    assert writer("path", session) == [turn]
    assert writer("verify") == []


def test_a_turn_that_cannot_wait_on_a_full_disk_waits_later(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("call_tool", turn)
    writer("leave_room", 0)
    assert refusals(writer, "wait", turn) == ["StoreFull"] * 3
    writer("heal")
    writer("wait", turn)
    assert writer("statuses", session) == {turn: "waiting"}


def test_what_was_refused_on_a_full_disk_left_nothing_behind(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("seal", turn)
    writer("leave_room", 0)
    assert refusals(writer, "commit", session, "never") == ["StoreFull"] * 3
    assert refusals(writer, "begin", session, "never") == ["StoreFull"] * 3
    writer("heal")
    writer("commit", session, "now")
    assert writer("read", session) == ["user: hi", "assistant: first ", "user: now"]
    assert list(writer("statuses", session).values()) == ["completed", "completed"]
    assert writer("strays", session) == []


def test_a_writer_that_failed_does_not_stand_in_the_way_of_others(other: Start) -> None:
    writer, _, turn = streaming(other)
    writer("leave_room", 0)
    witness = other(timeout=1)
    assert refusals(writer, "say", turn, "never") == ["StoreFull"] * 3
    mine = witness("create")
    witness("commit", mine, "hello")
    assert witness("read", mine) == ["user: hello"]


# ---------------------------------------------------------------- held back


def test_housekeeping_that_met_a_full_disk_writes_what_it_holds_when_there_is_room(other: Start) -> None:
    writer, session, turn = streaming(other, save_on="step", save_buffer_ms=20)
    until(lambda: writer("stored", turn) == 3)
    writer("leave_room", 0)
    writer("say", turn, "second")
    until(lambda: writer("fired") > 0)
    assert (writer("stored", turn), writer("accepted", turn)) == (3, 4)
    writer("heal")
    until(lambda: writer("stored", turn) == 4)
    assert other()("read", session) == ["user: hi", "assistant: first second"]


def test_housekeeping_that_met_a_full_disk_trims_old_chunks_when_there_is_room(other: Start) -> None:
    writer, session, turn = streaming(other, trim_after=0.2)
    writer("seal", turn)
    assert writer("chunks_kept", session) == 3
    writer("leave_room", 0)
    until(lambda: writer("fired") > 0)
    writer("heal")
    until(lambda: writer("chunks_kept", session) == 0)
    assert writer("read", session) == ["user: hi", "assistant: first "]
    assert writer("verify") == []


@pytest.mark.parametrize("save_on", ["step", "turn"])
def test_what_is_held_back_survives_a_seal_that_found_the_disk_full(save_on: str, other: Start) -> None:
    writer, session, turn = streaming(other, save_on=save_on)
    writer("say", turn, "second")
    writer("leave_room", 0)
    assert refusals(writer, "seal", turn) == ["StoreFull"] * 3
    writer("heal")
    writer("seal", turn)
    assert writer("read", session) == ["user: hi", "assistant: first second"]
    assert writer("verify") == []


# ---------------------------------------------------------------- opening and closing


def test_a_store_that_cannot_be_made_on_a_full_disk_is_made_later_by_the_same_process(other: Start) -> None:
    writer = other(open=False)
    writer("leave_room", 0)
    assert refusals(writer, "open") == ["StoreFull"] * 3
    assert writer("open_files") == []
    writer("heal")
    writer("open")
    assert writer("verify") == []


def test_a_store_with_a_dead_writers_turn_can_be_opened_and_read_on_a_full_disk(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer.kill()
    for options in ({}, {"readonly": True}):
        witness = other(open=False, **options)
        witness("leave_room", INDEX)
        witness("open")
        assert witness("read", session) == ["user: hi", "assistant: first "]
        assert witness("statuses", session) == {turn: "streaming"}
        assert refusals(witness, "commit", session, "never", times=1)[0] in ("StoreFull", "StoreReadOnly")
        witness("heal")
    again = other()
    assert again("statuses", session) == {turn: "aborted"}
    assert again("verify") == []


def test_a_store_closed_on_a_full_disk_lets_go_and_the_next_open_recovers_its_turn(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("leave_room", 0)
    try:
        writer("close")
    except Refusal as refusal:
        assert refusal.name == "StoreFull"
    assert writer("open_files") == []
    writer("heal")
    witness = other()
    assert witness("statuses", session) == {turn: "aborted"}
    assert witness("read", session) == ["user: hi", "assistant: first "]
    assert witness("verify") == []


# ---------------------------------------------------------------- the system's own limit


def test_a_stream_goes_on_when_the_systems_limit_on_the_size_of_a_file_is_lifted(other: Start, fast: Path) -> None:
    writer, session, turn = streaming(other)
    writer("limit_files", (fast / "s.db-wal").stat().st_size + ROOM)
    taken, word, error = words_until_full(writer, turn)
    assert error in ("StoreFull", "StoreError") and len(taken) > 10
    writer("limit_files", None)
    writer("say", turn, word)
    writer("seal", turn)
    assert writer("read", session) == ["user: hi", "assistant: first " + "".join(taken) + word]
    assert writer("verify") == []
