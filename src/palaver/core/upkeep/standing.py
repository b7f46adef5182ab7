"""How sessions stand: their sums, what of them is seen, the order of their times, their preview and their reflog.

A session is read by its own rows and copies alone. Nothing walks from its head to the root: `lineage` knows who is on
the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import NamedTuple

from ...db.engine import Tx
from ...db.queries import Q
from ...model import Usage
from .. import damage, metadata, rows
from ..read import previews
from . import mending, records, rules, windows
from .findings import Finding, check_json, stale, wrong
from .lineage import End, Lineage, View
from .rules import ReflogProof


class Message(NamedTuple):
    """A row of a session, and the lines that list it."""

    id: str
    role: str
    metadata: str
    created_at: int
    lines: windows.Listing


class OnPath(NamedTuple):
    """Where a message of a session is on its path."""

    depth: int
    seq: int
    id: str
    created_at: int


def compare(tx: Tx, lineage: Lineage, progress: Callable[[int], None]) -> Iterator[Finding]:
    count = 0
    for page in windows.pages(tx, records.sessions_beside_heads, windows.SESSIONS):
        for row in page:
            yield from _session(tx, row, lineage)
        count += len(page)
        progress(count)


def _session(tx: Tx, row: records.SessionBesideHeadRow, lineage: Lineage) -> Iterator[Finding]:
    for name, kind in (("model_json", dict), ("permissions_json", list), ("metadata_json", dict)):
        yield from check_json(f"{row.id}.{name}", getattr(row, name), kind)
    for name in ("created_at", "updated_at"):
        if type(getattr(row, name)) is not int:
            yield wrong("time", row.id, f"the {name} of session {row.id} is no number of milliseconds")
    if type(row.cost_usd) not in (int, float) or not 0 <= row.cost_usd < math.inf:
        yield wrong("cost", row.id, f"the cost of session {row.id} is {row.cost_usd!r:.40}, which is no sum of money")
    has_head = row.head_of is not None and (row.turn_id is None or row.turn_id in lineage)
    sight, tokens, before, path, is_whole = _Sight(row, lineage), Usage(), Usage(), list[OnPath](), True
    for message in _messages(tx, row.id):
        yield from check_json(f"{message.id}.metadata_json", message.metadata)
        yield from _loose_parts(tx, message)
        is_whole = is_whole and isinstance(damage.parsed(message.metadata), dict)
        message = message._replace(metadata=damage.as_json(message.metadata))
        if message.role == "assistant":
            tokens += mending.usage_in(message.metadata)
            before += mending.usage_in_our_words(message.metadata)
        if has_head:
            yield from sight.message(message)
            path += (
                OnPath(lineage.depth(turn_id), seq, message.id, message.created_at)
                for turn_id, seq in message.lines
                if lineage.is_on_path(turn_id, row.turn_id)
            )
    yield from _facts(tx, row)
    if is_whole:  # else the sums may be all that is left of what a damaged row counted
        yield from _rollups(row, tokens, before)
    if has_head:
        yield from _with_head(tx, row, lineage, sight, path)
    elif row.head_of is not None:
        yield wrong("head", row.id, f"the head of session {row.id} points at turn {row.turn_id}, which is not there")


def _loose_parts(tx: Tx, message: Message) -> Iterator[Finding]:
    """Parts that no turn lists are in nobody's proof."""
    for part in rows.parts.all(tx, message=message.id) if not message.lines else ():
        if not damage.is_part(part.data_json):
            where = damage.as_text(part.id)
            yield wrong("json", where, f"part {where} cannot be read: it is not a JSON object with a type")


def _with_head(
    tx: Tx, row: records.SessionBesideHeadRow, lineage: Lineage, sight: _Sight, path: list[OnPath]
) -> Iterator[Finding]:
    yield from _copies(tx, row.id, sight, lineage)
    yield from _times(sorted(path, key=attrgetter("depth", "seq")))
    yield from _preview(tx, row)
    yield from _reflog(tx, row, lineage)


def _messages(tx: Tx, session_id: str) -> Iterator[Message]:
    at, after = windows.BEFORE_ALL, ""
    while True:
        found = records.message_listings.all(tx, session=session_id, at=at, after=after, **windows.with_lines())
        for row in found:
            if isinstance(row.id, str):
                text, lines = _metadata(tx, row.id, row.metadata_json), windows.listing(tx, row.id, row.entries)
                yield Message(row.id, row.role, text, row.created_at, lines)
        if len(found) < windows.ROWS:
            return
        at, after = found[-1].created_at, found[-1].id


def _metadata(tx: Tx, message_id: str, text: str | None) -> str:
    """What came with its row, unless it is large."""
    if text is None:
        (text,) = tx.one(Q.metadata_of_message, id=message_id) or ("{}",)
    return text


def _copies(tx: Tx, session_id: str, sight: _Sight, lineage: Lineage) -> Iterator[Finding]:
    message_id, copy_id = "", ""
    while True:
        found = records.copy_listings.all(
            tx, session=session_id, message=message_id, after=copy_id, **windows.with_lines()
        )
        for row in found:
            if row.row_id is not None:
                stored = damage.as_json(_metadata(tx, row.row_id, row.metadata_json))
                lines = windows.listing(tx, row.message_id, row.entries)
                yield from sight.row(row.copy_id, row.message_id, stored, lines)
                yield from _copy(tx, session_id, row, lineage)
        if len(found) < windows.ROWS:
            return
        message_id, copy_id = found[-1].message_id, found[-1].copy_id


def _copy(tx: Tx, session_id: str, row: records.CopyListingRow, lineage: Lineage) -> Iterator[Finding]:
    """A copy that is not what it is a copy of. Where that was altered, the copy may be all that is left of it."""
    parts = [part.id for part in rows.parts.all(tx, message=row.message_id)]
    if lineage.altered.isdisjoint([row.message_id, *parts]) and not mending.copy_fits(tx, row.copy_id, row.message_id):
        what = f"message {row.copy_id} is a copy of message {row.message_id}, and does not say what that does"
        yield stale("copy", row.copy_id, what, session_id, mending.copy_of(row.copy_id, row.message_id))


class _Sight:
    """Which rows of a session its readers should see."""

    def __init__(self, row: records.SessionBesideHeadRow, lineage: Lineage) -> None:
        self._session_id = row.id
        found = [] if row.deleted_at is not None else lineage.open_turns(row.id)
        standing = {each.id for each in found if each.base_revision == row.revision and each.status != "pending"}
        self._view = View(lineage, None if row.deleted_at is not None else row.turn_id, standing)
        self._pending = {each.id for each in lineage.open_turns(row.id) if each.status == "pending"}

    def message(self, message: Message) -> Iterator[Finding]:
        text = message.metadata
        if any(turn_id in self._pending for turn_id, _ in message.lines):
            if metadata.is_hidden(text) or not metadata.is_queued(text):
                what = f"message {message.id} waits in the queue, and its row says not"
                yield wrong("queued_at", message.id, what)
        elif message.lines:
            stale = list(self.row(message.id, message.id, text, message.lines))
            yield from stale
            if not stale and metadata.is_queued(text):
                what = f"message {message.id} does not wait in the queue, its row says so"
                yield wrong("queued_at", message.id, what)

    def row(self, row_id: str, message_id: str, text: str, lines: windows.Listing) -> Iterator[Finding]:
        """A message, or a copy of one, and the lines that list the message."""
        is_shown = any(self._view.shows(turn_id) for turn_id, _ in lines)
        if not isinstance(damage.parsed(text), dict):  # it has no place for a stamp; it is named already
            return
        if metadata.is_hidden(text) == is_shown:
            what = "is in its session's transcript, yet hidden"
            if not is_shown:
                what = "is not in its session's transcript, yet not hidden"
            repair = mending.stamp(row_id, message_id)
            yield stale("hidden_at", row_id, f"message {row_id} {what}", self._session_id, repair)


def _rollups(row: records.SessionBesideHeadRow, right: Usage, before: Usage) -> Iterator[Finding]:
    """`before`: as an older version read the same messages, whose sums stay as they are."""
    stored, tokens = tokens_in(row), (*right.counts(), right.total)
    if stored not in (tokens, (*before.counts(), before.total)):
        what = f"the tokens of session {row.id} (and their sum) are {tokens}, not {stored}"
        yield stale("rollups", row.id, what, row.id, mending.rollups)


def tokens_in(row: records.SessionBesideHeadRow) -> tuple[int, ...]:
    """The session's token columns, and their sum."""
    counts = (row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.cache_read, row.cache_write)
    return (*counts, row.total_tokens)


def _facts(tx: Tx, row: records.SessionBesideHeadRow) -> Iterator[Finding]:
    """They carry the session's created_at, which lists go by."""
    found = records.stale_facts.all(tx, session=row.id, at=row.created_at) if type(row.created_at) is int else []
    if found:
        names = ", ".join(each.name for each in found)
        what = f"the facts {names} of session {row.id} are listed under another time than its own"
        yield stale("session_facts", row.id, what, row.id, mending.session_facts)


def _times(path: list[OnPath]) -> Iterator[Finding]:
    """Along a path, the rows written in this session have rising times; another program's may not fit."""
    last = 0
    for message in path:
        if type(message.created_at) is not int:
            yield wrong("time", message.id, f"message {message.id} has a created_at that is no number of milliseconds")
            continue
        if message.created_at <= last:
            yield wrong("time", message.id, f"message {message.id} has a created_at before the one it follows")
        last = max(last, message.created_at)


def _preview(tx: Tx, row: records.SessionBesideHeadRow) -> Iterator[Finding]:
    if row.relation == "fork" and row.preview is not None:
        return  # what it was given by its origin is a fact of its own
    right = previews.recompute(tx, row.id)
    if right != row.preview and row.preview != previews.ever_said(tx, row.id):  # an older version's
        what = f"the preview is {right!r}, not {row.preview!r}"
        yield stale("preview", row.id, what, row.id, mending.preview)


def _reflog(tx: Tx, row: records.SessionBesideHeadRow, lineage: Lineage) -> Iterator[Finding]:
    proof, is_whole, seen = ReflogProof(row.id), True, set[str]()
    for line in map(damage.sound, _reflog_lines(tx, row.id)):
        flaw = proof.take(line)
        if flaw and is_whole:  # what stands after it cannot be told apart
            yield wrong("reflog", row.id, flaw)
        is_whole = is_whole and not flaw
        if is_whole and line.turn_id is not None and line.turn_id not in seen:
            seen.add(line.turn_id)
            if lineage.home(line.turn_id) == row.id:
                yield from _sealed(row, line, lineage.end(line.turn_id))
    flaw = proof.head_flaw(row.turn_id, row.revision)
    if flaw and is_whole:
        yield wrong("head", row.id, flaw)
    last = proof.number_after(damage.as_time(row.event_seq, -1))
    if last is not None:
        newest = tx.one(Q.max_event, session=row.id)
        yield wrong("numbers", row.id, f"event numbers go to {last}, the head says {row.event_seq} ({newest})")
    opened = proof.first.reason if proof.first else None
    if opened is not None and opened != f"agent {row.agent}":
        yield wrong("agent", row.id, f"the session was opened with {opened}, its row says {row.agent!r}")


def _sealed(row: records.SessionBesideHeadRow, line: rows.ReflogRow, end: End) -> Iterator[Finding]:
    """The line with which a turn came onto the path was written in the transaction of its seal."""
    for what in rules.seal_flaws(line, end.status, end.sealed_at, end.base_revision, damage.as_time(row.last_at)):
        yield wrong("seal", str(line.turn_id), what)


def _reflog_lines(tx: Tx, session_id: str) -> Iterator[rows.ReflogRow]:
    after = windows.BEFORE_ALL
    while True:
        found = records.reflog_page.all(tx, session=session_id, after=after, limit=windows.ROWS)
        yield from found
        if len(found) < windows.ROWS:
            return
        after = found[-1].seq
