"""The fields of a query, asked of one candidate: `role:tool`, `agent:coder`, `has:file` …

`agent`, `source`, `project`, `role`, `tool` and `session` mean the whole value, `model`, `workspace` and `file` a piece
of it; upper and lower case are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ...base import exact_json
from ...db.engine import Tx
from ...search.characters import fold
from ...search.documents import TOOL, Document, file_names, is_error, tool_name
from ...search.tree import Field, Filter
from .. import damage
from ..read import sessions
from .documents import Stored
from .sight import Seen, Session


class Candidate:
    """A document that may be a hit, and who sees it. Under the name of another session it does not have the title of
    the one it was written in."""

    def __init__(self, stored: Stored, document: Document, seen: Seen) -> None:
        self.stored, self.seen = stored, seen
        self.is_untitled = document.title > 0 and seen.session.id != stored.titled
        self.document = document.without_title() if self.is_untitled else document

    @cached_property
    def parts(self) -> list[dict[str, object]]:
        """Of a result, its own; else all that belong to the message's text."""
        place = self.document.place
        chosen = self.stored.parts if place < 0 else self.stored.parts[place : place + 1]
        return [part for _, part in chosen if isinstance(part, dict)]


_OF_SESSION: dict[str, Callable[[Session, str], bool]] = {
    "agent": lambda session, value: fold(session.agent) == value,
    "workspace": lambda session, value: value in fold(session.workspace),
    "source": lambda session, value: fold(damage.as_text(session.facts.get("source", ""))) == value,
    "project": lambda session, value: fold(damage.as_text(session.facts.get("project", ""))) == value,
}


class Fields:
    """What each field asks, for one search."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._named: dict[str, set[str]] = {}
        self._asks: dict[str, Callable[[Candidate, str], bool]] = {
            "role": lambda one, value: fold(one.document.role) == value,
            "model": lambda one, value: value in fold(_model(one)),
            "tool": lambda one, value: any(fold(name) == value for name in _tools(one)),
            "file": lambda one, value: any(value in fold(name) for part in one.parts for name in file_names(part)),
            "is": lambda one, _: _failed(one),
            "has": lambda one, _: any(part.get("type") == "file" for part in one.parts),
        }

    def has(self, one: Candidate, field: Field) -> bool:
        if field.name == "before":
            return one.stored.at < int(field.value)
        if field.name == "after":
            return one.stored.at >= int(field.value)
        if field.name == "session":
            return one.seen.session.id in self.sessions(str(field.value))
        of_session = _OF_SESSION.get(field.name)
        if of_session is not None:
            return of_session(one.seen.session, fold(str(field.value)))
        return self._asks[field.name](one, fold(str(field.value)))

    def may_have(self, seen: Seen, filters: tuple[Filter, ...]) -> bool:
        """What the session alone says, before a message is read."""
        for field, negated in ((each.field, each.negated) for each in filters):
            asks = _OF_SESSION.get(field.name)
            if asks is not None and asks(seen.session, fold(str(field.value))) == negated:
                return False
        return True

    def has_all(self, one: Candidate, filters: tuple[Filter, ...]) -> bool:
        return all(self.has(one, each.field) != each.negated for each in filters)

    def sessions(self, name: str) -> set[str]:
        """What a person may mean by it: an id or a piece of one, an alias, a title."""
        if name not in self._named:
            is_clean = "\0" not in name and not exact_json.has_surrogates(name)
            found = sessions.match(self._tx, name, deleted=False) if is_clean else []
            self._named[name] = {info.id for info in found}
        return self._named[name]


def _model(one: Candidate) -> str:
    turn = one.seen.turn
    named = (turn.provider, turn.model) if turn else ()
    return "/".join(damage.as_text(each) for each in named if each)


def _tools(one: Candidate) -> list[str]:
    return [tool_name(part) for part in one.parts if "toolCallId" in part]


def _failed(one: Candidate) -> bool:
    """A result that is an error, or the answer of a turn that failed."""
    if one.document.role == TOOL:
        return any(is_error(part) for part in one.parts)
    turn = one.seen.turn
    return one.document.role == "assistant" and turn is not None and turn.status == "failed"
