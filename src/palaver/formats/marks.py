"""What a foreign format says and a UIMessage has no field for, kept on the part it belongs to.

It lies where the AI SDK keeps what a provider needs back: in `providerMetadata`, on tool parts in
`callProviderMetadata` and `resultProviderMetadata`, under the provider's name. What the SDK's own providers know has
their names (`itemId`, `signature`, `cacheControl` …); what only this folder knows is one level deeper, under the name
of the format (`chat`, `responses`, `messages`), so that one format never writes what another one left:

    message   fields of the message or item that began with this part
    block     fields of the block (a content part, a tool call) that this part was
    inner     fields of the object inside the block: an image_url, a source
    shape     "blocks": a list, where one text would be written as text; "none": there was no content at all
    type      the block's type, where the part alone would be written as another
    field     the field of the message that this part was, where it was no block
    order     of a result: its rank among those of the step, where they did not come in the order of the calls

and flags of a single format, which their readers explain: absent, bare, unnamed, continues, raw, by_id, silent.

What is not known at all (a block, an item) is kept whole, in a data part that only its own format writes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..aisdk.parts import is_tool
from .conversation import Part

CALL = "callProviderMetadata"
RESULT = "resultProviderMetadata"
CHAT_BLOCK = "data-openai-chat-block"
RESPONSES_BLOCK = "data-openai-responses-block"
RESPONSES_ITEM = "data-openai-responses-item"
ANTHROPIC_BLOCK = "data-anthropic-block"
WHOLE = (CHAT_BLOCK, RESPONSES_BLOCK, RESPONSES_ITEM, ANTHROPIC_BLOCK)
_KINDS = {
    **dict.fromkeys(("shape", "type", "field", "item", "role"), str),
    **dict.fromkeys(("message", "block", "inner"), dict),
    **dict.fromkeys(("order", "place"), int),
}


class Marks(NamedTuple):
    """One format's own corner of a part."""

    provider: str
    format: str

    def facts(self, part: Part, where: str | None = None) -> dict[str, Any]:
        """What is kept for the provider, whichever format or program told it."""
        return _object(_object(part.get(where or _home(part))).get(self.provider))

    def of(self, part: Part, where: str | None = None) -> dict[str, Any]:
        """What this format left. A mark that is not what it should be was left by somebody else."""
        left = _object(self.facts(part, where).get(self.format))
        return {mark: value for mark, value in left.items() if isinstance(value, _KINDS.get(mark, object))}

    def kept(self, part: Part, mark: str, where: str | None = None) -> dict[str, Any]:
        """The fields that a mark holds."""
        return _object(self.of(part, where).get(mark))

    def tell(self, part: Part, where: str | None = None, **facts: Any) -> None:
        told = {key: value for key, value in facts.items() if _says_something(value)}
        if told:
            part.setdefault(where or _home(part), {}).setdefault(self.provider, {}).update(told)

    def mark(self, part: Part, where: str | None = None, **marks: Any) -> None:
        left = {key: value for key, value in marks.items() if _says_something(value)}
        self.tell(part, where, **{self.format: {**self.of(part, where), **left}})

    def first(self, parts: list[Part], mark: str) -> Any:
        """A mark of the message that these parts are: the first of them that has it."""
        return next((self.of(part)[mark] for part in parts if mark in self.of(part)), None)


CHAT = Marks("openai", "chat")
RESPONSES = Marks("openai", "responses")
MESSAGES = Marks("anthropic", "messages")
ALL = (CHAT, RESPONSES, MESSAGES)


def _home(part: Part) -> str:
    return CALL if is_tool(part["type"]) else "providerMetadata"


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value != {}
