"""The journal of a store that keeps everything: each change of a contract row, as the statement that made it.

Every value a statement needs, times and ids too, is bound to it, so the same statements give the same rows again. It
wraps the engine: core code does not know of it. The text of a part that streams is not written again with each new
version of its row; the line says which events it folds from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from ...base import exact_json
from ...db.engine import ChunkRow, Database, Row, Tx, Watch
from ...db.queries import Q, Query
from ...errors import is_settled
from .. import metadata
from . import records

BY_SESSION = {
    "insert_session": "id", "set_archived": "session", "set_session_metadata": "session", "touch_session": "session",
    "touch_session_model": "session", "add_usage": "session", "set_rollups": "session", "insert_message": "session",
    "insert_part": "session", "insert_streamed_part": "session", "import_session": "id", "complete_session": "id",
    "set_permissions": "session", "import_message": "session_id", "complete_message": "session_id",
    "import_part": "session_id", "set_workspace": "session",
}  # fmt: skip
BY_ROW = {
    "update_part": Q.home_of_part,
    "set_message_metadata": Q.home_of_message,
    "restamp_message": Q.home_of_message,
    "put_behind": Q.home_of_message,
    "delete_part": Q.home_of_part,
}
LOGGED = BY_SESSION.keys() | BY_ROW.keys()
_STREAMED = {"insert_streamed_part", "update_part"}
_SHORT = 256  # characters of a part that are simply written again
_IN_ITS_ROW = " " * (_SHORT + 1)  # a part's text that is too large to be kept


class JournaledDatabase:
    """An engine whose writes are journaled."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.name, self.longest_key = db.name, db.longest_key

    def read(self) -> AbstractContextManager[Tx]:
        return self._db.read()

    def write(self, *, hard: bool = False) -> AbstractContextManager[Tx]:
        return _Journaled(self._db.write(hard=hard))

    def insert(self, query: Query, params: Sequence[Any]) -> int:
        return self._db.insert(query, params)

    def append_all(self, rows: Sequence[ChunkRow]) -> list[int]:
        if all(part is None for _, part in rows):
            return self._db.append_all(rows)
        with self.write() as tx:
            return [self._append(tx, chunk, part) for chunk, part in rows]

    def _append(self, tx: Tx, chunk: Row, part: Row | None) -> int:
        taken = tx.run(Q.append_chunk, **dict(zip(Q.append_chunk.names, chunk, strict=True)))
        if taken and part is not None:
            tx.defer_values(Q.update_part, *part)
        return taken

    def watch(self) -> AbstractContextManager[Watch]:
        return self._db.watch()

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        return self._db.query(text)

    def close(self) -> None:
        self._db.close()


class _Journaled:
    """A write transaction that ends with the lines of what it changed."""

    far: Any
    words: str

    def __init__(self, inner: AbstractContextManager[Tx]) -> None:
        self._inner = inner
        self._changes: list[tuple[Query, dict[str, Any], str | None]] = []
        self._seals = False

    def __enter__(self) -> _Journaled:
        self._tx = self._inner.__enter__()
        self.all, self.one, self.all_values = self._tx.all, self._tx.one, self._tx.all_values
        self.generation, self.watermark, self.far = self._tx.generation, self._tx.watermark, self._tx.far
        self.words, self.clear_words, self.replace_words = self._tx.words, self._tx.clear_words, self._tx.replace_words
        self.are_words_sound, self.watch_words = self._tx.are_words_sound, self._tx.watch_words
        self.arrival, self.arrived = self._tx.arrival, self._tx.arrived
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            if kind is None or is_settled(error):
                for query, params, home in self._changes:
                    self._write_line(query, params, home)
        except BaseException as failure:
            self._inner.__exit__(type(failure), failure, failure.__traceback__)
            raise
        return self._inner.__exit__(kind, error, trace)

    def run(self, query: Query, **params: Any) -> int:
        self._note(query, params)
        return self._tx.run(query, **params)

    def run_many(self, query: Query, rows: Sequence[dict[str, Any]]) -> int:
        return sum(self.run(query, **row) for row in rows)

    def defer(self, query: Query, **params: Any) -> None:
        self._note(query, params)
        self._tx.defer(query, **params)

    def defer_values(self, query: Query, *values: Any) -> None:
        self._note(query, dict(zip(query.names, values, strict=True)))
        self._tx.defer_values(query, *values)

    def run_releasing(self, query: Query, values: list[Any]) -> None:
        """The large one is not held until the line is written: it is in its row then."""
        self._note(query, dict(zip(query.names, values, strict=True)) | {"data": _IN_ITS_ROW})
        self._tx.run_releasing(query, values)

    def _note(self, query: Query, params: dict[str, Any]) -> None:
        if query.name in LOGGED:
            values = {name: params[name] for name in query.names}
            home = self._home(query, values["id"]) if query.name == "delete_part" else None
            self._changes.append((query, values, home))
        elif query.name == "seal_turn":
            self._seals = True

    def _write_line(self, query: Query, params: dict[str, Any], home: str | None) -> None:
        session = home or params.get(BY_SESSION.get(query.name, "")) or self._home(query, params["id"])
        if session is None:  # another program removed the row: nothing was changed
            return
        if query.name in _STREAMED and not self._seals and len(params["data"]) > _SHORT:
            params["data"] = self._source(params, session) or params["data"]
        if params.get("data") is _IN_ITS_ROW:
            ((params["data"],),) = self._tx.all(Q.data_of_part, id=params["id"])
        if query.name == "set_message_metadata" and len(params["metadata"]) > _SHORT:
            params["metadata"] = self._metadata_source(params, session) or params["metadata"]
        self._tx.defer(Q.write_journal, session=session, statement=query.name, data=exact_json.dump(params))

    def _metadata_source(self, params: dict[str, Any], session: str) -> dict[str, Any] | None:
        """Metadata that grows with a stream is named by the events it folds from, and the keys of ours on top."""
        response = records.streaming_response.one(self._tx, message=params["id"])
        if response is None:
            return None
        text = params["metadata"]
        usage = metadata.reported_usage(text) if response.usage_told else None
        source = {"turn": response.turn_id, "fold": response.begin_seq, "upto": self._newest_event(session)}
        return {**source, "usage": usage, "hidden_at": metadata.hidden_stamp(text)}

    def _home(self, query: Query, row_id: str) -> str | None:
        home: str | None
        (home,) = self._tx.one(BY_ROW[query.name], id=row_id) or (None,)
        return home

    def _source(self, params: dict[str, Any], session: str) -> dict[str, Any] | None:
        """Which part of which turn's fold this is, and up to which event."""
        part = records.streamed_part.one(self._tx, id=params["id"])
        if part is None:
            return None
        newest = self._newest_event(session)
        return {"turn": part.turn_id, "fold": part.begin_seq, "part": part.place, "upto": newest}

    def _newest_event(self, session: str) -> int | None:
        newest: int | None
        ((newest,),) = self._tx.all(Q.max_event, session=session)
        return newest
