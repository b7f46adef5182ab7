"""Moving heads: rewind, undo, redo, fork, and the sibling turns that regenerate and edit begin.

Nothing is copied and nothing is deleted. A place inside a turn is reached by a sibling turn that lists the same
messages up to there.
"""

from __future__ import annotations

from typing import NamedTuple

from ...base import ids
from ...base.clock import now_ms
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...errors import MessageNotFound, NothingToUndo, NotOnPath, TurnNotFound
from .. import heads, metadata
from ..foreign import hidden_stamps
from ..heads import Head
from ..turn import seal
from ..turn.open_turn import Entry


class Place(NamedTuple):
    """A turn, and which of its lines count; None: it is sealed and all of them do."""

    turn_id: str
    parent_id: str | None
    lines: list[Entry] | None


# ---------------------------------------------------------------- finding places


def find_place(tx: Tx, head: Head, wanted: str, *, on_path: bool) -> Place:
    """What `to=` and `at=` mean: a turn id, a message id, or the id a client knows a message by."""
    if wanted.startswith(ids.TURN):
        return _find_turn(tx, head, wanted, on_path=on_path)
    shown = None if on_path else tx.one(Q.home_turn_of_message, message=wanted, session=head.session_id)
    if shown is not None and not metadata.is_hidden(
        shown[3]
    ):  # any turn will do: all that list it list the same before
        return _place_after(tx, shown[0], wanted, shown[1:3])
    turn_id, message_id = find_message(tx, head, wanted, on_path=on_path, in_tail=not on_path)
    return _place_after(tx, turn_id, message_id, tx.one(Q.parent_and_seal, turn=turn_id))


def _find_turn(tx: Tx, head: Head, turn_id: str, *, on_path: bool) -> Place:
    row = tx.one(Q.parent_and_seal, turn=turn_id)
    if row is None:
        raise TurnNotFound(turn_id)
    if on_path and turn_id not in hidden_stamps.path(tx, head.turn_id):
        raise NotOnPath(turn_id, head.session_id)
    return Place(turn_id, row[0], entries_of(tx, turn_id) if row[1] is None else None)


def find_message(tx: Tx, head: Head, wanted: str, *, on_path: bool, in_tail: bool) -> tuple[str, str]:
    """(turn, message row) for a row id or a client id; the newest wins: open turns, then from the head back."""
    rows = tx.all(Q.turns_of_message, message=wanted)
    rows_open = tx.all(Q.open_turns, session=head.session_id)
    open_turns = [row[0] for row in rows_open if row[1] == head.revision and row[2] != "pending"]
    path = (open_turns[::-1] if in_tail else []) + hidden_stamps.path(tx, head.turn_id)
    order = {turn_id: place for place, turn_id in enumerate(path)}
    found = [(order[r[0]], r[0], wanted) for r in rows if r[0] in order]
    found = found or [(order[t], t, m) for t, m in _by_client_id(tx, path, wanted)]
    if found:
        _, turn_id, message_id = min(found)
        return turn_id, message_id
    if rows and not on_path:
        return rows[-1][0], wanted
    if rows:
        raise NotOnPath(wanted, head.session_id)
    raise MessageNotFound(wanted, "read messages() for the ids on the path")


def _by_client_id(tx: Tx, path: list[str], wanted: str) -> list[tuple[str, str]]:
    found = []
    for turn_id in path:
        for _, kind, ref, client_id, _, _ in tx.all(Q.entries_of, turn=turn_id):
            if kind == "message" and client_id == wanted:
                found.append((turn_id, ref))
        if found:
            break
    return found


def _place_after(tx: Tx, turn_id: str, message_id: str, row: Row | None) -> Place:
    """The place right after a message; the whole turn if it is the turn's last one. `row`: its parent and seal."""
    entries = entries_of(tx, turn_id)
    assert row is not None
    end = _end_of_message(entries, message_id)
    whole = row[1] is not None and not any(e.kind == "message" for e in entries[end:])
    return Place(turn_id, row[0], None if whole else entries[:end])


def entries_of(tx: Tx, turn_id: str) -> list[Entry]:
    return [Entry(*row) for row in tx.all(Q.entries_of, turn=turn_id)]


def _end_of_message(entries: list[Entry], message_id: str) -> int:
    """One past the last line that belongs to the message or comes before it."""
    start = next(i for i, e in enumerate(entries) if e.kind == "message" and e.ref == message_id)
    after = next((i for i in range(start + 1, len(entries)) if entries[i].kind == "message"), len(entries))
    return after


def start_of_message(entries: list[Entry], message_id: str) -> int:
    return next(i for i, e in enumerate(entries) if e.kind == "message" and e.ref == message_id)


# ---------------------------------------------------------------- moves


def turn_at(tx: Tx, head: Head, place: Place) -> str | None:
    """A sealed turn that ends at the place: the turn itself, or a sibling sealed at once. Where an open turn has
    finished nothing yet, its parent."""
    if place.lines is None:
        return place.turn_id
    kept = [e for e in place.lines if e.kind == "result" or e.leaf is not None]
    if not any(e.kind == "message" for e in kept):
        return place.parent_id
    return seal.commit(tx, head, kept, [], parent_id=place.parent_id).id


def move(tx: Tx, head: Head, to: str | None, *, kind: str, reason: str | None, ref_seq: int | None = None) -> Head:
    """Move the head and restamp what left and what came."""
    old = head.turn_id
    head = heads.move(tx, head, to, kind=kind, reason=reason, ref_seq=ref_seq)
    hidden_stamps.restamp(tx, head, old)
    tx.defer(Q.touch_session, session=head.session_id, now=now_ms())
    return head


def rewind(tx: Tx, head: Head, to: str, reason: str | None) -> Head:
    place = find_place(tx, head, to, on_path=True)
    return move(tx, head, turn_at(tx, head, place), kind="rewind", reason=reason)


# ---------------------------------------------------------------- undo and redo


class _Log:
    """The reflog as a stack: which line's head is in force, and where undo and redo lead."""

    def __init__(self, tx: Tx, session_id: str) -> None:
        self.lines = tx.all(Q.history, session=session_id)
        self.place = {row[0]: i for i, row in enumerate(self.lines)}

    def state(self, at: int) -> int:
        """The line whose head is in force after line `at`: an undo or redo points at an older one."""
        ref = self.lines[at][5]
        return at if ref is None else self.place[ref]

    def before(self, at: int) -> int | None:
        """The state before the move of line `at`, past the moves of begin; None at the floor."""
        while at > 0:
            at = self.state(at - 1)
            if self.lines[at][1] != "begin":
                return at
        return None

    def undone(self) -> list[int]:
        """The states that trailing undos left, last left first."""
        stack: list[int] = []
        trail = []
        for at in range(len(self.lines) - 1, 0, -1):
            if self.lines[at][1] not in ("undo", "redo"):
                break
            trail.append(at)
        for at in reversed(trail):
            if self.lines[at][1] == "redo":
                stack.pop()
            elif self.lines[self.state(at - 1)][1] not in ("begin", "delete"):  # what was open then cannot come back
                stack.append(self.state(at - 1))
        return stack


def undo(tx: Tx, head: Head, reason: str | None) -> Head:
    log = _Log(tx, head.session_id)
    target = log.before(log.state(len(log.lines) - 1))
    if target is None:
        raise NothingToUndo(head.session_id)
    line = log.lines[target]
    return move(tx, head, line[2], kind="undo", reason=reason, ref_seq=line[0])


def redo(tx: Tx, head: Head, reason: str | None) -> Head:
    log = _Log(tx, head.session_id)
    stack = log.undone()
    if not stack:
        raise NothingToUndo(head.session_id, "redo")
    line = log.lines[stack[-1]]
    return move(tx, head, line[2], kind="redo", reason=reason, ref_seq=line[0])


# ---------------------------------------------------------------- fork


def nearest_user_message(tx: Tx, turn_id: str | None) -> tuple[str | None, str | None]:
    """(message, home) of the last thing the user said on the way to a turn: mostly a step or two away."""
    while turn_id is not None:
        row = tx.one(Q.last_user_message_of_turn, turn=turn_id)
        if row is not None:
            return row[0], row[1]
        parent = tx.one(Q.parent_of, turn=turn_id)
        turn_id = parent[0] if parent else None
    return None, None
