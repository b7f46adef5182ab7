"""The demo, on a new store: an agent is killed in mid-sentence, and nothing it said is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import palaver
from palaver import HeadConflict, Session

Say = Callable[[str], Any]
Draw = Callable[[Session], Any]
TITLE = "Why does the build fail?"
KILL_AFTER = 12  # words


def run(path: str, say: Say, draw: Draw) -> None:
    """Tell the story on a new store at this path. `draw` draws the tree of a session."""
    with palaver.open(path) as store:
        session_id = store.sessions.create(agent="builder", title=TITLE).id
    seen = _kill_an_agent(path, session_id, say)
    with palaver.open(path) as store:
        session = store.sessions.get(session_id)
        _recovered(session, seen, say)
        _approval(session, say)
        _sub_agent(store, session, say)
        _branches(session, say)
        _race(session, say)
        _queue(session, say)
        _compaction(session, say)
        say("\n9. The tree of turns, as `palaver tree` draws it: * is the head, x lost the race.")
        draw(session)
        _proof(store, say)


# ---------------------------------------------------------------- 1: the kill


def _kill_an_agent(path: str, session_id: str, say: Say) -> str:
    say("1. An agent starts work in a process of its own. Every word it says is on disk before the next.")
    agent = subprocess.Popen(
        [sys.executable, "-m", "palaver.cli.demo_agent", path, session_id, TITLE],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdout is not None
    seen = [agent.stdout.readline() for _ in range(KILL_AFTER)]
    os.kill(agent.pid, signal.SIGKILL)
    rest = agent.stdout.read()  # what it acknowledged before the signal reached it
    agent.stdout.close()
    agent.wait(30)
    words = " ".join("".join([*seen, rest]).split())
    say(f"   … and is killed (SIGKILL) in mid-sentence, after {len(words.split())} words. A client had seen:")
    say(f"   | {words}")
    return words


# ---------------------------------------------------------------- 2: what is left


def _recovered(session: Session, seen: str, say: Say) -> None:
    say("\n2. The store is opened again. The dead agent's turn is sealed with what it had:")
    _show(session, say)
    parts = session.messages()[-1]["parts"]
    kept = next(part["text"] for part in parts if part["type"] == "text").strip()
    lost = 0 if kept.startswith(seen) else len(seen)
    tool = next(part for part in parts if part["type"] == "tool-read")
    say(f"   Characters the client saw and the store lost: {lost}.")
    say(f"   The tool call it left open is closed: {tool['state']} ({tool['errorText']}).")
    if lost:
        raise SystemExit("the store lost something that was acknowledged")


# ---------------------------------------------------------------- 3: approval


def _approval(session: Session, say: Say) -> None:
    say("\n3. The user asks again. The agent wants to run a command, which needs an approval; the turn waits.")
    with session.turn("Go on, but ask before you run anything.") as turn:
        call = turn.tool("bash", {"cmd": "make"}, id="c2")
        call.ask()
    say(f"   The turn is {turn.status}. It may wait for days; any process can take it up.")
    with session.resume(turn.id) as again:
        again.resolve(call.id, approved=True)
        again.resolve(call.id, output="ld: cannot find -lz")
        again.text("The linker does not find zlib.")
        again.usage(input=812, output=41, model="anthropic/claude-sonnet-4.5", cost_usd=0.0031)
    say("   Approved, run, answered, in the same message:")
    _show(session, say, last=1)


# ---------------------------------------------------------------- 4: a sub-agent


def _sub_agent(store: palaver.Store, session: Session, say: Say) -> None:
    say("\n4. It sends a sub-agent to look, in a session of its own that knows where it came from.")
    child = store.sessions.create(agent="searcher", parent=session, tool_call_id="c2", title="Where is zlib?")
    with child.turn("Find zlib on this machine.") as turn:
        turn.text("zlib1g-dev is not installed.")
    _show(child, say)
    say(f"   {child.info.relation} of {session.title!r}")


# ---------------------------------------------------------------- 5: branches


def _branches(session: Session, say: Say) -> None:
    say("\n5. Regenerate the answer: a sibling turn that lists the same question. Undo brings the first one back.")
    with session.regenerate() as turn:
        turn.text("Install zlib1g-dev.")
    _show(session, say, last=1)
    session.undo()
    _show(session, say, last=1)
    fork = session.fork(at=session.path()[0], title="Another way")
    with fork.turn("Try without zlib.") as turn:
        turn.text("It builds with -DNO_ZLIB.")
    say(f"   A fork at the first turn is one row and one pointer: {fork.title!r}, {len(fork.messages())} messages.")
    before = len(session.messages())
    session.rewind(to=session.path()[0])
    kept = len(session.messages())
    session.undo()
    say(f"   Rewind: {before} messages → {kept}; undo: → {len(session.messages())}. Nothing was deleted.")


# ---------------------------------------------------------------- 6: a race


def _race(session: Session, say: Say) -> None:
    say("\n6. Two writers answer at once. One wins; the other is told, and its work is kept.")
    first, second = session.turn("Who is first?"), session.turn("Who is second?")
    try:
        with second:
            second.text("Nobody's words are lost.")
            with first:
                first.text("The one who seals first.")
    except HeadConflict as conflict:
        say(f"   HeadConflict: expected revision {conflict.expected}, found {conflict.actual}; kept as a stray.")


# ---------------------------------------------------------------- 7: sent while it works


def _queue(session: Session, say: Say) -> None:
    say("\n7. The user sends two more messages while the agent works. They wait; one is taken back, one is fired.")
    session.permissions.add("bash", "make *")
    with session.turn("Build it again.") as turn:
        turn.text("Building.")
        session.enqueue("And run the tests.", id="next")
        session.enqueue("Never mind the docs.", id="docs")
        session.cancel("docs")
    answer = session.permissions.evaluate("bash", argv=["make", "test"])
    say(f"   bash `make test`: {answer.action}, by a rule of the {answer.source}.")
    claimed = session.claim(tools=["bash"])
    assert claimed is not None
    with claimed as turn:
        turn.text("All 12 tests pass.")
    _show(session, say, last=2)


# ---------------------------------------------------------------- 8: compaction


def _compaction(session: Session, say: Say) -> None:
    say("\n8. The context grows, so a summary stands for everything but the last turn. A model sees:")
    session.compact("The build failed for want of zlib; it builds without.", keep_from=session.path()[-1])
    for message in session.context():
        said = " ".join(part["text"].strip() for part in message["parts"] if part["type"] == "text")
        say(f"   {message['role']:>9}: {said}")
    say(f"   Nothing went: the transcript still has {len(session.messages())} messages.")


# ---------------------------------------------------------------- the end


def _proof(store: palaver.Store, say: Say) -> None:
    problems = store.verify()
    info = next(s for s in store.sessions if s.agent == "builder" and s.relation == "root")
    say(f"\n10. Every digest and every derived copy, recomputed: {len(problems)} problems.")
    say(f"   {info.turns} turns, {info.messages} messages, {info.total_tokens} tokens, ${info.cost_usd:.4f}.")


def _show(session: Session, say: Say, last: int = 0) -> None:
    for message in session.messages()[-last:]:
        for part in message["parts"]:
            if part["type"] in ("text", "reasoning") and part["text"].strip():
                name = message["role"] if part["type"] == "text" else "thinks"
                say(f"   {name:>9}: {part['text'].strip()}")
            elif part["type"].startswith("tool-"):
                result = part.get("output") or part.get("errorText")
                say(f"   {part['type'][5:]:>9}: {json.dumps(part.get('input'))} → {result}")
