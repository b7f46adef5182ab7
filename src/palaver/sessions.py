"""Sessions of a store: making one, finding one, listing them."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Unpack

import palaver

from . import marks
from .base import arguments
from .base.exact_json import check_column, check_title
from .core import read, session_facts, verbs
from .core.read import find_session, session_list, sessions
from .errors import BadValue, SessionNotFound
from .keywords import FactKeywords, Relation
from .model import Page, SessionInfo, TurnInfo
from .session import Session

_OPTIONS = "workspace model title metadata parent relation tool_call_id facts"  # of a new session
_PAGE = 50  # sessions that are read at once
_FILTERS = "agent workspace parent archived deleted waiting ended idle_since order limit after facts"


class Sessions:
    """Finding and making sessions."""

    def __init__(self, store: palaver.Store) -> None:
        self._store = store

    def create(
        self,
        agent: str = "default",
        *,
        workspace: str | None = None,
        model: Any = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: Session | str | None = None,
        relation: Relation | None = None,
        tool_call_id: str | None = None,
        id: str | None = None,
        facts: Mapping[str, str | None] | None = None,
        **named: Unpack[FactKeywords],
    ) -> Session:
        """A new session. With `parent` it is a sub-agent's, spawned from there (by a tool call, if given);
        relation="continue": it goes on where the parent was split, "import": it was brought in. `id` may be the
        application's own. `project`, `user` … and `facts` say what it belongs to; what a sub-agent has from its parent
        can be taken away by None."""
        told = session_facts.given("create", named, facts, _OPTIONS + " id")
        given = (agent, workspace, model, title, metadata, _id_of(parent), relation, tool_call_id)
        new = verbs.create.NewSession(*given, told).checked()
        with self._store.db.write(hard=True) as tx:
            return Session(self._store, verbs.create.create(tx, new, id))

    def get_or_create(
        self,
        id: str,
        agent: str = "default",
        *,
        workspace: str | None = None,
        model: Any = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: Session | str | None = None,
        relation: Relation | None = None,
        tool_call_id: str | None = None,
        facts: Mapping[str, str | None] | None = None,
        **named: Unpack[FactKeywords],
    ) -> Session:
        """The session with this id, ours or the application's; made with the rest if there is none yet. Of many who ask
        at once, one makes it. SessionDeleted if it was deleted, AliasTaken if the id is an alias of another."""
        told = session_facts.given("get_or_create", named, facts, _OPTIONS)
        given = (agent, workspace, model, title, metadata, _id_of(parent), relation, tool_call_id)
        new = verbs.create.NewSession(*given, told).checked()
        with self._store.db.read() as tx:
            found = find_session.by_id(tx, arguments.text("id", id))
        if found is not None:  # mostly: nobody waits for a lock
            return Session(self._store, found)
        with self._store.db.write(hard=True) as tx:
            return Session(self._store, verbs.create.get_or_create(tx, id, new))

    def get(self, session_id: str, *, deleted: bool = False) -> Session:
        """The session with this id, ours or the one given to create(); SessionNotFound if none, or it was deleted."""
        arguments.flag("deleted", deleted)
        with self._store.db.read() as tx:
            ours = find_session.by_id(tx, arguments.text("a session's id", session_id), deleted=deleted)
        if ours is None:
            raise SessionNotFound(session_id, "list() shows what there is")
        return Session(self._store, ours)

    def find(self, name: str, namespace: str | None = None) -> Session:
        """By id, or by an alias (in one namespace, or in any if it is clear)."""
        arguments.text("name", name)
        arguments.text_or_none("namespace", namespace)
        with self._store.db.read() as tx:
            return Session(self._store, find_session.by_name(tx, name, namespace))

    def turn_of(self, thread_key: str, namespace: str = "thread_key") -> TurnInfo:
        """The turn that an alias names: `session.alias(key, "thread_key", turn=…)`."""
        arguments.text("thread_key", thread_key)
        arguments.text("namespace", namespace)
        with self._store.db.read() as tx:
            return find_session.turn_by_name(tx, thread_key, namespace)

    def match(self, name: str, *, deleted: bool = False) -> builtins.list[SessionInfo]:
        """What a person may mean by a name. A whole id (ours or the application's) is that session and no other. Else
        all that have it as an alias, as their exact title, or as a piece of their id: its beginning (with or without
        `ses_`) or its end, from four characters on; a shorter beginning counts if nobody is called so."""
        arguments.flag("deleted", deleted)
        check_column("name", arguments.text("name", name))
        with self._store.db.read() as tx:
            return sessions.match(tx, name, deleted=deleted)

    def by_title(self, title: str) -> Session:
        """The session that a title means: the newest of its lineage, which is "X", "X #2", "X #3" …: the highest
        number; of several with the same title, the one that was made last. "X #2" is just that one. Archived ones
        count, deleted ones do not. SessionNotFound otherwise."""
        with self._store.db.read() as tx:
            return Session(self._store, read.titles.newest(tx, _title(title)))

    def next_title(self, title: str) -> str:
        """What to call the next session of a lineage: "X #2" after "X", "X #10" after "X #9"; "X", if there is none of
        it yet. "X #3" is of the lineage of "X". Nothing is kept free: two who ask at once are told the same."""
        with self._store.db.read() as tx:
            return str(check_title(read.titles.following(tx, _title(title))))

    def list(
        self,
        *,
        agent: str | None = None,
        workspace: str | None = None,
        parent: Session | str | None = None,
        archived: bool = False,
        deleted: bool = False,
        waiting: bool = False,
        ended: bool = False,
        idle_since: datetime | int | None = None,
        order: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        facts: Mapping[str, str | None] | None = None,
        **named: Unpack[FactKeywords],
    ) -> Page:
        """Newest first: by last update, or by creation (order="created"), where rows never move. By facts (`project`,
        `user` …, others in `facts`) it goes by creation, unless order="updated" is asked for. Go through it for all of
        them, page by page; with a `limit`, for so many: its `next`, given as `after`, is where the rest begins.
        `parent` lists what came from there; `archived=True` includes those too; `waiting=True`: only those in which a
        turn waits for an answer. `ended=True`: only those that were said to be over; `idle_since`: only those that got
        no message (or were made, if they have none) at that time or later: a datetime, or epoch ms. `deleted=True`:
        those that were deleted and no others, the last one first."""
        for name, flag in (("archived", archived), ("deleted", deleted), ("waiting", waiting), ("ended", ended)):
            arguments.flag(name, flag)
        for label, text in (("agent", agent), ("workspace", workspace), ("after", after), ("order", order)):
            arguments.text_or_none(label, text)
        if limit is not None:
            arguments.whole("limit", limit, least=1, most=10_000)
        asked = _asked_for(session_facts.given("list", named, facts, _FILTERS))
        idle = None if idle_since is None else marks.stamp(idle_since)
        which = session_list.Which(archived, deleted, waiting, ended, idle)
        wanted = session_list.Wanted(agent, workspace, _id_of(parent), which, asked, order, limit or _PAGE)
        return self._page(wanted, after, goes_on=limit is None)

    def _page(self, wanted: session_list.Wanted, after: str | None, *, goes_on: bool = True) -> Page:
        with self._store.db.read() as tx:
            found = session_list.page(tx, wanted, after)
        return Page(found.sessions, found.next, (lambda cursor: self._page(wanted, cursor)) if goes_on else None)

    def __iter__(self) -> Iterator[SessionInfo]:
        """All sessions that are not archived, page by page."""
        return iter(self.list(order="created"))


def _id_of(session: Session | str | None) -> str | None:
    return session.id if isinstance(session, Session) else arguments.text_or_none("parent", session)


def _title(given: str) -> str:
    if not arguments.text("title", check_title(given)):
        raise BadValue("a title cannot be empty")
    return given


def _asked_for(facts: session_facts.Facts) -> builtins.list[tuple[str, str]]:
    """The facts that a list is by; None asks for nothing."""
    asked = [(name, value) for name, value in facts.items() if value is not None]
    if len(asked) > session_facts.MOST_IN_A_LIST:
        raise BadValue(f"a list is by at most {session_facts.MOST_IN_A_LIST} facts, not {len(asked)}")
    return asked
