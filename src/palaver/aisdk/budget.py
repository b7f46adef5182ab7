"""A context that fits: the newest exchanges within a number of tokens, and how much was left out.

The system prompt and the summary stay. An exchange is what the user said and everything until the user speaks again; it
stays whole or goes whole, oldest first. Only the newest one, if it alone is too much, is cut between its steps: its
question stays, and of the answer the newest steps. A tool call and its result are one part, so neither goes alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from ..base import arguments, exact_json
from ..errors import ContextTooLarge
from ..keywords import Count
from .parts import is_tool

Message = dict[str, Any]

DUE = 0.8  # of the budget: from here on a compaction is due
_BYTES = 3  # of text to a token: what English, code and JSON need at most, and Chinese about
_FILE = 1_600  # tokens of a picture or a document, whatever its bytes
_EACH = 4  # tokens around a message


class Context(list[Message]):
    """UIMessages for a model. `left_out` is how many messages are not in it, or not whole; `compaction_due`: time to
    `compact()`."""

    def __init__(
        self, messages: Iterable[Message] = (), *, tokens: int | None = None, left_out: int = 0, due: bool = False
    ) -> None:
        super().__init__(messages)
        self._counted = tokens
        self.left_out = left_out
        self.compaction_due = due

    @property
    def tokens(self) -> int:
        """What the messages were counted as; where nobody counted, an estimate."""
        return sum(map(estimate, self)) if self._counted is None else self._counted


def check(most: Any, count: Any) -> None:
    """What a caller gave for a budget."""
    if most is not None:
        arguments.whole("max_tokens", most, least=1)
    arguments.function("count", count)


def fit(messages: list[Message], most: int | None, count: Count | None) -> Context:
    """What fits into `most` tokens; everything, where there is no limit."""
    if most is None:
        return Context(messages, tokens=sum(map(_checked(count), messages)) if count else None)
    count = _checked(count) if count else estimate
    fixed = list(takewhile(lambda message: message["role"] == "system", messages))
    left = most - sum(map(count, fixed))
    if left < 0:
        raise ContextTooLarge(most, most - left)
    kept = list[Message]()
    for exchange in reversed(_exchanges(messages[len(fixed) :])):
        size = sum(map(count, exchange))
        if size > left and not kept:
            exchange, size = _newest_steps(exchange, left, count, most)
            kept, left = exchange, left - size
            break
        if size > left:
            break
        kept, left = exchange + kept, left - size
    sizes = {message["id"]: len(message["parts"]) for message in kept}
    out = sum(sizes.get(message["id"]) != len(message["parts"]) for message in messages[len(fixed) :])
    tokens = most - left
    return Context([*fixed, *kept], tokens=tokens, left_out=out, due=out > 0 or tokens > DUE * most)


def _checked(count: Count) -> Count:
    """A caller's own counter, which must give a number of tokens."""
    return lambda message: arguments.whole("what count() gives", count(message))


def estimate(message: Message) -> int:
    """About how many tokens a message is, rather too many than too few."""
    return _EACH + sum(map(_estimate_part, message["parts"]))


def _estimate_part(part: Message) -> int:
    kind = part["type"]
    if kind in ("text", "reasoning"):
        return _tokens(part["text"])
    if kind == "file":
        text = str(part.get("mediaType", "")).startswith("text/") and str(part.get("url", "")).startswith("data:")
        return max(_FILE, _tokens(part["url"])) if text else _FILE
    if is_tool(kind):
        told = {key: part[key] for key in ("toolName", "input", "output", "errorText") if key in part}
        return _EACH + _tokens(kind) + _tokens(exact_json.encode(told))
    return 0


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES)


def _exchanges(messages: list[Message]) -> list[list[Message]]:
    found: list[list[Message]] = []
    for message in messages:
        begins = message["role"] == "user" and not (found and found[-1][-1]["role"] == "user")
        if begins or not found:
            found.append([])
        found[-1].append(message)
    return found


def _newest_steps(exchange: list[Message], left: int, count: Count, most: int) -> tuple[list[Message], int]:
    """The question, and as many of the newest steps as there is room for."""
    question = list(takewhile(lambda message: message["role"] == "user", exchange))
    steps = [piece for message in exchange[len(question) :] for piece in _steps(message)]
    room = left - sum(map(count, question))
    kept = list[Message]()
    for piece in reversed(steps):
        if count(piece) > room:
            break
        kept.insert(0, piece)
        room -= count(piece)
    if room < 0 or (steps and not kept):
        raise ContextTooLarge(most, most - left + sum(map(count, [*question, *steps[-1:]])))
    return [*question, *_joined(kept)], left - room


def _steps(message: Message) -> list[Message]:
    """An answer in its steps, each as a message of its own."""
    found: list[list[Message]] = [[]]
    for part in message["parts"]:
        if part["type"] == "step-start" and found[-1]:
            found.append([])
        found[-1].append(part)
    return [{**message, "parts": parts} for parts in found] if len(found) > 1 else [message]


def _joined(pieces: list[Message]) -> list[Message]:
    """Steps of one message as one message again."""
    found = list[Message]()
    for piece in pieces:
        if found and found[-1]["id"] == piece["id"]:
            found[-1] = {**piece, "parts": [*found[-1]["parts"], *piece["parts"]]}
        else:
            found.append(piece)
    return found
