"""The Postgres of a run: one for all processes, there as long as one of them uses it, and gone when none does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import palaver

from . import shared
from .shared import borrowed, wait_for_the_end
from .test_server import ask, not_if_given, soon

ROOT = Path(__file__).parents[2]
USER = """
import sys
from pathlib import Path
from tests.postgres.shared import borrowed
with borrowed(Path(sys.argv[1])) as server:
    print(server.dsn, flush=True)
    input()
"""
PATIENCE_S = 60.0


class User:
    """Another process that uses the server."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", USER, str(folder)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def dsn(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate("\n", timeout=PATIENCE_S)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Callable[[], User]]:
    not_if_given()
    with ExitStack() as started:

        def start() -> User:
            made = User(tmp_path / "shared")
            started.callback(made.end)
            return made

        yield start
    wait_for_the_end(tmp_path / "shared")


def server_of(dsn: str) -> Path:
    """The directory that it has for itself."""
    return Path(dsn.partition("host=")[2].partition("&")[0]).parent


def test_processes_share_it_and_it_ends_with_the_last_however_that_ends(
    tmp_path: Path, user: Callable[[], User]
) -> None:
    folder = tmp_path / "shared"
    one, other = user(), user()
    dsn = one.dsn()
    assert other.dsn() == dsn
    with borrowed(folder) as here:
        one.process.kill()  # whoever started it
        other.leave()
        assert here.dsn == dsn and ask(dsn, "SELECT 1") == [(1,)]
        third = user()
        assert third.dsn() == dsn
    assert ask(dsn, "SELECT 1") == [(1,)]
    third.process.kill()
    wait_for_the_end(folder)
    assert not server_of(dsn).exists() and not folder.exists()


@pytest.mark.long
def test_whoever_asks_when_it_has_just_ended_gets_another(tmp_path: Path, user: Callable[[], User]) -> None:
    one = user()
    dsn = one.dsn()
    one.leave()
    with borrowed(tmp_path / "shared") as here:
        assert here.dsn != dsn and ask(here.dsn, "SELECT 1") == [(1,)]


@pytest.mark.long
def test_a_killed_keeper_takes_the_server_along_and_the_next_who_asks_gets_another(
    tmp_path: Path, user: Callable[[], User]
) -> None:
    dsn = user().dsn()
    os.kill(keeper(tmp_path / "shared"), signal.SIGKILL)
    assert soon(lambda: not server_of(dsn).exists())
    with borrowed(tmp_path / "shared") as here:
        assert here.dsn != dsn and ask(here.dsn, "SELECT 1") == [(1,)]


def keeper(folder: Path) -> int:
    """Its pid."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,args=", "-ww"], capture_output=True, text=True, timeout=10, check=True
    )
    lines = [line for line in listed.stdout.splitlines() if line.endswith(f"{shared.__name__} {folder}")]
    assert len(lines) == 1, listed.stdout
    return int(lines[0].split()[0])


def test_a_database_that_is_ready_is_each_tests_own(server: object, ready: str) -> None:
    if not isinstance(server, shared.Shared):
        pytest.skip("a server of somebody else has no databases that are ready")
    with palaver.open(ready, create=False) as store:
        store.sessions.create("a")
    other = server.clone_database("ready", lambda dsn: pytest.fail("it is there"))
    with palaver.open(other, create=False) as store:
        assert list(store.sessions) == [] and store.verify() == []
    server.drop_database(other)
