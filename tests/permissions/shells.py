"""Real shells that run lines without harm, and tell what they ran.

The commands of a line are functions of the shell (or, in bash, a handler for unknown names), or programs in a folder
that is the whole search path: they write down their words and do nothing else. The working folder is an empty one. A
line that could name a file anywhere else is refused, by a look that has nothing to do with the reader under test.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

NAMES = ("a", "b", "ab", "ba", "aa")
SHELLS = [name for name in ("bash", "dash") if shutil.which(name)]
Ran = list[list[str]]

_NOTE = """printf '%s\\0' "$#" "$@" >> "$RECORD" """
_EACH_LINE = """
n=0
for line do
    n=$((n + 1)); RECORD=$RECORDS/$n
    ( eval "
$line" ) < /dev/null > /dev/null 2>&1
done
exit 0
"""


def safe(line: str) -> bool:
    """Whether it can name no file but /dev/null and those in the folder where it runs."""
    rest = re.sub(r"(?<![^\s<>|&;(])/dev/null(?=[\s;&|)]|\Z)", "", line)
    return not re.search(r"[/~\0]|\.\.|RECORD|STATUS|PATH", rest)


def run(shell: str, lines: Sequence[str], folder: Path, *, status: int = 0) -> list[Ran]:
    """The commands that each line ran, if every command ends with this status."""
    names = "\n".join(f'{name}() {{ note {name} "$@"; }}' for name in NAMES)
    handler = 'command_not_found_handle() { note "$@"; }' if shell == "bash" else ""
    return _run(shell, f"note() {{ {_NOTE}; return {status}; }}\n{names}\n{handler}", lines, folder)


def run_programs(shell: str, lines: Sequence[str], folder: Path, wrappers: Sequence[str]) -> list[Ran]:
    """The same with programs, that other programs can run as well: these wrappers."""
    programs = folder / "programs"
    programs.mkdir()
    for name in NAMES:
        (programs / name).write_text(f'#!/bin/sh\nset -- {name} "$@"\n{_NOTE}\n')
        (programs / name).chmod(0o700)
    for name in wrappers:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    return _run(shell, "", lines, folder, search=programs)


def _run(shell: str, before: str, lines: Sequence[str], folder: Path, search: Path | None = None) -> list[Ran]:
    assert all(map(safe, lines))
    records, place, found = folder / "records", folder / "place", shutil.which(shell)
    records.mkdir()
    place.mkdir()
    assert found is not None
    environment = {
        "PATH": str(search or folder / "nothing"),
        "RECORDS": str(records),
        "RECORD": "",
        "LC_ALL": "C.UTF-8",
    }
    with _until_all_ended() as inherited:
        subprocess.run(
            [found, "-c", before + _EACH_LINE, shell, *lines],
            env=environment,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[inherited],
            timeout=120,
            check=True,
        )
    return [_read(records / str(number)) for number in range(1, len(lines) + 1)]


@contextmanager
def _until_all_ended() -> Iterator[int]:
    """Lend a descriptor that every process inherits; go on when the last one, in the background or not, is gone."""
    reading, writing = os.pipe()
    lent = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, 50)  # no line can name a number of two digits
    os.close(writing)
    try:
        yield lent
    finally:
        os.close(lent)
        ready, _, _ = select.select([reading], [], [], 60)
        os.close(reading)
    assert ready


def _read(record: Path) -> Ran:
    """A command is the number of its words, and they."""
    pieces = record.read_bytes().decode().split("\0") if record.exists() else [""]
    ran, at = [], 0
    while pieces[at]:
        end = at + 1 + int(pieces[at])
        ran.append(pieces[at + 1 : end])
        at = end
    return ran
