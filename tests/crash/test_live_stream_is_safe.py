"""A turn belongs to its writer as long as the writer lives, and to nobody when it is dead.

Real processes: one streams, another opens, recovers, begins; some are stopped, some killed, some forked.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import palaver

from ..tools.puppet import Refusal
from .conftest import Other

Start = Callable[..., Other]


def streaming(start: Start, session: str | None = None, said: str = "hi") -> tuple[Other, str, str]:
    """A process in the middle of an answer: (it, its session, its turn)."""
    writer = start()
    session = session or writer("create")
    turn = writer("begin", session, said)
    writer("say", turn, "one ")
    return writer, session, turn


# ---------------------------------------------------------------- the living


def test_another_process_that_opens_the_store_leaves_a_live_stream_alone(other: Start) -> None:
    writer, session, turn = streaming(other)
    reader = other()
    assert reader("statuses", session) == {turn: "streaming"}
    assert reader("read", session) == ["user: hi", "assistant: one "]
    writer("say", turn, "two")
    writer("seal", turn)
    assert reader("read", session) == ["user: hi", "assistant: one two"]
    assert reader("statuses", session) == {turn: "completed"}


def test_a_begin_beside_a_live_stream_does_not_end_it(other: Start) -> None:
    writer, session, turn = streaming(other)
    second = other()
    later = second("begin", session, "me too")
    assert second("statuses", session) == {turn: "streaming", later: "streaming"}
    writer("say", turn, "two")
    writer("seal", turn)
    with pytest.raises(Refusal) as lost:
        second("seal", later)
    assert lost.value.name == "HeadConflict"
    assert second("strays", session) == [later]


def test_a_stopped_process_is_alive(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer.send(signal.SIGSTOP)
    reader = other()
    assert reader("recover") == 0
    assert reader("statuses", session) == {turn: "streaming"}
    writer.send(signal.SIGCONT)
    writer("say", turn, "two")
    writer("seal", turn)
    assert reader("read", session) == ["user: hi", "assistant: one two"]


def test_a_second_store_in_the_same_process_leaves_the_turns_of_the_first_alone(path: str) -> None:
    with palaver.open(path) as first, palaver.open(path) as second:
        session = first.sessions.create("a")
        turn = session.turn("hi")
        assert second.recover() == 0
        second.sessions.get(session.id).turn("me too").abort()
        assert turn.status == "streaming"
        with pytest.raises(palaver.HeadConflict):
            turn.seal()
        assert [stray.id for stray in session.strays()] == [turn.id]


def test_closing_one_store_does_not_make_another_one_of_the_process_look_dead(other: Start, path: str) -> None:
    with palaver.open(path) as first:
        session = first.sessions.create("a")
        turn = session.turn("hi")
        with palaver.open(path) as second:
            second.sessions.create("b").turn("hello").seal()
        assert first.recover() == 0
        with palaver.open(path) as third:
            assert third.sessions.get(session.id).tree()[0].status == "streaming"
        turn.seal()


# ---------------------------------------------------------------- the dead


def test_a_dead_writers_turn_is_recovered_by_the_next_open(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("call_tool", turn)
    writer.kill()
    reader = other()
    assert reader("statuses", session) == {turn: "aborted"}
    assert reader("path", session) == [turn]
    assert reader("read", session) == ["user: hi", "assistant: one "]
    assert reader("tools", session) == ["output-error"]
    assert reader("verify") == []


def test_a_dead_writers_turn_is_recovered_by_the_next_begin(other: Start) -> None:
    writer, session, turn = streaming(other)
    witness = other()
    writer.kill()
    assert witness("statuses", session) == {turn: "streaming"}
    later = witness("begin", session, "again")
    assert witness("statuses", session) == {turn: "aborted", later: "streaming"}
    assert witness("path", session) == [turn]
    assert witness("read", session) == ["user: hi", "assistant: one ", "user: again"]


def test_a_dead_writers_turn_is_recovered_by_the_next_commit(other: Start) -> None:
    writer, session, turn = streaming(other)
    witness = other()
    writer.kill()
    witness("commit", session, "again")
    assert witness("path", session)[0] == turn
    assert witness("read", session) == ["user: hi", "assistant: one ", "user: again"]


def test_resume_recovers_a_dead_writer_that_stands_on_an_older_revision(other: Start) -> None:
    writer, session, dead = streaming(other)
    witness = other()
    witness("commit", session, "moved on")
    waits = witness("begin", session, "may I?")
    witness("call_tool", waits)
    witness("wait", waits)
    writer.kill()
    witness("resume", session, waits)
    assert witness("statuses", session)[dead] == "aborted"
    assert witness("strays", session) == [dead]
    witness("seal", waits)
    assert witness("path", session)[-1] == waits


def test_resume_of_a_turn_whose_writer_died_says_that_it_is_sealed(other: Start) -> None:
    writer, session, turn = streaming(other)
    witness = other()
    writer.kill()
    with pytest.raises(Refusal) as refused:
        witness("resume", session, turn)
    assert refused.value.name == "TurnSealed"
    assert witness("statuses", session) == {turn: "aborted"}
    assert witness("abort_reasons", session) == {turn: "its writer died"}


def test_resume_of_a_turn_whose_writer_lives_is_refused(other: Start) -> None:
    writer, session, turn = streaming(other)
    with pytest.raises(Refusal) as refused:
        other()("resume", session, turn)
    assert refused.value.name == "Refused"
    writer("seal", turn)


def test_a_writer_killed_while_it_waits_for_an_answer_leaves_a_turn_that_waits(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("call_tool", turn)
    writer("wait", turn)
    writer.kill()
    witness = other()
    assert witness("statuses", session) == {turn: "waiting"}
    assert witness("tools", session) == ["input-available"]
    witness("resume", session, turn)
    witness("seal", turn)
    assert witness("path", session) == [turn]


def test_a_resumed_turn_belongs_to_the_one_who_resumed_it(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer("call_tool", turn)
    writer("wait", turn)
    second = other()
    second("resume", session, turn)
    writer.kill()
    witness = other()
    assert witness("statuses", session) == {turn: "streaming"}
    second.kill()
    assert other()("statuses", session) == {turn: "aborted"}


# ---------------------------------------------------------------- several


def test_of_several_dead_turns_on_one_revision_the_first_begun_lands_and_the_others_are_strays(other: Start) -> None:
    first, session, one = streaming(other, said="one")
    second, _, two = streaming(other, session, said="two")
    third, _, three = streaming(other, session, said="three")
    for writer in (third, first, second):
        writer.kill()
    witness = other()
    assert witness("path", session) == [one]
    assert sorted(witness("strays", session)) == sorted([two, three])
    assert witness("statuses", session) == {one: "aborted", two: "aborted", three: "aborted"}
    assert witness("read", session) == ["user: one", "assistant: one "]
    assert witness("verify") == []


def test_recovery_waits_while_a_live_turn_stands_on_the_revision(other: Start) -> None:
    dead, session, one = streaming(other, said="one")
    live, _, two = streaming(other, session, said="two")
    dead.kill()
    witness = other()
    assert witness("statuses", session) == {one: "streaming", two: "streaming"}
    live("seal", two)
    assert live("path", session) == [two]
    later = witness("begin", session, "three")
    assert witness("statuses", session) == {one: "aborted", two: "completed", later: "streaming"}
    assert witness("strays", session) == [one]


def test_recovery_waits_while_a_waiting_turn_stands_on_the_revision(other: Start) -> None:
    dead, session, one = streaming(other, said="one")
    asker, _, two = streaming(other, session, said="two")
    asker("call_tool", two)
    asker("wait", two)
    dead.kill()
    witness = other()
    assert witness("statuses", session) == {one: "streaming", two: "waiting"}
    witness("resume", session, two)
    witness("seal", two)
    assert witness("path", session) == [two]
    assert other()("strays", session) == [one]


def test_a_dead_turn_on_an_older_revision_becomes_a_stray_at_once(other: Start) -> None:
    dead, session, one = streaming(other, said="one")
    live = other()
    live("commit", session, "moved on")
    two = live("begin", session, "two")
    dead.kill()
    witness = other()
    assert witness("strays", session) == [one]
    assert witness("statuses", session)[two] == "streaming"
    live("seal", two)


def test_the_dead_turns_of_every_session_are_recovered(other: Start) -> None:
    writer = other()
    sessions = [writer("create") for _ in range(3)]
    for session in sessions:
        writer("say", writer("begin", session, "hi"), "half")
    writer.kill()
    witness = other()
    assert [witness("read", session) for session in sessions] == [["user: hi", "assistant: half"]] * 3
    assert witness("recover") == 0


def test_two_processes_that_open_at_once_recover_a_turn_once(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer.kill()
    witnesses = [other() for _ in range(3)]
    assert [witness("path", session) for witness in witnesses] == [[turn]] * 3
    assert [witness("strays", session) for witness in witnesses] == [[]] * 3


# ---------------------------------------------------------------- forks of a process


def test_a_forked_child_cannot_use_the_store_and_does_not_harm_it(other: Start) -> None:
    writer, session, turn = streaming(other)
    errors = writer("in_a_fork", session)
    assert {errors[use] for use in ("read", "begin", "write", "seal")} == {"StoreClosed"}
    assert other()("statuses", session) == {turn: "streaming"}
    writer("say", turn, "two")
    writer("seal", turn)
    assert writer("read", session) == ["user: hi", "assistant: one two"]


def test_a_forked_child_that_lives_on_does_not_keep_its_dead_parent_alive(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer.fork()
    writer.kill()
    assert other()("statuses", session) == {turn: "aborted"}


def test_a_program_started_by_a_writer_does_not_keep_it_alive(other: Start) -> None:
    writer, session, turn = streaming(other)
    writer.start_program()
    writer.kill()
    assert other()("statuses", session) == {turn: "aborted"}


def test_a_writer_killed_inside_a_write_does_not_leave_the_queue_locked(other: Start) -> None:
    writer, session, turn = streaming(other)
    witness = other()
    writer.die_during("say", turn, "never")
    witness("commit", session, "next")
    assert witness("read", session) == ["user: hi", "assistant: one ", "user: next"]


def test_a_forked_child_does_not_hold_the_queue_of_a_parent_killed_inside_a_write(other: Start) -> None:
    writer, session, turn = streaming(other)
    witness = other()
    writer.fork()
    writer.die_during("say", turn, "never")
    witness("commit", session, "next")
    assert witness("read", session) == ["user: hi", "assistant: one ", "user: next"]


# ---------------------------------------------------------------- signs of life


def owner_files(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / "s.db-owners").iterdir())


def test_a_store_that_is_closed_leaves_no_owner_file(other: Start, tmp_path: Path) -> None:
    writer, _, turn = streaming(other)
    assert len(owner_files(tmp_path)) == 1
    writer("seal", turn)
    writer("close")
    assert owner_files(tmp_path) == []


def test_each_writer_has_one_owner_file_and_readers_have_none(other: Start, tmp_path: Path) -> None:
    writer, session, _ = streaming(other)
    reader = other()
    reader("read", session)
    assert [name.partition("-")[0] for name in owner_files(tmp_path)] == [str(writer.pid)]


def test_a_writer_whose_owner_file_is_gone_is_fenced_off(other: Start, tmp_path: Path) -> None:
    """It was stopped: a writer that runs makes its file again within a second."""
    writer, session, turn = streaming(other)
    writer.send(signal.SIGSTOP)
    writer.wait_until_stopped()
    [sign] = owner_files(tmp_path)
    (tmp_path / "s.db-owners" / sign).unlink()
    assert other()("statuses", session) == {turn: "streaming"}
    os.utime(tmp_path / "s.db-owners" / f"{sign}.missed", (0, 0))  # the first look was long ago
    witness = other()
    assert witness("statuses", session) == {turn: "aborted"}
    writer.send(signal.SIGCONT)
    for attempt in (("say", turn, "too late"), ("seal", turn)):
        with pytest.raises(Refusal) as refused:
            writer(*attempt)
        assert refused.value.name == "TurnSealed"
    assert witness("read", session) == ["user: hi", "assistant: one "]
    assert witness("verify") == []
