"""Generated conversations: there and back again in every format, and from each format into every other.
The default run is the same every time; the long one (`-m long`) looks at new examples, many more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from palaver import formats

from . import strategies, valid
from .support import messages

Test = Callable[..., None]
VALID: dict[str, Callable[[Any], None]] = {
    "openai": valid.chat,
    "openai-responses": valid.responses,
    "anthropic": valid.anthropic,
}
FOREIGN = {"openai": strategies.chats(), "openai-responses": strategies.items(), "anthropic": strategies.talks()}


def examples(count: int, *, long: bool = False) -> Callable[[Test], Test]:
    return settings(
        max_examples=count * 10 if long else count,
        derandomize=not long,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


def comes_back(value: Any, format: str) -> None:
    """A foreign conversation is written as it was read."""
    written = formats.write(messages(value, format), format)
    if format == "anthropic":
        assert written == (value.get("system"), value["messages"])
    else:
        assert written == value


def is_read_again(given: list[dict[str, Any]], format: str) -> None:
    """UIMessages are read again as they were, but for what only says where they came from."""
    written = formats.write(given, format)
    read = formats.read({"system": written[0], "messages": written[1]} if format == "anthropic" else written, format)
    assert read.messages() == given


def suits_everybody(given: list[dict[str, Any]]) -> None:
    for format, check in VALID.items():
        check(formats.write(given, format))


def crosses_over(value: Any, format: str) -> None:
    """What one API said can be told to every other."""
    found = messages(value, format)
    for other, check in VALID.items():
        if other != format:
            check(formats.write(found, other))


CLAIMS: dict[str, tuple[Callable[..., None], Any, int]] = {
    **{f"{name} comes back": (comes_back, (FOREIGN[name], name), 25) for name in VALID},
    **{f"{name} is read again": (is_read_again, (strategies.ui_messages(name), name), 25) for name in VALID},
    **{f"{name} crosses over": (crosses_over, (FOREIGN[name], name), 25) for name in VALID},
    "any messages suit everybody": (suits_everybody, (strategies.any_ui_messages(),), 40),
}


def run(name: str, *, long: bool) -> None:
    claim, (values, *more), count = CLAIMS[name]

    @examples(count, long=long)
    @given(values)
    def holds(value: Any) -> None:
        claim(value, *more)

    holds()


@pytest.mark.parametrize("name", CLAIMS)
def test_it_holds_for_generated_conversations(name: str) -> None:
    run(name, long=False)


@pytest.mark.long
@pytest.mark.parametrize("name", CLAIMS)
def test_it_holds_for_many_more(name: str) -> None:
    run(name, long=True)
