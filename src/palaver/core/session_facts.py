"""What a fact of a session may be: a name and a text. Nothing here does I/O.

The names that everybody uses are keywords (`keywords.FactKeywords`); any other comes in `facts={…}`. None stands for a
fact that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import arguments, exact_json
from ..errors import BadValue
from ..keywords import FactKeywords

Facts = dict[str, str | None]

NAMES = tuple(FactKeywords.__annotations__)
LONGEST_FACT_NAME = 64  # bytes
LONGEST_VALUE = 512
MOST_IN_A_LIST = 12  # facts that one list may ask for


def given(verb: str, named: Mapping[str, Any], more: Any, options: str = "") -> Facts:
    """The facts that a caller gave, by keyword and by name; looked at, in the order of their names. `options` are what
    else the verb takes, for who misspells one."""
    arguments.options(verb, named, [*NAMES, *options.split()])
    if more is None:
        more = {}
    if not isinstance(more, Mapping):
        raise BadValue(f"facts are an object of names and texts, not {type(more).__name__}")
    twice = sorted(named.keys() & more.keys())
    if twice:
        raise BadValue(f"the fact {twice[0]!r} is given twice, by itself and in facts; leave one out")
    checked = {_name(name): _value(name, value) for name, value in {**more, **named}.items()}
    return dict(sorted(checked.items()))


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise BadValue(f"the name of a fact is text that can be printed, not {arguments.shown(name)}")
    if exact_json.size_of(name) > LONGEST_FACT_NAME:
        raise BadValue(f"the name {name!r:.60} of a fact has more than {LONGEST_FACT_NAME} bytes")
    return str.__str__(name)


def _value(name: str, value: Any) -> str | None:
    if value is None:
        return None
    exact_json.check_text(f"the fact {name!r:.60}", value)
    if exact_json.size_of(value) > LONGEST_VALUE:
        size = exact_json.size_of(value)
        raise BadValue(f"the fact {name!r:.60} has {size:,} bytes; {LONGEST_VALUE} is the most (metadata takes more)")
    return str.__str__(value)
