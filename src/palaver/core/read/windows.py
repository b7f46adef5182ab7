"""Windows: a part of a list, asked for from a mark on, and given back with cursors for what is before and after it.

A mark is an id, a cursor of a window, or "": before it there is everything, after it, too. A cursor names its session,
its list and one item of it; that is looked for when it is used, so what came or went meanwhile does not shift a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ...base import arguments
from ...errors import BadValue
from ...model import Window
from .jumps import FAR

MOST = 10_000  # items of a window, where a limit is given
_PREFIX = "cur_"
T = TypeVar("T")


class Asked(NamedTuple):
    """What a caller wants of a list. With `after` the first ones behind it, else the last ones."""

    before: Any = None
    after: Any = None
    limit: int | None = None

    @property
    def is_all(self) -> bool:
        return self.before is None and self.after is None and self.limit is None

    @property
    def goes_on(self) -> bool:
        """From older ones to newer ones."""
        return self.after is not None

    @property
    def take(self) -> int:
        """One more than are wanted: whether there are more."""
        return (FAR if self.limit is None else self.limit) + 1

    def further(self, found: Window[Any]) -> Asked | None:
        """The window behind one that was found, in the direction that was asked for; None: there is none."""
        if self.goes_on:
            return None if found.after is None else self._replace(after=found.after)
        return None if found.before is None else self._replace(before=found.before)


ALL = Asked()


def asked(before: Any, after: Any, limit: Any) -> Asked:
    if limit is not None:
        arguments.whole("limit", limit, least=1, most=MOST)
    return Asked(before, after, limit)


# ---------------------------------------------------------------- marks


class Mark(NamedTuple):
    """A place in a list that things stand before or after: between the first and the last it is one of the items, and
    `name` is its cursor. Marks compare by their `place`."""

    place: Any
    name: str
    is_start: bool = False
    is_end: bool = False


class Cursors:
    """The cursors of one list of a session."""

    def __init__(self, kind: str, session_id: str) -> None:
        self._kind, self._session_id = kind, session_id

    def of(self, *item: Any) -> str:
        import json  # where there is more of a list: most reads are of all of it
        from base64 import urlsafe_b64encode

        text = json.dumps([self._kind, self._session_id, *item], separators=(",", ":"))
        return _PREFIX + urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def item(self, text: str) -> list[Any] | None:
        """What a cursor names; None: the text is no cursor."""
        named = _decoded(arguments.text(f"a mark in {self._kind}()", text))
        if named is None:
            return None
        kind, session_id, *item = named
        if session_id != self._session_id:
            raise BadValue(f"this cursor is of session {session_id}, not of {self._session_id}")
        if kind != self._kind:
            raise BadValue(f"this cursor is of {kind}(), not of {self._kind}()")
        return item

    def typed(self, given: str, item: list[Any], *kinds: Any) -> list[Any]:
        """What a cursor names, if it is what cursors of this list name."""
        if len(item) != len(kinds) or not all(map(isinstance, item, kinds)):
            raise BadValue(f"{arguments.shown(given)} is no cursor of {self._kind}(): take it from a window")
        return item


def _decoded(text: str) -> list[Any] | None:
    if not text.startswith(_PREFIX):
        return None
    import json
    from base64 import b64decode

    body = text.removeprefix(_PREFIX)
    try:
        named = json.loads(b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(named, list) and len(named) > 2 and all(isinstance(each, str) for each in named[:2])
    return named if is_ours else None


class Frame(NamedTuple):
    """The marks of a window, both of them outside."""

    low: Mark
    high: Mark
    asked: Asked

    @classmethod
    def of(cls, asked: Asked, cursors: Cursors, find: Callable[[Any, bool], Mark], first: Any, last: Any) -> Frame:
        """`find` looks for what an id or a cursor means, as `after` (True) or as `before`; `first` and `last` are the
        places around all items."""
        if asked.is_all:
            return cls(Mark(first, "", is_start=True), Mark(last, "", is_end=True), asked)
        start, end = Mark(first, cursors.of("", 0), is_start=True), Mark(last, cursors.of("", 1), is_end=True)
        edges = {start.name: start, end.name: end}
        low, high = (
            edge if given is None or given == "" else edges.get(given) or find(given, edge is start)
            for given, edge in ((asked.after, start), (asked.before, end))
        )
        if asked.before is not None and asked.after is not None and low.place >= high.place:
            raise BadValue("`after` does not stand before `before`: nothing is between them")
        return cls(low, high, asked)

    def kept(self, found: Sequence[T]) -> Sequence[T]:
        """Without the one that says that there are more."""
        if not self.is_over(found):
            return found
        return found[:-1] if self.asked.goes_on else found[1:]

    def is_over(self, found: Sequence[Any]) -> bool:
        return len(found) >= self.asked.take

    def window(self, items: Sequence[T], name: Callable[[T], str], *, over: bool, beyond: Beyond = None) -> Window[T]:
        """`over`: there are more in the direction that was gone. `beyond`: whether something is at the low mark or
        before, and at the high one or behind, where the marks need not be items themselves."""
        is_before, is_after = beyond or (not self.low.is_start, not self.high.is_end)
        before, after = None, None
        if is_before or (over and not self.asked.goes_on):
            before = name(items[0]) if items else self.high.name
        if is_after or (over and self.asked.goes_on):
            after = name(items[-1]) if items else self.low.name
        return Window(items, before, after)


Beyond = tuple[bool, bool] | None


def cut(items: Sequence[T], frame: Frame) -> Sequence[T]:
    """Of a list that is there as a whole, whose places are its indexes, from -1 to its length: with one more, if there
    are more."""
    start, end, count = frame.low.place + 1, frame.high.place, frame.asked.take
    if frame.asked.goes_on:
        return items[start : min(end, start + count)]
    return items[max(start, end - count) : end]
