"""Tool inputs that are an edit: a text and what takes its place, or a patch. Both are shown as a diff.

Agents' tools name the two texts in a few ways; whichever they use, a person wants to see what changed. The other keys
of the input stay what they are.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_PAIRS = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldString", "newString"),
    ("old", "new"),
)
_PATCH = re.compile(r"diff --git |--- .*\n\+\+\+ |\*\*\* Begin Patch\n|@@ |Index: .*\n")
_CHANGED = re.compile(r"^[+-]", re.MULTILINE)
_MANY = 2_000  # lines that are compared; more are shown as taken away and added
_HUNK = "@@"


class Edit(NamedTuple):
    """What of an input is an edit: its diffs; and the keys that are not."""

    diffs: list[str]
    rest: dict[str, Any]


def find(given: Any) -> Edit:
    """The edits of a tool's input; of one that is no object, none."""
    if not isinstance(given, dict):
        return Edit([], {})
    for old, new in _PAIRS:
        if isinstance(given.get(old), str) and isinstance(given.get(new), str):
            rest = {key: value for key, value in given.items() if key not in (old, new)}
            return Edit([diff(given[old], given[new])], rest)
    return _several(given) or _patches(given)


def _several(given: dict[str, Any]) -> Edit | None:
    """`edits`: a list of edits, each of its own."""
    edits = given.get("edits")
    found = [find(edit) for edit in edits] if isinstance(edits, list) else []
    if not found or not all(one.diffs and not one.rest for one in found):
        return None
    rest = {key: value for key, value in given.items() if key != "edits"}
    return Edit([diff for one in found for diff in one.diffs], rest)


def _patches(given: dict[str, Any]) -> Edit:
    patches = {key: value for key, value in given.items() if is_patch(value)}
    return Edit(list(patches.values()), {key: value for key, value in given.items() if key not in patches})


def is_patch(value: Any) -> bool:
    """Whether a text looks like a diff or a patch."""
    return isinstance(value, str) and bool(_PATCH.match(value)) and bool(_CHANGED.search(value))


def diff(old: str, new: str) -> str:
    """What takes the place of what, line by line, with three lines around."""
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > _MANY:
        return "\n".join([*(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    from difflib import unified_diff

    lines = list(unified_diff(before, after, lineterm=""))[2:]
    marked = [_HUNK if line.startswith(_HUNK) else line for line in lines]  # the numbers would count from the snippet
    return "\n".join(marked[1:]) or "(nothing changes)"


def _lines(text: str) -> list[str]:
    """Without the empty one after the last newline."""
    return text.removesuffix("\n").split("\n") if text else []
