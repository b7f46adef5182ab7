"""A running turn that is compacted, and killed before the 1st, 2nd … statement or write of that.

Asked for every so many points, beginning with the first, before a "statement" or before a "write".

The interpreter loads everything once and forks for each run; no store is ever open in the process that forks. Then each
store is opened again, all by one process, and told as it is.
"""

from __future__ import annotations

import os
from typing import Any

import apsw

import palaver
from tests.crash import vfs
from tests.tools.eager import load_everything
from tests.tools.puppet import in_a_fork, play

from ..tools.chunks import result, step, text
from ..tools.talk import feed
from .support import call, talk, words

LONG = 600  # seconds for all stores together
CALM: dict[str, Any] = {"trim_after": 1e9, "recover_every": None, "durability": "normal"}


class Trigger(vfs.Counter):
    """Counts only from the moment that it is armed."""

    armed = False

    def step(self, kind: str) -> None:
        if self.armed:
            super().step(kind)


def before_statements(trigger: Trigger) -> None:
    def trace(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        trigger.step("statement")
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", trace))


def before_writes(trigger: Trigger) -> None:
    vfs._kept.append(vfs._FileSystem(trigger))


BEFORE = {"statement": before_statements, "write": before_writes}


def compact_and_be_killed(path: str, before: str, number: int) -> str:
    trigger = Trigger(number)
    BEFORE[before](trigger)
    store = palaver.open(path, **CALM)
    session = store.sessions.create("coder", id="talk")
    talk(session, "1")
    turn = feed(session.turn("long"), [{"type": "start"}, *step(call("c1"), result("c1"))])
    feed(turn, [{"type": "start-step"}, call("c2"), result("c2"), *text("half", ends=False)])
    trigger.armed = True
    turn.compact("so far", keep_from=turn.id, summarization_input_tokens=5)
    return "done"


def told(path: str) -> dict[str, Any]:
    with palaver.open(path, **CALM) as store:
        session = store.sessions.find("talk")
        return {
            "path": [f"{turn.kind} {turn.status}" for turn in session.path()],
            "messages": words(session.messages()),
            "context": words(session.context()),
            "tokens": session.info.total_tokens,
            "problems": [str(problem) for problem in store.verify()],
        }


def killed(folder: str, before: str, first: int, every: int) -> list[dict[str, Any]]:
    load_everything()
    paths: list[str] = []
    for number in range(first, 10_000, every):
        path = os.path.join(folder, f"{before}-{number}", "talks.db")
        os.makedirs(os.path.dirname(path))
        came = in_a_fork(lambda path=path, number=number: compact_and_be_killed(path, before, number))
        paths.append(path)
        if came == "done":
            found: list[dict[str, Any]] = in_a_fork(lambda: [told(path) for path in paths], LONG)
            return found
    raise AssertionError("it never came to its end")


if __name__ == "__main__":
    play()
