"""Proof that the record is what was written: every digest and every derived copy, recomputed and compared.

Truth that does not fit its digest is reported and never touched. A copy (hidden_at, rollups, depth, preview, rows of
a waiting turn …) that does not fit its recompute is reported, and rewritten by `fix`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from .. import canonical
from ..clock import now_ms
from ..db.database import Row, Tx
from ..db.queries import Q
from ..errors import BadValue, ChunkError
from ..model import Problem, Usage
from . import digests, heads, metadata, previews, response, rows, transcript, turns

Repair = Callable[[Tx], None]
Finding = tuple[Problem, Repair | None]


def check(tx: Tx) -> Iterator[Problem]:
    for problem, _ in _findings(tx):
        yield problem


def fix(tx: Tx) -> list[Problem]:
    """Rewrite the copies that are wrong; what is left is truth that was altered. A copy may rest on another one (a
    fork's preview on its origin's), so it goes on while that changes anything."""
    before: list[Problem] | None = None
    found = list(_findings(tx))
    while any(repair for _, repair in found) and [problem for problem, _ in found] != before:
        before = [problem for problem, _ in found]
        for _, repair in found:
            if repair is not None:
                repair(tx)
        found = list(_findings(tx))
    return [problem for problem, _ in found]


def _findings(tx: Tx) -> Iterator[Finding]:
    turns_by_id = {row[0]: row for row in tx.all(Q.all_turns)}
    yield from _turns(tx, turns_by_id)
    for session in tx.all(Q.all_sessions):
        yield from _session(tx, session)
    yield from _rows(tx)


def _wrong(rule: str, where: str, what: str) -> Finding:
    return Problem(rule, where, what), None


def _stale(rule: str, where: str, what: str, repair: Repair) -> Finding:
    return Problem(rule, where, what, copy=True), repair


# ---------------------------------------------------------------- turns


def _turns(tx: Tx, all_turns: dict[str, Row]) -> Iterator[Finding]:
    told = {row[10]: True for row in all_turns.values() if row[10] and row[22]}
    threads = _threads(all_turns, dict(tx.all(Q.messages_per_turn)))
    for row in all_turns.values():
        lines = tx.all(Q.stored_lines, turn=row[0])
        yield from _leaves(lines, told, sealed=row[8] is not None)
        if row[8] is None:
            yield from _open_turn(tx, row)
            continue
        yield from _unlisted(tx, lines)
        yield from _chain(row, lines, all_turns)
        yield from _thread(row, threads[row[0]])


def _leaves(lines: list[Row], told: dict[str, bool], *, sealed: bool) -> Iterator[Finding]:
    owner = None
    for _, kind, ref, salt, leaf, role, meta, _, part_type, data, message_id in lines:
        if kind == "result" or (leaf is None and not sealed):
            continue
        owner = ref if kind == "message" else owner
        if leaf is None or salt is None:
            yield _wrong("altered", ref, f"the {kind} {ref} is sealed without its {'salt' if leaf else 'leaf'}")
            continue
        if kind == "part" and data is not None and message_id != owner:
            yield _wrong("altered", ref, f"part {ref} was moved from message {owner} to {message_id}")
        name, stored = (role, meta) if kind == "message" else (part_type, data)
        if stored is None:
            yield _wrong("missing", ref, f"the {kind} {ref} is listed but its row is gone")
            continue
        if kind == "message":
            stored = metadata.undress(stored, usage_told=told.get(ref, False))
        if digests.leaf(salt, name, stored) != leaf:
            yield _wrong("altered", ref, f"the {kind} {ref} is not what was written: its digest does not fit")


def _unlisted(tx: Tx, lines: list[Row]) -> Iterator[Finding]:
    """Parts that another program added to a message after it was sealed: its readers see them, ours do not."""
    listed = {line[2] for line in lines if line[1] == "part"}
    for line in lines:
        if line[1] == "message" and line[5] is not None:
            for part_id, *_ in tx.all(Q.parts_of_message, message=line[2]):
                if part_id not in listed:
                    yield _wrong("unlisted", part_id, f"part {part_id} was added to message {line[2]} after its seal")


def _chain(row: Row, lines: list[Row], all_turns: dict[str, Row]) -> Iterator[Finding]:
    parent = all_turns.get(row[1]) if row[1] else None
    if row[1] and (parent is None or parent[8] is None):
        yield _wrong("parent", row[0], f"turn {row[0]} has a parent {row[1]} that is not a sealed turn")
        return
    leaves = [line[4] for line in lines if line[4] is not None]
    if digests.turn(parent[9] if parent else None, row[3], leaves) != row[9]:
        yield _wrong("digest", row[0], f"the digest of turn {row[0]} does not fit its lines and its parent")


Sums = tuple[int, int, int]  # depth, tokens, messages


def _threads(all_turns: dict[str, Row], messages: dict[str, int]) -> dict[str, Sums]:
    """What every turn's sums should be, from its ancestors' lines and usage alone."""
    right: dict[str | None, Sums] = {None: (0, 0, 0)}
    for turn_id in all_turns:
        chain: dict[str, None] = {}  # in order, and quick to ask: a forged cycle ends it
        at: str | None = turn_id
        while at not in right and at in all_turns and at not in chain:
            chain[at] = None
            at = all_turns[at][1]
        before = right.get(at, (0, 0, 0))
        for each in reversed(chain):
            tokens = Usage(*all_turns[each][11:16]).total
            before = right[each] = (before[0] + 1, before[1] + tokens, before[2] + messages.get(each, 0))
    return {key: value for key, value in right.items() if key is not None}


def _thread(row: Row, right: Sums) -> Iterator[Finding]:
    if right != (row[6], row[17], row[18]):

        def repair(tx: Tx) -> None:
            tx.run(Q.set_thread, turn=row[0], depth=right[0], tokens=right[1], messages=right[2])

        yield _stale("thread", row[0], f"depth, tokens, messages are {right}, not {row[6], row[17], row[18]}", repair)


def _open_turn(tx: Tx, row: Row) -> Iterator[Finding]:
    """Rows of a waiting turn are flushed, so they must equal the fold; a streaming turn's may lag."""
    if row[4] != "waiting" or row[10] is None:
        return
    try:
        turn = turns.load(tx, row[0])
    except (ChunkError, BadValue) as error:
        yield _wrong("events", row[0], f"the chunks of open turn {row[0]} do not fold: {error}")
        return
    stored = [part[3] for part in tx.all(Q.parts_of_message, message=row[10])]
    right = [canonical.dump(turn.fold.part(i)) for i in range(len(turn.fold.parts))]
    if stored != right:

        def repair(tx: Tx) -> None:
            for index in range(len(right)):
                response.write_part(tx, turn, index)

        yield _stale("part-rows", row[10], f"the part rows of waiting turn {row[0]} are not its fold", repair)


# ---------------------------------------------------------------- sessions


def _session(tx: Tx, row: Row) -> Iterator[Finding]:
    session_id, agent = row[0], row[1]
    for name, text in (("model_json", row[2]), ("permissions_json", row[3]), ("metadata_json", row[4])):
        yield from _json(f"{session_id}.{name}", text)
    messages = tx.all(Q.messages_of_session, session=session_id)
    for message in messages:
        yield from _json(f"{message[0]}.metadata_json", message[2])
    yield from _rollups(row, messages)
    if row[16] is None:
        return
    yield from _reflog(tx, row)
    yield from _hidden(tx, row, messages)
    yield from _times(tx, row)
    right = previews.recompute(tx, session_id)
    if right != row[14]:

        def repair(tx: Tx) -> None:
            tx.run(Q.set_preview, session=session_id, preview=right)

        yield _stale("preview", session_id, f"the preview is {right!r}, not {row[14]!r}", repair)
    newest = tx.one(Q.max_event, session=session_id)
    lines = tx.all(Q.history, session=session_id)
    if lines and lines[-1][0] > row[13]:
        yield _wrong("numbers", session_id, f"event numbers go to {lines[-1][0]}, the head says {row[13]} ({newest})")
    if lines and lines[0][6] is not None and lines[0][6] != f"agent {agent}":
        yield _wrong("agent", session_id, f"the session was opened with {lines[0][6]}, its row says {agent!r}")


def _rollups(row: Row, messages: list[Row]) -> Iterator[Finding]:
    right = Usage()
    for _, role, text, _, _ in messages:
        if role == "assistant" and '"usage"' in text:
            right += Usage.from_metadata(_parsed(text)) or Usage()
    if (*right.counts(), right.total) != row[5:11]:

        def repair(tx: Tx) -> None:
            tx.run(Q.set_rollups, session=row[0], total=right.total, **right.columns())

        yield _stale("rollups", row[0], f"the session's tokens are {right.counts()}, not {row[5:10]}", repair)


def _reflog(tx: Tx, row: Row) -> Iterator[Finding]:
    session_id, link, revision = row[0], b"", -1
    lines = tx.all(Q.history, session=session_id)
    for line in lines:
        right = heads.line_link(link, session_id, *line[:7])
        if right != line[7] or line[3] != revision + 1:
            yield _wrong("reflog", session_id, f"line {line[0]} of the reflog is not what was written")
            return
        link, revision = line[7], line[3]
    if not lines or (lines[-1][2], lines[-1][3]) != (row[11], row[12]):
        yield _wrong("head", session_id, "the head is not where the last line of its reflog left it")


def _hidden(tx: Tx, row: Row, messages: list[Row]) -> Iterator[Finding]:
    session_id, turn_id, revision = row[0], row[11], row[12]
    found = tx.all(Q.visible_messages, turn=turn_id, session=session_id, revision=revision)
    visible = set() if row[15] is not None else {r[0] for r in found}
    queued = {r[0] for r in tx.all(Q.queued_messages, session=session_id)}
    for message_id, _, text, _, listed in messages:
        if message_id in queued:
            if metadata.is_hidden(text) or not metadata.is_queued(text):
                yield _wrong("queued_at", message_id, f"message {message_id} waits in the queue, and its row says not")
        elif listed and metadata.is_hidden(text) == (message_id in visible):
            yield _stale_stamp(message_id, text, hide=message_id not in visible)
        elif listed and metadata.is_queued(text):
            yield _wrong("queued_at", message_id, f"message {message_id} does not wait in the queue, its row says so")
    for copy_id, message_id, text in tx.all(Q.copies_of_session, session=session_id):
        if metadata.is_hidden(text) == (message_id in visible):
            yield _stale_stamp(copy_id, text, hide=message_id not in visible)


def _stale_stamp(message_id: str, text: str, *, hide: bool) -> Finding:
    def repair(tx: Tx) -> None:
        now = now_ms()
        right = metadata.hide(text, now) if hide else metadata.unhide(text)
        tx.run(Q.set_message_metadata, id=message_id, metadata=right, now=now)

    what = (
        "is not in its session's transcript, yet not hidden" if hide else "is in its session's transcript, yet hidden"
    )
    return _stale("hidden_at", message_id, f"message {message_id} {what}", repair)


def _times(tx: Tx, row: Row) -> Iterator[Finding]:
    """Along a path, the rows written in this session have rising times; another program's may not fit."""
    homes = {r[0]: r[3] for r in tx.all(Q.messages_of_session, session=row[0])}
    last = 0
    for message in transcript.read_path(tx, row[11]):
        at = homes.get(message.id)
        if at is None:
            continue
        if at <= last:
            yield _wrong("time", message.id, f"message {message.id} has a created_at before the one it follows")
        last = max(last, at)


# ---------------------------------------------------------------- rows


def _rows(tx: Tx) -> Iterator[Finding]:
    for part_id, own, right in tx.all(Q.misplaced_parts):
        yield _wrong("home", part_id, f"part {part_id} says session {own}, its message says {right}")
    for message_id, session_id in tx.all(Q.homeless_messages):
        yield _wrong("home", message_id, f"message {message_id} was not written in session {session_id}")
    for message_id, *_ in tx.all(Q.uneven_messages):
        yield _wrong("index", message_id, f"the parts of message {message_id} are not numbered 0 to n-1")
    for part_id, kind, data, call, state in tx.all(Q.hoisted_parts):
        part = _parsed(data)
        if not isinstance(part, dict) or part.get("type") != kind or rows.tool_columns(part) != (call, state):
            yield _wrong("columns", part_id, f"the columns of part {part_id} do not say what its data_json says")
    for digest, body in tx.all(Q.all_prompts):
        if sha256(body.encode()).hexdigest() != digest:
            yield _wrong("prompt", digest, f"the system prompt {digest} is not what it is named by")
    for (session_id,) in tx.all(Q.heads_without_session):
        yield _wrong("missing", session_id, f"the row of session {session_id} is gone")


def _json(where: str, text: str) -> Iterator[Finding]:
    try:
        canonical.parse(text)
    except (BadValue, TypeError):
        yield _wrong("json", where, f"{where} is not valid JSON")


def _parsed(text: str) -> Any:
    try:
        return canonical.parse(text)
    except BadValue:
        return None
