"""Bad days: a writer is stopped where it hurts, killed while it tidies up, forked, robbed of its files."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ..tools.puppet import Refusal
from ..tools.waiting import until
from .conftest import Other

Start = Callable[..., Other]
KILL, STOP = int(signal.SIGKILL), int(signal.SIGSTOP)
WRITES = [2, *(pytest.param(write, marks=pytest.mark.long) for write in (1, 3, 4, 5, 6))]


def streaming(start: Start, **options: Any) -> tuple[Other, str, str]:
    """A process in the middle of an answer: (it, its session, its turn)."""
    writer = start(**options)
    session = writer("create")
    turn = writer("begin", session, "hi")
    writer("say", turn, "one ")
    return writer, session, turn


def stop_inside_a_write(writer: Other, *command: Any) -> None:
    """Stopped, it holds every lock that a write holds."""
    writer("arm", {"kind": "write", "at": 1, "send": STOP})
    writer.ask(*command)
    writer.wait_until_stopped()


# ---------------------------------------------------------------- stopped


def test_a_writer_stopped_inside_a_write_is_named_to_those_who_wait_and_nothing_is_lost(other: Start) -> None:
    writer, session, turn = streaming(other)
    witness = other(timeout=0.3)
    mine = witness("create")
    stop_inside_a_write(writer, "say", turn, "two ")
    for _ in range(2):
        with pytest.raises(Refusal) as refused:
            witness("commit", mine, "me too")
        assert refused.value.name == "StoreBusy"
        assert f"locked by process {writer.pid} for" in str(refused.value)
    writer.send(signal.SIGCONT)
    writer.answer()
    witness("commit", mine, "now")
    writer("seal", turn)
    assert witness("read", session) == ["user: hi", "assistant: one two "]
    assert witness("read", mine) == ["user: now"]
    assert witness("verify") == []


def test_while_a_writer_is_stopped_inside_a_write_everybody_reads(other: Start) -> None:
    writer, session, turn = streaming(other)
    witness = other(timeout=0.3)
    stop_inside_a_write(writer, "say", turn, "two ")
    assert witness("read", session) == ["user: hi", "assistant: one "]
    assert other(timeout=0.3)("statuses", session) == {turn: "streaming"}


def test_a_writer_stopped_in_line_does_not_hold_up_those_behind_it(other: Start) -> None:
    holder, _, turn = streaming(other)
    second, third = other(), other()
    session = second("create")
    stop_inside_a_write(holder, "say", turn, "two ")
    second.ask("commit", session, "second")
    second.send(signal.SIGSTOP)
    second.wait_until_stopped()
    third.ask("commit", session, "third")
    holder.send(signal.SIGCONT)
    holder.answer()
    third.answer()
    second.send(signal.SIGCONT)
    second.answer()
    assert third("read", session) == ["user: third", "user: second"]


# ---------------------------------------------------------------- killed while it tidies up


@pytest.mark.parametrize("write", WRITES)
def test_killed_while_housekeeping_writes_what_was_held_back_the_turn_is_whole_or_as_before(
    write: int, other: Start
) -> None:
    writer, session, turn = streaming(other, save_on="step", save_buffer_ms=30)
    until(lambda: writer("stored", turn) == 3)
    writer("arm", {"kind": "write", "at": write, "send": KILL})
    writer.ask("say", turn, "two ")
    assert writer.ended() == -KILL
    witness = other()
    assert witness("statuses", session) == {turn: "aborted"}
    assert witness("read", session)[1] in ("assistant: one ", "assistant: one two ")
    assert witness("verify") == []


@pytest.mark.parametrize("write", WRITES)
def test_killed_while_old_chunks_are_trimmed_nothing_is_lost(write: int, other: Start) -> None:
    writer, session, turn = streaming(other, trim_after=0.2)
    writer("seal", turn)
    writer("arm", {"kind": "write", "at": write, "send": KILL})
    assert writer.ended() == -KILL
    witness = other(trim_after=0)
    assert witness("read", session) == ["user: hi", "assistant: one "]
    assert witness("path", session) == [turn]
    assert witness("verify") == []


@pytest.mark.parametrize("write", WRITES)
def test_killed_while_it_recovers_another_the_next_one_completes_it(write: int, other: Start) -> None:
    writer, session, turn = streaming(other)
    helper, _, own = streaming(other, recover_every=0.3)
    helper("seal", own)
    helper("arm", {"kind": "write", "at": write, "send": KILL})
    writer.kill()
    assert helper.ended() == -KILL
    witness = other()
    assert witness("statuses", session) == {turn: "aborted"}
    assert witness("path", session) == [turn]
    assert witness("read", session) == ["user: hi", "assistant: one "]
    assert witness("verify") == []


# ---------------------------------------------------------------- forked


REFUSED = {**dict.fromkeys(("read", "begin", "write", "seal"), "StoreClosed"), "close": "nothing"}


def test_a_forked_child_is_refused_and_the_parent_goes_on(other: Start) -> None:
    writer, session, turn = streaming(other)
    assert writer("in_a_fork", session) == REFUSED
    writer("say", turn, "two ")
    writer("seal", turn)
    assert writer("read", session) == ["user: hi", "assistant: one two "]


def test_a_child_forked_while_a_thread_streams_is_refused_and_does_not_wait_for_that_thread(other: Start) -> None:
    writer, session, turn = streaming(other)
    assert writer("in_forks_beside_a_stream", session, turn, 5) == [REFUSED] * 5
    writer("seal", turn)
    assert writer("verify") == []


def test_the_end_of_a_forked_child_drops_neither_the_locks_nor_the_files_of_its_parent(
    other: Start, fast: Path
) -> None:
    writer, session, turn = streaming(other)
    owners = sorted((fast / "s.db-owners").iterdir())
    writer("fork_and_exit")
    assert sorted((fast / "s.db-owners").iterdir()) == owners and len(owners) == 1
    assert (fast / "s.db-wal").exists()
    witness = other(timeout=0.3)
    assert witness("statuses", session) == {turn: "streaming"}
    stop_inside_a_write(writer, "say", turn, "two ")
    with pytest.raises(Refusal) as refused:
        witness("commit", session, "me too")
    assert refused.value.name == "StoreBusy"
    writer.send(signal.SIGCONT)
    writer.answer()
    writer("seal", turn)
    assert witness("read", session) == ["user: hi", "assistant: one two "]
    assert witness("verify") == []


# ---------------------------------------------------------------- robbed

A_MOMENT = 0.01  # seconds: longer than a writer goes on without standing in line, which is when it looks


def take_away(folder: Path, *ends: str) -> None:
    for end in ends:
        (folder / f"s.db{end}").rename(folder / f"taken{end}")
    time.sleep(A_MOMENT)


def refusal(of: Other, *command: Any) -> str | None:
    try:
        of(*command)
    except Refusal as refused:
        return refused.name
    return None


@pytest.mark.parametrize("ends", [[""], ["-wal"], ["-shm"], ["", "-wal", "-shm"]], ids=" and ".join)
def test_a_store_whose_files_were_taken_away_says_so_at_the_next_write_and_can_still_be_read(
    ends: list[str], other: Start, fast: Path
) -> None:
    writer, session, turn = streaming(other)
    take_away(fast, *ends)
    assert refusal(writer, "say", turn, "two ") == "StoreGone"
    assert refusal(writer, "commit", session, "me too") == "StoreGone"
    assert refusal(writer, "seal", turn) == "StoreGone"
    assert writer("read", session) == ["user: hi", "assistant: one "]


def test_a_store_that_was_replaced_by_another_is_not_written_to(other: Start, fast: Path) -> None:
    writer, session, turn = streaming(other)
    shutil.copy(fast / "s.db", fast / "copy")
    (fast / "copy").rename(fast / "s.db")
    time.sleep(A_MOMENT)
    assert refusal(writer, "say", turn, "two ") == "StoreGone"
    assert writer("read", session) == ["user: hi", "assistant: one "]


def test_a_store_whose_files_are_back_goes_on(other: Start, fast: Path) -> None:
    writer, session, turn = streaming(other)
    take_away(fast, "", "-wal", "-shm")
    assert refusal(writer, "say", turn, "two ") == "StoreGone"
    for end in ("", "-wal", "-shm"):
        (fast / f"taken{end}").rename(fast / f"s.db{end}")
    writer("say", turn, "two ")
    writer("seal", turn)
    assert other()("read", session) == ["user: hi", "assistant: one two "]
    assert writer("verify") == []


def test_closed_without_its_log_a_store_leaves_what_others_have_written_since(other: Start, fast: Path) -> None:
    writer, _, turn = streaming(other)
    writer("seal", turn)
    take_away(fast, "-wal", "-shm")
    newer = other()
    later = newer("create")
    newer("commit", later, "since then")
    newer("close")
    assert refusal(writer, "close") == "StoreGone"
    witness = other()
    assert witness("read", later) == ["user: since then"]
    assert witness("verify") == []


def test_without_the_queues_file_writers_still_do_not_lose_anything(other: Start, fast: Path) -> None:
    first, session, turn = streaming(other)
    first("seal", turn)
    (fast / "s.db-queue").unlink()
    second = other()
    for writer in (first, second):
        writer.ask("commit_many", session, 20, 50)
    for writer in (first, second):
        writer.answer()
    assert len(second("read", session)) == 2 + 40
    assert second("verify") == []


def test_writers_that_wait_for_a_queue_whose_file_is_gone_get_it_or_a_clear_error(other: Start, fast: Path) -> None:
    holder, session, turn = streaming(other)
    witness = other(timeout=0.3)
    (fast / "s.db-queue").unlink()
    stop_inside_a_write(holder, "say", turn, "two ")
    for _ in range(2):
        with pytest.raises(Refusal) as refused:
            witness("commit", session, "me too")
        assert refused.value.name == "StoreBusy"
    holder.send(signal.SIGCONT)
    holder.answer()
    holder("seal", turn)
    witness("commit", session, "now")
    assert witness("read", session) == ["user: hi", "assistant: one two ", "user: now"]


def test_without_the_owners_folder_a_writer_goes_on_as_long_as_nobody_looks(other: Start, fast: Path) -> None:
    writer, session, turn = streaming(other)
    shutil.rmtree(fast / "s.db-owners")
    writer("say", turn, "two ")
    writer("seal", turn)
    next_turn = writer("begin", session, "more?")
    writer("say", next_turn, "yes")
    writer("seal", next_turn)
    writer("close")
    assert writer("open_files") == []
    assert other()("read", session) == ["user: hi", "assistant: one two ", "user: more?", "assistant: yes"]


def age_notes(folder: Path) -> None:
    """As if whoever found an owner's file missing had looked long ago."""
    for note in (folder / "s.db-owners").glob("*.missed"):
        os.utime(note, (0, 0))


def test_without_the_owners_folder_a_living_writer_stays_alive(other: Start, fast: Path) -> None:
    writer, session, turn = streaming(other)
    folder = fast / "s.db-owners"
    [sign] = os.listdir(folder)
    shutil.rmtree(folder)
    witness = other()  # it looks, maybe before the writer has noticed
    assert witness("statuses", session) == {turn: "streaming"}
    until(lambda: (folder / sign).exists())
    age_notes(fast)
    assert other()("statuses", session) == {turn: "streaming"}  # the second look finds it
    assert os.listdir(folder) == [sign]
    writer("say", turn, "two ")
    writer("seal", turn)
    writer("close")
    assert witness("read", session) == ["user: hi", "assistant: one two "]
    assert os.listdir(folder) == []


def test_a_second_turn_makes_the_sign_of_life_again_for_both(other: Start, fast: Path) -> None:
    writer, session, turn = streaming(other)
    before = os.listdir(fast / "s.db-owners")
    shutil.rmtree(fast / "s.db-owners")
    second = writer("begin", session, "more?")
    assert os.listdir(fast / "s.db-owners") == before
    assert other()("statuses", session) == {turn: "streaming", second: "streaming"}


def test_a_dead_writer_without_the_owners_folder_is_dead_at_once(other: Start, fast: Path) -> None:
    """No process has its number, and there is no sign of anybody."""
    writer, session, turn = streaming(other)
    writer.kill()
    shutil.rmtree(fast / "s.db-owners")
    witness = other()
    assert witness("statuses", session) == {turn: "aborted"}
    assert witness("verify") == []


def test_a_dead_writer_whose_number_another_process_has_is_dead_at_the_second_look(other: Start, fast: Path) -> None:
    writer, session, turn = streaming(other)
    writer.kill()
    shutil.rmtree(fast / "s.db-owners")
    with closing(sqlite3.connect(fast / "s.db")) as db, db:
        db.execute("UPDATE owners SET pid = ?", (os.getpid(),))
    first = other()
    assert first("statuses", session) == {turn: "streaming"}
    assert other()("statuses", session) == {turn: "streaming"}  # too soon
    age_notes(fast)
    assert other()("statuses", session) == {turn: "aborted"}
    assert first("verify") == []
    assert os.listdir(fast / "s.db-owners") == []


def test_without_the_owners_folder_a_stream_that_others_ended_is_told_so_and_the_next_turn_works(
    other: Start, fast: Path
) -> None:
    """It was stopped, and so could not make its sign of life again."""
    writer, session, turn = streaming(other)
    writer.send(signal.SIGSTOP)
    writer.wait_until_stopped()
    shutil.rmtree(fast / "s.db-owners")
    assert other()("statuses", session) == {turn: "streaming"}
    age_notes(fast)
    witness = other()
    assert witness("statuses", session) == {turn: "aborted"}
    writer.send(signal.SIGCONT)
    with pytest.raises(Refusal) as refused:
        writer("say", turn, "two ")
    assert refused.value.name == "TurnSealed"
    again = writer("begin", session, "again")
    writer("say", again, "three")
    assert other()("statuses", session)[again] == "streaming"
    writer("seal", again)
    writer("close")
    assert witness("read", session) == ["user: hi", "assistant: one ", "user: again", "assistant: three"]
    assert witness("verify") == []
