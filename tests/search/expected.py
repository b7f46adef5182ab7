"""What a store says and who may see it, read message by message through the public reads; no index, no search.

A document is a message's own text, or one result of a tool. It is seen by every session whose transcript has the
message; the rest of what the rows of live sessions hold is hidden. Texts are put together here once more, by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import palaver

from ..postgres.engines import Engine

OVER = ("output-available", "output-error", "output-denied")
Part = dict[str, Any]


class Doc(NamedTuple):
    message_id: str
    part_id: str | None
    role: str
    at: int
    home: str
    text: str
    parts: list[Part]
    seen_by: dict[str, str | None]  # the live sessions that have it in their transcripts, and in which turn
    failed: set[str]  # those of its turns that did
    untitled: str = ""  # its text for who sees it under another name than the home's

    @property
    def key(self) -> tuple[str, str | None, str]:
        return self.message_id, self.part_id, self.role


class Session(NamedTuple):
    id: str
    agent: str
    is_archived: bool


class Everything(NamedTuple):
    docs: list[Doc]
    sessions: dict[str, Session]  # those that were not deleted

    def seen(self, *, archived: bool, hidden: bool, only: set[str] | None = None) -> Iterator[tuple[Doc, list[str]]]:
        """With the names under which it may be found, the home alone where that is one of them."""
        asked = {one.id for one in self.sessions.values() if archived or not one.is_archived}
        asked &= asked if only is None else only
        for doc in self.docs:
            names = [name for name in doc.seen_by if name in asked]
            if doc.home in names or (not names and hidden and doc.home in asked):
                names = [doc.home]
            if names and doc.home not in names and doc.part_id is None and doc.role != "tool":
                doc = doc._replace(text=doc.untitled)
            if names and doc.text.strip():
                yield doc, names


def everything(engine: Engine, store: palaver.Store) -> Everything:
    reader = _Reader(engine, store)
    return Everything(list(reader.docs()), reader.sessions)


class _Reader:
    def __init__(self, engine: Engine, store: palaver.Store) -> None:
        self._store = store
        infos = list(store.sessions.list(archived=True))
        self.sessions = {info.id: Session(info.id, info.agent, info.archived_at is not None) for info in infos}
        self._titles = {info.id: info.title for info in [*infos, *store.sessions.list(deleted=True)]}
        rows = engine.rows(store, "SELECT id, session_id, role, created_at FROM chat_messages")
        copies = {name for (name,) in engine.rows(store, "SELECT copy_id FROM copies")}
        self._rows = {name: (home, role, at) for name, home, role, at in sorted(rows) if name not in copies}
        self._parts: dict[str, list[tuple[str, Part]]] = {}
        for name, message, data in engine.rows(
            store, 'SELECT id, message_id, data_json FROM chat_parts ORDER BY message_id, "index"'
        ):
            self._parts.setdefault(message, []).append((name, json.loads(data)))
        self._read_turns()
        self._read_cancelled(engine)
        self._read_transcripts()

    def _read_turns(self) -> None:
        """What streams stands in no row yet; and which messages begin a session, where its title is."""
        self._texts: dict[str, list[Part]] = {}
        self._titled: dict[str, str] = {}
        self._failed: dict[str, set[str]] = {}
        for name in self._titles:
            session = self._store.sessions.get(name, deleted=True)
            turns = {turn.id: turn for turn in session.tree()}
            for turn in turns.values():
                messages = session.messages_of(turn.id)
                self._texts |= {message.id: _parsed(message.parts) for message in messages}
                for message in messages if turn.status == "failed" else ():
                    self._failed.setdefault(message.id, set()).add(turn.id)
                parent = turns.get(turn.parent_id or "")
                if turn.session_id == name and (parent is None or parent.session_id != name):
                    own = [message.id for message in messages if self._rows[message.id][0] == name]
                    self._titled |= dict.fromkeys(own[:1], name)

    def _read_cancelled(self, engine: Engine) -> None:
        """What was queued and cancelled is in no tree, and nothing stands before it."""
        listed = "SELECT e.ref, t.session_id FROM turn_entries e JOIN turns t ON t.id = e.turn_id"
        for message, home in engine.rows(self._store, f"{listed} WHERE t.base_revision < 0"):
            self._titled.setdefault(message, home)

    def _read_transcripts(self) -> None:
        self._seen: dict[str, dict[str, str | None]] = {}
        for name in self.sessions:
            for message in self._store.sessions.get(name).transcript():
                self._seen.setdefault(message.id, {})[name] = message.turn_id

    def docs(self) -> Iterator[Doc]:
        for message, (home, role, at) in self._rows.items():
            rows = self._parts.get(message, [])
            parts = self._texts.get(message, [part for _, part in rows])
            title = self._titles[self._titled[message]] if message in self._titled else None
            seen, failed = self._seen.get(message, {}), self._failed.get(message, set())
            own = "\n".join(filter(None, [title, *map(own_text, parts)]))
            if own.strip():
                untitled = "\n".join(filter(None, map(own_text, parts)))
                yield Doc(message, None, role, at, home, own, parts, seen, failed, untitled)
            for place, part in enumerate(parts):
                if (text := result(part)).strip():
                    part_id = rows[place][0] if place < len(rows) else None
                    yield Doc(message, part_id, "tool", at, home, text, [part], seen, failed)


def _parsed(texts: list[str]) -> list[Part]:
    return [json.loads(text) for text in texts]


# ---------------------------------------------------------------- texts


def own_text(part: Part) -> str:
    kind = part["type"]
    if kind in ("text", "reasoning"):
        return str(part["text"])
    if name := tool_name(part):
        return f"{name}\n{lines(part.get('input'))}"
    if kind == "file":
        return f"{part.get('filename', '')}\n{part['url']}"
    if kind == "source-url":
        return f"{part.get('title', '')}\n{part['url']}"
    if kind == "data-compaction":
        return str(part["data"]["summary"])
    return ""


def tool_name(part: Part) -> str | None:
    if part["type"] == "dynamic-tool":
        return str(part["toolName"])
    kind, _, name = part["type"].partition("-")
    return name if kind == "tool" else None


def result(part: Part) -> str:
    if tool_name(part) is None or part.get("state") not in OVER:
        return ""
    return f"{part.get('errorText', '')}\n{lines(part.get('output'))}"


def lines(value: Any) -> str:
    """The inputs of these lives are flat."""
    if isinstance(value, dict):
        return "\n".join(f"{key}: {inner}" for key, inner in value.items())
    return "" if value is None else str(value)
