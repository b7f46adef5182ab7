"""A long source that says the same whenever it is asked: turns with tool calls, branches, a move of the head; and what
a store says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import palaver
from palaver import GraftItem, GraftMove, GraftSession, GraftTurn, GraftUsage

YEAR = 1_600_000_000_000
TURNS = 300
FORKS = {100: "i80", 200: "i199"}  # these turns go on from an earlier one
Told = dict[str, Any]


def source() -> GraftSession:
    return GraftSession("there", "long", turns(), agent="guide", title="A long one", created_at=YEAR)


def turns() -> Iterator[GraftTurn | GraftMove]:
    place = 0
    for number in range(TURNS):
        item = GraftItem(
            f'{{"id":"i{number}","words":"{"word " * (number % 50)}"}}'.encode(), f"i{number}", "log", place
        )
        place += len(item.body)
        yield GraftTurn(
            [item],
            [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "parts": parts(number)}],
            parent=FORKS.get(number, f"i{number - 1}") if number else None,
            started_at=YEAR + number * 1_000,
            usage=[GraftUsage({"input": number, "output": 1}, key=f"r{number}")],
        )
    yield GraftMove(f"i{TURNS - 2}", reason="undone")


def parts(number: int) -> list[dict[str, Any]]:
    call = {"toolCallId": f"c{number}", "state": "output-available", "input": {"n": number}, "output": "ok"}
    return [{"type": "text", "text": f"{number}!"}, {"type": "tool-look", **call}]


def told(store: palaver.Store) -> Told:
    """All that must be the same, however it came in."""
    session = store.sessions.get("long")
    tree = session.tree()
    names = {turn.id: store.natives(turn.id)[0].item for turn in tree}
    return {
        "transcript": [(message.created_at, message.role, message.ui()["parts"]) for message in session.transcript()],
        "tree": sorted((names[turn.id], names.get(turn.parent_id or ""), turn.started_at) for turn in tree),
        "natives": sorted((n.item, n.body, n.file, n.place) for turn in tree for n in store.natives(turn.id)),
        "usage": sorted((row.key or "", row.usage.input) for row in session.usage()),
        "sessions": len(list(store.sessions.list())),
    }
