"""One Postgres for a whole run of tests, whichever of its processes asks first.

That process starts a keeper, which starts the server and ends it when nobody uses it any more. Whoever uses the server
holds a shared lock on a file, and the keeper waits until it has that file to itself: the kernel gives up the lock of a
process that was killed, too. If the keeper itself is killed, the guard of its room ends the server.

`python -m tests.postgres.shared FOLDER` is the keeper.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .room import PATIENCE_S
from .server import Server, ServerFailed, clone_database, create_database, drop_database, has_database, rename_database

ROOT = Path(__file__).parents[2]
RUN = "PALAVER_TEST_RUN"  # the process that started the run; its workers inherit it


class Shared:
    """The server of this run, for databases. Whoever stops a server has one of their own."""

    is_ours = True

    def __init__(self, dsn: str, folder: Path) -> None:
        self.dsn = dsn
        self._folder = folder

    def create_database(self) -> str:
        return clone_database(self.dsn, "template0")

    def clone_database(self, name: str, fill: Callable[[str], object]) -> str:
        """A database of its own that holds what `fill` put into the first of that name."""
        with _alone(self._folder):
            if not has_database(self.dsn, name):
                made = create_database(self.dsn)
                fill(made)
                rename_database(self.dsn, made, name)
        return clone_database(self.dsn, name)

    def drop_database(self, dsn: str) -> None:
        drop_database(self.dsn, dsn)


def folder_of_this_run() -> Path:
    return Path(tempfile.gettempdir()) / f"palaver-server-{os.environ.get(RUN, os.getpid())}"


@contextmanager
def borrowed(folder: Path) -> Iterator[Shared]:
    """The server, for as long as the block runs."""
    users = _sign_in(folder)
    try:
        with _alone(folder):
            dsn = _address(folder) or _start(folder)
        yield Shared(dsn, folder)
    finally:
        os.close(users)


def _sign_in(folder: Path) -> int:
    """The keeper of a server that is just being ended lets us wait, and takes the folder along."""
    while True:
        folder.mkdir(exist_ok=True)
        users = os.open(folder / "users", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(users, fcntl.LOCK_SH)
        if os.fstat(users).st_nlink:
            return users
        os.close(users)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time looks for the server and starts it, or fills a database that others copy."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _address(folder: Path) -> str | None:
    """Where its keeper is gone, a server is gone too."""
    path = folder / "address"
    return path.read_text() if _has_keeper(folder) and path.exists() else None


def _has_keeper(folder: Path) -> bool:
    try:
        with (folder / "keeper").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:  # it took the folder along
        pass
    return False


def _start(folder: Path) -> str:
    """The DSN of a server that a new keeper has started."""
    (folder / "address").unlink(missing_ok=True)
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", __name__, str(folder)]
        subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=PATIENCE_S)
    deadline = time.monotonic() + 2 * PATIENCE_S
    while (dsn := _address(folder)) is None:
        if not _has_keeper(folder) or time.monotonic() > deadline:
            raise ServerFailed("the server of this run did not come up", (folder / "log").read_text())
        time.sleep(0.02)
    return dsn


def wait_for_the_end(folder: Path) -> None:
    """Of a server that nobody uses any more."""
    deadline = time.monotonic() + PATIENCE_S
    while _has_keeper(folder) and time.monotonic() < deadline:
        time.sleep(0.02)


# ---------------------------------------------------------------- the keeper


def keep(folder: Path) -> None:
    alone = (folder / "keeper").open("w")
    fcntl.flock(alone, fcntl.LOCK_EX)
    if os.fork():  # our parent goes on when we have the lock, and is no parent of the server
        os._exit(0)
    os.setsid()  # Ctrl-C is for the tests: this ends when they have ended
    with Server() as server, (folder / "users").open() as users:
        (folder / "new").write_text(server.dsn)
        (folder / "new").rename(folder / "address")
        fcntl.flock(users, fcntl.LOCK_EX)
        (folder / "address").unlink()
        server.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
