"""Whatever a session went through, the real SDK takes its context: validated, converted, and sent to a model. No tool
call in it is without a result. `model_messages()` is what the SDK makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.aisdk.model_messages import convert

from ..tools.chunks import result, step, text
from ..tools.talk import feed
from .lives import Life
from .sdk import UI, Judge
from .support import START, Chunk, call, plain, talk, talks, unanswered

ROOT = Path(__file__).parents[2]
FINISH: list[Chunk] = [{"type": "finish-step"}, {"type": "finish"}]
ASKS: Chunk = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}
BEGUN: Chunk = {"type": "tool-input-start", "toolCallId": "c1", "toolName": "run"}


def fits(sdk: Judge, *contexts: UI) -> None:
    for told in sdk.accepts(list(contexts)):
        assert unanswered(told) == []


# ---------------------------------------------------------------- streams that stop anywhere

STOPS: dict[str, list[Chunk]] = {
    "before anything": [],
    "at the start of a step": START,
    "in a thought": [
        *START,
        {"type": "reasoning-start", "id": "r"},
        {"type": "reasoning-delta", "id": "r", "delta": "hm"},
    ],
    "in a text": [*START, *text("half", ends=False)],
    "before the input of a tool": [*START, BEGUN],
    "in the input of a tool": [
        *START,
        BEGUN,
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"a'},
    ],
    "in the input of a dynamic tool": [*START, BEGUN | {"dynamic": True}],
    "at a call": [*START, call("c1")],
    "at a dynamic call": [*START, call("c1", dynamic=True)],
    "at a call of the provider": [*START, call("c1", providerExecuted=True)],
    "at a first result": [*START, call("c1"), result("c1") | {"preliminary": True}],
    "at a wrong input": [
        *START,
        {"type": "tool-input-error", "toolCallId": "c1", "toolName": "run", "input": "{", "errorText": "not JSON"},
    ],
    "at a question of approval": [*START, call("c1"), ASKS],
    "at a denied call": [*START, call("c1"), ASKS, {"type": "tool-output-denied", "toolCallId": "c1"}],
    "between two calls": [*START, call("c1"), result("c1"), call("c2")],
    "in a second step": [{"type": "start"}, *step(call("c1"), result("c1")), {"type": "start-step"}, call("c2")],
    "at data": [*START, {"type": "data-weather", "data": {"degrees": 21}}],
    "at a source": [*START, {"type": "source-url", "sourceId": "s", "url": "https://example.org"}],
    "at a file": [*START, {"type": "file", "url": "data:text/plain;base64,AAAA", "mediaType": "text/plain"}],
    "with an error": [*START, *text("half", ends=False), {"type": "error", "errorText": "overloaded"}],
}


@pytest.mark.parametrize("place", STOPS)
def test_a_stream_that_stops(place: str, store: palaver.Store, sdk: Judge) -> None:
    session = store.sessions.create("coder")
    talk(session, "1", tool=True)
    turn = feed(session.turn("q"), STOPS[place])
    while_open = turn.context()
    turn.abort()
    sealed = session.context()
    session.commit("and now?")
    fits(sdk, while_open, sealed, session.context())
    assert sdk.converted([session.context()]) == [session.model_messages()]
    assert store.verify() == []


# ---------------------------------------------------------------- turns that wait


def waiting(session: palaver.Session) -> palaver.Turn:
    talk(session, "1")
    turn = feed(session.turn("q"), [*START, call("c1"), ASKS, call("c2"), *FINISH])
    assert turn.status == "waiting"
    return turn


ANSWERS: dict[str, Callable[[palaver.Turn], Any]] = {
    "no answer": lambda turn: None,
    "a yes": lambda turn: turn.resolve("c1", approved=True, reason="it is safe"),
    "a no": lambda turn: turn.resolve("c1", approved=False, reason="too dangerous"),
    "a no without a reason": lambda turn: turn.resolve("c1", approved=False),
    "a result": lambda turn: turn.resolve("c2", output={"ok": True}),
    "an error": lambda turn: turn.resolve("c2", error="no such file"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_waiting_turn_that_the_user_moves_on_from(answer: str, store: palaver.Store, sdk: Judge) -> None:
    session = store.sessions.create("coder")
    turn = waiting(session)
    ANSWERS[answer](turn)
    contexts = [turn.context(), session.context()]
    session.commit("never mind")
    fits(sdk, *contexts, session.context())
    assert store.verify() == []


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_waiting_turn_that_is_compacted_away(answer: str, store: palaver.Store, sdk: Judge) -> None:
    session = store.sessions.create("coder")
    turn = waiting(session)
    ANSWERS[answer](turn)
    session.compact("s", keep_from=turn.id)
    fits(sdk, session.context())
    assert store.verify() == []


# ---------------------------------------------------------------- rows of others

THEIRS: dict[str, list[dict[str, Any]]] = {
    "no part yet": [],
    "half a text": [{"type": "text", "text": "ha", "state": "streaming"}],
    "half a thought": [{"type": "reasoning", "text": "ha", "state": "streaming"}],
    "no input yet": [{"type": "tool-run", "toolCallId": "c1", "state": "input-streaming"}],
    "half an input": [{"type": "tool-run", "toolCallId": "c1", "state": "input-streaming", "input": {"a": None}}],
    "an input": [{"type": "tool-run", "toolCallId": "c1", "state": "input-available", "input": {}}],
    "an input that is missing": [{"type": "tool-run", "toolCallId": "c1", "state": "input-available"}],
    "a dynamic call": [
        {"type": "dynamic-tool", "toolName": "x", "toolCallId": "c1", "state": "input-available", "input": 1}
    ],
    "a question of approval": [
        {"type": "tool-run", "toolCallId": "c1", "state": "approval-requested", "input": {}, "approval": {"id": "a"}}
    ],
    "a no": [
        {
            "type": "tool-run",
            "toolCallId": "c1",
            "state": "approval-responded",
            "input": {},
            "approval": {"id": "a", "approved": False},
        }
    ],
    "no state at all": [{"type": "tool-run", "toolCallId": "c1"}],
    "text and call": [
        {"type": "step-start"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool-run", "toolCallId": "c1", "state": "input-available", "input": {}},
    ],
}


def write_theirs(path: str, session: palaver.Session, parts: list[dict[str, Any]]) -> None:
    with plain(path, writes=True) as db:
        ((at,),) = db.execute("SELECT max(created_at) + 1 FROM chat_messages").fetchall()
        db.execute("INSERT INTO chat_messages VALUES ('theirs', ?1, 'assistant', '{}', ?2, ?2)", (session.id, at))
        for place, part in enumerate(parts):
            tool = (part.get("toolCallId"), part.get("state") if "toolCallId" in part else None)
            values = (f"part {place}", "theirs", session.id, place, part["type"], json.dumps(part), *tool, at, at)
            db.execute(f"INSERT INTO chat_parts VALUES ({', '.join('?' * 10)})", values)


@pytest.mark.parametrize("what", THEIRS)
def test_rows_that_another_program_has_half_written(what: str, store: palaver.Store, path: str, sdk: Judge) -> None:
    session = store.sessions.create("coder")
    talk(session, "1")
    write_theirs(path, session, THEIRS[what])
    loose = session.context()
    session.adopt()
    adopted = session.context()
    session.commit("and now?")
    fits(sdk, loose, adopted, session.context())
    assert store.verify() == []


def test_a_role_of_others_does_not_end_in_a_bare_error(store: palaver.Store, path: str) -> None:
    """A database may hold any role; model messages know three."""
    session = store.sessions.create("coder")
    talk(session, "1")
    write_theirs(path, session, [{"type": "text", "text": "raw"}])
    with plain(path, writes=True) as db:
        db.execute("UPDATE chat_messages SET role = 'tool' WHERE id = 'theirs'")
    try:
        told = session.model_messages()
    except palaver.PalaverError:
        return
    assert {message["role"] for message in told} <= {"system", "user", "assistant", "tool"}


# ---------------------------------------------------------------- killed

CHILD = """
import os, signal, sys
import palaver
from palaver.aisdk.model_messages import convert
from tests.context.support import START, call, feed, text
session = palaver.open(sys.argv[1]).sessions.get(sys.argv[2])
half = {"type": "tool-input-start", "toolCallId": "c2", "toolName": "run"}
feed(session.turn("q"), [*START, *text("first"), call("c1"), half])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_turn_whose_process_was_killed(store: palaver.Store, path: str, sdk: Judge) -> None:
    session = store.sessions.create("coder")
    talk(session, "1", tool=True)
    done = subprocess.run([sys.executable, "-c", CHILD, path, session.id], cwd=ROOT, timeout=120)
    assert done.returncode == -9
    dead = session.context()
    store.recover()
    interrupted = session.context()
    assert [m["role"] for m in interrupted[-2:]] == ["user", "assistant"]
    fits(sdk, dead, interrupted)
    assert store.verify() == []


# ---------------------------------------------------------------- summaries, stamps, forks


@pytest.fixture
def lived(store: palaver.Store) -> palaver.Session:
    """Tools in every turn, pruned, compacted twice, then a turn that stopped."""
    session = store.sessions.create("coder")
    turns = talks(session, 1, 2, 3, 4, tool=True)
    session.prune(keep=1)
    session.compact("of 1", keep_from=turns[1])
    talk(session, "5", tool=True, system_prompt="Be kind.")
    session.compact("of 1 to 3", keep_from=turns[3])
    feed(session.turn("q6"), [*START, call("c6")]).abort()
    return session


def test_every_place_on_a_long_path_fits(store: palaver.Store, lived: palaver.Session, sdk: Judge) -> None:
    contexts = []
    for message in lived.messages():
        contexts.append(lived.fork(at=message).context())
    for turn in lived.path():
        lived.rewind(to=turn)
        contexts.append(lived.context())
        lived.undo()
    fits(sdk, lived.context(), *contexts)
    assert store.verify() == []


def test_a_turn_compacted_in_its_middle_fits_all_the_way(store: palaver.Store, sdk: Judge) -> None:
    session = store.sessions.create("coder")
    talk(session, "1", tool=True)
    turn = feed(
        session.turn("q"), [{"type": "start"}, *step(call("c1"), result("c1")), {"type": "start-step"}, call("c2")]
    )
    contexts = [turn.context()]
    for number in range(3, 6):
        turn = turn.compact(f"up to {number}", keep_from=turn.id if number == 3 else None)
        contexts.append(turn.context())
        feed(turn, [result(f"c{number - 1}"), {"type": "finish-step"}, {"type": "start-step"}, call(f"c{number}")])
        contexts.append(turn.context())
    turn.abort()
    fits(sdk, *contexts, session.context())
    assert store.verify() == []


def test_model_messages_are_what_the_sdk_makes_of_the_context(lived: palaver.Session, sdk: Judge) -> None:
    assert sdk.converted([lived.context()]) == sdk.accepts([lived.context()]) == [lived.model_messages()]


# ---------------------------------------------------------------- at random


def lives(store: palaver.Store, sdk: Judge, count: int) -> None:
    """Many sessions; every context that a model would have seen in one of them fits."""
    seed = int(os.environ.get("PALAVER_SEED", "20261116"))
    print(f"seeds {seed} to {seed + count - 1}")
    for number in range(seed, seed + count):
        life = Life(store.sessions.create("coder"), number)
        life.live(6)
        contexts = [context for context in life.contexts if context]
        fits(sdk, *contexts)
        assert sdk.converted(contexts[-1:]) == [convert(context) for context in contexts[-1:]]
    assert store.verify() == []


def test_whatever_a_session_went_through_its_context_fits(store: palaver.Store, sdk: Judge) -> None:
    lives(store, sdk, 12)


@pytest.mark.long
def test_whatever_a_session_went_through_its_context_fits_at_length(store: palaver.Store, sdk: Judge) -> None:
    lives(store, sdk, 500)
