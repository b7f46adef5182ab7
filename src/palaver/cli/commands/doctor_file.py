"""What `palaver doctor` looks at where the store is a file: from outside, before anything opens it; then inside."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from palaver import PalaverError, Store
from palaver.db import migrate
from palaver.db.sqlite import filesystem, owner_files
from palaver.db.sqlite.lock_table import holder

from ..ui.format import count, size
from ..whole_file import is_database
from .doctor_store import Finding, counted, loose, open_turns, set_aside, value_of

_BIG_WAL = 256 * 1024 * 1024


def outside(path: str) -> Iterator[Finding]:
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.exists(path):
        yield Finding("file", f"there is no store at {path}", "record something, or name another with --store")
        return
    no_store = _no_store(path)
    if no_store:
        yield Finding("file", f"{path} is {no_store}, and no store", "name the file of a store with --store")
        return
    yield Finding("file", f"{path}, {size(os.stat(path).st_size)}")
    yield from _permissions(path, folder)
    yield from _hard_links(path)
    yield _filesystem(folder)
    yield _wal(path)
    yield _locks(path)


def _no_store(path: str) -> str:
    """What it is instead; nothing, if it may be a store. Of what is none, no advice would be good."""
    if not os.path.isfile(path):
        return "a directory" if os.path.isdir(path) else "a device, a pipe or a socket"
    if os.access(path, os.R_OK) and os.stat(path).st_size and not is_database(path):
        return "no SQLite database"
    return ""


def _permissions(path: str, folder: str) -> Iterator[Finding]:
    wrong = [(one, mode) for one in _files(path) if (mode := stat.S_IMODE(os.stat(one).st_mode)) & 0o077]
    for one, mode in wrong:
        yield Finding("permissions", f"{one} is open to others ({mode:o})", f"chmod 600 {one}")
    if not os.access(folder, os.W_OK) or not os.access(path, os.W_OK):
        yield Finding("permissions", f"{path} or its directory cannot be written", "give yourself write permission")
    elif not wrong:
        yield Finding("permissions", "only you can read it")


def _hard_links(path: str) -> Iterator[Finding]:
    """A log belongs to a name: under another one the same file would have another log."""
    names = os.stat(path).st_nlink
    if names > 1:
        yield Finding(
            "names", f"{path} has {names} names (hard links)", "open it by one name only, or remove the others"
        )


def _files(path: str) -> list[str]:
    return [one for one in (path, path + "-wal", path + "-shm", path + "-queue") if os.path.isfile(one)]


def _filesystem(folder: str) -> Finding:
    kind = filesystem.kind_of(folder) or "unknown"
    try:
        filesystem.refuse_unsafe(folder)
    except PalaverError as error:
        return Finding("filesystem", kind, str(error))
    free = os.statvfs(folder)
    left = free.f_bavail * free.f_frsize
    todo = "free some space: writers will be refused soon" if left < 64 * 1024 * 1024 else ""
    return Finding("filesystem", f"{kind}, {size(left)} free", todo)


def _wal(path: str) -> Finding:
    try:
        length = os.stat(path + "-wal").st_size
    except FileNotFoundError:
        return Finding("wal", "no write-ahead log: nobody has the store open")
    todo = (
        "a reader holds it open for long; end it, and the log shrinks with the next writes" if length > _BIG_WAL else ""
    )
    return Finding("wal", f"the write-ahead log has {size(length)}", todo)


def _locks(path: str) -> Finding:
    if os.path.exists(path + "-queue") and not os.access(path + "-queue", os.R_OK | os.W_OK):
        return Finding("locks", f"{path}-queue cannot be written", "make the file writable for you")
    writer = holder(path)
    return Finding("locks", f"{writer} is writing now" if writer else "nobody is writing now")


def inside(store: Store) -> Iterator[Finding]:
    yield Finding("sqlite", f"SQLite {value_of(store, 'SELECT sqlite_version()')}")
    version = value_of(store, "SELECT max(version) FROM schema_migrations")
    where = " in the private copy that is read" if store.notes else ""
    yield Finding("schema", f"schema {version}{where}, this Palaver knows {migrate.VERSION}")
    yield counted(store)
    yield from _writers(store)
    yield open_turns(store)
    yield from set_aside(store)
    yield loose(store)


def _writers(store: Store) -> Iterator[Finding]:
    """Each living writer holds a lock on a file of its own."""
    folder = store.path + "-owners"
    if owner_files.are_hidden(folder):
        yield Finding("writers", f"{folder} is another user's: who is alive cannot be told from here")
        return
    alive = dead = 0
    _, rows = store.db.query("SELECT id, pid, host FROM owners ORDER BY started_at")
    for owner, pid, host in rows:
        found = owner_files.look(folder, str(owner))
        if found == owner_files.MISSING:
            yield Finding("writers", f"the sign of life of process {pid} on {host} is missing, or it is gone")
        if found != owner_files.HELD:
            dead += found == owner_files.FREE
            continue
        alive += 1
        yield Finding("writers", f"process {pid} on {host} is alive")
    if not alive:
        yield Finding("writers", "no process is writing turns")
    if dead:
        yield Finding("writers", f"{count(dead, 'writer')} died; whoever next writes here seals what they left open")
