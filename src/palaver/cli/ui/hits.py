"""What a search found, by session: a heading, and under it each hit, with an address that `palaver show` takes.

What was said is on lines of its own, further in than anything of ours: headings begin at the left edge, addresses two
columns in, snippets four, and what stands around them six. So no text can pass for another session or another hit.
"""

from __future__ import annotations

from .format import age, moment, short
from .marked import marked_lines
from .pager import paged
from .screen import Screen, say_aside

TYPE_CHECKING = False  # typing's own would cost its import, and a search starts without it
if TYPE_CHECKING:
    from collections.abc import Sequence

    from palaver import Hit, SearchPage, SessionInfo

_ADDRESS, _SNIPPET, _AROUND = " " * 2, " " * 4, " " * 6
_FOUND = "bold yellow"
MOST = 1_000  # hits of a page
_ROLES = {"user": "green", "assistant": "blue", "system": "magenta"}


class Drawn:
    """The hits of a page as text; `sessions` are theirs. `context`: with what was said before and after them."""

    def __init__(self, screen: Screen, sessions: dict[str, SessionInfo], *, context: bool) -> None:
        self.screen, self._sessions, self._context = screen, sessions, context

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
                self.screen.say()
            self.screen.say(self._heading(session_id))
            for line in (line for hit in its for line in self._lines(hit)):
                self.screen.say(line)

    def _heading(self, session_id: str) -> str:
        screen, info = self.screen, self._sessions[session_id]
        state = " archived" if info.archived_at is not None else ""
        return screen.styled(
            (screen.sanitized(self._name(session_id)), "yellow"),
            (f" {(age if screen.tty else moment)(info.updated_at)} {screen.sanitized(info.agent)}{state} ", "dim"),
            (screen.sanitized(info.title or info.preview or ""), "bold"),
        ).rstrip()

    def _lines(self, hit: Hit) -> list[str]:
        lines = [self._address(hit)]
        lines += self._around("before", hit.before)
        lines += marked_lines(self.screen, hit.snippet, hit.marks, margin=_SNIPPET, style=_FOUND)
        return lines + self._around("after", hit.after)

    def _address(self, hit: Hit) -> str:
        screen = self.screen
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
        return [self.screen.styled((f"{_AROUND}{where}: {self.screen.sanitized(said)}", "dim"))]

    def _name(self, some_id: str) -> str:
        """A pipe gets it whole, as in a list."""
        return short(some_id) if self.screen.tty else some_id


def print_page(drawn: Drawn, page: SearchPage, *, pager: bool) -> None:
    """Its hits, where more are, and aside what there is to know of the search."""
    with paged(drawn.screen, wanted=pager and bool(page.hits)):
        drawn.print(page.hits)
    if page.next:
        drawn.screen.hint(f"more: --limit {2 * len(page)}" if 2 * len(page) <= MOST else "more: --after, by --json")
    if not page.hits and not page.suggestion:
        drawn.screen.hint("nothing found")
    drawn.screen.out.flush()
    for note in _notes(page):
        say_aside(note, json=False)


def _notes(page: SearchPage) -> list[str]:
    notes = []
    if page.suggestion:
        notes.append(f"nothing found. Did you mean: {page.suggestion}?")
    if page.indexed_through is not None:
        since = f"what came in after {moment(page.indexed_through)}" if page.indexed_through else "next to everything"
        notes.append(
            f"of {since} some is not indexed yet, and may be missing; `palaver reindex --missing` goes on with it"
        )
    if page.cut:
        notes.append("the query is longer than one may be; its end was left out")
    if page.moved:
        notes.append("the index was written since the page before: a hit may come twice, or be missed")
    return notes
