"""Proof that the record is what was written: every digest and every derived copy, recomputed and compared.

Truth that does not fit its digest is reported and never touched. A copy (hidden_at, rollups, depth, preview, rows of
a waiting turn …) that does not fit its recompute is reported, and rewritten by `fix` (see mending.py).

Everything is read once, in windows of some hundred rows, from one snapshot: the time goes with the size of the store,
and the memory with the number of its turns. Nothing walks from a head to its root; `lineage` knows who is on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from .. import canonical
from ..db.database import Database, Row, Tx
from ..db.queries import Q, Query
from ..errors import BadValue, ChunkError
from ..model import Problem, Usage
from . import digests, heads, mending, metadata, previews, rows, turns
from .lineage import Edge, Lineage, View

ROWS, TURNS, SESSIONS = 500, 200, 50  # in a window; two at least
INLINE = 8 << 10  # bytes of a value that is read with others; what is larger is read alone
_ROUNDS = 10
_BEFORE_ALL = -(1 << 62)  # a time, a number
_LINE, _FIELD = "\x1e", "\x1f"

Progress = Callable[[int, int], None]  # turns and sessions looked at so far


class Finding(NamedTuple):
    problem: Problem
    work: mending.Work | None = None  # how a copy is mended


def check(tx: Tx, progress: Progress | None = None) -> list[Problem]:
    """What does not fit."""
    return [finding.problem for finding in _findings(tx, Lineage(_edges(tx)), progress or _nobody)]


def fix(db: Database, progress: Progress | None = None) -> list[Problem]:
    """Rewrite the copies that are wrong; what is left is truth that was altered. A copy may rest on another one, so it
    goes on while that changes anything."""
    before: list[Problem] | None = None
    for rounds_left in reversed(range(_ROUNDS)):  # beside writers, one more may always be found
        with db.read() as tx:
            lineage = Lineage(_edges(tx))
            found = list(_findings(tx, lineage, progress or _nobody))
        problems, work = [finding.problem for finding in found], [finding.work for finding in found if finding.work]
        if not work or problems == before or not rounds_left:
            break
        mending.mend(db, lineage, work)
        before = problems
    return problems


def _nobody(turns: int, sessions: int) -> None:
    """Wants to know."""


def _edges(tx: Tx) -> Iterator[Edge]:
    for page in _pages(tx, Q.turn_edges, TURNS):
        yield from (Edge(*row) for row in page)


def _findings(tx: Tx, lineage: Lineage, progress: Progress) -> Iterator[Finding]:
    yield from _turns(tx, lineage, lambda count: progress(count, 0))
    yield from _sessions(tx, lineage, lambda count: progress(len(lineage), count))
    yield from _rows(tx, lineage)


def _wrong(rule: str, where: str, what: str) -> Finding:
    return Finding(Problem(rule, where, what))


def _stale(rule: str, where: str, what: str, session_id: str, repair: mending.Repair, rank: int = 0) -> Finding:
    return Finding(Problem(rule, where, what, copy=True), mending.Work(session_id, rank, repair))


# ---------------------------------------------------------------- windows


def _pages(tx: Tx, query: Query, size: int, **given: Any) -> Iterator[list[Row]]:
    """A table by its key, window by window. Each begins with the last key of the one before: so none is too small."""
    after, seen = "", None
    while True:
        found = tx.all(query, after=after, limit=size, **given)
        yield [row for row in found if row[0] != seen]
        if len(found) < size:
            return
        after = seen = found[-1][0]


Listing = list[tuple[str, int]]  # the lines that list a message: turn and number


def _listing(tx: Tx, message_id: str, text: str | None) -> Listing:
    """From the text that the engine made of them. An id of another program may have our separators in it."""
    fields = [line.split(_FIELD) for line in text.split(_LINE)] if text else []
    if all(len(each) == 2 for each in fields):
        return sorted((turn_id, int(seq)) for turn_id, seq in fields)
    return sorted((turn_id, seq) for turn_id, seq in tx.all(Q.lines_that_list, message=message_id))


# ---------------------------------------------------------------- turns


class TurnRow(NamedTuple):
    id: str
    parent_id: str | None
    session_id: str
    kind: str
    status: str
    sealed_at: int | None
    digest: bytes | None
    depth: int
    thread_tokens: int
    thread_messages: int
    response_id: str | None
    parent_sealed_at: int | None
    parent_digest: bytes | None


class Line(NamedTuple):
    """A line of a turn, and the row it is about. `size` is None where that is gone, `stored` where it is large."""

    turn_id: str
    seq: int
    kind: str
    ref: str
    salt: bytes | None
    leaf: bytes | None
    name: str | None  # role or type
    message_id: str | None  # of a part
    size: int | None
    stored: str | None


def _turns(tx: Tx, lineage: Lineage, progress: Callable[[int], None]) -> Iterator[Finding]:
    for turn_id in lineage.circles:
        yield _wrong("parent", turn_id, f"turn {turn_id} comes from itself: its parents go round in a circle")
    count = 0
    for page in _pages(tx, Q.turns_beside_parents, TURNS):
        proofs = {row[0]: _Proof(TurnRow(*row), lineage) for row in page}
        yield from _prove(tx, proofs)
        count += len(proofs)
        progress(count)


def _prove(tx: Tx, proofs: dict[str, _Proof]) -> Iterator[Finding]:
    if not proofs:
        return
    first, last = min(proofs), max(proofs)
    for line in _lines(tx, first, last):
        if line.turn_id in proofs:
            yield from proofs[line.turn_id].take(tx, line)
    for turn_id, message_id, part_id in tx.all(Q.parts_of_listed, first=first, last=last):
        if turn_id in proofs:
            yield from proofs[turn_id].compare(message_id, part_id)
    for proof in proofs.values():
        yield from proof.conclude(tx)


def _lines(tx: Tx, first: str, last: str) -> Iterator[Line]:
    turn_id, seq = first, _BEFORE_ALL
    while True:
        found = [
            Line(*row) for row in tx.all(Q.stored_lines, turn=turn_id, seq=seq, last=last, limit=ROWS, inline=INLINE)
        ]
        yield from found
        if len(found) < ROWS:
            return
        turn_id, seq = found[-1][:2]


def _stored(tx: Tx, line: Line) -> str | None:
    """The text that a leaf is of; None if its row is gone."""
    if line.size is None or line.stored is not None:
        return line.stored
    row = tx.one(Q.metadata_of_message if line.kind == "message" else Q.data_of_part, id=line.ref)
    return row[0] if row else None


class _Proof:
    """One turn, while its lines come by."""

    def __init__(self, row: TurnRow, lineage: Lineage) -> None:
        self._row, self._lineage = row, lineage
        self._is_sealed = row.sealed_at is not None
        self._message: str | None = None  # the one whose parts come by
        self._leaves: list[bytes] = []
        self._messages: set[str] = set()  # that have a row
        self._parts: set[str] = set()

    def take(self, tx: Tx, line: Line) -> Iterator[Finding]:
        if line.leaf is not None:
            self._leaves.append(line.leaf)
        if line.kind == "message" and line.size is not None:
            self._messages.add(line.ref)
        if line.kind == "part":
            self._parts.add(line.ref)
        if line.kind != "result" and (line.leaf is not None or self._is_sealed):
            self._message = line.ref if line.kind == "message" else self._message
            yield from self._leaf(tx, line)

    def _leaf(self, tx: Tx, line: Line) -> Iterator[Finding]:
        kind, ref = line.kind, line.ref
        if line.leaf is None or line.salt is None:
            yield _wrong("altered", ref, f"the {kind} {ref} is sealed without its {'salt' if line.leaf else 'leaf'}")
            return
        if kind == "part" and line.size is not None and line.message_id != self._message:
            yield _wrong("altered", ref, f"part {ref} was moved from message {self._message} to {line.message_id}")
        stored = _stored(tx, line)
        if stored is None or line.name is None:
            yield _wrong("missing", ref, f"the {kind} {ref} is listed but its row is gone")
        elif digests.leaf(line.salt, line.name, self._given(line, stored)) != line.leaf:
            yield _wrong("altered", ref, f"the {kind} {ref} is not what was written: its digest does not fit")

    def _given(self, line: Line, stored: str) -> str:
        """As the caller gave it."""
        if line.kind == "part":
            return stored
        return metadata.undress(stored, usage_told=line.ref in self._lineage.told)

    def compare(self, message_id: str, part_id: str) -> Iterator[Finding]:
        """Parts that another program added to a message after it was sealed: its readers see them, ours do not."""
        if self._is_sealed and message_id in self._messages and part_id not in self._parts:
            yield _wrong("unlisted", part_id, f"part {part_id} was added to message {message_id} after its seal")

    def conclude(self, tx: Tx) -> Iterator[Finding]:
        if self._is_sealed:
            yield from self._chain()
            yield from self._thread()
        else:
            yield from _open_turn(tx, self._row)

    def _chain(self) -> Iterator[Finding]:
        row = self._row
        if row.parent_id and row.parent_sealed_at is None:
            yield _wrong("parent", row.id, f"turn {row.id} has a parent {row.parent_id} that is not a sealed turn")
        elif digests.turn(row.parent_digest, row.kind, self._leaves) != row.digest:
            yield _wrong("digest", row.id, f"the digest of turn {row.id} does not fit its lines and its parent")

    def _thread(self) -> Iterator[Finding]:
        row, right = self._row, self._lineage.sums(self._row.id)
        stored = (row.depth, row.thread_tokens, row.thread_messages)
        if right is not None and right != stored:
            what = f"depth, tokens, messages are {right}, not {stored}"
            yield _stale("thread", row.id, what, row.session_id, mending.thread(row.id), rank=right.depth)


def _open_turn(tx: Tx, row: TurnRow) -> Iterator[Finding]:
    """Rows of a waiting turn are flushed, so they must equal the fold; a streaming turn's may lag."""
    if row.status != "waiting" or row.response_id is None:
        return
    try:
        turn = turns.load(tx, row.id)
    except (ChunkError, BadValue) as error:
        yield _wrong("events", row.id, f"the chunks of open turn {row.id} do not fold: {error}")
        return
    if not mending.part_rows_fit(tx, turn):
        what = f"the part rows of waiting turn {row.id} are not its fold"
        yield _stale("part-rows", row.response_id, what, row.session_id, mending.part_rows(row.id))


# ---------------------------------------------------------------- sessions


class SessionRow(NamedTuple):
    id: str
    agent: str
    model_json: str
    permissions_json: str
    metadata_json: str
    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    total: int
    head_of: str | None  # None: it has no head
    turn_id: str | None
    revision: int
    event_seq: int
    preview: str | None
    deleted_at: int | None
    relation: str

    @property
    def tokens(self) -> tuple[int, ...]:
        return (self.input, self.output, self.reasoning, self.cache_read, self.cache_write, self.total)


class Message(NamedTuple):
    """A row of a session, and the lines that list it."""

    id: str
    role: str
    metadata: str
    created_at: int
    lines: Listing


def _sessions(tx: Tx, lineage: Lineage, progress: Callable[[int], None]) -> Iterator[Finding]:
    count = 0
    for page in _pages(tx, Q.all_sessions, SESSIONS):
        for row in page:
            yield from _session(tx, SessionRow(*row), lineage)
        count += len(page)
        progress(count)


def _session(tx: Tx, row: SessionRow, lineage: Lineage) -> Iterator[Finding]:
    for name in ("model_json", "permissions_json", "metadata_json"):
        yield from _json(f"{row.id}.{name}", getattr(row, name))
    sight, tokens, order = _Sight(row, lineage), Usage(), list[tuple[int, int, Message]]()
    for message in _messages(tx, row.id):
        yield from _json(f"{message.id}.metadata_json", message.metadata)
        if message.role == "assistant":
            tokens += mending.usage_in(message.metadata)
        if row.head_of is not None:
            yield from sight.message(message)
            on_path = [line for line in message.lines if lineage.is_on_path(line[0], row.turn_id)]
            order += ((lineage.depth(turn_id), seq, message) for turn_id, seq in on_path)
    yield from _rollups(row, tokens)
    if row.head_of is not None:
        yield from _with_head(tx, row, sight, order)


def _with_head(tx: Tx, row: SessionRow, sight: _Sight, order: list[tuple[int, int, Message]]) -> Iterator[Finding]:
    yield from _copies(tx, row.id, sight)
    yield from _times(message for _, _, message in sorted(order, key=itemgetter(0, 1)))
    yield from _preview(tx, row)
    yield from _reflog(tx, row)


def _messages(tx: Tx, session_id: str) -> Iterator[Message]:
    at, after = _BEFORE_ALL, ""
    while True:
        found = tx.all(Q.messages_of_session, session=session_id, at=at, after=after, **_with_lines())
        for after, role, text, at, lines in found:
            yield Message(after, role, _metadata(tx, after, text), at, _listing(tx, after, lines))
        if len(found) < ROWS:
            return


def _with_lines() -> dict[str, Any]:
    """How a window of rows with the lines that list them is asked for."""
    return {"limit": ROWS, "inline": INLINE, "line": _LINE, "field": _FIELD}


def _metadata(tx: Tx, message_id: str, text: str | None) -> str:
    """What came with its row, unless it is large."""
    if text is None:
        (text,) = tx.one(Q.metadata_of_message, id=message_id) or ("{}",)
    return text


def _copies(tx: Tx, session_id: str, sight: _Sight) -> Iterator[Finding]:
    message_id, copy_id = "", ""
    while True:
        found = tx.all(Q.copies_of_session, session=session_id, message=message_id, after=copy_id, **_with_lines())
        for copy_id, message_id, row_id, text, lines in found:
            if row_id is not None:
                yield from sight.row(copy_id, message_id, _metadata(tx, row_id, text), _listing(tx, message_id, lines))
        if len(found) < ROWS:
            return


class _Sight:
    """Which rows of a session its readers should see."""

    def __init__(self, row: SessionRow, lineage: Lineage) -> None:
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
                yield _wrong("queued_at", message.id, what)
        elif message.lines:
            stale = list(self.row(message.id, message.id, text, message.lines))
            yield from stale
            if not stale and metadata.is_queued(text):
                what = f"message {message.id} does not wait in the queue, its row says so"
                yield _wrong("queued_at", message.id, what)

    def row(self, row_id: str, message_id: str, text: str, lines: Listing) -> Iterator[Finding]:
        """A message, or a copy of one, and the lines that list the message."""
        is_shown = any(self._view.shows(turn_id) for turn_id, _ in lines)
        if metadata.is_hidden(text) == is_shown:
            what = "is in its session's transcript, yet hidden"
            if not is_shown:
                what = "is not in its session's transcript, yet not hidden"
            repair = mending.stamp(row_id, message_id)
            yield _stale("hidden_at", row_id, f"message {row_id} {what}", self._session_id, repair)


def _rollups(row: SessionRow, right: Usage) -> Iterator[Finding]:
    tokens = (*right.counts(), right.total)
    if tokens != row.tokens:
        what = f"the tokens of session {row.id} (and their sum) are {tokens}, not {row.tokens}"
        yield _stale("rollups", row.id, what, row.id, mending.rollups)


def _times(path: Iterable[Message]) -> Iterator[Finding]:
    """Along a path, the rows written in this session have rising times; another program's may not fit."""
    last = 0
    for message in path:
        if message.created_at <= last:
            yield _wrong("time", message.id, f"message {message.id} has a created_at before the one it follows")
        last = max(last, message.created_at)


def _preview(tx: Tx, row: SessionRow) -> Iterator[Finding]:
    if row.relation == "fork" and row.preview is not None:
        return  # what it was given by its origin is a fact of its own
    right = previews.recompute(tx, row.id)
    if right != row.preview:
        what = f"the preview is {right!r}, not {row.preview!r}"
        yield _stale("preview", row.id, what, row.id, mending.preview)


class Move(NamedTuple):
    """A line of the reflog."""

    seq: int
    kind: str
    turn_id: str | None
    revision: int
    at: int
    ref_seq: int | None
    reason: str | None
    link: bytes


def _reflog(tx: Tx, row: SessionRow) -> Iterator[Finding]:
    first = last = None
    is_whole, link, revision = True, b"", -1
    for last in _moves(tx, row.id):
        first = first or last
        right = heads.line_link(link, row.id, *last[:7])
        if is_whole and (right != last.link or last.revision != revision + 1):
            is_whole = False
            yield _wrong("reflog", row.id, f"line {last.seq} of the reflog is not what was written")
        link, revision = last.link, last.revision
    if is_whole and (last is None or (last.turn_id, last.revision) != (row.turn_id, row.revision)):
        yield _wrong("head", row.id, "the head is not where the last line of its reflog left it")
    if last is not None and last.seq > row.event_seq:
        newest = tx.one(Q.max_event, session=row.id)
        yield _wrong("numbers", row.id, f"event numbers go to {last.seq}, the head says {row.event_seq} ({newest})")
    if first is not None and first.reason is not None and first.reason != f"agent {row.agent}":
        yield _wrong("agent", row.id, f"the session was opened with {first.reason}, its row says {row.agent!r}")


def _moves(tx: Tx, session_id: str) -> Iterator[Move]:
    after = _BEFORE_ALL
    while True:
        found = [Move(*row) for row in tx.all(Q.lines_of_session, session=session_id, after=after, limit=ROWS)]
        yield from found
        if len(found) < ROWS:
            return
        after = found[-1].seq


# ---------------------------------------------------------------- rows


def _rows(tx: Tx, lineage: Lineage) -> Iterator[Finding]:
    for page in _pages(tx, Q.homes_of_messages, ROWS, line=_LINE, field=_FIELD):
        yield from _homes(tx, page, lineage)
    for page in _pages(tx, Q.columns_of_parts, ROWS, inline=INLINE):
        for row in page:
            yield from _columns(tx, *row)
    for page in _pages(tx, Q.all_prompts, TURNS, inline=INLINE):
        for digest, _, body in page:
            if body is None:
                (body,) = tx.one(Q.get_prompt, digest=digest) or ("",)
            if sha256(body.encode()).hexdigest() != digest:
                yield _wrong("prompt", digest, f"the system prompt {digest} is not what it is named by")
    for page in _pages(tx, Q.heads_beside_sessions, ROWS):
        for session_id, found in page:
            if found is None:
                yield _wrong("missing", session_id, f"the row of session {session_id} is gone")


def _homes(tx: Tx, page: list[Row], lineage: Lineage) -> Iterator[Finding]:
    """Messages of ours: a turn of their own session lists them, and their parts are numbered."""
    ours = set()
    for message_id, session_id, text in page:
        lines = _listing(tx, message_id, text)
        if lines:
            ours.add(message_id)
        if lines and not any(lineage.home(turn_id) == session_id for turn_id, _ in lines):
            yield _wrong("home", message_id, f"message {message_id} was not written in session {session_id}")
    if not ours:
        return
    for message_id, count, first, last, distinct in tx.all(Q.places_of_parts, first=min(ours), last=max(ours)):
        if message_id in ours and (first, last, distinct) != (0, count - 1, count):
            yield _wrong("index", message_id, f"the parts of message {message_id} are not numbered 0 to n-1")


def _columns(
    tx: Tx,
    part_id: str,
    own: str,
    right: str | None,
    kind: str,
    call: str | None,
    state: str | None,
    size: int | None,
    data: str | None,
) -> Iterator[Finding]:
    if right is not None and own != right:
        yield _wrong("home", part_id, f"part {part_id} says session {own}, its message says {right}")
    if size is None:  # no tool's
        return
    if data is None:
        (data,) = tx.one(Q.data_of_part, id=part_id) or ("",)
    part = _parsed(data)
    if not isinstance(part, dict) or part.get("type") != kind or rows.tool_columns(part) != (call, state):
        yield _wrong("columns", part_id, f"the columns of part {part_id} do not say what its data_json says")


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
