"""A process with a store in it that does as it is told: `python -m crash.puppet PATH`, one JSON command per line.

Each command is `[name, arguments…]`, each answer one line: `{"ok": …}` or `{"error": class name}`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import palaver

from . import sabotage, vfs
from .workloads import texts


class Puppet:
    def __init__(self, path: str) -> None:
        self.writes = vfs.count_writes()
        self.store = palaver.open(path, timeout=10)
        self.turns: dict[str, palaver.Turn] = {}

    def session(self, session_id: str) -> palaver.Session:
        return self.store.sessions.get(session_id)

    def create(self) -> str:
        return self.store.sessions.create("puppet").id

    def begin(self, session_id: str, said: str) -> str:
        turn = self.session(session_id).turn(said)
        self.turns[turn.id] = turn
        return turn.id

    def resume(self, session_id: str, turn_id: str) -> str:
        self.turns[turn_id] = self.session(session_id).resume(turn_id)
        return turn_id

    def say(self, turn_id: str, text: str) -> None:
        """More of one text."""
        turn = self.turns[turn_id]
        if not turn.chunks:
            turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}])
        turn.write({"type": "text-delta", "id": "t", "delta": text})

    def call_tool(self, turn_id: str) -> None:
        chunk = {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}}
        self.turns[turn_id].write(chunk)

    def wait(self, turn_id: str) -> None:
        self.turns[turn_id].wait()

    def seal(self, turn_id: str) -> None:
        self.turns[turn_id].seal()

    def commit(self, session_id: str, said: str) -> None:
        self.session(session_id).commit(said)

    def recover(self) -> int:
        return self.store.recover()

    def read(self, session_id: str) -> list[str]:
        return texts(self.session(session_id).messages())

    def statuses(self, session_id: str) -> dict[str, str]:
        return {turn.id: turn.status for turn in self.session(session_id).tree()}

    def path(self, session_id: str) -> list[str]:
        return [turn.id for turn in self.session(session_id).path()]

    def strays(self, session_id: str) -> list[str]:
        return [turn.id for turn in self.session(session_id).strays()]

    def tools(self, session_id: str) -> list[str]:
        parts = [part for message in self.session(session_id).messages() for part in message["parts"]]
        return [part["state"] for part in parts if part["type"].startswith("tool-")]

    def verify(self) -> list[str]:
        return [problem.what for problem in self.store.verify()]

    def close(self) -> None:
        self.store.close()

    # ------------------------------------------------------------ children, and the end

    def fork(self) -> int:
        """A copy of this process that lives on; its id."""
        child = os.fork()
        if child == 0:
            time.sleep(300)
            os._exit(0)
        return child

    def in_a_fork(self, session_id: str) -> dict[str, str]:
        """What a forked copy gets when it uses the store, and what the store says to the parent after."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            found = {name: _error(work) for name, work in self._uses(session_id).items()}
            os.write(writer, json.dumps(found).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        with os.fdopen(reader) as answer:
            said: dict[str, str] = json.loads(answer.read())
        return said

    def _uses(self, session_id: str) -> dict[str, Any]:
        session = palaver.Session(self.store, session_id)
        turn = next(iter(self.turns.values()))
        return {
            "read": session.messages,
            "begin": lambda: session.turn("from the child"),
            "write": lambda: turn.write({"type": "text-delta", "id": "t", "delta": "from the child"}),
            "seal": turn.seal,
            "close": self.store.close,
        }

    def start_program(self) -> int:
        """Another program, started by this one with every descriptor it would inherit; its id."""
        process = subprocess.Popen(["sleep", "300"], close_fds=False)
        process.returncode = 0  # it is not ours to wait for
        return process.pid

    def die_in_the_next_write(self) -> None:
        """The next change of the file is the last thing this process does."""
        self.writes.kill_at = self.writes.count + 1

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def _error(work: Any) -> str:
    try:
        work()
    except palaver.PalaverError as error:
        return type(error).__name__
    return "nothing"


def main(path: str, bug: str | None) -> None:
    sabotage.apply(bug)
    puppet = Puppet(path)
    print(json.dumps({"ok": os.getpid()}), flush=True)
    for line in sys.stdin:
        name, *given = json.loads(line)
        try:
            answer: dict[str, Any] = {"ok": getattr(puppet, name)(*given)}
        except palaver.PalaverError as error:
            answer = {"error": type(error).__name__, "said": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
