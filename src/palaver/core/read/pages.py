"""Windows of a transcript: messages, or parts of a type, out of the path and the tail behind it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

from ...db.engine import Tx
from ...db.queries import Q
from ...errors import MessageNotFound, NotOnPath, TurnNotFound
from ...model import Window
from .. import damage, rows
from ..rows import PathPartRow
from . import loose_rows, sessions, transcript
from .jumps import FAR
from .lines import END, START, TAIL, Lines, Place
from .transcript import Message
from .windows import Asked, Beyond, Cursors, Frame, Mark

T = TypeVar("T")


def messages(tx: Tx, session_id: str, asked: Asked, turn_id: str | None = None) -> Window[Message]:
    """Of the transcript; with a turn, of what is on the way to it."""
    return _window(_Messages(_Scene(tx, session_id, turn_id)), asked)


def ui_messages(tx: Tx, session_id: str, asked: Asked) -> Window[dict[str, Any]]:
    """As a client knows them. Where a window has rows of a dialect that are no messages, and nothing else, it is the
    next one that has some."""
    wanted: Asked | None = asked
    while wanted is not None:
        found = messages(tx, session_id, wanted)
        shown = transcript.as_ui(found)
        wanted = wanted.further(found) if found and not shown else None
    return Window(shown, found.before, found.after)


def parts(tx: Tx, session_id: str, asked: Asked, type: str | None) -> Window[dict[str, Any]]:
    """Of a type, or all of them."""
    found = _window(_Parts(_Scene(tx, session_id, None), type), asked)
    return Window([part.shown for part in found], found.before, found.after)


# ---------------------------------------------------------------- a window of whatever is counted


class _Counted(Protocol[T]):
    """Things that stand on a path and in a tail, one behind the other."""

    cursors: Cursors
    lines: Lines

    @property
    def tail(self) -> list[T]: ...

    def find(self, given: str, is_after: bool) -> Mark: ...

    def on_path(self, first: Place, last: Place, following: Place) -> list[T]:
        """From one place to another; `following` is what comes next."""
        ...

    def name(self, item: T) -> str: ...

    def beyond(self, frame: Frame) -> Beyond: ...


def _window(counted: _Counted[T], asked: Asked) -> Window[T]:
    frame = Frame.of(asked, counted.cursors, counted.find, START, END)
    found = _places(counted, frame)
    places = frame.kept(found)
    on_path = [place for place in places if place.depth < TAIL]
    items = [counted.tail[place.line] for place in places[len(on_path) :]]
    if on_path:
        following = [*found, frame.high.place][found.index(on_path[-1]) + 1]
        items = counted.on_path(on_path[0], on_path[-1], following) + items
    return frame.window(items, counted.name, over=frame.is_over(found), beyond=counted.beyond(frame))


def _places(counted: _Counted[T], frame: Frame) -> list[Place]:
    """Where the items of a window stand, and one more if there are more."""
    low, high, count = frame.low.place, frame.high.place, frame.asked.take
    if frame.asked.goes_on:
        found = counted.lines.after(low, high, count)
        return found + _in_tail(counted, frame, count - len(found))
    found = _in_tail(counted, frame, count)
    return counted.lines.before(high, count - len(found)) + found


def _in_tail(counted: _Counted[T], frame: Frame, count: int) -> list[Place]:
    """Those of the tail, which is read only where a window reaches it."""
    low, high = frame.low.place, frame.high.place
    if high.depth < TAIL or count < 1:
        return []
    start, end = low.line + 1 if low.depth == TAIL else 0, min(high.line, len(counted.tail))
    if frame.asked.goes_on:
        return [Place(TAIL, number) for number in range(start, min(end, start + count))]
    return [Place(TAIL, number) for number in range(max(start, end - count), end)]


# ---------------------------------------------------------------- the scene


class _Scene:
    """What windows are cut out of: the path to its `top`, and the messages of the tail."""

    def __init__(self, tx: Tx, session_id: str, turn_id: str | None) -> None:
        self.tx, self.session_id, self.turn_id = tx, session_id, turn_id
        self._head = rows.head.one(tx, session=session_id)
        if self._head is None:
            sessions.require(tx, session_id)
        if turn_id is not None and rows.parent_of.one(tx, turn=turn_id) is None:
            raise TurnNotFound(turn_id)
        self.top = turn_id or (self._head.turn_id if self._head else None)

    @cached_property
    def tail(self) -> list[Message]:
        if self.turn_id is not None or (self._head is not None and self._head.deleted_at is not None):
            return []
        find = loose_rows.find_newest if self._head else loose_rows.find
        return transcript.read_tail(self.tx, self.session_id, find)

    def find(self, name: str, *, is_row: bool = False) -> tuple[Place, str]:
        """Where a message stands, and its row: by the row's own id, or by one that a client knows it by."""
        found = self._row_on_path(name) or self._in_tail(name, "id")
        if found is None and not is_row:
            found = self._in_tail(name, "client_id") or self._known_as(name)
        if found is not None:
            return found
        if rows.message.one(self.tx, id=name) is not None:
            raise NotOnPath(name, self.session_id)
        raise MessageNotFound(name, "read messages() for the ids on the path")

    def _row_on_path(self, ref: str) -> tuple[Place, str] | None:
        row = rows.listing_on_path.one(self.tx, message=ref, turn=self.top) if self.top else None
        return None if row is None else (Place(row.depth, row.seq, row.turn_id, row.thread_messages), ref)

    def _in_tail(self, name: str, field: str) -> tuple[Place, str] | None:
        found = [number for number, message in enumerate(self.tail) if getattr(message, field) == name]
        return (Place(TAIL, found[-1]), self.tail[found[-1]].id) if found else None

    def _known_as(self, name: str) -> tuple[Place, str] | None:
        row = rows.client_id_on_path.one(self.tx, turn=self.top, name=name) if self.top else None
        return None if row is None else self._row_on_path(row.ref)


# ---------------------------------------------------------------- messages


class _Messages:
    def __init__(self, scene: _Scene) -> None:
        self._scene = scene
        self.cursors = Cursors("messages", scene.session_id)
        self.lines = Lines(scene.tx, scene.top, "message")

    @property
    def tail(self) -> list[Message]:
        return self._scene.tail

    def name(self, item: Message) -> str:
        return self.cursors.of(item.id)

    def find(self, given: str, is_after: bool) -> Mark:
        item = self.cursors.item(given)
        if item is None:
            place, ref = self._scene.find(given)
            return Mark(place, self.cursors.of(ref))
        (ref,) = self.cursors.typed(given, item, str)
        place, _ = self._scene.find(ref, is_row=True)
        return Mark(place, given)

    def on_path(self, first: Place, last: Place, following: Place) -> list[Message]:
        """A message ends where the next one of its turn begins."""
        tx, end = self._scene.tx, following.line if following.turn_id == last.turn_id else FAR
        place = {"turn": last.turn_id, "depth": first.depth, "first": first.line, "last": end, "far": FAR}
        found = transcript.assemble(tx.all(Q.rows_of_window, **place))
        return transcript.filled(tx, last.turn_id, found) if last.turn_id == self._scene.turn_id else found

    def beyond(self, frame: Frame) -> Beyond:
        return None


# ---------------------------------------------------------------- parts


class _Part(NamedTuple):
    """What a caller gets, and what its cursor names: while it streams it has no row, but a place in its message."""

    shown: dict[str, Any]
    message_id: str
    key: str | int


class _Parts:
    def __init__(self, scene: _Scene, type: str | None) -> None:
        self._scene, self._type = scene, type
        self.cursors = Cursors("parts", scene.session_id)
        self.lines = Lines(scene.tx, scene.top, "part", type)

    @cached_property
    def _in_tail(self) -> list[_Part]:
        """Of every type."""
        return [part for message in self._scene.tail for part in _parts_of(message)]

    @cached_property
    def tail(self) -> list[_Part]:
        return self._counted(self._in_tail)

    def _counted(self, found: list[_Part]) -> list[_Part]:
        return [part for part in found if self._type in (None, part.shown["type"])]

    def name(self, item: _Part) -> str:
        return self.cursors.of(item.message_id, item.key)

    def find(self, given: str, is_after: bool) -> Mark:
        """Of a part, by its cursor; or before the first, or behind the last one of a message."""
        item = self.cursors.item(given)
        if item is None:
            place, _ = self._scene.find(given)
            return Mark(self._edge(place, is_after), given)
        ref, key = self.cursors.typed(given, item, str, str | int)
        place, _ = self._scene.find(ref, is_row=True)
        found = self._place(place, ref, key, is_after)
        if found is None:
            raise MessageNotFound(ref, f"it has no part {key!r} any more")
        return Mark(found, given)

    def _edge(self, message: Place, is_after: bool) -> Place:
        if message.depth == TAIL:
            *others, last = (len(each.parts) for each in self._scene.tail[: message.line + 1])
            return self._numbered(sum(others), sum(others) + last - 1, is_after)
        if not is_after:
            return message
        following = rows.message_after.one(self._scene.tx, turn=message.turn_id, mark=message.line)
        return message._replace(line=FAR if following is None else following.seq)

    def _place(self, message: Place, ref: str, key: str | int, is_after: bool) -> Place | None:
        if message.depth == TAIL:
            here = [
                n
                for n, part in enumerate(self._in_tail)
                if part.message_id == ref and key in (part.key, part.shown["index"])
            ]
            return self._numbered(here[0], here[0], is_after) if here else None
        tx = self._scene.tx
        row = rows.part_at.one(tx, message=ref, place=key) if isinstance(key, int) else None
        part = row.id if row else key
        line = rows.line_of_part.one(tx, turn=message.turn_id, mark=message.line, part=part)
        return None if line is None else message._replace(line=line.seq)

    def _numbered(self, first: int, last: int, is_after: bool) -> Place:
        """The place of parts of the tail among those that are counted."""
        if is_after:
            return Place(TAIL, len(self._counted(self._in_tail[: last + 1])) - 1)
        return Place(TAIL, len(self._counted(self._in_tail[:first])))

    def on_path(self, first: Place, last: Place, following: Place) -> list[_Part]:
        place = {"turn": last.turn_id, "depth": first.depth, "first": first.line, "last": last.line + 1, "far": FAR}
        return [_stored(row) for row in rows.parts_of_window.all(self._scene.tx, type=self._type, **place)]

    def beyond(self, frame: Frame) -> Beyond:
        """What is named need not be of the type."""
        return self._is_before(frame.low), self._is_after(frame.high)

    def _is_before(self, mark: Mark) -> bool:
        if mark.is_start:
            return False
        place = mark.place._replace(line=mark.place.line + 1)
        return (place.depth == TAIL and place.line > 0) or bool(self.lines.before(place, 1))

    def _is_after(self, mark: Mark) -> bool:
        if mark.is_end:
            return False
        place = mark.place._replace(line=mark.place.line - 1)
        reached = place.line + 1 if place.depth == TAIL else 0
        return bool(self.lines.after(place, END, 1)) or reached < len(self.tail)


def _parts_of(message: Message) -> list[_Part]:
    shown, keys = message.ui(), message.part_ids
    return [
        _Part(
            _shown(shown["id"], message.turn_id, place, part["type"], part), message.id, keys[place] if keys else place
        )
        for place, part in enumerate(shown["parts"])
    ]


def _stored(row: PathPartRow) -> _Part:
    message = Message(row.message_id, row.client_id, "assistant", "{}", 0, row.turn_id)
    message.add(row.id, row.data_json)
    shown = message.ui()
    (data,) = shown["parts"]
    return _Part(_shown(shown["id"], row.turn_id, row.place, damage.as_text(row.type), data), row.message_id, row.id)


def _shown(message_id: str, turn_id: str | None, place: int, type: str, data: Any) -> dict[str, Any]:
    return {"message_id": message_id, "turn_id": turn_id, "index": place, "type": type, "data": data}
