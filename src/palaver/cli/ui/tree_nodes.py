"""What `palaver tree` knows of each turn: where it stands, by which words it is known, and which sessions are there."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

from palaver import Session, Store, StoredMessage, TurnInfo
from palaver.core import read
from palaver.core.rows import ChildRow

from ..values import turn_json
from . import words
from .graph import is_queued


class Nodes:
    """The turns of a session, and the sessions around it."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store, self._session = store, session
        self.turns = session.tree()
        path = session.path()
        self.head = path[-1].id if path else None
        self._path = {turn.id for turn in path}
        self._strays = {turn.id for turn in session.strays()} - self._path
        self._messages = {turn.id: session.messages_of(turn.id) for turn in self.turns}
        self._asked = Counter(map(self._question, self.turns))

    def mark(self, turn: TurnInfo) -> str:
        if turn.sealed_at is None:
            return "waiting" if turn.status == "waiting" else "open"
        if turn.id in self._path:
            return "head" if turn.id == self.head else "path"
        return "stray" if turn.id in self._strays else "branch"

    def json(self, turn: TurnInfo) -> dict[str, Any]:
        heads = [self._session.id] if turn.id == self.head else []
        known_by, _ = self.words(turn)
        return {
            **turn_json(turn),
            "mark": self.mark(turn),
            "words": known_by,
            "heads": heads + [other.session_id for other in self.others(turn)],
            "agents": [agent.session_id for agent in self.agents(turn.id)],
        }

    # ------------------------------------------------------------ what is queued

    def in_line(self) -> list[TurnInfo]:
        """The turns, those that hold a queued message in the order they will be claimed."""
        if not any(map(is_queued, self.turns)):
            return self.turns
        place = {queued.turn_id: number for number, queued in enumerate(self._session.queue())}
        return sorted(self.turns, key=lambda turn: place.get(turn.id, -1))

    def ahead(self) -> str | None:
        """What a queued message will come after: the turn that is open on the head, if it is one; else the head."""
        revision = self._session.info.revision
        is_next = [turn.id for turn in self.turns if turn.sealed_at is None and turn.base_revision == revision]
        return is_next[0] if len(is_next) == 1 else self.head

    # ------------------------------------------------------------ words

    def words(self, turn: TurnInfo) -> tuple[str, str]:
        """What it is known by, and what that is of: a summary, an answer, or nothing (what was said first)."""
        messages = self._messages[turn.id]
        if turn.kind == "compaction":
            return words.summary(messages), "summary"
        answered = self._first([message for message in messages if message.role == "assistant"])
        if answered and self._asked[self._question(turn)] > 1:
            return answered, "answer"
        called = [f"tool {name}" for message in messages for name in words.calls(message).values()]
        return self._first(messages) or "".join(called[:1]), ""

    def _first(self, messages: list[StoredMessage]) -> str:
        return next(filter(None, map(words.first_words, messages)), "")

    def _question(self, turn: TurnInfo) -> tuple[str | None, str]:
        """What was asked, and after what: an answer that was generated again has the same."""
        asked = [message.id for message in self._messages[turn.id] if message.role == "user"]
        return turn.parent_id, asked[0] if asked else turn.id

    # ------------------------------------------------------------ other sessions

    @cached_property
    def _relatives(self) -> list[ChildRow]:
        with self._store.db.read() as tx:
            return read.family.relatives(tx, self._session.id)

    def others(self, turn: TurnInfo) -> list[ChildRow]:
        """The other sessions whose head stands on a turn."""
        return [relative for relative in self._relatives if relative.turn_id == turn.id]

    def spawned(self, session_id: str) -> list[ChildRow]:
        """The sub-agents that a session sent."""
        with self._store.db.read() as tx:
            return [child for child in read.family.children(tx, session_id) if child.relation == "spawn"]

    def agents(self, turn_id: str | None) -> list[ChildRow]:
        """The sub-agents that were sent from a turn; None: before anything was said."""
        return self._agents.get(turn_id, [])

    @cached_property
    def _agents(self) -> dict[str | None, list[ChildRow]]:
        mine = {child.session_id for child in self.spawned(self._session.id)}
        found: dict[str | None, list[ChildRow]] = {}
        for child in self._relatives:
            is_shared = child.relation == "spawn" and child.origin_turn in self._messages
            if is_shared or child.session_id in mine:
                found.setdefault(self._sent_from(child), []).append(child)
        return found

    def _sent_from(self, child: ChildRow) -> str | None:
        """The turn that holds the call; of several (an id may come again) the one that it was made in."""
        holding = [turn.id for turn in self.turns if child.origin_call in self._calls[turn.id]]
        if child.origin_turn in holding or not holding:
            return child.origin_turn if child.origin_turn in self._messages else None
        return holding[-1]

    @cached_property
    def _calls(self) -> dict[str, set[str]]:
        """The ids of the tool calls of each turn."""
        found = self._messages.items()
        return {turn_id: {call for one in messages for call in words.calls(one)} for turn_id, messages in found}
