"""Palaver at durability="normal" through Hermes' SessionDB: the column to hold against Palaver's own verbs."""

from __future__ import annotations

import palaver

from ..protocol import Adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..protocol import Message


class Store(Adapter):
    can = frozenset({"append", "load", "storm"})
    notes = {"append": "one row is one committed turn with a number"}

    def __init__(self, path: str) -> None:
        from palaver.dialects.hermes import SessionDB

        super().__init__(path)
        self.store = palaver.open(path, durability="normal")
        self.db = SessionDB(store=self.store)

    def close(self) -> None:
        self.store.close()

    def new_session(self, sid: str) -> None:
        self.db.create_session(sid, "cli", model="bench/model")

    def append(self, sid: str, message: Message) -> None:
        self.db.append_message(sid, message["role"], message["parts"][0]["text"])

    def load(self, sid: str) -> list[Any]:
        return self.db.get_messages(sid)

    def fill_sessions(self, count: int) -> None:
        """Most of them empty, to save time; each of the newest 2,000 has a question, a call, its result and an
        answer."""
        for number in range(count):
            sid = f"s{number}"
            self.new_session(sid)
            if number >= count - 2_000:
                self.exchange(sid, number)

    def exchange(self, sid: str, number: int) -> None:
        call = {"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": '{"command": "ls"}'}}
        self.db.append_message(sid, "user", f"please fix the failing deploy number {number} and report")
        self.db.append_message(sid, "assistant", "", tool_calls=[call], finish_reason="tool_calls")
        self.db.append_message(sid, "tool", f"deploy-{number}.log", tool_call_id=f"c{number}", tool_name="sh")
        self.db.append_message(sid, "assistant", "It is the disk.", finish_reason="stop")
