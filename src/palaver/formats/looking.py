"""Looking at a value that somebody else made: what is not as it should be is refused, and the place is named."""

from __future__ import annotations

from typing import Any

from ..base import arguments
from ..errors import BadValue

_WORDS: dict[type, str] = {str: "text", dict: "an object", list: "a list", bool: "true or false"}


def check(value: Any, at: str, *kinds: type) -> Any:
    """The value, if it is of one of these kinds."""
    if isinstance(value, kinds):
        return value
    wanted = " or ".join(_WORDS[kind] for kind in kinds)
    raise BadValue(f"{at} is {wanted}, not {arguments.shown(value)}")


def need(given: dict[str, Any], key: str, at: str, *kinds: type) -> Any:
    """What an object must have."""
    if key not in given:
        raise BadValue(f"{at}.{key} is missing")
    return check(given[key], f"{at}.{key}", *kinds)


def may(given: dict[str, Any], key: str, at: str, *kinds: type) -> Any:
    """What an object may have; null is as good as nothing."""
    return None if given.get(key) is None else check(given[key], f"{at}.{key}", *kinds)


def each(values: list[Any], at: str) -> list[tuple[dict[str, Any], str]]:
    """The objects of a list, each with its place."""
    return [(check(value, f"{at}[{index}]", dict), f"{at}[{index}]") for index, value in enumerate(values)]


def choose(table: dict[str, Any], name: str, at: str) -> Any:
    if not isinstance(name, str) or name not in table:
        raise BadValue(f"{at} is one of {', '.join(table)}, not {arguments.shown(name)}")
    return table[name]


def rest(given: dict[str, Any], *taken: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in taken}


def array(value: Any, *keys: str) -> tuple[list[Any], str]:
    """The array of a conversation and its name: the value itself, or what a request or an answer holds under a key."""
    if isinstance(value, list):
        return value, keys[0]
    if isinstance(value, dict):
        for key in keys:
            if key in value:
                return check(value[key], key, list), key
    raise BadValue(f"a conversation is a list, or an object with {' or '.join(keys)}, not {arguments.shown(value)}")
