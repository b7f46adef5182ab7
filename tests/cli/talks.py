"""Stores to look at: a small one with a fork, a stray and a tool call; and one that is hostile in every field."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import palaver
from palaver import HeadConflict, Session, Turn
from palaver.base.clock import now_ms

# Everything a terminal might act on: CSI, OSC 8 and 52, C1 CSI, bidi, zero width, backspaces, a carriage return.
ATTACK = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1b]8;;http://evil\x1b\\link\x9b31m\u202eevil\u202c\u2066\u200bx\u200d"
    "\x08\x08\r\x7f\ufeff\u061c\u2028\U000e0041"
)
TITLE_ATTACK = "\u202etitle\u200b\u2066\u061c\u200e\ufeff\U000e0041"  # a column holds no control characters


def answer(text: str, *, tool: str | None = None) -> Iterator[dict[str, Any]]:
    yield {"type": "start"}
    yield {"type": "start-step"}
    if tool:
        yield {"type": "tool-input-available", "toolCallId": "c1", "toolName": tool, "input": {"command": "ls -l"}}
        yield {"type": "tool-output-available", "toolCallId": "c1", "output": "total 0"}
    yield {"type": "reasoning-start", "id": "r"}
    yield {"type": "reasoning-delta", "id": "r", "delta": "Let me think."}
    yield {"type": "reasoning-end", "id": "r"}
    yield {"type": "text-start", "id": "t"}
    for word in text.split(" "):
        yield {"type": "text-delta", "id": "t", "delta": word + " "}
    yield {"type": "text-end", "id": "t"}
    yield {"type": "finish-step"}
    yield {"type": "finish", "finishReason": "stop"}


def stream(turn: Turn, text: str, *, tool: str | None = None) -> None:
    for chunk in answer(text, tool=tool):
        turn.write(chunk)


def talk(session: Session, question: str, reply: str, *, tool: str | None = None) -> str:
    with session.turn(question) as turn:
        stream(turn, reply, tool=tool)
    return turn.id


def small(path: Path | str) -> str:
    """Three turns, a stray beside the last, and a fork; the id of the session."""
    with palaver.open(path) as store:
        session = store.sessions.create(agent="coder", title="Fix the build", id="ticket-7", workspace="/src/app")
        session.alias("the-build")
        talk(session, "Why does the build fail?", "The linker flag is missing.", tool="bash")
        talk(session, "Add it.", "Done.")
        race(session)
        fork = session.fork(at=session.path()[0])
        talk(fork, "And on macOS?", "There it is called -l.")
        session.title = "Fix the build"
        touch(session)
        return session.id


MARKDOWN = """\
## What happened

The build failed for want of **zlib**: see [the manual](https://zlib.net/manual.html).
It says `-lz`, and [bold]this[/bold] is no markup.

- install it
- run *make*

```python
def link() -> str:
    return "cc -lz"
```
"""
LOG = "\n".join(f"cc -c module_{number}.c" for number in range(40)) + "\nld: cannot find -lz\n"


def agent(path: Path | str) -> str:
    """One turn of an agent at work: it thinks, runs, edits, fails, and answers in Markdown; the id of the session."""
    with palaver.open(path) as store:
        session = store.sessions.create(
            agent="coder", title="At work", id="work-1", model="anthropic/claude-sonnet-4.5"
        )
        setup = {"tools": ["bash", "edit"], "toolset": "build", "system_prompt": "You build.\nCarefully."}
        rule = {"permission": "bash", "pattern": "make *", "action": "allow", "source": "project"}
        with session.turn(
            "Make it green.\n# please", model="anthropic/claude-opus-4", permissions=[rule], **setup
        ) as turn:
            turn.reasoning("I look at what the linker says, and only then at the Makefile.\n\nThen I decide.")
            turn.text("Let me look.")
            turn.tool("bash", {"command": "make", "timeout": 60}, id="c1").output(LOG)
            old, new = "LIBS = -lm\nCFLAGS = -O2\n", "LIBS = -lm -lz\nCFLAGS = -O2\n"
            edit = {"file_path": "Makefile", "old_string": old, "new_string": new}
            turn.tool("edit", edit, id="c2").output({"ok": True, "changed": ["Makefile"]})
            turn.tool("bash", {"command": "rm -rf /"}, id="c3").error("not allowed")
            turn.text(MARKDOWN)
            turn.used("bash:make")
            turn.usage(input=1_200, output=34, cost_usd=0.0125)
        return session.id


def race(session: Session) -> None:
    first, second = session.turn("Is it green?"), session.turn("Is it red?")
    stream(first, "Green.")
    stream(second, "Red.")
    first.seal()
    try:
        second.seal()
    except HeadConflict:
        return
    raise AssertionError("both landed")


def touch(session: Session) -> None:
    """Make it the session that changed last: in a millisecond of its own."""
    before = now_ms()
    while now_ms() == before:
        pass
    session.archive()
    session.unarchive()


def hostile(path: Path | str) -> str:
    """Escape sequences in every field that a person may be shown: what our API keeps, and what others may write."""
    with palaver.open(path) as store:
        session = store.sessions.create(agent=f"a{TITLE_ATTACK}", title=f"t{TITLE_ATTACK}", id="hostile")
        session.alias(f"alias{TITLE_ATTACK}")
        with session.turn(f"question {ATTACK}") as turn:
            for chunk in _hostile_chunks():
                turn.write(chunk)
        session.rewind(to=session.path()[0], reason=f"reason {ATTACK}")
    _deface(path, session.id)
    return session.id


def _hostile_chunks() -> Iterator[dict[str, Any]]:
    yield {"type": "start", "messageMetadata": {"note": ATTACK, ATTACK: 1}}
    yield {"type": "text-start", "id": "t"}
    yield {"type": "text-delta", "id": "t", "delta": f"answer {ATTACK}"}
    yield {"type": "text-end", "id": "t"}
    call = {"toolCallId": "c1", "toolName": f"tool{ATTACK}", "dynamic": True}
    yield {"type": "tool-input-available", **call, "input": {ATTACK: ATTACK}}
    yield {"type": "tool-output-error", "toolCallId": "c1", "errorText": f"error {ATTACK}", "dynamic": True}
    yield {"type": "tool-input-available", "toolCallId": "c2", "toolName": "b", "input": ATTACK}
    yield {"type": "tool-output-available", "toolCallId": "c2", "output": ATTACK}
    yield {"type": f"data-x{TITLE_ATTACK}", "data": ATTACK}
    yield {"type": "file", "url": f"http://x/{ATTACK}", "mediaType": ATTACK}
    yield {"type": "source-url", "sourceId": "s", "url": ATTACK, "title": ATTACK}
    yield {"type": "finish", "finishReason": "stop"}


def _deface(path: Path | str, session_id: str) -> None:
    """Another program writes what our API would refuse: names, and a message and a part of no known kind."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE heads SET title = 'title' || ?1, preview = ?1", (ATTACK,))
        connection.execute("UPDATE chat_sessions SET agent = ?1, workspace_root = ?1", (ATTACK,))
        message, later = f"msg{ATTACK}", 4_000_000_000_000
        connection.execute(
            "INSERT INTO chat_messages VALUES (?1, ?2, 'user', '{}', ?3, ?3)", (message, session_id, later)
        )
        part = json.dumps({"type": f"future-{ATTACK}", "text": ATTACK})
        connection.execute(
            "INSERT INTO chat_parts VALUES (?1, ?2, ?3, 0, ?4, ?5, NULL, NULL, ?6, ?6)",
            (f"prt{ATTACK}", message, session_id, f"future-{ATTACK}", part, later),
        )
    connection.close()
