"""Writing an export: a header, one group per session, an end. One snapshot of the store, read row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import BinaryIO

import msgspec

from ..base import arguments
from ..core.upkeep import records
from ..db.engine import Database, Tx
from ..errors import BadValue
from .groups import Group
from .husks import Husk, is_husk
from .results import Progress, Refusal, Written
from .selection import Chosen, Selection
from .tables import VERSION

HEADER = b'{"palaver":"export","version":%d,"schema":1}\n' % VERSION
_EVERY = 4 << 20  # bytes between two reports of progress

_encode = msgspec.json.encode


def write(
    db: Database,
    out: BinaryIO,
    sessions: Sequence[str] | None = None,
    progress: Progress | None = None,
    on_broken: Callable[[Refusal], None] | None = None,
) -> Written:
    """Write all sessions, or the ones named and what they stand on, as JSON lines. A session with a row that JSON
    cannot say ends the export; with `on_broken` it is told, its group breaks off, and the others follow."""
    wanted = None
    if sessions is not None:
        wanted = [arguments.text("a session's id", one) for one in arguments.several("sessions", sessions)]
    arguments.function("on_broken", on_broken)
    writer = _Writer(arguments.binary("out", out, "write"), arguments.function("progress", progress))
    with arguments.database(db).read() as tx:
        selection = Selection(tx, wanted)
        writer.put(HEADER)
        for chosen in selection:
            try:
                writer.group(tx, chosen, selection)
            except BadValue as error:
                if on_broken is None:
                    raise
                on_broken(Refusal(writer.lines, chosen.session_id, str(error)))
                writer.sessions += 1
    writer.put(_encode({"end": "export", "sessions": writer.sessions + writer.husks}) + b"\n")
    return Written(writer.sessions, writer.husks, writer.lines, writer.bytes)


class _Writer:
    """The file so far."""

    def __init__(self, out: BinaryIO, progress: Progress | None) -> None:
        self._out = out
        self._progress = progress
        self._told = 0
        self.sessions = self.husks = self.lines = self.bytes = 0

    def put(self, line: bytes) -> None:
        self._out.write(line)
        self.lines += 1
        self.bytes += len(line)

    def group(self, tx: Tx, chosen: Chosen, selection: Selection) -> None:
        husk = chosen.reached or _is_husk(tx, chosen.session_id)
        group = Husk(tx, chosen, selection) if chosen.reached else Group(chosen.session_id, chosen.turns)
        self.put(_encode({"session": chosen.session_id, **({"husk": True} if husk else {})}) + b"\n")
        count, hasher = 0, sha256()
        for table, row in group.rows(tx):
            line = table.line(row)
            hasher.update(line)
            self.put(line)
            count += 1
            self._tell(_EVERY)
        self.put(_encode({"end": chosen.session_id, "lines": count, "sha256": hasher.hexdigest()}) + b"\n")
        self.husks += husk
        self.sessions += not husk
        self._tell(0)

    def _tell(self, every: int) -> None:
        if self._progress is not None and self.bytes - self._told >= every:
            self._told = self.bytes
            self._progress(self.sessions + self.husks, self.bytes)


def _is_husk(tx: Tx, session_id: str) -> bool:
    standing = records.standing.one(tx, session=session_id)
    return standing is not None and is_husk(*standing)
