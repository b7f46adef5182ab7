"""Writers with a save policy of their own, in processes that are killed: what each policy may lose, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..tools.chunks import Chunk
from ..tools.puppet import Puppet
from ..tools.sql import query
from .support_saving import Told
from .support_saving_child import ENDS

POLICIES = tuple(ENDS)


class Writer(Puppet):
    """A process with any number of turns, each in a session of its own."""

    def __init__(self, path: str | Path, **options: Any) -> None:
        super().__init__("tests.promises.support_saving_child", "act", path=str(path), **options)

    def begin(self, said: str = "question") -> RemoteTurn:
        return RemoteTurn(self, *self("begin_anew", said))


class RemoteTurn:
    """A turn that a writer holds."""

    def __init__(self, writer: Writer, session_id: str, turn_id: str) -> None:
        self._writer, self.session_id, self.id = writer, session_id, turn_id

    def call(self, verb: str, *given: Any, **named: Any) -> list[int]:
        """How many chunks it has then, and how many of them are stored."""
        told: list[int] = self._writer("call", self.id, verb, *given, **named)
        return told

    def append(self, chunks: list[Chunk]) -> list[int]:
        return self.call("append", chunks)


def stored_chunks(path: str | Path, turn_id: str) -> list[Chunk]:
    """The chunks of a turn that are in the file, by plain SQL."""
    found = query(
        path,
        "SELECT e.data FROM turns t JOIN events e ON e.session_id = t.session_id AND e.turn = t.begin_seq "
        "WHERE t.id = ? AND e.kind = 'chunk' ORDER BY e.seq",
        turn_id,
    )
    return [json.loads(row[0]) for row in found]


# ---------------------------------------------------------------- what a policy keeps


def kept(save_on: str, chunks: list[Chunk]) -> list[Chunk]:
    """Of chunks that were all acknowledged: those that are in the file, exactly."""
    if save_on == "chunk":
        return chunks
    ends = [n + 1 for n, chunk in enumerate(chunks) if chunk["type"] in ENDS[save_on]]
    return chunks[: max(ends, default=0)]


def possible(save_on: str, turn: Told) -> list[list[Chunk]]:
    """The same after a kill: what was acknowledged, or the one call more that had begun."""
    return [kept(save_on, turn.chunks), kept(save_on, turn.chunks + turn.doing)]
