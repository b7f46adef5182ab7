"""The message rows of a session in a `state.db` as turns: a user's row and what follows it.

A row is known by its place in the session and by what it says; whether it was taken back (`active`) or summarised
(`compacted`) is no part of that, for both happen to rows that are there. Rows that were taken back are turns beside the
path; those that were summarised stay on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ...aisdk.parts import TOOL_ROW, is_tool
from ...errors import BadValue
from ...grafts.values import GraftItem, GraftMove, GraftTurn
from . import rows
from .columns import canonical, is_exact
from .rows import Row
from .session_columns import milliseconds

STATE = ("active", "compacted")  # what happens to a row after it was written


class FileRow(NamedTuple):
    """A row of the file: its place in its session, from 1; what it says; what happened to it. `is_exact`: the
    milliseconds of its time say all of it, and it is later than the rows before."""

    place: int
    row: Row
    is_active: bool
    is_compacted: bool
    is_exact: bool

    @property
    def item(self) -> str:
        return f"row-{self.place}"

    @property
    def is_on_path(self) -> bool:
        return self.is_active or self.is_compacted

    def columns(self) -> Row:
        """As a message keeps it: its time where the message's own does not say it, and that it was summarised."""
        row = {name: value for name, value in self.row.items() if name != "timestamp" or not self.is_exact}
        if self.is_compacted:
            row |= {"active": int(self.is_active), "compacted": 1}
        return row


def file_rows(found: Iterable[Row]) -> Iterator[FileRow]:
    """Rows as they follow each other, with what they are known by."""
    latest = -1
    for place, given in enumerate(found, 1):
        row = {name: value for name, value in given.items() if name not in (*STATE, "id", "session_id")}
        if not isinstance(row.get("role"), str):
            row["role"] = str(row.get("role", "unknown"))
        at = milliseconds(row.get("timestamp"))
        exact = is_exact(row.get("timestamp"), at) and at is not None and at > latest
        latest = max(latest, at or 0)
        yield FileRow(place, row, given.get("active", 1) != 0, bool(given.get("compacted")), exact)


def turns(found: Iterable[FileRow], prompt: str | None, active: str | None = None) -> Iterator[GraftTurn | GraftMove]:
    """The turns of a session, each below the one that was in force when it was said; and where its head stands.
    `active`: what they go on from."""
    last: str | None = None
    for group in groups(found):
        first = group[0]
        parent = active if first.is_on_path or last is None else last
        yield turn(group, parent, prompt)
        if first.is_on_path:
            active, last = group[-1].item, None
        else:
            last = group[-1].item
    if last is not None:
        yield GraftMove(active)


def groups(found: Iterable[FileRow]) -> Iterator[list[FileRow]]:
    group: list[FileRow] = []
    for row in found:
        if group and (row.row["role"] == "user" or row.is_on_path != group[-1].is_on_path):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def turn(group: list[FileRow], parent: str | None, prompt: str | None) -> GraftTurn:
    answers = _answers(group)
    options = {} if prompt is None else {"system_prompt": prompt}

    def rest(known: int) -> GraftTurn | None:
        if any(row >= known > call for row, call in answers.items()):
            return None  # a result belongs to its call
        return _said(group, answers, known, options)

    return GraftTurn([GraftItem(canonical(row.row), row.item) for row in group], parent=parent, rest=rest)


def _answers(group: list[FileRow]) -> dict[int, int]:
    """Which rows are results, and of which row's call: an open one of the last answer before them."""
    found: dict[int, int] = {}
    calls: set[str] = set()
    asked = 0
    for place, each in enumerate(group):
        name = each.row.get("tool_call_id")
        if each.row["role"] == "assistant":
            asked, calls = place, _open_calls(message_of(each))
        elif each.row["role"] == "tool" and name in calls:
            calls.discard(name)
            found[place] = asked
    return found


def _said(group: list[FileRow], answers: Mapping[int, int], known: int, options: dict[str, Any]) -> GraftTurn:
    messages: dict[int, dict[str, Any]] = {}
    for place, each in enumerate(group[known:], known):
        if place in answers:
            _answer(messages[answers[place]], each)
        else:
            messages[place] = _dated(message_of(each), each)
    times = [at for each in group[known:] if (at := milliseconds(each.row.get("timestamp"))) is not None]
    first, last = (min(times), max(times)) if times else (None, None)
    return GraftTurn([], list(messages.values()), started_at=first, sealed_at=last, options=options)


def message_of(each: FileRow) -> dict[str, Any]:
    """A row nested so deep that nobody can look into it is kept as it stands."""
    try:
        return rows.message_of(each.columns())
    except (RecursionError, BadValue):
        return {"role": "system", "parts": [{"type": TOOL_ROW, "data": each.columns()}]}


def _dated(message: dict[str, Any], each: FileRow) -> dict[str, Any]:
    at = milliseconds(each.row.get("timestamp"))
    return message if at is None else message | {"created_at": at}


def _open_calls(message: Mapping[str, Any]) -> set[str]:
    return {part["toolCallId"] for part in message["parts"] if is_tool(part["type"])}


def _answer(message: dict[str, Any], each: FileRow) -> None:
    """Put a result where its call is; its own time has no place there but beside it."""
    call = next(part for part in message["parts"] if part.get("toolCallId") == each.row["tool_call_id"])
    row = each.columns() | {name: value for name, value in each.row.items() if name == "timestamp"}
    output, beside = rows.result_of(row, call)
    call |= {"state": "output-available", "output": output}
    if beside is not None:
        call["resultProviderMetadata"] = beside
