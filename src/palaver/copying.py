"""One store into another: from a file to a server, from a server to a file, from anywhere to anywhere.

An export runs straight into an import, through a pipe: a session goes in whole or not at all, and is proved by its
digests before it does. Stopped anywhere, the next copy goes on; what is there already is left alone. At the end the two
stores are laid side by side.

It is a copy, not a mirror: a session that was copied and then went on is not brought up to date, but named.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from . import exports
from .base import arguments
from .core import rows
from .core.upkeep import records
from .db.engine import Database, Tx
from .db.queries import Q
from .errors import BadValue
from .exports.husks import is_husk
from .session import Session
from .store import Store

_PAGE = 1_000
_COUNTED = {
    "messages": Q.count_messages,
    "turns": Q.count_turns,
    "usage rows": Q.count_usage,
    "facts": Q.count_facts,
    "items": Q.count_natives,
}
_BROKEN = "it cannot be read whole at the source"
_WHO = "SELECT current_database(), current_schema(), pg_postmaster_start_time()::text"


class CopyProblem(msgspec.Struct, frozen=True):
    """A session that is not at the target as it is at the source."""

    session: str | None
    why: str


class CopyReport(msgspec.Struct, frozen=True):
    """What a copy came to. `sessions` were compared at the end; without `problems` all of them are the same."""

    sessions: int
    copied: int
    already_there: int
    problems: list[CopyProblem]
    cut: list[CopyProblem] = []  # sessions with a text that the target's indexes cannot hold whole


def copy(
    source: Store,
    target: Store,
    sessions: Iterable[Session | str] | None = None,
    progress: exports.Progress | None = None,
) -> CopyReport:
    """Copy all sessions, or the ones named and what they stand on. A session that is being written is left out, and
    named: copy again when it is done."""
    for name, store in (("source", source), ("target", target)):
        if not isinstance(store, Store):
            raise BadValue(f"{name} is a Store that is open, not {arguments.shown(store)}")
    arguments.function("progress", progress)
    if is_same(source, target):
        raise BadValue(f"{target.path} is the store to copy from, too; name another one to copy to")
    wanted = None if sessions is None else [_id_of(one) for one in arguments.several("sessions", sessions)]
    busy = _busy(source.db, wanted)
    chosen = _without(source.db, wanted, busy)
    refused: list[exports.Refusal] = []
    cut: list[exports.Cut] = []
    summary = _carry(source.db, target.db, chosen, progress, refused, cut)
    problems = [CopyProblem(one, "it is being written; copy again when its turn has ended") for one in sorted(busy)]
    problems += _named(refused)
    named = {problem.session for problem in problems}
    compared = 0
    for session_id in _every(source.db) if chosen is None else chosen:
        compared += 1
        why = None if session_id in named else _difference(source.db, target.db, session_id)
        problems += [CopyProblem(session_id, why)] if why else []
    shortened = [CopyProblem(one.session, one.what) for one in cut]
    return CopyReport(compared, summary.imported, summary.already_there, problems, shortened)


def _named(refused: list[exports.Refusal]) -> list[CopyProblem]:
    """Each session once: where its rows broke off at the source, the target refused what was left of it, too."""
    first: dict[str | None, exports.Refusal] = {}
    for one in sorted(refused, key=lambda one: _BROKEN not in one.why):
        first.setdefault(one.session, one)
    return [CopyProblem(one.session, one.why) for one in first.values()]


def _id_of(session: Session | str) -> str:
    return session.id if isinstance(session, Session) else arguments.text("a session's id", session)


def is_same(one: Store, other: Store) -> bool:
    """Two names of one store: another path to the file, another way to the server."""
    if one.db is other.db:
        return True
    kinds = {_kind(one), _kind(other)}
    if kinds == {"file"}:
        return os.path.samefile(one.path, other.path)
    return kinds == {"server"} and _who(one) == _who(other)


def _kind(store: Store) -> str:
    if store.path == ":memory:":
        return "memory"
    return "server" if store.path.startswith("postgresql://") else "file"


def _who(store: Store) -> Any:
    """Schemas have names that are made up once; a server starts at one moment."""
    _, found = store.db.query(_WHO)
    return next(found)


# ---------------------------------------------------------------- which


def _busy(db: Database, wanted: list[str] | None) -> set[str]:
    """Sessions with a turn that a living process writes: the target would take it for a dead one's."""
    with db.read() as tx:
        found = {turn.session_id for turn in rows.all_open_turns.all(tx) if turn.status == "streaming"}
    return found if wanted is None else found & set(wanted)


def _without(db: Database, wanted: list[str] | None, busy: set[str]) -> list[str] | None:
    if wanted is None and not busy:
        return None
    return [one for one in dict.fromkeys(_every(db) if wanted is None else wanted) if one not in busy]


def _every(db: Database) -> Iterator[str]:
    """Each session's id, archived and deleted ones too."""
    after = ""
    while True:
        with db.read() as tx:
            page = [session.id for session in records.lineage.all(tx, after=after, limit=_PAGE)]
        if not page:
            return
        yield from page
        after = page[-1]


# ---------------------------------------------------------------- carrying


def _carry(
    source: Database,
    target: Database,
    chosen: list[str] | None,
    progress: exports.Progress | None,
    refused: list[exports.Refusal],
    cut: list[exports.Cut],
) -> exports.Summary:
    """A thread exports into a pipe, this one imports from it. Whichever fails first ends the other."""
    receiving, sending = os.pipe()
    sender = _Sender(source, open(sending, "wb"), chosen, refused)  # noqa: SIM115
    with open(receiving, "rb") as arriving:
        sender.start()
        try:
            summary = exports.read(target, arriving, progress=progress, on_refused=refused.append, on_cut=cut.append)
        except exports.NotAnExport:  # it broke off before its first line: the sender knows why
            summary = exports.Summary(0, 0, 0, 0)
        finally:
            arriving.close()
            sender.join()
    if sender.error is not None:
        raise sender.error
    return summary


class _Sender(threading.Thread):
    def __init__(self, db: Database, out: BinaryIO, chosen: list[str] | None, refused: list[exports.Refusal]) -> None:
        super().__init__(name="palaver-copy", daemon=True)
        self.error: Exception | None = None
        self._db, self._out, self._chosen, self._refused = db, out, chosen, refused

    def run(self) -> None:
        try:
            with self._out as out:
                exports.write(self._db, out, sessions=self._chosen, on_broken=self._note)
        except BrokenPipeError:  # the other side has failed, and says so
            pass
        except Exception as error:
            self.error = error

    def _note(self, broken: exports.Refusal) -> None:
        self._refused.append(msgspec.structs.replace(broken, why=f"{_BROKEN}: {broken.why}"))


# ---------------------------------------------------------------- comparing


def _difference(source: Database, target: Database, session_id: str) -> str | None:
    """None: the session is the same in both, by its head's digest, its revision and what it holds."""
    with source.read() as tx:
        is_husk_here, here = _standing(tx, session_id)
    with target.read() as tx:
        _, there = _standing(tx, session_id)
    if not here or here == there:
        return None
    if not there:
        return "it did not arrive"
    if is_husk_here:  # the target may know more of it
        return None
    told = [f"{what} {_said(there[what])} instead of {_said(here[what])}" for what in here if here[what] != there[what]]
    return f"it differs at the target: {', '.join(told)}"


def _standing(tx: Tx, session_id: str) -> tuple[bool, dict[str, Any]]:
    """Whether it is a husk, and what is compared; nothing if it is not there."""
    found = records.standing.one(tx, session=session_id)
    if found is None:
        return False, {}
    head = rows.head.one(tx, session=session_id)
    turn = rows.turn.one(tx, turn=head.turn_id) if head else None
    compared = {"digest": turn.digest if turn else None, "revision": found.revision}
    for what, query in _COUNTED.items():
        (compared[what],) = tx.one(query, session=session_id) or (0,)
    return is_husk(*found), compared


def _said(value: Any) -> str:
    return value.hex()[:12] if isinstance(value, bytes) else str(value)
