"""The one door through which a turn becomes final.

`freeze` ends an open turn: final rows, leaves, digest. `commit` writes a turn that comes whole. Both end in `_record`:
the turn's row, and then each of the steps in `AFTER_SEAL`, in the same transaction. The caller moves the head to the
turn, or marks it as a stray.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...aisdk import token_usage
from ...aisdk.parts import FINAL, INTERRUPTED, is_tool
from ...base import exact_json, ids
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...model import SEALED, TurnInfo, Usage, add_up
from .. import counting, digests, heads, metadata, rows
from ..facts import COLUMNS, TurnFacts, columns, outcome, stored
from ..read import entries as turn_entries
from ..read import jumps, previews, turns
from ..read.entries import Entry
from ..read.heads import Head, Thread, thread_of
from ..read.jumps import Jump
from ..read.loose_rows import LooseMessage
from . import foreign_entries, open_turn, response, usage_rows
from .message_input import NewMessage
from .open_turn import NOTHING, OpenTurn, Tools, record_event

assert Q.seal_turn.names == (
    *("status", "now", "digest", "thread_tokens", "thread_messages", "facts", "thread_results", "thread_calls"),
    *(*COLUMNS, "chunks", "turn", "fence"),
)
assert Q.insert_sealed_turn.names == (
    *("id", "parent", "session", "revision", "begin_seq", "kind", "status", "started", "now", "digest", "depth"),
    *("thread_tokens", "thread_messages", "response", "input", "output", "reasoning", "cache_read", "cache_write"),
    *("cost", "told", "facts", "jump", "thread_results", "thread_calls", *COLUMNS),
)
assert Q.fill_entry.names == ("salt", "leaf", "turn", "seq")
assert Q.touch_session.names == ("now", "session")


class Sealed(NamedTuple):
    """A turn as it was sealed; `thread` is what the next turn inherits from it."""

    id: str
    session_id: str
    parent_id: str | None
    base_revision: int
    begin_seq: int
    kind: str
    status: str
    at: int
    thread: Thread
    response_id: str | None
    usage: Usage
    cost: float
    facts: TurnFacts
    started_at: int | None = None  # None: when it was sealed

    def info(self) -> TurnInfo:
        """As a caller sees a turn that came whole."""
        # fmt: off
        return TurnInfo(
            self.id, self.parent_id, self.session_id, self.kind, self.status, self.base_revision, self.thread.depth,
            self.at if self.started_at is None else self.started_at, self.at, self.thread.digest, self.response_id,
            self.usage, self.cost,
            self.thread.tokens, self.thread.messages, **turns.told(self.facts),
        )
        # fmt: on


# What is written beside each sealed turn, in its transaction: what is derived from it (an index, files it touched).
AFTER_SEAL: list[Callable[[Tx, Sealed], None]] = []


def _record(tx: Tx, turn: Sealed, opened: OpenTurn | None, *, is_told: bool = False) -> None:
    """The row of a sealed turn: that of an open one is closed, one that came whole is written. Then what follows."""
    digest, depth, tokens, messages, results, calls, jump = turn.thread
    facts = stored(turn.facts)
    if opened is None:
        tx.defer_values(
            Q.insert_sealed_turn,
            *(turn.id, turn.parent_id, turn.session_id, turn.base_revision, turn.begin_seq, turn.kind, turn.status),
            *(
                turn.at if turn.started_at is None else turn.started_at,
                turn.at,
                digest,
                depth,
                tokens,
                messages,
                turn.response_id,
                *turn.usage.counts(),
                turn.cost,
            ),
            *(int(is_told), facts, jumps.id_of(jump), results, calls, *columns(turn.facts)),
        )
    else:
        values = (turn.status, turn.at, digest, tokens, messages, facts, results, calls, *columns(turn.facts))
        tx.defer_values(Q.seal_turn, *values, opened.chunks, opened.id, opened.fence)
    for step in AFTER_SEAL:
        step(tx, turn)


def _thread(
    before: Thread, kind: str, entries: Sequence[Entry], usage: Usage, tools: Tools, jump: Jump | None
) -> Thread:
    leaves, messages = list[bytes](), before.messages
    for entry in entries:
        messages += entry.kind == "message"
        if entry.leaf is not None:
            leaves.append(entry.leaf)
    tokens = before.tokens if usage is NOTHING else add_up((before.tokens, usage.total))
    digest, calls, results = digests.turn(before.digest, kind, leaves), before.calls, before.results
    if calls is not None and results is not None:  # else the parent's are not filled yet, and so are not these
        calls, results = calls + tools.calls, results + tools.results
    return Thread(digest, before.depth + 1, tokens, messages, results, calls, jump)


# ---------------------------------------------------------------- an open turn ends


def freeze(tx: Tx, turn: OpenTurn, status: str, beside: Sequence[LooseMessage] = ()) -> Sealed:
    """Everything that a seal writes except the head. Loose rows `beside` the turn become entries of it. The caller
    knows that the turn is open."""
    assert status in SEALED
    turn.facts = outcome(turn.facts, status, turn.fold)
    close_parts(turn, status)
    response.write_metadata(tx, turn)
    _fill_response(tx, turn)
    if beside:
        foreign_entries.take(tx, turn, beside)
    if turn.thread.jump is None and turn.parent_id is not None:  # the parent may have been filled since
        turn.thread = thread_of(tx, turn.parent_id)
    tools = open_turn.tools_listed(tx, turn.id) if beside else _tools_of(turn)
    jump = jumps.of_child(tx, turn.parent_id, turn.thread.depth, turn.thread.jump)
    thread = _thread(turn.thread, turn.kind, turn.entries, turn.usage, tools, jump)
    sealed = Sealed(
        *(turn.id, turn.session_id, turn.parent_id, turn.base_revision, turn.begin_seq, turn.kind, status, now_ms()),
        *(thread, turn.response_id, turn.usage, turn.cost, turn.facts),
    )
    _record(tx, sealed, turn)
    turn.status = status
    return sealed


def _tools_of(turn: OpenTurn) -> Tools:
    """What the turn was given, and the calls of its response, each of which has a result by now."""
    calls = sum(is_tool(part["type"]) for part in turn.fold.parts)
    return Tools(turn.given.calls + calls, turn.given.results + calls) if calls else turn.given


def close_parts(turn: OpenTurn, status: str) -> None:
    """No tool call stays open for ever: what has no result gets one that says so."""
    turn.fold.close(INTERRUPTED, text_state=status != "completed")


def _fill_response(tx: Tx, turn: OpenTurn) -> None:
    if turn.response_id is None:
        return
    line = next(e for e in turn.entries if e.kind == "message" and e.ref == turn.response_id)
    line.salt = digests.new_salt()
    line.leaf = digests.leaf(line.salt, "assistant", turn.given_metadata)
    tx.defer_values(Q.fill_entry, line.salt, line.leaf, turn.id, line.seq)
    for index, part in enumerate(turn.fold.parts):
        data = response.write_part(tx, turn, index)
        if data is None:
            data = response.part_text(turn, index)
        salt = digests.new_salt()
        turn.add(tx, "part", turn.part_ids[index], None, salt, digests.leaf(salt, part["type"], data))


# ---------------------------------------------------------------- a turn comes whole


def commit(
    tx: Tx,
    head: Head,
    messages: list[NewMessage],
    *,
    parent_id: str | None,
    entries: Sequence[Entry] = (),
    turn_id: str | None = None,
    base_revision: int | None = None,
    kind: str = "turn",
    status: str = "completed",
    thread: Thread | None = None,
    facts: TurnFacts | None = None,
    counted: Sequence[tuple[str, Usage]] = (),
    told: Sequence[Told] = (),
    dated: Dated | None = None,
) -> Sealed:
    """A turn that is written and sealed in one transaction: `entries` of other turns, then new messages. `counted` is
    usage of the entries that is in the session's sums already, `told` what the caller says the turn used, `dated` when
    it happened, if not now."""
    turn_id, session_id = turn_id or ids.mint(ids.TURN), head.session_id
    before = thread_of(tx, parent_id) if thread is None else thread
    listed = [open_turn.write_entry(tx, turn_id, seq, entry) for seq, entry in enumerate(entries)]
    times = dated.messages if dated else head.times(len(messages))
    hidden_at = dated.hidden_at if dated else None
    listed += open_turn.write_messages(
        tx, turn_id, session_id, messages, times=times, first=len(listed), hidden_at=hidden_at
    )
    found = usages_in(messages)
    new = sum((usage for _, usage in found), NOTHING) if found else NOTHING
    usage = sum((usage for _, usage in counted), new) if counted else new
    usage = sum((one.usage for one in told), usage) if told else usage
    answer = last_answer(messages) or (_last_listed_answer(tx, entries) if entries else None)
    tools = open_turn.tools_listed(tx, turn_id) if entries else open_turn.tools_in(messages)
    jump = jumps.of_child(tx, parent_id, before.depth, before.jump)
    revision = head.revision if base_revision is None else base_revision
    after = _thread(before, kind, listed, usage, tools, jump)
    # fmt: off
    sealed = Sealed(
        turn_id, session_id, parent_id, revision, head.event_seq, kind, status, dated.sealed if dated else head.last_at,
        after, answer, usage, sum(one.cost or 0.0 for one in told), facts or {}, dated.started if dated else None,
    )
    # fmt: on
    _record(tx, sealed, None, is_told=any(one.message_id for one in told))
    if found or counted or told:
        _count(tx, sealed, before, [*counted, *found], new, told)
    return sealed


class Told(NamedTuple):
    """What a caller says a response used. `message_id` is the answer, None if there is none; `model` that of the turn,
    if None; `at` now."""

    usage: Usage
    cost: float | None
    message_id: str | None
    key: str | None = None
    model: Any = None
    source: str = usage_rows.TOLD
    at: int | None = None


class Dated(NamedTuple):
    """When a turn of another time happened: the created_at of each message, its beginning and its end. `hidden_at`: its
    messages are not on the path."""

    messages: Sequence[int]
    started: int
    sealed: int
    hidden_at: int | None


def _count(
    tx: Tx, turn: Sealed, before: Thread, found: Sequence[tuple[str, Usage]], new: Usage, told: Sequence[Told]
) -> None:
    """The rows of its usage; the session's sums get what is new, and what was told of an answer."""
    model = turn.facts.get("model")
    usage_rows.of_messages(tx, turn.session_id, turn.id, found, model)
    more, cost = new, 0.0
    for one in told:
        about: dict[str, Any] = {"turn_id": turn.id, "message_id": one.message_id, "model": one.model or model}
        usage_rows.add(
            tx, turn.session_id, one.usage, **about, source=one.source, key=one.key, cost=one.cost, at=one.at
        )
        if one.message_id is not None:
            more, cost = more + one.usage, cost + (one.cost or 0.0)
    if more != NOTHING or cost:
        counting.refuse_overflow(tx, turn.session_id, before, NOTHING, more)
        add_usage(tx, turn.session_id, more, cost, at=turn.at)


def add_usage(tx: Tx, session_id: str, usage: Usage, cost: float = 0.0, *, at: int) -> None:
    """Tokens that came with whole messages enter the session's sums."""
    tx.defer(Q.add_usage, session=session_id, **usage.columns(), total=usage.total, cost=cost, now=at)


def usages_in(messages: Sequence[NewMessage]) -> list[tuple[str, Usage]]:
    """What the metadata of each answer says it used, by its id. Not what the store added to it."""
    found = []
    for message in messages:
        if message.role == "assistant" and '"usage"' in message.given:
            usage = token_usage.from_metadata(exact_json.parse(message.given))
            if usage is not None:
                found.append((message.id, usage))
    return found


def last_answer(messages: list[NewMessage]) -> str | None:
    answer = None
    for message in messages:
        if message.role == "assistant":
            answer = message.id
    return answer


def _last_listed_answer(tx: Tx, entries: Sequence[Entry]) -> str | None:
    for entry in reversed(entries):
        message = rows.message.one(tx, id=entry.ref) if entry.kind == "message" else None
        if message is not None and message.role == "assistant":
            return entry.ref
    return None


def status_of(messages: list[NewMessage]) -> str:
    """A turn is not completed while a tool call in it has no result."""
    for message in messages:
        for part in message.parts:
            if part.tool_state is not None and part.tool_state not in FINAL:
                return "aborted"
    return "completed"


# ---------------------------------------------------------------- where it stands


def advance_head(tx: Tx, head: Head, turn: Sealed, *, kind: str, reason: str | None = None) -> Head:
    """Put a sealed turn on the path: the compare-and-swap of the head from its parent to it."""
    touch(tx, turn.session_id, turn.facts, now_ms())
    return heads.move(tx, head, turn.id, kind=kind, reason=reason)


def touch(tx: Tx, session_id: str, facts: TurnFacts, now: int) -> None:
    """Set the session's updated_at, and its model to that of its newest turn."""
    model = facts.get("model")
    if model is None:
        tx.defer_values(Q.touch_session, now, session_id)
    else:
        tx.defer(Q.touch_session_model, session=session_id, now=now, model=exact_json.encode(model))


def mark_stray(tx: Tx, head: Head, turn_id: str, begin_seq: int, status: str) -> None:
    """A sealed turn that no head points at: a stray. Its rows are hidden, its event can be found again."""
    for row_id, message_id, text in tx.all(Q.standing_rows, turn=turn_id, session=head.session_id):
        if not metadata.is_hidden(text) and not _is_listed_elsewhere(tx, head, message_id, turn_id):
            hidden = metadata.hide(text, now_ms())
            if hidden != text:
                tx.defer(Q.set_message_metadata, id=row_id, metadata=hidden, now=now_ms())
    tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    note_stray(tx, head, turn_id, begin_seq, status)


def note_stray(tx: Tx, head: Head, turn_id: str, begin_seq: int, status: str) -> None:
    """The same for one whose rows were born hidden."""
    record_event(tx, head, "stray", begin_seq, {"turn": turn_id, "status": status})
    tx.defer(Q.set_stray, turn=turn_id, session=head.session_id, seq=head.event_seq)


def _is_listed_elsewhere(tx: Tx, head: Head, message_id: str, turn_id: str) -> bool:
    """On the head's path, or in an open turn that stands on the head: then it stays visible."""
    others = [each.turn_id for each in rows.turns_of_message.all(tx, message=message_id) if each.turn_id != turn_id]
    if not others:
        return False
    open_turns = rows.open_turns.all(tx, session=head.session_id)
    visible = {turn.id for turn in open_turns if turn.base_revision == head.revision}
    return not visible.isdisjoint(others) or turn_entries.listing(tx, message_id, head.turn_id) is not None
