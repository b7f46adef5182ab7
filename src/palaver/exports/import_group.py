"""A checked group goes into the store: all of it in the caller's transaction, or `Rejected`.

FRESH: the session is not there. MERGE: a husk arrives where the session, or another husk of it, is; rows that are
there stay, a husk takes in what it lacks. COMPLETE: the whole session arrives where there is a husk of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from ..base import exact_json
from ..core.read import previews
from ..core.upkeep import records
from ..db.engine import Tx
from ..db.queries import Q, Query
from ..errors import BadValue
from . import import_checks, tables
from .groups import Group
from .husks import is_husk, usage_of
from .lines import known_fields
from .results import Rejected
from .tables import Table

FRESH, MERGE, COMPLETE = "fresh", "merge", "complete"
_BATCH, _BATCH_BYTES = 1_000, 4 << 20
_MERGED = (tables.TURNS, tables.ENTRIES, tables.MESSAGES, tables.PARTS)
_BY_CONTENT = (tables.PROMPTS, tables.BODIES)  # their key says what they hold
_IDENTITY = ("seq", "kind", "ref", "leaf")  # of an entry: its salt goes with the bytes, its client's id may change
_identity = tables.ENTRIES.value(*_IDENTITY)


class Arrival:
    """A group that was read to its end: its rows lie in a temporary file."""

    def __init__(self, session_id: str, husk: bool, spool: IO[bytes], first: int, content: bytes, version: int) -> None:
        self.session_id = session_id
        self.husk = husk
        self.first = first
        self.content = content
        self.version = version  # of the format of its lines
        self.turn_ids = _TurnIds(self)
        self._spool = spool

    def __iter__(self) -> Iterator[tuple[int, Table, dict[str, Any]]]:
        self._spool.seek(0)
        for number, line in enumerate(self._spool, self.first):
            fields = known_fields(line)
            table = tables.BY_NAME[fields["table"]]
            yield number, table, table.known_row(fields)

    def rows(self, wanted: Table) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of one table, without reading past them."""
        for number, table, row in self:
            if table is wanted:
                yield number, row
            elif tables.RANK[table.name] > tables.RANK[wanted.name]:
                return


class _TurnIds:
    """The turns that a group names, read from it as often as asked."""

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival

    def __iter__(self) -> Iterator[str]:
        return (row["id"] for _, row in self._arrival.rows(tables.TURNS))


class FastPathMissed(Exception):
    """A row of a fresh session did not go in. Row by row it can be said which, and why."""


def take_entries(tx: Tx, arrival: Arrival, mode: str, *, careful: bool = False) -> bool:
    """Put a group into the store and prove it; False if everything was there."""
    found = records.standing.one(tx, session=arrival.session_id)
    standing = found or records.StandingRow(None, None)
    if (found is None) != (mode == FRESH) or (mode == COMPLETE and not is_husk(*standing)):
        raise Rejected(arrival.first - 1, "another program changed this session in the meantime; import it again")
    if mode == COMPLETE:
        for query in (Q.drop_head, Q.drop_reflog, Q.drop_usage, Q.drop_facts, *_dropped(arrival)):
            tx.run(query, session=arrival.session_id)
    counts = {table.name: 0 for table in tables.IN_ORDER}
    added = 0
    if mode == FRESH and not careful:
        added = _put_fresh(tx, arrival)
    else:
        for number, table, row in arrival:
            counts[table.name] += 1
            if mode != MERGE or table in _MERGED:
                added += _put(tx, arrival, mode, number, table, row)
    if mode == MERGE and added:
        _settle_merge(tx, arrival, *standing)
    if mode == COMPLETE:
        _refuse_leftovers(tx, arrival, counts)
    if added:
        _derive(tx, arrival, mode)
    import_checks.prove_facts(tx, arrival.session_id, arrival.rows(tables.FACTS))
    import_checks.prove_usage(tx, arrival.session_id, arrival.rows(tables.USAGE))
    import_checks.prove(tx, arrival.session_id, arrival.rows(tables.TURNS), arrival.first, own=mode != MERGE)
    return bool(added)


def _dropped(arrival: Arrival) -> list[Query]:
    """Items come again with the whole session, unless it is of a version that has none."""
    return [Q.drop_natives] if arrival.version >= tables.NATIVES.since else []


def _derive(tx: Tx, arrival: Arrival, mode: str) -> None:
    """What follows from the rows of this session; the rest is filled in slices when all are there (see reader)."""
    tx.run(Q.import_live, session=arrival.session_id)
    tx.run(Q.unindex_titled, session=arrival.session_id)  # a husk had none
    if mode == MERGE or arrival.version == 1:
        tx.run(Q.import_last_message, session=arrival.session_id)
    for seq, data in tx.all(Q.stray_events, session=arrival.session_id) if mode != MERGE else ():
        tx.run(Q.set_stray, session=arrival.session_id, turn=exact_json.parse(data)["turn"], seq=seq)


def _put_fresh(tx: Tx, arrival: Arrival) -> int:
    """All rows, many at a time."""
    batch: list[dict[str, Any]] = []
    before, size, added = tables.SESSIONS, 0, 0
    for number, table, row in arrival:
        _check(number, table, row)
        if batch and (table is not before or len(batch) >= _BATCH or size >= _BATCH_BYTES):
            added += _put_batch(tx, before, batch)
            batch, size = [], 0
        batch.append(table.given(row, arrival.session_id))
        before = table
        size += sum(len(value) for value in batch[-1].values() if type(value) in (str, bytes))
    return added + (_put_batch(tx, before, batch) if batch else 0)


def _put_batch(tx: Tx, table: Table, batch: list[dict[str, Any]]) -> int:
    added = tx.run_many(table.put, batch)
    if added != len(batch) and table not in (*_BY_CONTENT, tables.PRUNED):
        raise FastPathMissed
    return added


def _put(tx: Tx, arrival: Arrival, mode: str, number: int, table: Table, row: dict[str, Any]) -> int:
    """One row; how many rows that changed."""
    _check(number, table, row)
    if mode == COMPLETE and table is tables.SESSIONS:
        if not tx.run(Q.complete_session, **row):
            raise Rejected(number, f"session {row['id']} was opened with another agent or at another time")
        return 1
    if tx.run(table.put, **table.given(row, arrival.session_id)):
        return 1
    if mode == COMPLETE and table is tables.MESSAGES and tx.run(Q.complete_message, **row):
        return 1
    if not _may_be_there(tx, arrival, mode, table, row):
        raise Rejected(number, _in_the_way(tx, table, row))
    return 0


def _check(number: int, table: Table, row: dict[str, Any]) -> None:
    try:
        import_checks.check_row(table, row)
    except BadValue as error:
        raise Rejected(number, str(error)) from None


def _may_be_there(tx: Tx, arrival: Arrival, mode: str, table: Table, row: dict[str, Any]) -> bool:
    """Is the row that has the key the same one? What turns, messages and parts hold is proved afterwards."""
    if table in (*_BY_CONTENT, tables.PRUNED):
        return True
    if table is tables.FOREIGN_IDS:
        key = {"origin": row["origin"], "scope": row["scope"], "foreign": row["foreign_id"]}
        return tx.one(Q.find_foreign_id, **key) == (row["id"],)
    if mode == FRESH or table not in _MERGED:
        return False
    if table is tables.ENTRIES:
        there = tx.one(Q.export_entries, turn=row["turn_id"], after=row["seq"] - 1, limit=1)
        return there is not None and _identity(there) == tuple(row[name] for name in _IDENTITY)
    homes = {home for (home,) in tx.all(Q.import_owner_of, id=row["id"])}
    return homes == {arrival.session_id}


def _in_the_way(tx: Tx, table: Table, row: dict[str, Any]) -> str:
    if table is tables.ALIASES:
        named = tx.one(Q.find_alias, namespace=row["namespace"], name=row["name"])
        session_id, _ = named or (None, None)
        return f"{row['namespace']} {row['name']!r:.60} already names {f'session {session_id}' if named else 'another'}"
    if table is tables.FOREIGN_IDS:
        key = {"origin": row["origin"], "scope": row["scope"], "foreign": row["foreign_id"]}
        taken = tx.one(Q.find_foreign_id, **key)
        if taken is None:
            return f"{row['id']!r:.60} is not an id of this session"
        (ours,) = taken
        return f"the id {row['foreign_id']!r:.60} of {row['origin']!r:.60} already stands for {ours}"
    taken = tx.one(Q.import_owner_of, id=row["id"]) if "id" in row else None
    if taken is not None:
        (home,) = taken
        return f"{row['id']!r:.60} is taken by a row of session {home}"
    return f"a row of {table.name} is there twice, or belongs to nothing in this session"


def _settle_merge(tx: Tx, arrival: Arrival, revision: int | None, deleted_at: int | None) -> None:
    """A husk takes in more of its session; a session that is whole takes nothing from a husk."""
    session_id = arrival.session_id
    if not is_husk(revision, deleted_at):
        why = f"session {session_id} exists and lacks rows that others in this file stand on; nothing was changed"
        raise Rejected(arrival.first - 1, why)
    for number, table, row in arrival:
        if table in (tables.FOREIGN_IDS, *_REFUSE_OTHER, *_BY_CONTENT):
            _check(number, table, row)
            if not tx.run(table.put, **table.given(row, session_id)) and table in _REFUSE_OTHER:
                _REFUSE_OTHER[table](tx, number, row)
    usage = usage_of(Group(session_id, ()).messages(tx))
    counts = dict(zip(("input", "output", "reasoning", "cache_read", "cache_write"), usage.counts(), strict=True))
    tx.run(Q.set_rollups, session=session_id, total=usage.total, **counts)
    tx.run(Q.set_preview, session=session_id, preview=previews.recompute(tx, session_id))


def _refuse_other_usage(tx: Tx, number: int, row: dict[str, Any]) -> None:
    """It is there already, or something is wrong with it."""
    there = tx.one(Q.usage_of_session, session=row["session_id"], after=row["n"] - 1, limit=1)
    if there != tuple(row.values()):
        raise Rejected(number, f"row {row['n']} of usage is there with another content, or belongs to nothing here")


def _refuse_other_native(tx: Tx, number: int, row: dict[str, Any]) -> None:
    """It is there already, maybe without its bytes, which were erased; or something is wrong with it."""
    found = records.exported_natives.all(tx, turn=row["turn_id"], after=row["seq"] - 1, upto=row["seq"])
    if not any(all(getattr(there, name) == row[name] for name in row if name != "body") for there in found):
        what = f"item {row['item']!r:.60} of turn {row['turn_id']!r:.60}"
        raise Rejected(number, f"{what} is there with another content, or belongs to nothing here")


_REFUSE_OTHER = {tables.USAGE: _refuse_other_usage, tables.NATIVES: _refuse_other_native}


def _refuse_leftovers(tx: Tx, arrival: Arrival, counts: dict[str, int]) -> None:
    """The husk may hold nothing that the whole session does not have."""
    for query, table in ((Q.count_turns, tables.TURNS), (Q.count_messages, tables.MESSAGES)):
        (number,) = tx.one(query, session=arrival.session_id) or (0,)
        if number != counts[table.name]:
            why = f"what the store has of {arrival.session_id} differs: {number - counts[table.name]} {table.name} more"
            raise Rejected(arrival.first - 1, why)
