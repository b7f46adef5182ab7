"""Chunks of many streams: one statement, one round trip, whether threads or tasks wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import StoreBusy, StoreUnavailable
from ..engine import ChunkRow, Row
from .combiner import Combiner, Request
from .dialect import append_chunks
from .errors import TRANSLATED, explain, is_unsure
from .pipeline import Step

if TYPE_CHECKING:
    from .engine import PostgresDatabase


class Streams:
    def __init__(self, db: PostgresDatabase, level: str) -> None:
        self._db = db
        self._level = level
        self._combiner = Combiner(self._carry_out)
        self._chunks = append_chunks(f'"{db.schema}"')
        self._chunks_and_parts = append_chunks(f'"{db.schema}"', parts=True)

    def append(self, chunk: Row) -> int:
        """One chunk of this thread, in one transaction with the chunks that other threads queued meanwhile."""
        request, db = Request(chunk), self._db
        if not self._combiner.submit(request, db.timeout):
            raise StoreBusy(db.name, "another thread of this process", db.timeout)
        if request.error is not None:
            raise request.error
        return request.changes

    def _carry_out(self, batch: list[Request]) -> None:
        try:
            changes = self.append_all([(request.row, None) for request in batch])
        except Exception as error:
            for request in batch:
                request.end(0, error)
            return
        for request, count in zip(batch, changes, strict=True):
            request.end(count)

    def append_all(self, rows: Sequence[ChunkRow]) -> list[int]:
        try:
            taken = self._taken(rows)
        except Exception as error:
            raise self._failure(error) from error
        return [int((session_id, seq) in taken) for (session_id, seq, *_), _ in rows]

    def _failure(self, error: Exception) -> Exception:
        if is_unsure(error):
            return StoreUnavailable(f"{self._db.name} was lost while a chunk was written; it is looked for")
        return explain(error, self._db.name, self._db.timeout) if isinstance(error, TRANSLATED) else error

    def _taken(self, rows: Sequence[ChunkRow]) -> set[Row]:
        """Which (session, number) were stored."""
        steps, hint = [self._step(rows)], self._db.is_hint_due()
        if self._db.has_pooler or self._db.has_citus or hint:
            steps = [("BEGIN", ()), *self._db.opening(self._level, hint=hint), *steps, ("COMMIT", ())]
        link = self._db.pool.borrow()
        try:
            results = link.send(steps, self._db.patience)
            return set(results[0 if len(steps) == 1 else -2].rows())
        finally:
            self._db.pool.give_back(link)

    def _step(self, rows: Sequence[ChunkRow]) -> Step:
        columns = [list(column) for column in zip(*(chunk for chunk, _ in rows), strict=True)]
        parts = [(session_id, seq, *part) for (session_id, seq, *_), part in rows if part is not None]
        if not parts:
            return self._chunks, columns
        return self._chunks_and_parts, columns + [list(column) for column in zip(*parts, strict=True)]
