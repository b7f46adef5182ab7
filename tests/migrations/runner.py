"""Opens a file again and again with trouble at the 1st, 2nd, 3rd … point: `python -m tests.migrations.runner`.

`statement` and `write`: the process is killed right before it. `error`: the write fails with an I/O error, and the same
process tries once more. Afterwards each file is opened in peace and told as it is, all by one process. The interpreter
loads everything once and forks for each opening with trouble; no store is ever open in the process that forks.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from typing import Any

import apsw

import palaver
from palaver.db import migrate
from tests.crash import vfs
from tests.tools.eager import load_everything
from tests.tools.puppet import in_a_fork, last_act, play

from .catalogue import catalogue
from .old import MADE, words

CALM: dict[str, Any] = {"trim_after": 1e9, "recover_every": None}  # no thread of ours at work beside the opening
PROCESSES = 16
BEYOND = 5  # points
LONG = 600  # seconds for all files together


# ---------------------------------------------------------------- trouble


def kill_before_statement(number: int) -> None:
    seen = 0

    def trace(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        nonlocal seen
        seen += 1
        if seen == number:
            signal.raise_signal(signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", trace))


class Failing(vfs.Counter):
    """Not a kill: the call fails, once, while a store is being opened."""

    opening, migrated, late = True, False, False

    def step(self, kind: str) -> None:
        self.count += self.opening
        if self.opening and self.count == self.kill_at:
            self.late = self.migrated
            raise apsw.IOError("planted")

    def watch(self) -> None:
        """Notice when the migrations are done."""
        work = migrate.migrate

        def watched(connection: apsw.Connection, path: str) -> None:
            work(connection, path)
            self.migrated = True

        migrate.migrate = watched


def open_in_peace(path: str) -> None:
    palaver.open(path, **CALM).close()


def open_and_be_killed_at_a_statement(path: str, number: int) -> str:
    kill_before_statement(number)
    open_in_peace(path)
    return "done"


def open_and_be_killed_at_a_write(path: str, number: int) -> str:
    vfs.count_writes(number)
    open_in_peace(path)
    return "done"


def open_with_an_error(path: str, number: int) -> str:
    """If it is told to the caller, it is as a StoreError, and the same process can open the file then."""
    failing = Failing(number)
    failing.watch()
    vfs._kept.append(vfs._FileSystem(failing))
    try:
        store = palaver.open(path, **CALM)
    except palaver.StoreError:
        store = palaver.open(path, **CALM)
    failing.opening = False
    store.close()
    return "done" if failing.late or failing.count < number else "failed"


TROUBLE: dict[str, Callable[[str, int], str]] = {
    "statement": open_and_be_killed_at_a_statement,
    "write": open_and_be_killed_at_a_write,
    "error": open_with_an_error,
}


def told(path: str) -> dict[str, Any]:
    """The file as it is, through Palaver and by plain SQL."""
    with palaver.open(path, **CALM) as store:
        said = {info.id: words(store.sessions.get(info.id).messages()) for info in store.sessions}
        problems = [str(problem) for problem in store.verify()]
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    found = {
        "said": said,
        "problems": problems,
        "versions": [row[0] for row in db.execute("SELECT version FROM schema_migrations ORDER BY rowid").fetchall()],
        "live": [row[0] for row in db.execute("SELECT id FROM turns WHERE live = 1 ORDER BY id").fetchall()],
        "integrity": [row[0] for row in db.execute("PRAGMA integrity_check").fetchall()],
    }
    db.close()
    return {**found, "catalogue": catalogue(path)}


# ---------------------------------------------------------------- runs


def every_point(folder: str, start: str, trouble: str) -> dict[str, Any]:
    """How many points there were, and all that was told afterwards, each with its points. A few points after the last
    migration is committed are enough: what follows is another matter."""
    load_everything()
    paths: list[str] = []
    left = 0
    while left < BEYOND:
        number = len(paths) + 1
        paths.append(path := _place(folder, start, number))
        came = in_a_fork(lambda path=path, number=number: TROUBLE[trouble](path, number))
        left += came == "done" or (came is None and is_migrated(path))
    outcomes: dict[str, list[int]] = {}
    for number, after in enumerate(in_a_fork(lambda: [told(path) for path in paths], LONG), 1):
        outcomes.setdefault(json.dumps(after), []).append(number)
    return {"points": len(paths) - BEYOND, "outcomes": [[json.loads(text), at] for text, at in outcomes.items()]}


def is_migrated(path: str) -> bool:
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)  # it leaves the log as it is
    try:
        return bool(db.execute("SELECT max(version) FROM schema_migrations").fetchall() == [(migrate.VERSION,)])
    except apsw.Error:
        return False
    finally:
        db.close()


def all_at_once(folder: str, start: str, rounds: int) -> dict[str, Any]:
    """Sixteen processes open the same file in the same moment."""
    load_everything()
    outcomes: dict[str, list[int]] = {}
    for number in range(1, rounds + 1):
        path = _place(folder, start, number)
        gate, opening = os.pipe()
        children = [_waiting_child(path, gate, opening) for _ in range(PROCESSES)]
        os.close(gate)
        os.close(opening)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if any(codes):
            raise SystemExit(f"round {number}: {codes}")
        outcomes.setdefault(json.dumps(in_a_fork(lambda path=path: told(path))), []).append(number)
    return {"points": rounds, "outcomes": [[json.loads(text), at] for text, at in outcomes.items()]}


def _waiting_child(path: str, gate: int, opening: int) -> int:
    child = os.fork()
    if child == 0:
        os.close(opening)
        os.read(gate, 1)  # until the last copy of the other end is closed
        last_act(lambda: open_in_peace(path), os.open(os.devnull, os.O_WRONLY))
    return child


def _place(folder: str, start: str, number: int) -> str:
    """A file to begin with, in a folder of its own."""
    first, where = os.path.join(folder, "first.db"), os.path.join(folder, str(number))
    if start in MADE and not os.path.exists(first):
        MADE[start](first)
    os.makedirs(where)
    path = os.path.join(where, "talks.db")
    if start in MADE:
        shutil.copy(first, path)
    return path


if __name__ == "__main__":
    play()
