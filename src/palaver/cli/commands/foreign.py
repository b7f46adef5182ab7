"""Rows of the contract's tables that another program wrote, or will read: adopt and materialise."""

from __future__ import annotations

from .. import resolve
from ..command import Call, command, session_argument
from ..ui.format import count, short


@command(
    "adopt",
    examples=["palaver adopt", "palaver adopt 9fK2xQ"],
    keys={"adopted": "how many sessions had rows of another program"},
)
@session_argument(required=False)
def adopt(call: Call, session: str | None) -> None:
    """Make turns of rows that another program wrote.

    Without SESSION, in every session. Reading shows such rows in any case; adopting puts them into the tree, under a
    digest."""
    store = call.store()
    adopted = store.adopt() if session is None else int(resolve.session(store, session).adopt())
    call.done({"adopted": adopted}, f"adopted rows in {count(adopted, 'session')}" if adopted else "nothing to adopt")


@command(
    "materialise",
    examples=["palaver materialise 9fK2xQ"],
    keys={"session": "its id", "copied": "how many messages were copied now"},
)
@session_argument()
def materialise(call: Call, session: str) -> None:
    """Write a fork's shared messages as rows of its own.

    For programs that know only the contract's three tables: they see a fork whole then. Copies carry no usage."""
    _, found = call.session(session)
    copied = found.materialise()
    call.done({"session": found.id, "copied": copied}, f"copied {count(copied, 'message')} into {short(found.id)}")
