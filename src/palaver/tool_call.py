"""A tool call that an agent wrote with `turn.tool(…)`: its answer, or the question whether it may run."""

from __future__ import annotations

from typing import Any

import palaver

from .base import arguments, ids


class ToolCall:
    """A tool call of an open turn, waiting for its answer."""

    id: str
    name: str
    input: Any
    approved: bool | None  # None: nobody was asked, or nobody has answered yet

    def __init__(
        self, turn: palaver.Turn, call_id: str, name: str, input: Any = None, approved: bool | None = None
    ) -> None:
        self._turn = turn
        self.id = call_id
        self.name = name
        self.input = input
        self.approved = approved

    def __repr__(self) -> str:
        said = {None: "", True: ", approved", False: ", denied"}[self.approved]
        return f"<ToolCall {self.name} {self.id}: {arguments.shown(self.input)}{said}>"

    def output(self, value: Any, *, preliminary: bool = False) -> None:
        """What the tool gave. One that is `preliminary` is replaced by the next, and the call stays open. A call is
        answered once."""
        chunk = {"type": "tool-output-available", "toolCallId": self.id, "output": value}
        more = {"preliminary": True} if arguments.flag("preliminary", preliminary) else {}
        self._turn._answer(self.id, {**chunk, **more})

    def error(self, text: str | BaseException) -> None:
        """Why the tool failed, as the model is to read it; or the exception that says so."""
        if isinstance(text, BaseException):
            text = f"{type(text).__name__}: {text}"
        said = arguments.text("text", text)
        self._turn._answer(self.id, {"type": "tool-output-error", "toolCallId": self.id, "errorText": said})

    def deny(self) -> None:
        """It may not run: the model is told so, with the reason that came with the answer."""
        self._turn._answer(self.id, {"type": "tool-output-denied", "toolCallId": self.id})

    def ask(self) -> None:
        """Ask a person whether it may run: leave the block, and the turn waits. `turn.resolve(call.id, approved=…)` is
        the answer, on what `session.resume(turn.id)` gives, in any process."""
        chunk = {"type": "tool-approval-request", "toolCallId": self.id, "approvalId": ids.mint("apr_")}
        self._turn._answer(self.id, chunk)


def of_part(turn: palaver.Turn, part: dict[str, Any]) -> ToolCall:
    """A call as the message has it."""
    approval = part.get("approval")
    approved = approval.get("approved") if isinstance(approval, dict) else None
    name = part["toolName"] if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-")
    return ToolCall(turn, part["toolCallId"], name, part.get("input"), approved)
