"""A conversation that came from elsewhere: what every reader of this folder answers, and all that an importer needs.

A turn is one user message, or several in a row, and everything up to the next one. Its messages are UIMessages
without ids; all that the model said in it, its tool calls and their results are one assistant message, with a
`step-start` before each call of the model. Only what stood between two answers (a system message, a tool's result
that no call asked for) makes two of one. `items` says where each item of the source went, so that it can be kept as
it was; `homeless` what of it is in no message.
"""

from __future__ import annotations

from typing import Any

import msgspec

UIMessage = dict[str, Any]  # role, parts
Part = dict[str, Any]


class Item(msgspec.Struct, frozen=True):
    """One item of the source: its place there, its role (`assistant` or `tool` where it has none of its own), and the
    message of the turn that holds what it says."""

    index: int
    role: str
    message_index: int


class Homeless(msgspec.Struct, frozen=True):
    """Something that only the source has: the item, the path inside it, and why it is in no message."""

    index: int
    path: str
    what: str


class Prompt(msgspec.Struct, frozen=True):
    """A system prompt that stands before everything else. `index` is None where it is no item of the array."""

    index: int | None
    role: str
    message: UIMessage


class TurnIn(msgspec.Struct, frozen=True):
    messages: list[UIMessage]
    items: list[Item]
    homeless: list[Homeless]


class Conversation(msgspec.Struct, frozen=True):
    """`homeless` is here what belongs to none of the turns: of a prompt, or of an item that says nothing."""

    system: list[Prompt]
    turns: list[TurnIn]
    homeless: list[Homeless]

    def messages(self) -> list[UIMessage]:
        """Everything in order, prompts first: what `write` takes."""
        return [*(prompt.message for prompt in self.system), *(said for turn in self.turns for said in turn.messages)]
