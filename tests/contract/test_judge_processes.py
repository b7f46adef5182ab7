"""A writer dies, another takes over: the judge, run by himself, reads the truth before and after recovery."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import palaver

from ..tools.puppet import Script
from .support import assert_agrees, assert_prefix, judge_alone, other, say, shown, texts

WRITER = """
import palaver
path, session, buffer, count = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
store = palaver.open(path, save_buffer_ms=buffer)
turn = store.sessions.get(session).turn("from the one who dies")
turn.write({"type": "start-step"})
turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {"a": 1}})
turn.write({"type": "text-start", "id": "t"})
for number in range(count):
    turn.write({"type": "text-delta", "id": "t", "delta": f"{number} "})
print("written", flush=True)
sys.stdin.read()
"""


@contextmanager
def writer(path: str, session: str, buffer: float, count: int = 20) -> Iterator[Script]:
    """A process that has written its chunks and then hangs until it is killed."""
    with Script(WRITER, path, session, str(buffer), str(count)) as process:
        assert process.hear() == "written"
        yield process


def begun(path: str) -> str:
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        say(session, "one", "first")
        return session.id


SAID = "".join(f"{n} " for n in range(20)).strip()


def test_a_killed_writer_leaves_every_chunk_to_the_judge_and_recovery_seals_it(path: str) -> None:
    session_id = begun(path)
    with writer(path, session_id, buffer=0):
        pass
    left = judge_alone(path)
    assert left.violations == []
    assert texts(left.transcripts[session_id]) == ["one", "first", "from the one who dies", SAID]
    with palaver.open(path) as store:
        assert_agrees(store)
        assert texts(store.sessions.get(session_id).messages()) == ["one", "first", "from the one who dies", SAID]
    after = judge_alone(path)
    assert after.violations == []
    tool = after.transcripts[session_id][3]["parts"][1]
    assert (tool["state"], tool["errorText"]) == ("output-error", "interrupted")


def test_what_a_killed_writer_had_in_its_buffer_is_a_prefix_for_the_judge_and_whole_after_recovery(path: str) -> None:
    session_id = begun(path)
    with writer(path, session_id, buffer=3_600_000):
        pass
    left = judge_alone(path)
    assert left.violations == []
    with palaver.open(path) as store:
        messages = store.sessions.get(session_id).messages()
        assert_prefix(left.transcripts[session_id], messages)
        assert texts(messages)[3] == SAID
        assert_agrees(store)


def test_a_turn_of_another_living_process_reads_the_same_here(path: str) -> None:
    session_id = begun(path)
    with writer(path, session_id, buffer=0), palaver.open(path) as store:
        verdict = assert_agrees(store)
        assert texts(verdict.transcripts[session_id])[-1] == SAID


def test_of_two_dead_writers_the_first_lands_and_the_other_is_hidden(path: str) -> None:
    session_id = begun(path)
    with writer(path, session_id, buffer=0, count=3), writer(path, session_id, buffer=0, count=5):
        pass
    left = texts(judge_alone(path).transcripts[session_id])[2:]
    assert left == ["from the one who dies", "0 1 2", "from the one who dies", "0 1 2 3 4"]
    with palaver.open(path) as store:
        verdict = assert_agrees(store)
        assert texts(verdict.transcripts[session_id])[2:] == ["from the one who dies", "0 1 2"]


def test_a_dead_writer_who_had_lost_the_race_stays_hidden(path: str) -> None:
    session_id = begun(path)
    with writer(path, session_id, buffer=0), palaver.open(path) as store:
        store.sessions.get(session_id).commit(["faster"])
        assert_agrees(store)
    with palaver.open(path) as store:
        assert texts(assert_agrees(store).transcripts[session_id]) == ["one", "first", "faster"]


def test_begin_recovers_what_died_while_the_store_was_open(path: str) -> None:
    session_id = begun(path)
    with palaver.open(path) as store:
        with writer(path, session_id, buffer=0, count=2):
            pass
        say(store.sessions.get(session_id), "still there?", "yes")
        verdict = assert_agrees(store)
        assert texts(verdict.transcripts[session_id])[2:] == ["from the one who dies", "0 1", "still there?", "yes"]


def test_a_waiting_turn_outlives_its_process(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        turn = session.turn("which?")
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "pick", "input": {}})
        turn.write({"type": "finish"})
    assert judge_alone(path).transcripts[session.id][1]["parts"][0]["state"] == "input-available"
    with palaver.open(path) as store:
        with store.sessions.get(session.id).resume(turn.id) as resumed:
            resumed.resolve("c1", output="red")
        assert_agrees(store)
    assert judge_alone(path).transcripts[session.id][1]["parts"][0]["output"] == "red"


def test_another_process_never_sees_rollups_and_messages_apart(path: str) -> None:
    """updated_at, rollups and the message's usage change in one transaction, or the watcher would catch them."""
    with palaver.open(path, durability="normal") as store, other("watch", path) as watcher:
        assert watcher.hear() == "watching"
        session = store.sessions.create("coder")
        for number in range(150):
            with session.turn("how much?") as turn:
                turn.write({"type": "start-step"})
                turn.usage(input=number, output=1)
                turn.write({"type": "finish-step"})
        seen = json.loads(watcher.finish()[0])
    assert seen["found"] == []
    assert seen["looks"] > 10


@pytest.mark.parametrize("durability", ["boundary", "full", "normal"])
def test_the_judge_by_himself_reads_a_closed_store(tmp_path: Path, durability: str) -> None:
    path = str(tmp_path / "closed.db")
    with palaver.open(path, durability=durability) as store:
        session = store.sessions.create("coder")
        say(session, "one", "first")
        session.turn("left open")
    alone = judge_alone(path)
    assert alone.violations == []
    with palaver.open(path) as store:
        assert shown(store.sessions.get(session.id).messages()) == shown(alone.transcripts[session.id])
    assert texts(alone.transcripts[session.id]) == ["one", "first", "left open"]
