"""From a candidate to what is shown of it: the snippet, and the messages that stand around it on the path."""

from __future__ import annotations

from ...db.engine import Tx
from ...model import Hit
from ...search.documents import Document
from ...search.snippet import Snippet, snippet
from ...search.tree import Node
from .. import rows
from ..read import jumps, previews
from . import documents, records
from .fields import Candidate
from .records import PlaceRow
from .sight import Session

_AROUND = 200  # characters of a message before and after


class Shown:
    """Makes the hits of one page; a message that stands beside several is read once."""

    def __init__(self, tx: Tx, tree: Node | None) -> None:
        self._tx, self._tree = tx, tree
        self._texts: dict[str, str | None] = {}

    def hit(self, one: Candidate) -> Hit:
        seen, shown = one.seen, self._snippet(one.document)
        before, after = self._around(one)
        turn, session = seen.turn, seen.session
        return Hit(
            session_id=session.id,
            turn_id=turn.turn_id if turn else None,
            message_id=one.stored.id,
            part_id=one.document.part_id,
            role=one.document.role,
            at=one.stored.at,
            title=session.title,
            source=session.facts.get("source"),
            model=turn.model if turn else None,
            snippet=shown.text,
            marks=shown.marks,
            before=before,
            after=after,
            hidden=seen.is_hidden,
        )

    def _snippet(self, document: Document) -> Snippet:
        """Without the title, unless that has something to do with it."""
        title, said = document.text[: document.title], document.text[document.title :]
        is_of_title = not said.strip() or bool(title and snippet(self._tree, title).marks)
        return snippet(self._tree, document.text if is_of_title else said)

    def _around(self, one: Candidate) -> tuple[str | None, str | None]:
        turn = one.seen.turn
        if turn is None:
            return None, None
        listed = self._listed(turn.turn_id)
        if one.stored.id not in listed:
            return None, None
        at = listed.index(one.stored.id)
        before = listed[at - 1] if at else self._last_before(turn.parent_id)
        if at + 1 < len(listed):
            after: str | None = listed[at + 1]
        else:  # what is beside the path is followed by nothing that is on it
            after = None if one.seen.is_hidden else self._first_after(turn, one.seen.session)
        return self._text(before), self._text(after)

    def _listed(self, turn_id: str) -> list[str]:
        return [row.ref for row in records.refs_of_turn.all(self._tx, turn=turn_id)]

    def _last_before(self, turn_id: str | None) -> str | None:
        """A turn may list nothing."""
        while turn_id is not None:
            listed = self._listed(turn_id)
            if listed:
                return listed[-1]
            parent = rows.parent_of.one(self._tx, turn=turn_id)
            turn_id = parent.parent_id if parent else None
        return None

    def _first_after(self, turn: PlaceRow, session: Session) -> str | None:
        """On the way to the session's head, or in the turn that is open on it."""
        depth, head = turn.depth, session.head
        while head is not None and head != turn.turn_id:
            step = jumps.back(self._tx, head, above=depth)
            listed = self._listed(step.id) if step else []
            if listed or step is None or step.id == head:
                return listed[0] if listed else None
            depth = step.depth
        for opened in rows.tail_turns.all(self._tx, session=session.id):
            listed = self._listed(opened.id) if opened.id != turn.turn_id else []
            if listed:
                return listed[0]
        return None

    def _text(self, message_id: str | None) -> str | None:
        if message_id is None:
            return None
        if message_id not in self._texts:
            row = records.message_to_show.one(self._tx, id=message_id)
            found = [*documents.readable(self._tx, row, None, None)] if row else []
            own = next((one.text for stored in found for one in stored.documents), None)
            self._texts[message_id] = previews.shorten(own[: _AROUND * 4]) if own else None
        return self._texts[message_id]
