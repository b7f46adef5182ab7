"""The rows of one session, table after table: what a group of an export consists of.

Every row is read when it is its turn, so memory holds a row and a page of keys, whatever the session's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..core import damage, packing
from ..core.upkeep import records
from ..db.engine import Row, Tx
from ..db.queries import Q
from ..errors import BadValue
from . import tables
from .tables import Table

_PAGE = 500
_BATCH = 1 << 20  # bytes of rows that are read at once
_PROMPT, _BODIES = "system_prompt_digest", ("tools_digest", "settings_digest")
_line_seq, _entry_seq, _usage_n = tables.REFLOG.value("seq"), tables.ENTRIES.value("seq"), tables.USAGE.value("n")
_facts, _metadata = tables.TURNS.value("facts_json"), tables.MESSAGES.value("metadata_json")

Rows = Iterator[tuple[Table, Row]]


class Group:
    """A session with all its rows, given which turns are at home in it."""

    def __init__(self, session_id: str, turns: Iterable[str]) -> None:
        self.session_id = session_id
        self._turns = turns
        self._prompts: set[str] = set()
        self._bodies: set[str] = set()

    def rows(self, tx: Tx) -> Rows:
        for table, rows in (
            (tables.SESSIONS, self.session(tx)),
            (tables.HEADS, self.head(tx)),
            (tables.REFLOG, self.reflog(tx)),
            (tables.TURNS, self.turns(tx)),
            (tables.ENTRIES, self.entries(tx)),
            (tables.MESSAGES, self.messages(tx)),
            (tables.PARTS, self.parts(tx)),
            (tables.EVENTS, self.events(tx)),
            (tables.COPIES, self.copies(tx)),
            (tables.ALIASES, self.aliases(tx)),
            (tables.FOREIGN_IDS, self.foreign_ids(tx)),
            (tables.QUEUE, self.queue(tx)),
            (tables.DELIVERIES, self.deliveries(tx)),
            (tables.PRUNED, self.pruned(tx)),
            (tables.FACTS, self.facts(tx)),
            (tables.USAGE, self.usage(tx)),
            (tables.NATIVES, self.natives(tx)),
            (tables.PROMPTS, self.prompts(tx)),
            (tables.BODIES, self.bodies(tx)),
        ):
            for row in rows:
                yield table, row

    def session(self, tx: Tx) -> Iterable[Row]:
        return tx.all(Q.export_session, session=self.session_id)

    def head(self, tx: Tx) -> Iterable[Row]:
        return tx.all(Q.export_head, session=self.session_id)

    def reflog(self, tx: Tx) -> Iterable[Row]:
        after = -1
        while page := tx.all(Q.export_reflog, session=self.session_id, after=after, limit=_PAGE):
            yield from page
            after = _line_seq(page[-1])

    def turns(self, tx: Tx) -> Iterable[Row]:
        for turn_id in self._turns:
            for row in tx.all(Q.export_turn, turn=turn_id):
                self._note_facts(_facts(row))
                yield row

    def entries(self, tx: Tx) -> Iterable[Row]:
        for turn_id in self._turns:
            after = -1
            while page := tx.all(Q.export_entries, turn=turn_id, after=after, limit=_PAGE):
                yield from page
                after = _entry_seq(page[-1])

    def messages(self, tx: Tx) -> Iterable[Row]:
        for message_id in self.message_ids(tx):
            for row in tx.all(Q.export_message, id=message_id):
                self._note_prompts(_objects(_metadata(row), "metadata"))
                yield row

    def message_ids(self, tx: Tx) -> Iterator[str]:
        at, after = -(2**63), ""
        while page := tx.all(Q.export_message_keys, session=self.session_id, at=at, after=after, limit=_PAGE):
            for _, message_id in page:
                yield message_id
            at, after = page[-1]

    def parts(self, tx: Tx) -> Iterable[Row]:
        for part_id in self.part_ids(tx):
            yield from tx.all(Q.export_part, id=part_id)

    def part_ids(self, tx: Tx) -> Iterator[str]:
        for message_id in self.message_ids(tx):
            place, after = -(2**63), ""
            while page := tx.all(Q.export_part_keys, message=message_id, place=place, after=after, limit=_PAGE):
                for _, part_id in page:
                    yield part_id
                if len(page) < _PAGE:
                    break
                place, after = page[-1]

    def events(self, tx: Tx) -> Iterable[Row]:
        after = -1
        while sizes := tx.all(Q.export_event_sizes, session=self.session_id, after=after, limit=_PAGE):
            for upto in batches(sizes):
                yield from tx.all(Q.export_events, session=self.session_id, after=after, upto=upto)
                after = upto

    def copies(self, tx: Tx) -> Iterable[Row]:
        message, after = "", ""
        while page := tx.all(Q.export_copies, session=self.session_id, message=message, after=after, limit=_PAGE):
            yield from page
            after, _, message = page[-1]

    def aliases(self, tx: Tx) -> Iterable[Row]:
        return tx.all(Q.export_aliases, session=self.session_id)

    def foreign_ids(self, tx: Tx) -> Iterable[Row]:
        if tx.one(Q.export_has_foreign_ids) is None:
            return
        for ids in ([self.session_id], self._turns, self.message_ids(tx), self.part_ids(tx)):
            for ours in ids:
                yield from tx.all(Q.export_foreign_ids, id=ours)

    def queue(self, tx: Tx) -> Iterable[Row]:
        return tx.all(Q.export_queue, session=self.session_id)

    def deliveries(self, tx: Tx) -> Iterable[Row]:
        return tx.all(Q.export_deliveries, session=self.session_id)

    def pruned(self, tx: Tx) -> Iterable[Row]:
        return tx.all(Q.export_pruned, session=self.session_id)

    def facts(self, tx: Tx) -> Iterable[Row]:
        return tx.all(Q.export_facts, session=self.session_id)

    def usage(self, tx: Tx) -> Iterable[Row]:
        after = 0
        while page := tx.all(Q.usage_of_session, session=self.session_id, after=after, limit=_PAGE):
            yield from page
            after = _usage_n(page[-1])

    def natives(self, tx: Tx) -> Iterable[Row]:
        if tx.one(Q.export_has_natives) is None:
            return
        for turn_id in self._turns:
            after = -1
            while sizes := tx.all(Q.export_native_sizes, turn=turn_id, after=after, limit=_PAGE):
                for upto in batches(sizes):
                    yield from map(_unpacked, records.exported_natives.all(tx, turn=turn_id, after=after, upto=upto))
                    after = upto

    def prompts(self, tx: Tx) -> Iterable[Row]:
        """Those that the messages and turns before named."""
        for digest in sorted(self._prompts):
            yield from tx.all(Q.export_prompt, digest=digest)

    def bodies(self, tx: Tx) -> Iterable[Row]:
        """Tools and settings that the turns before named."""
        for digest in sorted(self._bodies):
            yield from tx.all(Q.export_body, digest=digest)

    def _note_facts(self, text: Any) -> None:
        """What was in force in a turn; and, as a message was sent that waits in the queue."""
        told = _objects(text, "as_sent")
        self._note_prompts(inner for facts in told for inner in _inside(facts, "metadata"))
        self._bodies |= {facts[key] for facts in told for key in _BODIES if isinstance(facts.get(key), str)}

    def _note_prompts(self, objects: Iterable[dict[str, Any]]) -> None:
        self._prompts |= {each[_PROMPT] for each in objects if isinstance(each.get(_PROMPT), str)}


def _unpacked(row: records.ExportedNativeRow) -> Row:
    """An item as it was given: how it is kept is no part of a file."""
    try:
        body = packing.unpacked(row.body, row.codec)
    except BadValue as error:
        where = f"item {damage.as_text(row.item)} of turn {row.turn_id}"
        raise BadValue(f"{where} cannot be exported: {error}; `palaver verify` names such rows") from None
    return tuple(body if name == "body" else getattr(row, name) for name in tables.NATIVES.names)


def _objects(text: Any, key: str) -> list[dict[str, Any]]:
    """An object that names digests, and the one that it has under a key; none of it if it names none."""
    if not isinstance(text, str) or '_digest"' not in text:
        return []
    value = damage.parsed(text)
    return list(_inside(value, key)) if isinstance(value, dict) else []


def _inside(value: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    yield value
    if isinstance(value.get(key), dict):
        yield value[key]


def batches(sizes: list[Row]) -> Iterator[int]:
    """Where to cut numbered rows so that each piece is small: the last number of each."""
    total = 0
    following = [*(size or 0 for _, size in sizes[1:]), _BATCH + 1]
    for (number, size), ahead in zip(sizes, following, strict=False):
        total += size or 0
        if total >= _BATCH or total + ahead > _BATCH:
            yield number
            total = 0
