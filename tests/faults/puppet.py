"""A process with a store on a failing disk, that does as it is told."""

from __future__ import annotations

import os
import resource
import sys
import threading
from typing import Any

import apsw

import palaver
from palaver.base import clock

from ..crash.puppet import Puppet as Obedient
from ..tools.puppet import obey, play, say
from .disk import HEALTHY, Disk, Fault


class Puppet(Obedient):
    def __init__(self, path: str, *, open: bool = True, **options: Any) -> None:
        self.disk = Disk()
        self.where, self._options = path, options
        self.turns = {}
        if open:
            self.open()

    def open(self) -> None:
        self.store = palaver.open(self.where, **self._options)

    # ------------------------------------------------------------ the disk

    def arm(self, fault: dict[str, Any]) -> None:
        self.disk.arm(Fault(**fault))

    def leave_room(self, size: int) -> None:
        """The disk is full after so many more bytes."""
        self.disk.arm(HEALTHY, room=size)

    def heal(self) -> None:
        self.disk.heal()

    def fired(self) -> int:
        return self.disk.fired

    def limit_files(self, size: int | None) -> None:
        """The system itself refuses to let a file grow larger."""
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most if size is None else size, most))

    # ------------------------------------------------------------ more of the store

    def stored(self, turn_id: str) -> int:
        return self.turns[turn_id].stored

    def accepted(self, turn_id: str) -> int:
        return self.turns[turn_id].chunks

    def chunks_kept(self, session_id: str) -> int:
        """Chunk events that were not trimmed."""
        return sum(event.kind == "chunk" for event in self.session(session_id).events())

    def commit_many(self, session_id: str, count: int, size: int) -> None:
        session = self.session(session_id)
        for number in range(count):
            session.commit(f"{number} ".ljust(size, "."))

    def sizes(self, session_id: str) -> list[int]:
        """How long each message is."""
        return [len(text) for text in self.read(session_id)]

    def open_files(self) -> list[str]:
        """Files of the store that this process holds (Linux)."""
        held = [_target(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        return sorted(os.path.basename(name) for name in held if name.startswith(self.where))

    def hold_a_snapshot(self) -> None:
        """A reader, of whatever program, that does not come to its end."""
        self._reader = apsw.Connection(self.where, flags=apsw.SQLITE_OPEN_READONLY)
        self._reader.execute("BEGIN").fetchall()
        self.count_messages()

    def count_messages(self) -> int:
        """In that snapshot."""
        ((count,),) = self._reader.execute("SELECT count(*) FROM chat_messages").fetchall()
        return int(count)  # type: ignore[call-overload]

    def let_the_snapshot_go(self) -> None:
        self._reader.close()

    def read_for(self, session_id: str, seconds: float) -> int:
        """Read the transcript again and again; how often."""
        deadline, count = clock.monotonic() + seconds, 0
        while clock.monotonic() < deadline:
            self.session(session_id).messages()
            count += 1
        return count

    def in_forks_beside_a_stream(self, session_id: str, turn_id: str, times: int) -> list[dict[str, str]]:
        """The same, again and again, while a thread of the parent streams into the turn."""
        ended = threading.Event()
        stream = threading.Thread(target=self._stream, args=(turn_id, ended))
        stream.start()
        try:
            return [self.in_a_fork(session_id) for _ in range(times)]
        finally:
            ended.set()
            stream.join()

    def _stream(self, turn_id: str, ended: threading.Event) -> None:
        while not ended.is_set():
            self.say(turn_id, ".")

    def fork_and_exit(self) -> None:
        """A child that ends as children do, with all that Python runs at the end."""
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0)


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:  # the one that listed them
        return ""


def act(path: str, *, skew: float = 0, **options: Any) -> None:
    """The clock of the process is so many seconds off."""
    real = clock._now_ns
    clock._now_ns = lambda: real() + round(skew * 1e9)
    puppet = Puppet(path, **options)
    say("ready")
    obey(puppet)


if __name__ == "__main__":
    play()
