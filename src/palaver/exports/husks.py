"""A husk: what is left of a session that others stand on, when only those others are taken along.

It is a deleted session at revision 0 that holds just the turns and messages which were reached, all of them
hidden, and what these used, as if the rest had never been. Its stamps come from the session itself, so the same content
gives the same husk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from ..aisdk import token_usage
from ..base import exact_json
from ..core import heads, metadata
from ..core.read import previews
from ..db.engine import Row, Tx
from ..db.queries import Q
from ..errors import BadValue
from ..model import Usage
from . import tables
from .groups import Group
from .selection import Chosen, Selection

_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cache_read", "cache_write")
_cost, _turn = tables.TURNS.value("cost_usd"), tables.USAGE.value("turn_id")
_created_at = tables.MESSAGES.value("created_at")


def is_husk(revision: int | None, deleted_at: int | None) -> bool:
    """A session that was really deleted has moved its head at least once."""
    return revision == 0 and deleted_at is not None


class Husk(Group):
    """The rows of a session that a selection reaches, made into a husk."""

    def __init__(self, tx: Tx, chosen: Chosen, selection: Selection) -> None:
        super().__init__(chosen.session_id, chosen.turns)
        self._selection = selection
        (session,) = tx.all(Q.export_session, session=chosen.session_id)
        (head,) = tx.all(Q.export_head, session=chosen.session_id)
        self._session = dict(zip(tables.SESSIONS.names, session, strict=True))
        self._head = dict(zip(tables.HEADS.names, head, strict=True))
        self._stamp: int = self._head["deleted_at"] or self._session["updated_at"]

    def session(self, tx: Tx) -> Iterable[Row]:
        row = dict(self._session)
        usage = usage_of(self.messages(tx))
        counts = zip(_COUNTS, usage.counts(), strict=True)
        row.update(counts, total_tokens=usage.total, cost_usd=float(sum(map(_cost, self.turns(tx)))))
        if self._head["deleted_at"] is None:
            row["metadata_json"] = _deleted(row["metadata_json"], self._stamp)
            row["archived_at"] = self._stamp
        yield tuple(row.values())

    def head(self, tx: Tx) -> Iterable[Row]:
        row: dict[str, Any] = dict(self._head)
        row.update(turn_id=None, prev_turn_id=None, revision=0, event_seq=1, events_floor=0, looked_at=0)
        row.update(title=None, deleted_at=self._stamp, ended_at=None, end_reason=None)
        if row["relation"] != "fork" or row["preview"] is None:
            row["preview"] = previews.ever_said(tx, self.session_id)  # nothing of a husk is in a transcript
        times = (at for at in map(_created_at, self.messages(tx)) if type(at) is int)
        row["last_message_at"] = max(times, default=None)
        yield tuple(row.values())

    def reflog(self, tx: Tx) -> Iterable[Row]:
        line = (1, "create", None, 0, self._session["created_at"], None, f"agent {self._session['agent']}")
        yield (self.session_id, *line, heads.line_link(b"", self.session_id, *line))

    def messages(self, tx: Tx) -> Iterable[Row]:
        for id_, session_id, role, text, created_at, updated_at in super().messages(tx):
            yield id_, session_id, role, metadata.hide(text, self._stamp), created_at, updated_at

    def message_ids(self, tx: Tx) -> Iterator[str]:
        for message_id in super().message_ids(tx):
            listed = tx.all(Q.turns_of_message, message=message_id)
            if any(self._selection.has_turn(turn_id, home) for turn_id, *_, home in listed):
                yield message_id

    def usage(self, tx: Tx) -> Iterable[Row]:
        return (row for row in super().usage(tx) if self._selection.has_turn(_turn(row), self.session_id))

    def _nothing(self, tx: Tx) -> Iterable[Row]:
        return ()

    events = copies = aliases = queue = deliveries = pruned = facts = _nothing


def _deleted(text: str, at: int) -> str:
    """As delete() stamps it; what another program made of the column stays as it is."""
    return metadata.splice(text, "deleted_at", str(at)) if text.lstrip().startswith("{") else text


def usage_of(messages: Iterable[Row]) -> Usage:
    """What the answers among them used; metadata that cannot be read counts nothing."""
    used = Usage()
    for _, _, role, text, *_ in messages:
        if role == "assistant" and '"usage"' in text:
            with suppress(BadValue):
                used += token_usage.from_metadata(exact_json.parse(text)) or Usage()
    return used
