"""Hermes Agent's `SessionDB` on a Palaver store: the methods of schema 6, with their names, defaults and answers.

    from palaver.dialects.hermes import SessionDB

Each row of Hermes' `messages` is a message here, or the result of a tool call; the numbers that it is known by are kept
beside it. An assistant row with `tool_calls` waits until each call has its `tool` row, or another row comes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import palaver

from ...base import arguments
from ...errors import HeadConflict, SessionNotFound
from ...numbered import FoundRow, SummaryRow, Told
from ...session import Session
from ...store import Store
from . import message_rows, place, rows, search_text, session_rows, titles
from .errors import like_sqlite
from .message_rows import Said
from .rows import Row
from .session_columns import AGENT, UNKNOWN

_DAY = 86_400.0
_ALL = 1_000_000  # more rows than anybody looks at
_LONGEST_CHAIN = 100  # of sessions that continue each other
_COMPRESSION = "compression"
_PREVIEW = 60  # characters
_OF_THE_TIP = (
    *("id", "ended_at", "end_reason", "message_count", "tool_call_count", "title", "last_active", "preview", "model"),
    "system_prompt",
)


class SessionDB:
    """The store of Hermes' sessions. `db_path` is a path, or the address of a Postgres server (and space); without one,
    it is `palaver.db` in `$HERMES_HOME`."""

    MAX_TITLE_LENGTH = titles.LONGEST

    @like_sqlite
    def __init__(
        self, db_path: Path | str | None = None, *, read_only: bool = False, store: Store | None = None
    ) -> None:
        self.store = place.opened(db_path, readonly=read_only) if store is None else store
        self.db_path = db_path if db_path is not None else self.store.path
        self._rows = message_rows.of_store(self.store)

    def __enter__(self) -> SessionDB:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    # ------------------------------------------------------------ sessions

    @like_sqlite
    def create_session(
        self,
        session_id: str,
        source: str,
        model: str | None = None,
        model_config: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
        user_id: str | None = None,
        parent_session_id: str | None = None,
    ) -> str:
        """Make a session, unless there is one of this id; its id."""
        arguments.text("source", source)
        parent = None if parent_session_id is None else self._require(parent_session_id)
        digest = None if system_prompt is None else self._rows.keep_prompt(system_prompt)
        about: dict[str, Any] = {"model": model or None, "parent": parent.id if parent else None}
        about["relation"] = "continue" if parent else None
        about["metadata"] = session_rows.metadata_of(model, model_config, digest)
        facts: dict[str, str | None] = {"source": source, "user": user_id}
        self._rows.create(session_id, AGENT, facts, **about)
        return session_id

    @like_sqlite
    def ensure_session(self, session_id: str, source: str = UNKNOWN, model: str | None = None) -> str:
        return self.create_session(session_id, source, model=model)

    @like_sqlite
    def end_session(self, session_id: str, end_reason: str) -> None:
        """It ends once: the first reason stays."""
        session = self._rows.find(session_id)
        if session is not None:
            self._rows.end(session.id, end_reason)

    @like_sqlite
    def reopen_session(self, session_id: str) -> None:
        session = self._rows.find(session_id)
        if session is not None:
            session.reopen()

    @like_sqlite
    def update_system_prompt(self, session_id: str, system_prompt: str | None) -> None:
        session = self._rows.find(session_id)
        if session is not None:
            self._rows.set_prompt(session.id, system_prompt, session_rows.with_prompt)

    @like_sqlite
    def update_token_counts(
        self,
        session_id: str,
        input_tokens: int = 0,
        output_tokens: int = 0,
        model: str | None = None,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        reasoning_tokens: int = 0,
        estimated_cost_usd: float | None = None,
        actual_cost_usd: float | None = None,
        cost_status: str | None = None,
        cost_source: str | None = None,
        pricing_version: str | None = None,
        billing_provider: str | None = None,
        billing_base_url: str | None = None,
        billing_mode: str | None = None,
        absolute: bool = False,
    ) -> None:
        """Count what a call of a model used; with `absolute`, say what the session used in all."""
        session = self._rows.find(session_id)
        if session is None:
            return
        usage = {"input": input_tokens, "output": output_tokens, "reasoning": reasoning_tokens}
        usage |= {"cache_read": cache_read_tokens, "cache_write": cache_write_tokens}
        for name, count in usage.items():
            arguments.whole(f"{name}{'' if 'cache' in name else '_tokens'}", count)
        billing = {"billing_provider": billing_provider, "billing_base_url": billing_base_url}
        billing |= {"billing_mode": billing_mode, "cost_status": cost_status, "cost_source": cost_source}
        billing["pricing_version"] = pricing_version
        told = Told(
            *(usage, model or None, actual_cost_usd, estimated_cost_usd, pricing_version, absolute),
            changes=lambda about: session_rows.with_billing(about, billing),
        )
        self._rows.tally(session.id, told)

    @like_sqlite
    def get_session(self, session_id: str) -> Row | None:
        session = self._rows.find(session_id)
        return None if session is None else self._row(session.id)

    def _row(self, ours: str) -> Row | None:
        found = self._rows.summary(ours)
        return None if found is None else session_rows.session_rows(self._rows, [found])[0]

    @like_sqlite
    def resolve_session_id(self, session_id_or_prefix: str) -> str | None:
        """An id, or the beginning of just one."""
        if self._rows.find(session_id_or_prefix) is not None:
            return session_id_or_prefix
        found = self._rows.beginning(session_id_or_prefix)
        return session_rows.name_of(found[0]) if len(found) == 1 else None

    def _require(self, session_id: str) -> Session:
        session = self._rows.find(session_id)
        if session is None:
            raise SessionNotFound(session_id, "create_session() makes it")
        return session

    # ------------------------------------------------------------ titles

    @staticmethod
    def sanitize_title(title: str | None) -> str | None:
        return titles.sanitized(title)

    @like_sqlite
    def set_session_title(self, session_id: str, title: str | None) -> bool:
        """False: there is no such session. ValueError: another one has the title, or it is too long."""
        cleaned, session = titles.sanitized(title), self._rows.find(session_id)
        if session is None:
            return False
        holder = self._rows.set_title(session.id, cleaned)
        if holder is not None:
            found = self._rows.summary(holder)
            named = session_rows.name_of(found) if found else holder
            raise ValueError(f"Title '{cleaned}' is already in use by session {named}")
        return True

    @like_sqlite
    def get_session_title(self, session_id: str) -> str | None:
        session = self._rows.find(session_id)
        found = None if session is None else self._rows.summary(session.id)
        return None if found is None else found.title

    @like_sqlite
    def get_session_by_title(self, title: str) -> Row | None:
        exact = [ours for ours, found in self._rows.titled(title) if found == title]
        return self._row(exact[0]) if exact else None

    @like_sqlite
    def resolve_session_by_title(self, title: str) -> str | None:
        """The newest of those that go on with it, else itself."""
        found = self._rows.titled(title)
        numbered = [ours for ours, known in found if known != title]
        best = numbered or [ours for ours, _ in found]
        row = self._rows.summary(best[0]) if best else None
        return None if row is None else session_rows.name_of(row)

    @like_sqlite
    def get_next_title_in_lineage(self, base_title: str) -> str:
        base = titles.base_of(base_title)
        return titles.following(base, [title for _, title in self._rows.titled(base)])

    # ------------------------------------------------------------ messages

    @like_sqlite
    def append_message(
        self,
        session_id: str,
        role: str,
        content: Any = None,
        tool_name: str | None = None,
        tool_calls: Any = None,
        tool_call_id: str | None = None,
        token_count: int | None = None,
        finish_reason: str | None = None,
        reasoning: str | None = None,
        reasoning_details: Any = None,
        codex_reasoning_items: Any = None,
    ) -> int:
        """Write a row; its number."""
        arguments.text("role", role)
        stamp = time.time()
        row: Row = {"role": role, "content": rows.encoded(content), "tool_name": tool_name}
        row |= {"tool_calls": _json(tool_calls), "tool_call_id": tool_call_id, "token_count": token_count}
        row |= {"finish_reason": finish_reason, "reasoning": reasoning}
        row |= {"reasoning_details": _json(reasoning_details), "codex_reasoning_items": _json(codex_reasoning_items)}
        message = rows.message_of(row)
        try:
            return self._append(session_id, row, message, stamp)
        except SessionNotFound:
            raise SessionNotFound(session_id, "create_session() makes it") from None

    def _append(self, session_id: str, row: Row, message: dict[str, Any], stamp: float) -> int:
        role, tool_call_id = row["role"], row["tool_call_id"]
        if role == "tool" and isinstance(tool_call_id, str):
            return self._rows.answer(session_id, tool_call_id, lambda call: rows.result_of(row, call), message, stamp)
        if rows.has_calls(message):
            return self._rows.call(session_id, message, stamp)
        return self._rows.append(session_id, message, stamp)

    @like_sqlite
    def get_messages(self, session_id: str) -> list[Row]:
        return [message_rows.message_row(session_id, one) for one in self._said(session_id)]

    @like_sqlite
    def get_messages_as_conversation(self, session_id: str) -> list[Row]:
        """As an API takes them."""
        return [message_rows.conversation_row(one) for one in self._said(session_id)]

    def _said(self, session_id: str) -> Iterator[Said]:
        session = self._rows.find(session_id)
        found = [] if session is None else self._rows.read(session.id)
        return (one for one in message_rows.said(found) if one.is_active)

    @like_sqlite
    def clear_messages(self, session_id: str) -> None:
        """Nothing is said in it any more. Palaver keeps what was: `session.undo()` brings it back."""
        session = self._rows.find(session_id)
        while session is not None:
            for turn in session.waiting():  # nobody answers their calls any more
                session.stop(turn.id, "clear_messages")
            revision = session.revision
            if session.info.turn_id is None:
                return
            try:
                return session.move(None, revision, reason="clear_messages")
            except HeadConflict:  # something was said meanwhile
                continue

    @like_sqlite
    def message_count(self, session_id: str | None = None) -> int:
        if session_id is None:
            count, others = self._rows.count()
            return count + sum(message_rows.count(self._rows.read(each)).messages for each in others)
        row = self.get_session(session_id)
        return 0 if row is None else int(row["message_count"])

    # ------------------------------------------------------------ search

    @staticmethod
    def _sanitize_fts5_query(query: str) -> str:
        return search_text.sanitized(query)

    @staticmethod
    def _contains_cjk(text: str) -> bool:
        return search_text.contains_cjk(text)

    @like_sqlite
    def search_messages(
        self,
        query: str,
        source_filter: Sequence[str] | None = None,
        exclude_sources: Sequence[str] | None = None,
        role_filter: Sequence[str] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Row]:
        """Find rows by their words: all of them, "phrases", OR, NOT, prefix*."""
        asked = search_text.said(query or "")
        if not asked or limit == 0 or (source_filter is not None and not source_filter):
            return []
        offset, limit = max(offset, 0), _ALL if limit < 0 else limit
        about: dict[str, Any] = {"sources": source_filter, "without": exclude_sources or (), "roles": role_filter or ()}
        found = self._rows.search(asked, offset + limit, **about)[offset:]
        sessions = {each: self._rows.summary(each) for each in dict.fromkeys(one.session_id for one in found)}
        return [_hit(one, session) for one in found if (session := sessions[one.session_id]) is not None]

    # ------------------------------------------------------------ lists

    @like_sqlite
    def list_sessions_rich(
        self,
        source: str | None = None,
        exclude_sources: Sequence[str] | None = None,
        limit: int = 20,
        offset: int = 0,
        include_children: bool = False,
        project_compression_tips: bool = True,
    ) -> list[Row]:
        """Sessions with what was said first and when last, the last begun first. Those that come from another one are
        left out; a conversation that was compressed and went on elsewhere is shown as it goes on."""
        found = self._listed(source, exclude_sources, not include_children, limit, offset)
        listed = self._rich(found)
        if not project_compression_tips or include_children:
            return listed
        return [self._projected(row, ours) for row, ours in zip(listed, found, strict=True)]

    def _listed(
        self, source: str | None, without: Sequence[str] | None, roots: bool, limit: int, offset: int
    ) -> list[SummaryRow]:
        about: dict[str, Any] = {"source": source or None, "roots": roots, "limit": limit, "offset": offset}
        return self._rows.summaries({*(without or ())}, **about)

    def _rich(self, found: list[SummaryRow]) -> list[Row]:
        first = self._rows.first_words([row.id for row in found]) if found else {}
        listed = session_rows.with_last(self._rows, found)
        for (row, last), ours in zip(listed, found, strict=True):
            row["preview"] = _preview(first.get(ours.id) if ours.relation != "fork" else ours.preview)
            row["last_active"] = row["started_at"] if last is None else last
        return [row for row, _ in listed]

    def _projected(self, row: Row, found: SummaryRow) -> Row:
        """A conversation under the name of the session in which it goes on, at the place where it began."""
        tip = self._tip(found) if row["end_reason"] == _COMPRESSION else found
        if tip.id == found.id:
            return row
        (shown,) = self._rich([tip])
        return row | {name: shown[name] for name in _OF_THE_TIP} | {"_lineage_root_id": row["id"]}

    @like_sqlite
    def get_compression_tip(self, session_id: str) -> str:
        """The session in which a compressed one goes on; itself, if there is none."""
        session = self._rows.find(session_id)
        found = None if session is None else self._rows.summary(session.id)
        return session_id if found is None else session_rows.name_of(self._tip(found))

    def _tip(self, found: SummaryRow) -> SummaryRow:
        for _ in range(_LONGEST_CHAIN):
            if found.end_reason != _COMPRESSION or found.ended_at is None:
                return found
            after = [child for child in self._rows.children(found.id) if child.created_at >= found.ended_at]
            if not after:
                return found
            found = after[0]
        return found

    @like_sqlite
    def search_sessions(self, source: str | None = None, limit: int = 20, offset: int = 0) -> list[Row]:
        """Sessions, the last begun first."""
        found = self._listed(source, None, False, limit, offset)
        return session_rows.session_rows(self._rows, found)

    @like_sqlite
    def session_count(self, source: str | None = None) -> int:
        return self._rows.count_sessions(source or None)

    # ------------------------------------------------------------ out of it

    @like_sqlite
    def export_session(self, session_id: str) -> Row | None:
        """A session with its messages."""
        row = self.get_session(session_id)
        return None if row is None else row | {"messages": self.get_messages(session_id)}

    @like_sqlite
    def export_all(self, source: str | None = None) -> list[Row]:
        found = self._listed(source, None, False, -1, 0)
        exported = (self.export_session(session_rows.name_of(row)) for row in found)
        return [row for row in exported if row is not None]

    @like_sqlite
    def delete_session(self, session_id: str) -> bool:
        """Its children stay, without a parent. Palaver keeps it for a while: `palaver rm --undo` brings it back."""
        session = self._rows.find(session_id)
        if session is None:
            return False
        try:
            session.delete()
        except SessionNotFound:  # somebody else deleted it meanwhile
            return False
        return True

    @like_sqlite
    def prune_sessions(self, older_than_days: float = 90, source: str | None = None) -> int:
        """Delete sessions that ended, and began so many days ago; how many."""
        before = time.time() - older_than_days * _DAY
        found = self._listed(source, None, False, -1, 0)
        old = [row for row in found if row.ended_at is not None and row.created_at / 1000 < before]
        return sum(self.delete_session(session_rows.name_of(row)) for row in old)


def _hit(one: FoundRow, session: SummaryRow) -> Row:
    row, context = message_rows.found_row(one)
    shown = session_rows.brief(session)
    return {
        "id": one.number,
        "session_id": shown["id"],
        "role": row["role"],
        "snippet": search_text.marked(one.snippet.text, one.snippet.marks),
        "timestamp": message_rows.when(row.get("timestamp"), one.stamp, one.message),
        "tool_name": row.get("tool_name"),
        "source": shown["source"],
        "model": shown["model"],
        "session_started": shown["started_at"],
        "context": context,
    }


def _preview(first: str | None) -> str:
    """The beginning of what the user said first, on one line."""
    text = (first or "").replace("\n", " ").replace("\r", " ")[: _PREVIEW + 3].strip()
    return text[:_PREVIEW] + "..." if len(text) > _PREVIEW else text


def _json(value: Any) -> str | None:
    """As Hermes stores what is structured; what is empty is nothing."""
    if not value:
        return None
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        raise palaver.BadValue(f"{type(value).__name__} cannot be kept as JSON; convert it first") from None
