"""The verbs of the store as plain Python: no SQL, and no ids of its own.

Written from the design, not from the code. A stamp counts rows in the order they were written, as created_at does.
Ids that the store mints are learned when they are first seen, and must stay the same from then on.

Where the design leaves room, this is what is expected:

* A verb that is refused changes nothing, also not what it would have settled first; but who names a revision is told of
  dead writers and of other programs after they were seen to, and that stays.
* Who names its revision while a turn stands there comes before the rows of other programs that lie beside it.
* Closing waiting turns waits while a living turn stands on the current revision: it would take its place away.
  A turn whose writer died does not stand in the way; it is off the path then, and a stray.
* Every turn that lands takes the loose rows in: sealed by its writer, recovered, closed, or committed whole.
  Otherwise plain SQL would read another order than `messages()`.
* `undelete` goes back to the head before the delete; a delete is not something that `redo` repeats.
  It also undoes the archive stamp, as delete set one.
* `regenerate` without a message means the head's turn, or the last one before a summary: its last answer again, or its
  question if it has none. A summary itself is neither asked nor answered.
* An edit keeps the id that the client knows, unless the new content brings one.
* A sub-agent is spawned from the turn that runs (the last one begun), else from the head.
* `fork` reads: it is allowed on an archived session, and settles it as on any other; `adopt` leaves it alone.
* A turn that was open or waiting when its session was archived may be resumed, append, be answered and seal.
* A deleted session shows nothing, takes nothing and is not adopted into; rows that others write there wait for
  `undelete`.
* A place inside a response that is still being written is the place before it.
* A late result is kept in a new row, which has no client id and counts no usage.
* A clean close ends this writer's streaming turns as aborted, in begin order; what was claimed and got nothing waits
  again.
"""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .fold import FINAL, Chunk
from .nouns import KEYS, Counts, Entry, Message, Session, State, Ticket, Turn


class Refusal(Exception):
    """The store must refuse, with an error of this name (or one of these). `stays`: what was done before stays done."""

    def __init__(self, name: str, *, stays: bool = False) -> None:
        super().__init__(name)
        self.name, self.stays = name, stays


class World:
    """All sessions of one store, and which writers are dead."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.sessions: dict[str, Session] = {}
        self.turns: dict[int, Turn] = {}
        self.dead: set[str] = set()
        self.stamps = 0
        self._note = note

    @contextmanager
    def verb(self) -> Iterator[None]:
        """All or nothing, as the store's transaction is."""
        note, self._note = self._note, _nothing
        before = pickle.dumps(self.__dict__)  # a fraction of what a deep copy takes
        reached: Counter[str] = Counter()
        self._note = lambda name: reached.update((name,))
        try:
            yield
        except Refusal as refusal:
            if not refusal.stays:
                self.__dict__.update(pickle.loads(before))  # noqa: S301  our own words of a moment ago
                reached.clear()
            raise
        finally:
            self._note = note
            for name in reached.elements():
                note(name)

    # ------------------------------------------------------------ small steps

    def _row(self, session: Session, role: str, parts: list[Any], metadata: dict[str, Any], **given: Any) -> Message:
        self.stamps += 1
        row = Message(session.id, role, parts, metadata, self.stamps, **given)
        session.rows.append(row)
        return row

    def _write(self, session: Session, message: dict[str, Any]) -> Entry:
        """A message that is whole. A well-formed id becomes the row's own."""
        given = message.get("id")
        metadata = dict(message.get("metadata", {}))
        row = self._row(session, message["role"], copy.deepcopy(message["parts"]), metadata)
        return _named(row, given)

    def _turn(self, session: Session, parent: Turn | None, **given: Any) -> Turn:
        turn = Turn(len(self.turns), session.id, parent, session.revision, **given)
        self.turns[turn.key] = turn
        return turn

    def _head(self, session: Session) -> None:
        """A session that another program made gets its head with the first verb."""
        if not session.has_head:
            session.has_head = True
            session.lines.append("create")
            session.past.append(State(None))

    def _move(self, session: Session, to: Turn | None, kind: str) -> None:
        session.past.append(State(to, passing=kind == "begin"))
        session.future.clear()
        session.revision += 1
        session.lines.append(kind)

    def _freeze(self, turn: Turn, status: str) -> None:
        turn.fold.close(status)
        turn.status, turn.owner = status, None
        session = self.sessions[turn.session]
        session.open = [other for other in session.open if other is not turn]

    def _land(self, session: Session, turn: Turn, kind: str, *, alone: bool = False) -> None:
        """The head moves to the turn. Loose rows beside it become its entries, each in its place."""
        loose = [] if alone else session.loose()
        if loose:
            self._note(f"take-in at {kind}")
        for row in loose:
            row.listed = True
            turn.entries.append(Entry(row))
        turn.entries.sort(key=lambda entry: entry.message.stamp)
        self._move(session, turn, kind)

    def _set_adrift(self, session: Session, turn: Turn) -> None:
        session.strays.append(turn)

    def _count(self, turn: Turn, usage: Counts) -> None:
        session = self.sessions[turn.session]
        more = tuple(a - b for a, b in zip(usage, turn.usage, strict=True))
        session.usage = _plus(session.usage, more)  # type: ignore[arg-type]
        turn.usage = usage

    def _sibling(self, session: Session, parent: Turn | None, entries: list[Entry]) -> Turn:
        return self._turn(session, parent, status="completed", entries=list(entries))

    # ------------------------------------------------------------ what comes before a verb

    def _ready(self, session: Session, expected: int | None = None, moving_on: bool = False) -> None:
        if session.deleted:
            raise Refusal("SessionDeleted")
        if session.archived:
            raise Refusal("SessionArchived")
        if expected is None:
            self._settle(session, moving_on)
            return
        self._compare(session, expected)
        if moving_on:
            self._close_waiting(session, alone=True)
            if session.revision != expected:
                self._put_behind(session)

    def _compare(self, session: Session, expected: int) -> None:
        before, had_head = session.revision, session.has_head
        self._settle(session)
        if expected != session.revision:
            if session.revision != before:
                self._note("told of others")
            raise Refusal("HeadConflict", stays=had_head or session.revision != before)

    def _put_behind(self, session: Session) -> None:
        """What other programs wrote beside a turn comes after what was said by one who had not read it."""
        for row in session.loose():
            self.stamps += 1
            row.stamp = self.stamps
            self._note("put behind")
        session.rows.sort(key=lambda row: row.stamp)

    def _settle(self, session: Session, moving_on: bool = False) -> None:
        self._head(session)
        self._recover(session)
        if moving_on:
            self._close_waiting(session)
        self._adopt(session)

    def _is_dead(self, turn: Turn) -> bool:
        return turn.status == "streaming" and turn.owner in self.dead

    def _recover(self, session: Session) -> None:
        for turn in [turn for turn in session.open if self._is_dead(turn)]:
            if self.give_back(turn):
                self._note("recovered into the queue")
                continue
            others = [other for other in session.standing() if not self._is_dead(other)]
            if turn.base != session.revision:
                self._freeze(turn, "aborted")
                self._set_adrift(session, turn)
                self._note("recovered as a stray")
            elif others:
                self._note("recovery waits")
            else:
                self._freeze(turn, "aborted")
                self._land(session, turn, "recover")
                self._note("recovered onto the path")

    def _close_waiting(self, session: Session, *, alone: bool = False) -> None:
        if any(turn.status == "streaming" and not self._is_dead(turn) for turn in session.standing()):
            if session.waiting():
                self._note("closing waits for a living turn")
            return
        for turn in session.waiting():
            self._freeze(turn, "completed")
            if turn.base == session.revision:
                self._land(session, turn, "seal", alone=alone)
                self._note("the user moved on: landed")
            else:
                self._set_adrift(session, turn)
                self._note("the user moved on: stray")
        self._recover(session)

    def _adopt(self, session: Session) -> None:
        loose = session.loose()
        if not loose:
            return
        if session.standing():
            self._note("adoption waits")
            return
        self._make_turns_of(session, loose)

    def _make_turns_of(self, session: Session, loose: list[Message]) -> None:
        parent = session.head
        for group in _by_question(loose):
            parent = self._turn(session, parent, kind="foreign", status="completed")
            parent.entries = [Entry(row) for row in group]
        for row in loose:
            row.listed = True
        self._move(session, parent, "adopt")
        self._note("adopted")

    # ------------------------------------------------------------ sessions

    def create(self, new: str, parent: str | None = None) -> None:
        session = Session(new, "spawn" if parent else "root", parent, lines=["create"], past=[State(None)])
        if parent:
            origin = self.sessions[parent]
            asked = _last_question(origin.standing()[-1] if origin.standing() else origin.head)
            session.parent_message = asked if asked and asked.home == parent else None
        self.sessions[new] = session

    def fork(self, source: str, new: str, at: Turn | Entry | None) -> None:
        """At the head, at any turn, or right after any message."""
        session = self.sessions[source]
        if session.deleted:
            raise Refusal("SessionDeleted")
        self._settle(session)
        turn = session.head if at is None else self._place(session, at)
        asked = _last_question(turn)
        fork = Session(new, "fork", asked.home if asked else source, asked, lines=["fork"], past=[State(turn)])
        self.sessions[new] = fork

    def _place(self, session: Session, at: Turn | Entry) -> Turn | None:
        """A sealed turn that ends at the place: the turn itself, or a sibling that lists as much."""
        turn = at if isinstance(at, Turn) else self._turn_of(session, at)
        entries = turn.finished() if turn.is_open() else turn.entries
        listed = [entry.message for entry in entries]
        if isinstance(at, Entry) and at.message in listed:
            entries = entries[: listed.index(at.message) + 1]
        if not turn.is_open() and len(entries) == len(turn.entries):
            return turn
        if not entries:
            return turn.parent
        self._note("a sibling up to a message")
        return self._sibling(session, turn.parent, entries)

    def _turn_of(self, session: Session, entry: Entry) -> Turn:
        for turn in [*session.path(), *session.open]:
            if any(other.message is entry.message for other in turn.entries):
                return turn
        raise Refusal("MessageNotFound")

    def archive(self, name: str) -> None:
        session = self.sessions[name]
        self._head(session)
        session.archived = True

    def unarchive(self, name: str) -> None:
        self.sessions[name].archived = False

    def delete(self, name: str) -> None:
        """A move to nothing; open turns become strays."""
        session = self.sessions[name]
        self._head(session)
        for turn in list(session.open):
            self._freeze(turn, "aborted")
            self._set_adrift(session, turn)
            self._note("deleted with an open turn")
        for ticket in session.queue():
            self.entomb(ticket)
            self._note("deleted with a queue")
        self._adopt(session)
        self._move(session, None, "delete")
        session.deleted = True

    def undelete(self, name: str) -> None:
        session = self.sessions[name]
        session.past.pop()
        while session.past[-1].passing:
            session.past.pop()
        session.revision += 1
        session.lines.append("undo")
        session.deleted = session.archived = False

    # ------------------------------------------------------------ turns

    def begin(self, name: str, messages: list[dict[str, Any]], owner: str, expected: int | None = None) -> Turn:
        session = self.sessions[name]
        self._ready(session, expected, moving_on=True)
        turn = self._turn(session, session.head, owner=owner)
        turn.entries = [self._write(session, message) for message in messages]
        if expected is not None and messages:
            self._put_behind(session)
        session.open.append(turn)
        if len(session.standing()) > 1:
            self._note("two open turns on one revision")
        return turn

    def commit(self, name: str, messages: list[dict[str, Any]], expected: int | None = None) -> Turn:
        """A whole turn, written and on the path at once."""
        session = self.sessions[name]
        self._ready(session, expected, moving_on=True)
        whole = all(part.get("state") != "input-available" for message in messages for part in message["parts"])
        turn = self._turn(session, session.head, status="completed" if whole else "aborted")
        turn.entries = [self._write(session, message) for message in messages]
        for entry in turn.entries:
            if entry.message.role == "assistant" and "usage" in entry.message.metadata:
                given = entry.message.metadata["usage"]
                self._count(turn, _plus(turn.usage, tuple(given.get(key, 0) for key in KEYS)))  # type: ignore[arg-type]
        if session.standing():
            self._note("commit over an open turn")
        if expected is not None:
            self._put_behind(session)
        self._land(session, turn, "seal", alone=expected is not None)
        return turn

    def answer_again(self, name: str, at: Entry | None, content: dict[str, Any] | None, owner: str) -> Turn:
        """Regenerate (no content) or edit: a sibling turn with what came before the message."""
        session = self.sessions[name]
        self._ready(session, moving_on=True)
        turn, place = self._to_answer(session, at)
        self._move(session, turn.parent, "begin")
        sibling = self._turn(session, turn.parent, owner=owner)
        sibling.entries = list(turn.entries[:place])
        if content is not None:
            entry = self._write(session, content)
            if "id" not in content:
                entry.known_as = turn.entries[place].shown_id()
            sibling.entries.append(entry)
        session.open.append(sibling)
        return sibling

    def _to_answer(self, session: Session, at: Entry | None) -> tuple[Turn, int]:
        """Which turn is done again, and how many of its messages stay."""
        if at is None and session.head is None:
            raise Refusal("MessageNotFound")
        for turn in [*session.path(), *session.standing()]:
            for place, entry in enumerate(turn.entries):
                if at is not None and entry.message is at.message:
                    if turn.summary is not None:
                        raise Refusal("Refused")
                    return turn, place
        said = [turn for turn in session.path() if turn.summary is None]
        if at is not None or not said:
            raise Refusal("NotOnPath or MessageNotFound")
        entries = said[-1].entries
        answered = bool(entries) and entries[-1].message.role == "assistant"
        if said[-1] is not session.head:
            self._note("answered again before a summary")
        return said[-1], len(entries) - answered

    def append(self, turn: Turn, chunk: Chunk) -> None:
        turn.fold.apply(chunk)
        self._respond(turn, chunk.get("messageId"))
        if "usage" in turn.fold.metadata:
            given = turn.fold.metadata["usage"]
            self._count(turn, tuple(given.get(key, 0) for key in KEYS))  # type: ignore[arg-type]
        if chunk["type"] == "finish" and turn.fold.unresolved():
            self.wait(turn)
            self._note("finish with open tools waits")

    def _respond(self, turn: Turn, given: str | None) -> Message:
        """The response's row, made with the first thing there is to keep; a client's id may come later."""
        if turn.response is None:
            turn.response = self._row(self.sessions[turn.session], "assistant", turn.fold.parts, turn.fold.metadata)
            turn.entries.append(_named(turn.response, given))
        elif given is not None:
            turn.entries[-1].known_as = given
        return turn.response

    def count(self, turn: Turn, given: Counts) -> None:
        if "usage" in turn.fold.metadata:
            raise Refusal("UsageConflict")
        turn.told = True
        self._count(turn, _plus(turn.usage, given))
        self._respond(turn, None).told = turn.usage

    def wait(self, turn: Turn) -> None:
        turn.status, turn.owner = "waiting", None

    def resume(self, turn: Turn, owner: str) -> None:
        session = self.sessions[turn.session]
        self._recover(session)
        turn.status, turn.owner = "streaming", owner

    def seal(self, turn: Turn, status: str) -> None:
        """Onto the path if nobody moved the head since; otherwise a stray, and the transcript reads as before."""
        session = self.sessions[turn.session]
        lost = turn.base != session.revision
        self._freeze(turn, status)
        if lost:
            self._set_adrift(session, turn)
            self._note("lost race")
        else:
            self._land(session, turn, "seal")

    def resolve_late(self, turn: Turn, call: str, output: Any) -> Turn:
        """A sibling with the answer in place, which no head points at."""
        session = self.sessions[turn.session]
        assert turn.response is not None
        answered = copy.deepcopy(turn.fold)
        answered.put_output(call, output)
        metadata = {key: value for key, value in turn.response.metadata.items() if key != "usage"}
        before = turn.entries[: [e.message for e in turn.entries].index(turn.response)]
        late = self._turn(session, turn.parent, status="completed", entries=list(before), fold=answered)
        late.entries.append(Entry(self._row(session, "assistant", answered.parts, metadata)))
        self._set_adrift(session, late)
        return late

    # ------------------------------------------------------------ moving the head

    def rewind(self, name: str, to: Turn | Entry) -> None:
        session = self.sessions[name]
        self._ready(session)
        path = session.path()
        if isinstance(to, Turn) and to not in path:
            given_back = to.status == "pending"  # by what the verb did first: it waits in the queue, and is no turn yet
            raise Refusal("TurnNotFound" if given_back else "NotOnPath")
        if isinstance(to, Entry) and not any(entry.message is to.message for entry in session.path_entries()):
            raise Refusal("NotOnPath or MessageNotFound")
        self._move(session, self._place(session, to), "rewind")

    def move(self, name: str, to: Turn, expected: int) -> None:
        session = self.sessions[name]
        self._ready(session, expected)
        self._move(session, to, "move")

    def undo(self, name: str) -> None:
        """Back along the reflog. The moves of begin are skipped; what was open then does not come back."""
        session = self.sessions[name]
        self._ready(session)
        left = session.past.pop()
        while session.past and session.past[-1].passing:
            session.past.pop()
            self._note("undo past a begin")
        if not session.past:
            raise Refusal("NothingToUndo")
        if not left.passing:
            session.future.append(left)
        session.revision += 1
        session.lines.append("undo")

    def redo(self, name: str) -> None:
        session = self.sessions[name]
        self._ready(session)
        if not session.future:
            raise Refusal("NothingToUndo")
        session.past.append(session.future.pop())
        session.revision += 1
        session.lines.append("redo")

    # ------------------------------------------------------------ other programs, and the ends of writers

    def foreign_message(self, name: str, row_id: str, role: str, text: str) -> None:
        session = self.sessions[name]
        self._row(session, role, [{"type": "text", "text": text}], {}, listed=False, row_id=row_id)

    def foreign_session(self, name: str) -> None:
        self.sessions[name] = Session(name, "import", has_head=False)

    def adopt(self, name: str) -> None:
        self._ready(self.sessions[name])

    def adopt_everywhere(self) -> None:
        for session in self.sessions.values():
            if session.loose() and not session.deleted and not session.archived:
                self._settle(session)

    def recover_everywhere(self) -> None:
        for session in self.sessions.values():
            if any(self._is_dead(turn) for turn in session.open):
                self._settle(session)

    def close(self, owner: str) -> None:
        for session in self.sessions.values():
            for turn in list(session.open):
                if turn.owner == owner:
                    self.leave(turn)
                    self._note("closed with an open turn")

    # ------------------------------------------------------------ starts that fail

    def leave(self, turn: Turn) -> None:
        """By an exception, or with the store: what was queued waits again, once; anything else ends as it is."""
        if not self.give_back(turn):
            self.seal(turn, "aborted")

    def give_back(self, turn: Turn) -> bool:
        """Only what nothing came of: no chunk, no usage."""
        ticket = turn.ticket
        if ticket is None or turn.status != "streaming" or turn.response is not None:
            return False
        if ticket.claims > 1:
            self._note("not given back twice")
            return False
        session = self.sessions[turn.session]
        session.open = [other for other in session.open if other is not turn]
        turn.status, turn.owner, turn.parent, turn.base, turn.prompt = "pending", None, None, -1, None
        for entry in turn.entries:
            entry.message.queued_at = ticket.queued_at
        self._note("given back")
        return True

    def entomb(self, ticket: Ticket) -> None:
        ticket.cancelled, ticket.turn.status = True, "aborted"
        for entry in ticket.turn.entries:
            entry.message.queued_at = None


def _nothing(name: str) -> None:
    pass


def _named(row: Message, given: str | None) -> Entry:
    """A well-formed id is the row's own; any other is what the client calls it."""
    if given is None or not given.startswith("msg_"):
        return Entry(row, given)
    row.row_id = given
    return Entry(row)


def _plus(a: Counts, b: Counts) -> Counts:
    return tuple(x + y for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def _by_question(rows: list[Message]) -> list[list[Message]]:
    """One group per user message and what follows it."""
    groups: list[list[Message]] = []
    for row in rows:
        if row.role == "user" or not groups:
            groups.append([])
        groups[-1].append(row)
    return groups


def _last_question(turn: Turn | None) -> Message | None:
    """The nearest user message on the path."""
    path = turn.path() if turn else []
    asked = [entry.message for one in path for entry in one.entries if entry.message.role == "user"]
    return asked[-1] if asked else None


def open_tools(turn: Turn) -> list[str]:
    """Calls of a sealed turn that ended as errors, to which a late answer may come."""
    tools = turn.fold.tools
    return [c for c, (i, _) in tools.items() if turn.fold.parts[i]["state"] in FINAL]
