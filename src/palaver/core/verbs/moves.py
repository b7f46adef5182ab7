"""Moves of the head: rewind, undo, redo, and to any turn of the tree. Nothing is copied and nothing is deleted.

A place inside a turn is reached by a sibling turn that lists the same messages up to there.
"""

from __future__ import annotations

from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import NothingToUndo, TurnNotFound
from .. import heads, rows
from ..foreign import hidden_stamps
from ..read import jumps, places, turns
from ..read.heads import Head
from ..read.places import Place
from ..rows import ReflogRow
from ..runtime import Runtime
from ..settle import preflight
from ..turn import seal


def rewind(tx: Tx, runtime: Runtime, session_id: str, to: str, expected: int | None, reason: str | None) -> None:
    head = preflight.ready(tx, runtime, session_id, expected=expected, timestamps=0)
    place = places.find(tx, head, to, on_path=True)
    move_head(tx, head, turn_at(tx, head, place), kind="rewind", reason=reason)


def move(tx: Tx, runtime: Runtime, session_id: str, to: str | None, expected: int | None, reason: str | None) -> None:
    head = preflight.ready(tx, runtime, session_id, expected=expected, timestamps=0)
    if to is not None and not _is_ours(tx, head, to):
        why = f"turn {to!r} is not a sealed turn of session {session_id}; tree() has those that are"
        raise TurnNotFound(to, sentence=why)
    move_head(tx, head, to, kind="move", reason=reason)


def _is_ours(tx: Tx, head: Head, turn_id: str) -> bool:
    """Whether it is a sealed turn of the session's tree: mostly one before the head."""
    turn = rows.turn.one(tx, turn=turn_id)
    if turn is None or turn.sealed_at is None:
        return False
    return jumps.is_ancestor(tx, turn_id, head.turn_id) or turns.is_known(tx, head.session_id, turn_id)


def undo(tx: Tx, runtime: Runtime, session_id: str, expected: int | None) -> None:
    undo_last(tx, preflight.ready(tx, runtime, session_id, expected=expected, timestamps=0), None)


def redo(tx: Tx, runtime: Runtime, session_id: str, expected: int | None) -> None:
    head = preflight.ready(tx, runtime, session_id, expected=expected, timestamps=0)
    stack = _Log(tx, session_id)
    undone = stack.undone()
    if not undone:
        raise NothingToUndo(session_id, "redo")
    _return_to(tx, head, stack.lines[undone[-1]], "redo", None)


def undo_last(tx: Tx, head: Head, reason: str | None) -> None:
    stack = _Log(tx, head.session_id)
    target = stack.before(stack.state(len(stack.lines) - 1))
    if target is None:
        raise NothingToUndo(head.session_id)
    _return_to(tx, head, stack.lines[target], "undo", reason)


def _return_to(tx: Tx, head: Head, line: ReflogRow, kind: str, reason: str | None) -> None:
    move_head(tx, head, line.turn_id, kind=kind, reason=reason, ref_seq=line.seq)


def turn_at(tx: Tx, head: Head, place: Place) -> str | None:
    """A sealed turn that ends at the place: the turn itself, or a sibling sealed at once. Where an open turn has
    finished nothing yet, its parent."""
    if place.entries is None:
        return place.turn_id
    kept = [e for e in place.entries if e.kind == "result" or e.leaf is not None]
    if not any(e.kind == "message" for e in kept):
        return place.parent_id
    return seal.commit(tx, head, [], entries=kept, parent_id=place.parent_id).id


def move_head(tx: Tx, head: Head, to: str | None, *, kind: str, reason: str | None, ref_seq: int | None = None) -> None:
    """Move the head and restamp what left and what came."""
    moved = heads.move(tx, head, to, kind=kind, reason=reason, ref_seq=ref_seq)
    hidden_stamps.restamp(tx, moved, head.turn_id)
    tx.defer(Q.touch_session, session=head.session_id, now=now_ms())


class _Log:
    """The reflog as a stack: which line's head is in force, and where undo and redo lead."""

    def __init__(self, tx: Tx, session_id: str) -> None:
        self.lines = rows.history.all(tx, session=session_id)
        self.place = {line.seq: at for at, line in enumerate(self.lines)}

    def state(self, at: int) -> int:
        """The line whose head is in force after line `at`: an undo or redo points at an older one."""
        ref = self.lines[at].ref_seq
        return at if ref is None else self.place[ref]

    def before(self, at: int) -> int | None:
        """The state before the move of line `at`, past the moves of begin; None at the floor."""
        while at > 0:
            at = self.state(at - 1)
            if self.lines[at].kind != "begin":
                return at
        return None

    def undone(self) -> list[int]:
        """The states that trailing undos left, last left first."""
        stack: list[int] = []
        trail = []
        for at in range(len(self.lines) - 1, 0, -1):
            if self.lines[at].kind not in ("undo", "redo"):
                break
            trail.append(at)
        for at in reversed(trail):
            if self.lines[at].kind == "redo":
                stack.pop()
            elif self.lines[self.state(at - 1)].kind not in ("begin", "delete"):  # what was open then cannot come back
                stack.append(self.state(at - 1))
        return stack
