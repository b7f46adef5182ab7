"""A tool call that an agent wrote with `turn.tool(…)`: its answer, or the question whether it may run."""

from __future__ import annotations

from typing import Any

import palaver

from .base import arguments, ids


class ToolCall:
    """A tool call of an open turn, waiting for its answer."""

    id: str
    name: str

    def __init__(self, turn: palaver.Turn, call_id: str, name: str) -> None:
        self._turn = turn
        self.id = call_id
        self.name = name

    def __repr__(self) -> str:
        return f"<ToolCall {self.name} {self.id}>"

    def output(self, value: Any, *, preliminary: bool = False) -> None:
        """What the tool gave. One that is `preliminary` is replaced by the next, and the call stays open."""
        chunk = {"type": "tool-output-available", "toolCallId": self.id, "output": value}
        more = {"preliminary": True} if arguments.flag("preliminary", preliminary) else {}
        self._turn.write({**chunk, **more})

    def error(self, text: str) -> None:
        """Why the tool failed, as the model is to read it."""
        said = arguments.text("text", text)
        self._turn.write({"type": "tool-output-error", "toolCallId": self.id, "errorText": said})

    def ask(self) -> None:
        """Ask a person whether it may run: leave the block, and the turn waits. `turn.resolve(call.id, approved=…)` is
        the answer, on what `session.resume(turn.id)` gives, in any process."""
        chunk = {"type": "tool-approval-request", "toolCallId": self.id, "approvalId": ids.mint("apr_")}
        self._turn.write(chunk)
