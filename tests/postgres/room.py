"""A room: a short-lived directory, and the unprivileged user whose programs may live in it.

Postgres refuses to run as root, so root lends its rooms, and every program run in them, to `nobody`. A guard stands
beside each room: a shell that waits for this process to end. Closed properly, a room dismisses its guard; if this
process is killed instead, the guard ends the server that is still there and clears the directory.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0

# A socket's whole path must fit in about 100 bytes, and a room adds some 40 to that of its parent.
LONGEST_PARENT = 55

# `read` fails when the pipe's other end is gone: this process has ended without a word. The server removes its pid file
# last of all; whether its pid is still there says less, since nobody may be left to reap it.
GUARD = """
read -r word && exit 0
server=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$server" ]; then
    kill -QUIT "$server"
    for _ in $(seq 200); do
        [ -e "$1/data/postmaster.pid" ] || break
        sleep 0.05
    done
    [ -e "$1/data/postmaster.pid" ] && kill -KILL "$server"
fi
rm -rf "$1"
"""


class Room:
    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="palaver-pg-", dir=_parent()))
        self.path.chmod(0o755)
        self._owner = os.getpid()
        self.user = _unprivileged()
        self.give(self.path)
        self.guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", str(self.path)],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the tests
        )

    def give(self, path: Path) -> None:
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def folder(self, name: str) -> Path:
        made = self.path / name
        made.mkdir()
        self.give(made)
        return made

    def start(self, command: Sequence[str | Path], **options: Any) -> subprocess.Popen[str]:
        """Start a program as the room's user, knowing nothing of our own environment."""
        if self.user:
            options |= {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return subprocess.Popen(
            [str(word) for word in command],
            cwd=self.path,
            env=self._environment(Path(command[0]).parent),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            umask=0o022,
            **options,
        )

    def run(self, command: Sequence[str | Path]) -> tuple[int, str]:
        """Run a program to its end: its status and all it said."""
        with self.start(command, stdout=subprocess.PIPE) as program:
            try:
                said, _ = program.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)  # with its children, which hold the pipe open too
                said, _ = program.communicate()
            return program.returncode, said

    def close(self) -> None:
        if os.getpid() != self._owner:  # the exit of a forked child
            return
        shutil.rmtree(self.path, ignore_errors=True)
        if self.guard.poll() is None:
            self.guard.communicate(b"done\n", timeout=PATIENCE_S)

    def _environment(self, programs: Path) -> dict[str, str]:
        return {
            "HOME": str(self.path),  # root's own home would be tried, and is closed to others
            "LC_ALL": "C",
            "LD_LIBRARY_PATH": str(programs.parent / "lib"),  # an unpacked Postgres brings its libraries along
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(self.path),
            "TZ": "UTC",
        }


def _parent() -> str:
    """The usual place for temporary files, if its path is short and every user may pass through it."""
    usual = Path(tempfile.gettempdir()).resolve()
    passable = all(folder.stat().st_mode & 0o001 for folder in (usual, *usual.parents))
    return str(usual) if passable and len(str(usual)) <= LONGEST_PARENT else "/tmp"


def _unprivileged() -> pwd.struct_passwd | None:
    """Who runs the programs; None if we are unprivileged ourselves."""
    if os.geteuid() != 0:
        return None
    # `nobody` first: a real cluster on this machine belongs to `postgres`.
    for name in ("nobody", "postgres"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("Postgres refuses to run as root, and there is no user `nobody` or `postgres`")
