"""A process with a store in it that does as it is told, forks, starts programs and dies inside a write."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

import palaver

from ..tools.actor import Actor
from ..tools.chunks import delta
from ..tools.puppet import in_a_fork, obey, play, say
from . import vfs

HANGS = 10  # seconds


class Puppet(Actor):
    writes: vfs.Counter

    # ------------------------------------------------------------ children, and the end

    def fork(self) -> int:
        """A copy of this process that lives on; its id."""
        child = os.fork()
        if child == 0:
            time.sleep(300)
            os._exit(0)
        return child

    def in_a_fork(self, session_id: str) -> dict[str, str]:
        """What a forked copy gets when it uses the store."""
        uses = self._uses(session_id)
        told: dict[str, str] = in_a_fork(lambda: {name: _error(work) for name, work in uses.items()}, HANGS)
        return told

    def _uses(self, session_id: str) -> dict[str, Any]:
        session = palaver.Session(self.store, session_id)
        turn = next(iter(self.turns.values()))
        return {
            "read": session.messages,
            "begin": lambda: session.turn("from the child"),
            "write": lambda: turn.write(delta("from the child")),
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


def _error(work: Callable[[], Any]) -> str:
    try:
        work()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def act(path: str) -> None:
    writes = vfs.count_writes()
    puppet = Puppet(path, timeout=10)
    puppet.writes = writes
    say("ready")
    obey(puppet)


if __name__ == "__main__":
    play()
