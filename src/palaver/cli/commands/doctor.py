"""`palaver doctor`: versions, the file and its surroundings, locks and who holds them; what to do about each finding.

It looks from outside first (so it can also say why a store does not open), then from inside.
"""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

import palaver
from palaver import PalaverError, Store
from palaver.base import address
from palaver.db import migrate
from palaver.db.sqlite import filesystem, owner_files
from palaver.db.sqlite.lock_table import holder

from ..command import Call, command
from ..exits import OK, PROBLEMS, STORE, hide_secrets
from ..ui.format import count, size
from ..ui.screen import Screen

_BIG_WAL = 256 * 1024 * 1024


class Finding(NamedTuple):
    """One thing looked at. `todo` says what to do; empty: nothing, it is well."""

    check: str
    what: str
    todo: str = ""


@command(
    "doctor",
    examples=["palaver doctor", "palaver doctor --store talks.db --json"],
    keys={
        "store": "its path, or its address without passwords",
        "opens": "false: it could not be opened",
        "findings[]": "what was looked at, with:",
        "  check": "version, file, permissions, filesystem, wal, locks, sqlite, schema, sessions, writers …; "
        "on Postgres server, encoding, latency, connections, durability, pooler, space, leases …",
        "  what": "what was found",
        "  ok": "false: there is something to do",
        "  todo": "what to do, or an empty text",
    },
)
def doctor(call: Call) -> int:
    """Look at the store and its surroundings, and say what to do.

    Exit code 1 if there is something to do, 4 if the store cannot be opened."""
    path, space = call.where
    findings = [Finding("version", f"palaver {palaver.__version__}, Python {platform.python_version()}")]
    opens = False
    try:
        for finding in _server(call, path, space) if address.is_server(path) else _file(call, path):
            findings.append(finding)
        opens = findings[-1].check not in ("file", "space")  # the last word: it is not there
    except PalaverError as error:
        findings.append(Finding("open", str(error), "see the sentence above; nothing was changed"))
    _report(call, hide_secrets(path), opens, findings)
    if not opens:
        return STORE
    return PROBLEMS if any(finding.todo for finding in findings) else OK


def _file(call: Call, path: str) -> Iterator[Finding]:
    yield from outside(path)
    if os.path.exists(path):
        yield from inside(call.store(readonly=True))


def _server(call: Call, url: str, space: str | None) -> Iterator[Finding]:
    from . import doctor_server

    missing = False
    options = {}
    for finding in doctor_server.outside(url, space or "default"):
        missing = finding.check == "space" and bool(finding.todo)
        if finding.check == "pooler" and finding.todo:
            options = {"pooler": True}
        yield finding
    if not missing:
        yield from doctor_server.inside(call.open(url, space, readonly=True, **options))


def _report(call: Call, path: str, opens: bool, findings: list[Finding]) -> None:
    if call.json:
        listed = [{"check": f.check, "what": f.what, "ok": not f.todo, "todo": f.todo} for f in findings]
        call.screen.json({"store": path, "opens": opens, "findings": listed})
        return
    for finding in findings:
        _print(call.screen, finding)


def _print(screen: Screen, finding: Finding) -> None:
    mark, style = ("!!", "bold red") if finding.todo else ("ok", "green")
    screen.say(f"{screen.paint(mark, style)} {finding.check}: {screen.safe(finding.what)}")
    if finding.todo:
        screen.say(f"   -> {screen.safe(finding.todo)}")


# ---------------------------------------------------------------- from outside


def outside(path: str) -> Iterator[Finding]:
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.exists(path):
        yield Finding("file", f"there is no store at {path}", "record something, or name another with --store")
        return
    yield Finding("file", f"{path}, {size(os.stat(path).st_size)}")
    yield from _permissions(path, folder)
    yield from _names(path)
    yield _filesystem(folder)
    yield _wal(path)
    yield _queue(path)


def _permissions(path: str, folder: str) -> Iterator[Finding]:
    wrong = [(one, mode) for one in _files(path) if (mode := stat.S_IMODE(os.stat(one).st_mode)) & 0o077]
    for one, mode in wrong:
        yield Finding("permissions", f"{one} is open to others ({mode:o})", f"chmod 600 {one}")
    if not os.access(folder, os.W_OK) or not os.access(path, os.W_OK):
        yield Finding("permissions", f"{path} or its directory cannot be written", "give yourself write permission")
    elif not wrong:
        yield Finding("permissions", "only you can read it")


def _names(path: str) -> Iterator[Finding]:
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


def _queue(path: str) -> Finding:
    if os.path.exists(path + "-queue") and not os.access(path + "-queue", os.R_OK | os.W_OK):
        return Finding("locks", f"{path}-queue cannot be written", "make the file writable for you")
    writer = holder(path)
    return Finding("locks", f"{writer} is writing now" if writer else "nobody is writing now")


# ---------------------------------------------------------------- from inside


def inside(store: Store) -> Iterator[Finding]:
    yield Finding("sqlite", f"SQLite {one(store, 'SELECT sqlite_version()')}")
    version = one(store, "SELECT max(version) FROM schema_migrations")
    where = " in the private copy that is read" if store.notes else ""
    yield Finding("schema", f"schema {version}{where}, this Palaver knows {migrate.VERSION}")
    yield counted(store)
    yield from _writers(store)
    yield open_turns(store)
    yield from set_aside(store)
    yield loose(store)


def counted(store: Store) -> Finding:
    listed = one(store, "SELECT count(*) FROM chat_sessions")
    turns = one(store, "SELECT count(*) FROM turns")
    return Finding("sessions", f"{count(listed, 'session')}, {count(turns, 'turn')}")


def one(store: Store, query: str) -> Any:
    _, rows = store.db.query(query)
    return next(rows)[0]


def _writers(store: Store) -> Iterator[Finding]:
    """Each living writer holds a lock on a file of its own."""
    folder = store.path + "-owners"
    if owner_files.are_hidden(folder):
        yield Finding("writers", f"{folder} is another user's: who is alive cannot be told from here")
        return
    alive = dead = 0
    for owner, pid, host in store.db.query("SELECT id, pid, host FROM owners ORDER BY started_at")[1]:
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


def open_turns(store: Store) -> Finding:
    _, rows = store.db.query("SELECT status, count(*) FROM turns WHERE sealed_at IS NULL GROUP BY 1 ORDER BY 1")
    found = [f"{number} {status}" for status, number in rows]
    return Finding("open turns", ", ".join(found) or "none")


def set_aside(store: Store) -> Iterator[Finding]:
    """Turns of dead writers that could not be sealed."""
    query = "SELECT session_id, id FROM turns WHERE sealed_at IS NOT NULL AND digest IS NULL ORDER BY id LIMIT 20"
    for session_id, turn_id in store.db.query(query)[1]:
        what = f"turn {turn_id} of session {session_id} could not be sealed, and was set aside"
        yield Finding("set aside", what, "`palaver verify` says why; its rows are kept")


def loose(store: Store) -> Finding:
    query = """SELECT count(DISTINCT m.session_id) FROM chat_messages m
                WHERE NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
                  AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id)"""
    number = one(store, query)
    if not number:
        return Finding("loose rows", "none: every row has its turn")
    return Finding("loose rows", f"another program wrote to {count(number, 'session')}", "run `palaver adopt`")
