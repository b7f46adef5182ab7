"""Every verb that changes a contract row, each on a session where something was said before."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import palaver
from palaver import Session, Store, exports

from ..tools.chunks import answer, tool
from ..tools.puppet import elsewhere
from ..tools.sql import writing
from .support import ask_a_tool, foreign_message, foreign_session, full, talk, text

LONG = 600  # characters: more than a line of the journal writes out again
ROOT = Path(__file__).parents[2]
Verb = Callable[[Store, Session], object]
VERBS: dict[str, Verb] = {}


def verb(work: Verb) -> Verb:
    VERBS[work.__name__] = work
    return work


def on_a_session(store: Store, work: Verb) -> Session:
    """A session with a committed and a streamed turn, and then the verb."""
    session = store.sessions.create("coder", title="A talk")
    session.commit(["hello", {"role": "assistant", "parts": [{"type": "text", "text": "yes"}]}])
    talk(session)
    work(store, session)
    return session


# ---------------------------------------------------------------- sessions


@verb
def create(store: Store, session: Session) -> None:
    store.sessions.create("coder", workspace="/src", model="acme/one", title="t", metadata={"k": [1.10, "\ud800"]})


@verb
def spawn(store: Store, session: Session) -> None:
    talk(store.sessions.create("helper", parent=session, tool_call_id="c1", id="their-own-id"))


@verb
def update(store: Store, session: Session) -> None:
    session.update(project="x", workspace="/other", model="acme/two")
    session.update(project=None, workspace=None, model=None)
    session.update(workspace="/stays")


@verb
def archive_and_back(store: Store, session: Session) -> None:
    session.archive()
    session.unarchive()


@verb
def archive(store: Store, session: Session) -> None:
    session.archive()


@verb
def delete(store: Store, session: Session) -> None:
    session.delete()


@verb
def undelete(store: Store, session: Session) -> None:
    session.delete()
    session.undelete()


@verb
def title(store: Store, session: Session) -> None:
    session.title = "another"
    session.alias("a-name-of-it")


# ---------------------------------------------------------------- turns


@verb
def commit(store: Store, session: Session) -> None:
    metadata = {"usage": {"input": 3, "output": 4, "cache_read": 5}, "note": "n" * LONG}
    session.commit(
        ["why?", {"role": "assistant", "metadata": metadata, "parts": [{"type": "text", "text": "a" * LONG}]}],
        model="acme/two",
        agent="plan",
    )


@verb
def stream(store: Store, session: Session) -> None:
    talk(session, size=10, model="acme/two", system_prompt="Be kind.", agent="plan", trigger={"source": "schedule"})


@verb
def stream_much(store: Store, session: Session) -> None:
    talk(session, size=LONG)


@verb
def stream_at_once(store: Store, session: Session) -> None:
    with session.turn("all of it") as turn:
        turn.append(answer(LONG))


@verb
def stream_odd_text(store: Store, session: Session) -> None:
    """Bytes that a second encoding would change: half characters, zeros, long numbers, escapes."""
    with session.turn(b'{"role":"user","parts":[{"type":"text","text":"\\u0061"}],"metadata":{"a":1.10}}') as turn:
        turn.write('{"type":"text-start","id":"t","providerMetadata":{"x":{"y":1.10}}}')
        for _ in range(60):
            turn.write('{"type":"text-delta","id":"t","delta":"\\ud83d"}')
            turn.write('{"type":"text-delta","id":"t","delta":"\\ude00 \\u0000"}')
        long = '{"b":1.10,"a":123456789012345678901234567890,"z":"' + "q" * LONG + '"}'
        turn.write(f'{{"type":"tool-input-available","toolCallId":"c","toolName":"run","input":{long}}}')
        turn.write(f'{{"type":"tool-output-available","toolCallId":"c","output":{long}}}')


@verb
def usage_again_and_again(store: Store, session: Session) -> None:
    with session.turn("count") as turn:
        for cost in (0.1, 0.2, 1, 1e-17):
            turn.usage(input=1, output=2, reasoning=3, cache_read=4, cache_write=5, cost_usd=cost, model="acme/two")
            turn.write({"type": "start-step"})


@verb
def usage_in_the_stream(store: Store, session: Session) -> None:
    with session.turn("count") as turn:
        for tokens in (1, 5, 3):
            turn.write({"type": "message-metadata", "messageMetadata": {"usage": {"input": tokens, "output": 1}}})


@verb
def wait_and_answer(store: Store, session: Session) -> None:
    turn = ask_a_tool(session, LONG)
    turn.resolve("w1", output={"late": "l" * LONG})
    with session.resume(turn.id) as again:
        for chunk in text("w" * LONG):
            again.write(chunk)


@verb
def wait_and_stay(store: Store, session: Session) -> None:
    ask_a_tool(session, LONG)


@verb
def wait_in_the_middle(store: Store, session: Session) -> None:
    turn = session.turn("slowly")
    for _ in range(3):
        turn.write({"type": "text-start", "id": "t"})
        turn.write({"type": "text-delta", "id": "t", "delta": "w" * LONG})
        turn.wait()
        turn = session.resume(turn.id)
    turn.seal()


@verb
def deny(store: Store, session: Session) -> None:
    turn = session.turn("may I?")
    for chunk in tool("w1", LONG, answered=False):
        turn.write(chunk)
    turn.write({"type": "tool-approval-request", "toolCallId": "w1", "approvalId": "p1"})
    turn.write({"type": "finish"})
    turn.resolve("w1", approved=False, reason="no")
    session.resume(turn.id).seal()


@verb
def answer_too_late(store: Store, session: Session) -> None:
    turn = ask_a_tool(session, LONG)
    turn.abort()
    with pytest.raises(palaver.TurnSealed):
        turn.resolve("w1", output="o" * LONG)


@verb
def abort(store: Store, session: Session) -> None:
    turn = session.turn("never mind")
    for chunk in tool("w1", LONG, answered=False):
        turn.write(chunk)
    turn.abort("changed my mind")


@verb
def fail(store: Store, session: Session) -> None:
    with pytest.raises(RuntimeError), session.turn("break") as turn:
        turn.write({"type": "text-start", "id": "t"})
        turn.write({"type": "text-delta", "id": "t", "delta": "w" * LONG})
        raise RuntimeError("of the agent")


@verb
def refuse_a_chunk(store: Store, session: Session) -> None:
    with session.turn("nonsense") as turn:
        for chunk in text("w" * LONG):
            turn.write(chunk)
        with pytest.raises(palaver.ChunkError):
            turn.append([{"type": "start-step"}, {"type": "text-delta", "id": "nobody", "delta": "x"}])
        turn.write({"type": "finish-step"})


@verb
def move_on_from_a_waiting_turn(store: Store, session: Session) -> None:
    ask_a_tool(session, LONG)
    session.commit("something else")


# ---------------------------------------------------------------- what waits, what may be done, what a model sees


@verb
def queue(store: Store, session: Session) -> None:
    """Sent while a turn runs: claimed, given back, claimed again, cancelled, left waiting."""
    for number in range(4):
        session.enqueue(f"number {number}", id=f"q{number}-{session.id}")
    with pytest.raises(RuntimeError), session.claim() as turn:
        raise RuntimeError("before anything came")
    with session.claim() as turn:
        for chunk in text("w" * LONG):
            turn.write(chunk)
    session.cancel(f"q2-{session.id}")


@verb
def permissions(store: Store, session: Session) -> None:
    session.permissions.add("bash", "git *")
    session.permissions.add("edit", action="deny")
    session.permissions.remove("bash")


@verb
def compact(store: Store, session: Session) -> None:
    session.compact("s" * LONG, summarization_input_tokens=7)
    talk(session, "after the summary")
    session.prune(keep=0)


@verb
def compact_in_the_middle(store: Store, session: Session) -> None:
    """The step that runs is taken out of its turn, and goes on in another."""
    turn = session.turn("a long task")
    for chunk in (*answer(LONG), *text("w" * LONG, name="2"), *tool("c2", LONG)):
        turn.write(chunk)
    with turn.compact("s" * LONG) as rest:
        for chunk in text("w" * LONG, name="3"):
            rest.write(chunk)


# ---------------------------------------------------------------- branches


@verb
def fork(store: Store, session: Session) -> None:
    talk(session.fork(title="a fork"), "in the fork")
    session.fork(at=session.messages()[0]["id"]).commit("earlier")


@verb
def fork_as_a_copy(store: Store, session: Session) -> None:
    copy = session.fork(copy=True)
    talk(copy, "in the copy")
    copy.rewind(to=copy.path()[0])
    copy.undo()


@verb
def materialise(store: Store, session: Session) -> None:
    fork = session.fork()
    fork.materialise()
    fork.commit("now it is all here")
    fork.materialise()


@verb
def rewind_undo_redo(store: Store, session: Session) -> None:
    session.rewind(to=session.path()[0])
    session.undo()
    session.redo()
    session.rewind(to=session.messages()[0]["id"])


@verb
def move(store: Store, session: Session) -> None:
    session.move(session.path()[0], expected=session.revision)


@verb
def regenerate(store: Store, session: Session) -> None:
    with session.regenerate() as turn:
        for chunk in answer(LONG):
            turn.write(chunk)


@verb
def edit(store: Store, session: Session) -> None:
    asked = [message for message in session.messages() if message["role"] == "user"][-1]
    with session.edit(asked["id"], "asked otherwise") as turn:
        for chunk in text("w" * LONG):
            turn.write(chunk)


@verb
def lose_a_race(store: Store, session: Session) -> None:
    first, second = session.turn("one"), session.turn("two")
    for chunks in zip(text("1" * LONG), text("2" * LONG), strict=True):
        first.write(chunks[0])
        second.write(chunks[1])
    first.seal()
    with pytest.raises(palaver.HeadConflict) as lost:
        second.seal()
    session.fork(at=lost.value.stray)


@verb
def lose_a_race_to_a_commit(store: Store, session: Session) -> None:
    turn = session.turn("slow")
    turn.write({"type": "text-start", "id": "t"})
    turn.write({"type": "text-delta", "id": "t", "delta": "w" * LONG})
    session.commit("quick")
    turn.write({"type": "text-delta", "id": "t", "delta": "w" * LONG})
    with pytest.raises(palaver.HeadConflict):
        turn.seal()


# ---------------------------------------------------------------- others


@verb
def adopt(store: Store, session: Session) -> None:
    foreign_message(store.path, session.id, f"stranger in {session.id}")
    session.adopt()
    session.undo()


@verb
def take_in_beside_a_turn(store: Store, session: Session) -> None:
    with session.turn("open") as turn:
        foreign_message(store.path, session.id, f"neighbour in {session.id}")
        for chunk in text("w" * LONG):
            turn.write(chunk)


@verb
def lose_a_row_to_another_program(store: Store, session: Session) -> None:
    """The answer's row is gone while it streams; what is put right later is as it would have been."""
    turn = session.turn("quickly")
    for chunk in text("w" * LONG, name="a"):
        turn.write(chunk)
    with writing(store.path) as db:
        db.execute("DELETE FROM chat_parts WHERE message_id = ?", (turn.message_id,))
    for chunk in text("w" * LONG, name="b"):
        turn.write(chunk)
    turn.seal()
    store.rebuild(session.id)


KILLED = """
from palaver import open
session = open(sys.argv[1], save_buffer_ms=0).sessions.get(sys.argv[2])
turn = session.turn("cut off")
turn.write({"type": "text-start", "id": "t"})
for _ in range(5):
    turn.write({"type": "text-delta", "id": "t", "delta": "w" * 200})
turn.write({"type": "tool-input-available", "toolCallId": "k", "toolName": "run", "input": {"c": "l" * 300}})
os._exit(9)
"""


def stream_and_be_killed(path: str, session_id: str) -> None:
    """In a process of its own, which ends in the middle of its answer."""
    elsewhere(KILLED, path, session_id, status=9)


@verb
def recover_a_killed_writer(store: Store, session: Session) -> None:
    stream_and_be_killed(store.path, session.id)
    assert store.recover() == 1


@contextmanager
def another_store(events: str = "full") -> Iterator[tuple[Store, Session, Session]]:
    """A session that was streamed and has a turn that waits, and a fork of it."""
    with palaver.open(":memory:", events=events) as other:
        session = other.sessions.create("coder", id=f"theirs-{os.urandom(4).hex()}")
        talk(session, size=LONG, system_prompt="Be kind.")
        fork = session.fork(copy=True)
        fork.commit("in the fork")
        ask_a_tool(session, LONG)
        yield other, session, fork


def carry(source: Store, target: Store, *sessions: Session) -> exports.Summary:
    """From one store to the other: some sessions, or all."""
    data = io.BytesIO()
    exports.write(source.db, data, [session.id for session in sessions] or None)
    data.seek(0)
    return exports.read(target.db, data)


@verb
def take_in_an_export(store: Store, session: Session) -> None:
    for events in ("full", "live"):
        with another_store(events) as (other, *_):
            assert carry(other, store).imported == 2
            assert carry(other, store).already_there == 2


@verb
def take_in_a_fork_and_then_all(store: Store, session: Session) -> None:
    with another_store() as (other, _, fork):
        assert carry(other, store, fork).imported == 2
        assert carry(other, store).refused == 0


@verb
def take_in_one_fork_and_then_another(store: Store, session: Session) -> None:
    """Neither brings the session that they came from, but each brings of it what it shares."""
    with another_store() as (other, theirs, fork):
        talk(theirs.fork().fork(), "later")
        talk(theirs)
        later = theirs.fork()
        assert carry(other, store, fork).imported == 2
        assert carry(other, store, later).imported == 2


@verb
def go_on_with_what_was_taken_in(store: Store, session: Session) -> None:
    with another_store() as (other, theirs, _):
        carry(other, store)
    here = store.sessions.get(theirs.id)
    with here.resume(here.waiting()[0].id) as turn:
        turn.resolve("w1", output="o" * LONG)
        for chunk in text("w" * LONG):
            turn.write(chunk)


@verb
def write_beside_a_foreign_session(store: Store, session: Session) -> None:
    foreign_session(store.path, f"theirs beside {session.id}")
    session.commit("ours")


@verb
def let_verify_put_it_right(store: Store, session: Session) -> None:
    session.rewind(to=session.path()[0])
    with writing(store.path) as db:
        db.execute("UPDATE chat_sessions SET prompt_tokens = 1000 WHERE id = ?", (session.id,))
        shown = "json_remove(metadata_json, '$.hidden_at')"
        db.execute(f"UPDATE chat_messages SET metadata_json = {shown} WHERE session_id = ?", (session.id,))
    assert store.verify(fix=True) == []


SOME = ("stream_much", "wait_and_answer", "wait_and_stay", "fork_as_a_copy", "edit", "delete", "adopt")


def live(path: str, names: Iterable[str] = VERBS) -> None:
    """A file in which verbs were used, each on a session of its own."""
    with full(path) as store:
        for name in names:
            on_a_session(store, VERBS[name])
        if names is not VERBS:
            with another_store() as (other, *_):
                carry(other, store)
