"""The contract's inspection form: one JSON document that shows a session as it reads.

    {"session":{column: value, …},"messages":[{column: value, …,"parts":[…]}, …]}

Keys are the contract's columns; a column that holds JSON (`…_json`) is shown as that JSON, byte for byte, and so is
each part. Messages come in the order of the transcript; what is streaming is shown up to its last chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base import arguments, exact_json
from ..core import damage
from ..core.read import transcript
from ..core.read.transcript import Message
from ..db.engine import Database, Tx
from ..db.queries import Q
from ..errors import SessionNotFound
from . import tables


def inspect(db: Database, session_id: str, turn: str | None = None) -> Iterator[str]:
    """The document in pieces; joined they are one line of JSON. With `turn`, the messages on the way to it."""
    arguments.text("session_id", session_id)
    arguments.text_or_none("turn", turn)
    with arguments.database(db).read() as tx:
        session = tx.one(Q.export_session, session=session_id)
        if session is None:
            raise SessionNotFound(session_id)
        yield '{"session":{' + _members(tables.SESSIONS.names, session) + '},"messages":['
        comma = ""
        for message in transcript.iterate(tx, session_id, turn):
            yield comma
            yield from _message(tx, message)
            comma = ","
        yield "]}\n"


def _message(tx: Tx, message: Message) -> Iterator[str]:
    row = tx.one(Q.export_message, id=message.id)
    yield "{" + (_members(tables.MESSAGES.names, row) if row else f'"id":{exact_json.dump(message.id)}') + ',"parts":['
    message.mend()
    for place, part in enumerate(message.parts):
        yield part if place == 0 else "," + part
    yield "]}"


def _members(names: list[str], row: tuple[Any, ...]) -> str:
    return ",".join(f'"{name}":{_value(name, value)}' for name, value in zip(names, row, strict=True))


def _value(name: str, value: Any) -> str:
    if name.endswith("_json") and damage.parsed(value) is not None:
        return str(value)
    return exact_json.dump(value if isinstance(value, int | float | None) else damage.as_text(value))
