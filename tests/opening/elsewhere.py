"""The same files, seen from where less is allowed: a file system that is mounted read-only, or another user.

Code runs in a process of its own, with `palaver` imported and `path` set; what it prints comes back.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 60
NOBODY = 65534
_MOUNT = 'mount --bind "$1" "$2" && mount -o remount,ro,bind "$2" && shift 2 && exec "$@"'
_BEGIN = "import sys, palaver, palaver.store, palaver.aio; path, rest = sys.argv[1], sys.argv[2:]\n"
AS_NOBODY = f"""
import os, logging, palaver.db.sqlite.private_copy
with palaver.open(":memory:") as store:  # all that is imported on demand: somebody else may not read where it lies
    session = store.sessions.create()
    session.commit("x")
    assert (len(session.messages()), len(session.path()), store.verify()) == (1, 1, [])
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""


@functools.cache
def why_no_mount() -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            tried = subprocess.run(
                ["unshare", "-m", "sh", "-c", _MOUNT, "sh", folder, folder, "true"], capture_output=True, text=True
            )
        except OSError as error:
            return f"nothing can be mounted here: {error}"
        return None if tried.returncode == 0 else f"nothing can be mounted here: {tried.stderr.strip()}"


def mounted(folder: Path, *command: str, at: Path | None = None) -> list[str]:
    """A command that sees the folder read-only (at a place of its own, if one is given)."""
    if why_no_mount():
        pytest.skip(why_no_mount() or "")
    return ["unshare", "-m", "sh", "-c", _MOUNT, "sh", str(folder), str(at or folder), *command]


def python(code: str, path: Path | str, *rest: str) -> list[str]:
    return [sys.executable, "-c", _BEGIN + code, str(path), *rest]


def answer(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def on_a_readonly_mount(code: str, path: Path, **environment: str) -> str:
    return answer(mounted(path.parent, *python(code, path)), **environment)


def as_nobody(code: str, path: Path, *, before: str = "", **environment: str) -> str:
    """Root may do everything: as somebody who may not. Everything that is needed is imported before."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    for parent in list(path.parents)[1:-2]:
        os.chmod(parent, os.stat(parent).st_mode | 0o011)
    return answer(python(before + AS_NOBODY + code, path), **environment)
