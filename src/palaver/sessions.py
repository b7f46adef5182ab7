"""Sessions of a store: making one, finding one, listing them."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import palaver

from .base import arguments, exact_json
from .base.exact_json import LONGEST_KEY, check_column, check_name, check_title, size_of
from .core import metadata, verbs
from .core.read import find_session, sessions
from .errors import BadValue, SessionNotFound
from .model import Page, SessionInfo
from .session import Session


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
        tool_call_id: str | None = None,
        id: str | None = None,
    ) -> Session:
        """A new session. With `parent` it is a sub-agent's, spawned from there (by a tool call, if given). `id` may be
        the application's own."""
        new = _new(agent, workspace, model, title, metadata, parent, tool_call_id)
        with self._store.db.write(hard=True) as tx:
            session_id = verbs.create.create(tx, **new, session_id=id)
        return Session(self._store, session_id)

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
        tool_call_id: str | None = None,
    ) -> Session:
        """The session with this id, ours or the application's; made with the rest if there is none yet. Of many who ask
        at once, one makes it. SessionDeleted if it was deleted."""
        new = _new(agent, workspace, model, title, metadata, parent, tool_call_id)
        arguments.text("id", id)
        with self._store.db.write(hard=True) as tx:
            session_id = verbs.create.get_or_create(tx, id, new)
        return Session(self._store, session_id)

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

    def match(self, name: str, *, deleted: bool = False) -> builtins.list[SessionInfo]:
        """What a person may mean by a name: an id (ours or the application's), an alias, an exact title; failing these,
        the sessions whose id begins with it (with or without `ses_`) or, from four characters on, ends with it."""
        arguments.flag("deleted", deleted)
        check_column("name", arguments.text("name", name))
        with self._store.db.read() as tx:
            return sessions.match(tx, name, deleted=deleted)

    def list(
        self,
        *,
        agent: str | None = None,
        workspace: str | None = None,
        parent: Session | str | None = None,
        archived: bool = False,
        deleted: bool = False,
        waiting: bool = False,
        order: str = "updated",
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """Newest first: by last update, or by creation (order="created"), where rows never move. Go through it for all
        of them, page by page, or take its `sessions` and give its `next` as `after`; `archived=True` includes those
        too; `waiting=True`: only those in which a turn waits for an answer. `deleted=True`: those that were deleted and
        no others, the last one first."""
        for name, flag in (("archived", archived), ("deleted", deleted), ("waiting", waiting)):
            arguments.flag(name, flag)
        for label, text in (("agent", agent), ("workspace", workspace), ("after", after)):
            arguments.text_or_none(label, text)
        arguments.whole("limit", limit, least=1, most=10_000)
        filters = {"agent": agent, "workspace": workspace, "parent": _id_of(parent)}
        chosen = {"archived": archived, "deleted": deleted, "waiting": waiting}
        return self._page({**filters, **chosen, "order": order, "limit": limit}, after)

    def _page(self, wanted: dict[str, Any], after: str | None) -> Page:
        with self._store.db.read() as tx:
            found = sessions.list_page(tx, **wanted, after=after)
        return Page(found.sessions, found.next, lambda cursor: self._page(wanted, cursor))

    def __iter__(self) -> Iterator[SessionInfo]:
        """All sessions that are not archived, page by page."""
        return iter(self.list(order="created", limit=500))


def _new(
    agent: str,
    workspace: str | None,
    model: Any,
    title: str | None,
    metadata: dict[str, Any] | None,
    parent: Session | str | None,
    tool_call_id: str | None,
) -> dict[str, Any]:
    """What a caller gave for a new session, looked at."""
    if not check_name("agent", agent):
        raise BadValue("agent is the name of who talks; it cannot be empty")
    check_title(title)
    check_name("tool_call_id", tool_call_id)
    _check_workspace(workspace)
    return {
        "agent": agent,
        "workspace": workspace,
        "model": model,
        "title": title,
        "metadata_text": _metadata(metadata),
        "parent": _id_of(parent),
        "parent_call": tool_call_id,
    }


def _id_of(session: Session | str | None) -> str | None:
    return session.id if isinstance(session, Session) else arguments.text_or_none("parent", session)


def _check_workspace(given: str | None) -> None:
    check_column("workspace", given)
    if given is not None and size_of(given) > LONGEST_KEY:
        raise BadValue(f"workspace has {size_of(given):,} bytes; {LONGEST_KEY:,} are the most")


def _metadata(given: dict[str, Any] | None) -> str:
    text = metadata.as_given(given)
    if '"deleted_at"' in text and "deleted_at" in exact_json.parse(text):
        raise BadValue("session metadata key 'deleted_at' belongs to the store; leave it out")
    return text
