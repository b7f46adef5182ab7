"""What holds of every record and can be recomputed: values in, what is wrong with them out. Nothing here does I/O.

`verify` asks these rules of a store, an import of a file. Rows come by in their order, a few at a time; each of the two
says in its own words what to do about a flaw.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from hashlib import sha256
from typing import Any, NamedTuple

from ...model import SEALED, Usage, add_up
from .. import damage, digests, heads, metadata
from ..rows import ReflogRow, TurnRow
from .records import ImportedEntryRow, StoredEntryRow, SumsBesideParentRow, TurnEdgeRow

EntryRow = StoredEntryRow | ImportedEntryRow


class Flaw(Enum):
    """What can be wrong with an entry, and the sentence of it."""

    NO_LEAF = "the {kind} {ref} is sealed without its leaf"
    NO_SALT = "the {kind} {ref} is sealed without its salt"
    MOVED = "part {ref} was moved from message {listed_with} to {message}"
    NO_ROW = "the {kind} {ref} is listed but its row is gone"
    ALTERED = "the {kind} {ref} is not what was written: its digest does not fit"


class TurnProof:
    """One turn, while its entries come by: each fits its leaf, and the digest covers the leaves and the parent's."""

    def __init__(self, turn_id: str, *, is_sealed: bool) -> None:
        self.messages = 0
        self._turn_id, self._is_sealed = turn_id, is_sealed
        self._message: str | None = None  # the one whose parts come by
        self._leaves: list[bytes] = []

    def covers(self, row: EntryRow) -> bool:
        """Whether its leaf must be there: an open turn gets some of them with its seal."""
        return row.kind != "result" and (row.leaf is not None or self._is_sealed)

    def take(self, row: EntryRow, stored: Any, *, usage_told: bool) -> Iterator[tuple[Flaw, str]]:
        """Flaws of an entry, with their sentences. `stored` is what its row holds, None where that is gone."""
        if row.leaf is not None:
            self._leaves.append(row.leaf)
        if row.kind == "message":
            self._message, self.messages = row.ref, self.messages + 1
        for flaw in self._flaws(row, stored, usage_told):
            facts = {"kind": row.kind, "ref": row.ref, "listed_with": self._message, "message": row.message_id}
            yield flaw, flaw.value.format_map(facts)

    def _flaws(self, row: EntryRow, stored: Any, usage_told: bool) -> Iterator[Flaw]:
        is_covered = self.covers(row)
        if is_covered and (row.leaf is None or row.salt is None):
            yield Flaw.NO_LEAF if row.leaf is None else Flaw.NO_SALT
            return
        if row.kind == "part" and stored is not None and row.message_id != self._message:
            yield Flaw.MOVED
        if is_covered and (stored is None or row.name is None):
            yield Flaw.NO_ROW
        elif is_covered and not leaf_fits(row, stored, usage_told=usage_told):
            yield Flaw.ALTERED

    def digest_flaw(self, kind: str, digest: bytes | None, parent_digest: bytes | None) -> str | None:
        if digests.turn(parent_digest, kind, self._leaves) == digest:
            return None
        return f"the digest of turn {self._turn_id} does not fit its lines and its parent"


def leaf_fits(row: EntryRow, stored: Any, *, usage_told: bool) -> bool:
    """A message's leaf is of its metadata as the caller gave it, a part's of its bytes."""
    if row.kind == "message" and isinstance(stored, str):
        stored = metadata.strip_owned(stored, usage_told=usage_told)
    return row.salt is not None and digests.leaf(row.salt, damage.as_text(row.name), stored) == row.leaf


def prompt_fits(digest: str, body: Any) -> bool:
    return sha256(digests.bytes_of(body)).hexdigest() == digest


def native_fits(digest: bytes, body: bytes) -> bool:
    return sha256(body).digest() == digest


# ---------------------------------------------------------------- sums


class Sums(NamedTuple):
    """What a turn adds up from its root."""

    depth: int
    tokens: int
    messages: int

    def __str__(self) -> str:
        return str(tuple(self))

    def and_then(self, tokens: int, messages: int) -> Sums:
        """Those of a turn that stands on this one."""
        return Sums(self.depth + 1, add_up((self.tokens, tokens)), self.messages + messages)


def total_tokens(row: TurnEdgeRow | SumsBesideParentRow | TurnRow) -> int:
    """What a turn used, by itself."""
    return Usage(row.input_tokens, row.output_tokens, row.reasoning_tokens, row.cache_read, row.cache_write).total


# ---------------------------------------------------------------- the reflog


class ReflogProof:
    """A session's reflog, while its lines come by: each is linked to the one before; the last is where the head is."""

    def __init__(self, session_id: str) -> None:
        self.first: ReflogRow | None = None
        self.last: ReflogRow | None = None
        self._session_id = session_id

    def take(self, line: ReflogRow) -> str | None:
        """What is wrong with the next line."""
        link, revision = (b"", -1) if self.last is None else (self.last.link, self.last.revision)
        self.first, self.last = self.first or line, line
        fields = (line.seq, line.kind, line.turn_id, line.revision, line.at, line.ref_seq, line.reason)
        if line.revision == revision + 1 and heads.line_link(link, self._session_id, *fields) == line.link:
            return None
        return f"line {line.seq} of the reflog is not what was written"

    def head_flaw(self, turn_id: str | None, revision: int) -> str | None:
        if self.last is not None and (self.last.turn_id, self.last.revision) == (turn_id, revision):
            return None
        return "the head is not where the last line of its reflog left it"

    def number_after(self, event_seq: int) -> int | None:
        """The number of the last line, if the head does not know of it."""
        return self.last.seq if self.last is not None and self.last.seq > event_seq else None


# ---------------------------------------------------------------- the end of a turn

SEALS = {"seal": SEALED, "recover": ("aborted",), "stop": ("aborted",)}  # lines that come with a seal: how it may end
SLACK = 600_000  # milliseconds between a seal and its line: they are one transaction, and clocks are set


def seal_flaws(line: ReflogRow, status: str, sealed_at: int | None, revision: int, newest: int) -> Iterator[str]:
    """What a turn says of its end, and the line of its seal does not. Times that the store hands out may be ahead of
    the clock, up to the `newest` of them."""
    if line.kind not in SEALS or sealed_at is None:
        return
    if status not in SEALS[line.kind]:
        yield f"turn {line.turn_id} is {status}, and the line of its seal says {line.kind}"
    if sealed_at < line.at - SLACK or sealed_at > max(line.at + SLACK, newest):
        yield f"turn {line.turn_id} was sealed at {line.at}, by its line of the reflog, not at {sealed_at}"
    if revision != line.revision - 1:
        yield f"turn {line.turn_id} was begun on revision {line.revision - 1}, by its reflog's line, not {revision}"


def status_flaw(turn_id: str, status: str, facts: Any) -> str | None:
    """What is kept of how a turn ended says its status."""
    told = facts if isinstance(facts, dict) else {}
    for name, right in (("error", "failed"), ("abort_reason", "aborted"), ("stopped", "aborted")):
        if name in told and status != right:
            return f"turn {turn_id} is {status}, and its facts have {name}: it was {right}"
    return None
