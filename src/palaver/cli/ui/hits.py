"""What a search found, by session: a heading, and under it each hit, with an address that `palaver show` takes.

What was said is on lines of its own, further in than anything of ours: headings begin at the left edge, addresses two
columns in, snippets four, and what stands around them six. So no text can pass for another session or another hit.
"""

from __future__ import annotations

from .format import age, moment, short
from .marked import marked_lines
from .screen import Screen

TYPE_CHECKING = False  # typing's own would cost its import, and a search starts without it
if TYPE_CHECKING:
    from collections.abc import Sequence

    from palaver import Hit

_ADDRESS, _SNIPPET, _AROUND = " " * 2, " " * 4, " " * 6
_FOUND = "bold yellow"
_ROLES = {"user": "green", "assistant": "blue", "system": "magenta"}


class Heading:
    """What is told of a session above its hits."""

    __slots__ = ("agent", "archived", "label", "updated_at")

    def __init__(self, agent: str, label: str, updated_at: int, *, archived: bool) -> None:
        self.agent = agent
        self.label = label
        self.updated_at = updated_at if type(updated_at) is int else 0  # another program may have written anything
        self.archived = archived


class Drawn:
    """The hits of a page as text. `context`: with what was said before and after them."""

    def __init__(self, screen: Screen, headings: dict[str, Heading], *, context: bool) -> None:
        self._screen, self._headings, self._context = screen, headings, context

    def sizes(self, hits: Sequence[Hit]) -> list[int]:
        """How many characters each takes, and the heading of a session with its first."""
        seen, found = set[str](), []
        for hit in hits:
            head = 0 if hit.session_id in seen else len(self._heading(hit.session_id)) + 2  # and an empty line
            seen.add(hit.session_id)
            found.append(head + sum(len(line) + 1 for line in self._lines(hit)))
        return found

    def print(self, hits: Sequence[Hit]) -> None:
        """Sessions in the order of their first hits."""
        by_session: dict[str, list[Hit]] = {}
        for hit in hits:
            by_session.setdefault(hit.session_id, []).append(hit)
        for place, (session_id, its) in enumerate(by_session.items()):
            if place:
                self._screen.say()
            self._screen.say(self._heading(session_id))
            for line in (line for hit in its for line in self._lines(hit)):
                self._screen.say(line)

    def _heading(self, session_id: str) -> str:
        screen, told = self._screen, self._headings[session_id]
        state = " archived" if told.archived else ""
        return screen.styled(
            (screen.sanitized(self._name(session_id)), "yellow"),
            (f" {age(told.updated_at)} {screen.sanitized(told.agent)}{state} ", "dim"),
            (screen.sanitized(told.label), "bold"),
        ).rstrip()

    def _lines(self, hit: Hit) -> list[str]:
        lines = [self._address(hit)]
        lines += self._around("before", hit.before)
        lines += marked_lines(self._screen, hit.snippet, hit.marks, margin=_SNIPPET, style=_FOUND)
        return lines + self._around("after", hit.after)

    def _address(self, hit: Hit) -> str:
        screen = self._screen
        address = f"{self._name(hit.session_id)}@{self._name(hit.message_id)}"
        return screen.styled(
            (_ADDRESS + screen.sanitized(address), "yellow"),
            (f" {screen.sanitized(hit.role)}", _ROLES.get(hit.role, "")),
            (f" {moment(hit.at)}{' hidden' if hit.hidden else ''}", "dim"),
        )

    def _around(self, where: str, said: str | None) -> list[str]:
        """A terminal gets one line of it."""
        if not self._context or not said:
            return []
        return [self._screen.styled((f"{_AROUND}{where}: {self._screen.sanitized(said)}", "dim"))]

    def _name(self, some_id: str) -> str:
        """A pipe gets it whole, as in a list."""
        return short(some_id) if self._screen.tty else some_id
