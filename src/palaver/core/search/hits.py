"""From a candidate to what is shown of it: the snippet, and the messages that stand around it on the path."""

from __future__ import annotations

from ...db.engine import Tx
from ...model import Hit
from ...search.documents import Document
from ...search.snippet import Snippet, snippet
from ...search.tree import Node
from .. import damage, rows
from ..read import jumps, previews
from . import documents
from .ahead import Ahead
from .fields import Candidate
from .records import PlaceRow
from .sight import Session

_AROUND = 200  # characters of a message before and after


class Shown:
    """Makes the hits of one page; what stands around them is read for all of them at once."""

    def __init__(self, tx: Tx, tree: Node | None, ahead: Ahead) -> None:
        self._tx, self._tree, self._ahead = tx, tree, ahead
        self._texts: dict[str, str | None] = {}

    def hits(self, found: list[Candidate]) -> list[Hit]:
        self._ahead.read_sources(one.seen.session.id for one in found)
        around = self.around(found)
        return [self.hit(one, *map(self._text, pair)) for one, pair in zip(found, around, strict=True)]

    def around(self, found: list[Candidate]) -> list[tuple[str | None, str | None]]:
        """The ids of the messages before and after each, which are read then."""
        self._ahead.read_places(one.stored.id for one in found)
        turns = [one.seen.turn for one in found if one.seen.turn is not None]
        self._ahead.read_listed([each for turn in turns for each in (turn.turn_id, turn.parent_id)])
        self._read_following(turns)
        around = [self._around(one) for one in found]
        self._read_texts({name for pair in around for name in pair if name is not None})
        return around

    def _read_following(self, turns: list[PlaceRow]) -> None:
        """The messages that came next, and where they stand: mostly they are what follows on the path, too."""
        ends = [listed[-1] for turn in turns if (listed := self._ahead.listed(turn.turn_id))]
        self._ahead.read_following(ends)
        following = [self._ahead.following(end) for end in ends]
        self._ahead.read_messages(following)
        self._ahead.read_places(following)

    def _read_texts(self, names: set[str]) -> None:
        self._ahead.read_messages(names)
        self._ahead.read_parts(names)

    def hit(self, one: Candidate, before: str | None, after: str | None) -> Hit:
        seen, shown = one.seen, self._snippet(one.document)
        turn, session = seen.turn, seen.session
        return Hit(
            session_id=session.id,
            turn_id=turn.turn_id if turn else None,
            message_id=one.stored.id,
            part_id=one.document.part_id,
            role=one.document.role,
            at=one.stored.at,
            title=session.title,
            source=self._ahead.source(session.id),
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
        """The ids of the messages before and after."""
        turn = one.seen.turn
        if turn is None:
            return None, None
        listed = self._ahead.listed(turn.turn_id)
        if one.stored.id not in listed:
            return None, None
        at = listed.index(one.stored.id)
        before = listed[at - 1] if at else self._last_before(turn.parent_id)
        if at + 1 < len(listed):
            after: str | None = listed[at + 1]
        elif one.seen.is_hidden or turn.sealed_at is None:  # beside the path, or at its end: nothing on it follows
            after = None
        else:
            is_home = one.seen.session.id == one.stored.session_id
            after = (self._next(turn, listed[-1]) if is_home else None) or self._first_after(turn, one.seen.session)
        return before, after

    def _next(self, turn: PlaceRow, last: str) -> str | None:
        """What came next, if it is the first of the turn that follows on the path: no stamp hides it, and its turn was
        sealed and has this one as its parent. None: it may be another."""
        following = self._ahead.following(last)
        row = self._ahead.message(following) if following else None
        places = self._ahead.places(row.id) if row else []
        if row is None or len(places) != 1 or '_at"' in damage.as_json(row.metadata_json):
            return None
        [place] = places
        is_next = place.parent_id == turn.turn_id and place.sealed_at is not None
        return row.id if is_next else None

    def _last_before(self, turn_id: str | None) -> str | None:
        """A turn may list nothing."""
        while turn_id is not None:
            listed = self._ahead.listed(turn_id)
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
            listed = self._ahead.listed(step.id) if step else []
            if listed or step is None or step.id == head:
                return listed[0] if listed else None
            depth = step.depth
        for opened in rows.tail_turns.all(self._tx, session=session.id):
            listed = self._ahead.listed(opened.id) if opened.id != turn.turn_id else []
            if listed:
                return listed[0]
        return None

    def _text(self, message_id: str | None) -> str | None:
        if message_id is None:
            return None
        if message_id not in self._texts:
            row = self._ahead.message(message_id)
            found = [*documents.readable(self._tx, row, None, None, self._ahead.parts(message_id))] if row else []
            own = next((one.text for stored in found for one in stored.documents), None)
            self._texts[message_id] = previews.shorten(own[: _AROUND * 4]) if own else None
        return self._texts[message_id]
