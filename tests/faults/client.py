"""An agent on a disk that fails: it asks again what was refused, and expects that "no" means "nothing happened".

The workloads are written with the verbs of the crash tests, and each call is reported to the same kind of history, so
that the same independent judge can read it. A call that failed is made again, word for word, inside the same report:
had the first one left anything behind, it would be there twice.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import palaver

from ..crash import workloads
from ..crash.history import Log
from ..crash.workloads import Worker
from .disk import Disk

TRIES = 4
workloads.OPEN = ("durability", "save_on", "save_buffer_ms", "save_buffer_size", "events")  # type: ignore[assignment]


class Client(Worker):
    """`troubles` are the errors that the store raised."""

    def __init__(self, options: dict[str, Any], disk: Disk) -> None:
        self.disk = disk
        self.troubles: list[palaver.StoreError] = []
        workloads.Log = lambda path: PatientLog(path, self.patiently)  # type: ignore[assignment,misc]
        super().__init__(options)

    def patiently(self, work: Callable[[], Any]) -> Any:
        """Until it works. A fault that stays is met twice, then the disk is whole again."""
        for attempt in range(1, TRIES + 1):
            try:
                return work()
            except palaver.StoreError as trouble:
                self.troubles.append(trouble)
                if attempt == 2:
                    self.disk.heal()
                if attempt == TRIES:
                    raise

    def session(self, number: int, **given: Any) -> palaver.Session:
        return self.patiently(lambda: super(Client, self).session(number, **given))


class PatientLog(Log):
    def __init__(self, path: str, patiently: Callable[[Callable[[], Any]], Any]) -> None:
        super().__init__(path)
        self._patiently = patiently

    def call(self, verb: str, work: Callable[[], Any], *given: Any, **facts: Any) -> Any:
        return super().call(verb, lambda: self._patiently(work), *given, **facts)


# ---------------------------------------------------------------- the workloads


def stream(client: Client) -> None:
    """Answers in small pieces, one after the other."""
    session = client.session(1)
    for _ in client.rounds():
        client.answer(session, client.begin(session))


def tools(client: Client) -> None:
    """A tool loop: input in pieces, output, usage, the next step."""
    workloads.tools(client)


def commits(client: Client) -> None:
    """Whole turns."""
    session = client.session(3)
    for _ in client.rounds():
        client.commit(session)
        client.look(session)


def branches(client: Client) -> None:
    """Fork, rewind, undo, redo, edit, regenerate."""
    session = client.session(4)
    for _ in range(2):
        client.commit(session)
    first = client.patiently(session.messages)[0]["id"]
    fork = client.move("fork", session, lambda: session.fork(at=first))
    client.commit(fork)
    client.move("rewind", session, lambda: session.rewind(to=first))
    client.move("undo", session, session.undo)
    client.move("redo", session, session.redo)
    turn = client.log.call("regenerate", session.regenerate, workloads._named, session=session.id)
    client.answer(session, turn)
    client.look(session)


def crowd(client: Client) -> None:
    """Threads that commit at once, and share their commits."""

    def talk(number: int) -> None:
        session = client.session(20 + number)
        for _ in client.rounds():
            client.commit(session)

    client.disk.delay = 0.002  # as a real disk has it: meanwhile the others come
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(talk, range(4)))
    finally:
        client.disk.delay = 0.0


def approvals(client: Client) -> None:
    """A turn that waits, is resumed, answered and sealed."""
    session = client.session(5)
    for _ in client.rounds():
        turn = workloads.ask(client, session)
        workloads.go_on(client, session, turn.id)


def steps(client: Client) -> None:
    """A stream that is held back until a step ends or the buffer is full."""
    stream(client)


def whole_turns(client: Client) -> None:
    """A stream that is held back to its end."""
    stream(client)


def journal(client: Client) -> None:
    """Everything is kept, and can be made again from the journal."""
    stream(client)
    found = client.patiently(lambda: client.store.rebuild(fix=False))
    assert found == [], found


def first(client: Client) -> None:
    """The open of a file that is not there yet."""
    workloads.first(client)


def recovery(client: Client) -> None:
    """The open of a file whose writer died, and a turn after it."""
    client.commit(client.session(9))


_ALL = (stream, tools, commits, branches, crowd, approvals, steps, whole_turns, journal, first, recovery)
WORKLOADS: dict[str, Callable[[Client], None]] = {work.__name__: work for work in _ALL}
