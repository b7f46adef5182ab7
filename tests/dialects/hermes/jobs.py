"""What other processes do with a `SessionDB`: the jobs of `python -m tests.dialects.hermes.jobs`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from ...tools.puppet import Report, heard, play, ready, say
from .support import call, ours, witness


def opened(kind: str, place: str) -> Any:
    return witness()(Path(place)) if kind == "witness" else ours()(place)


def round_of(me: str, number: int) -> list[dict[str, Any]]:
    """A question, a call, its result, an answer."""
    id = f"{me} {number}"
    return [
        {"role": "user", "content": f"{id} question"},
        {"role": "assistant", "content": f"{id} call", "tool_calls": [call(id)]},
        {"role": "tool", "content": f"{id} result", "tool_call_id": id, "tool_name": "terminal"},
        {"role": "assistant", "content": f"{id} answer", "finish_reason": "stop"},
    ]


def write(kind: str, place: str, session: str, me: str, rounds: int) -> Report:
    """Round after round. The number of each row, in the order in which they were given out."""
    ids, errors = [], []
    with closing(opened(kind, place)) as db:
        db.ensure_session(session, "cli")
        ready()
        for number in range(rounds):
            for row in round_of(me, number):
                try:
                    ids.append([db.append_message(session, **row), row["content"]])
                except Exception as error:
                    errors.append(repr(error))
    return {"me": me, "session": session, "ids": ids, "errors": errors}


def append(kind: str, place: str, session: str) -> None:
    """Append each row that we are told, and say its number."""
    with closing(opened(kind, place)) as db:
        db.ensure_session(session, "cli")
        for row in heard():
            say(db.append_message(session, **row))


if __name__ == "__main__":
    play()
