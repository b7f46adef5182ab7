"""`palaver rebuild`: the rows of sessions made again from the journal of a store that keeps everything."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from palaver import Store

from .. import resolve
from ..command import Call, command
from ..exits import OK, PROBLEMS, Stop
from ..ui.format import count


def _named(store: Store, name: str) -> str:
    """A session whose own row is what is lost is named by its id."""
    try:
        return resolve.session(store, name).id
    except Stop as stop:
        if stop.kind != "SessionNotFound":
            raise
        return name


@command(
    "rebuild",
    examples=["palaver rebuild --check", "palaver rebuild @"],
    keys={
        "problems[]": "rows that were missing or said something else, and sessions whose journal is not whole, with:",
        "  rule": "rebuild: a row; journal: a session that was not recorded from its beginning",
        "  where": "the row it is about",
        "  what": "a sentence",
        "  copy": "true: the row was (or can be) made again",
        "rebuilt": "how many rows were put right",
    },
)
@click.argument("session", required=False)
@click.option("--check", is_flag=True, help="Only compare; change nothing.")
def rebuild(call: Call, session: str | None, check: bool) -> int:
    """Make sessions again from their journal, row for row.

    For a store that was begun with events="full". Rows that are missing or were changed are written as they were; rows
    of other programs are left alone. Exit code 1 if something does not fit and was not put right."""
    store = call.store(readonly=check)
    wanted = None if session is None else _named(store, session)
    found = store.rebuild(wanted, fix=not check)
    rebuilt = 0 if check else sum(problem.copy for problem in found)
    if call.json:
        listed: list[dict[str, Any]] = [msgspec.to_builtins(problem) for problem in found]
        call.screen.json({"problems": listed, "rebuilt": rebuilt})
    else:
        for problem in found:
            call.screen.say(f"{call.screen.sanitized(problem.where)}: {call.screen.sanitized(problem.what)}")
        said = f"{count(rebuilt, 'row')} made again" if rebuilt else "every row is as it was written"
        call.screen.say(said if rebuilt or not found else f"{count(len(found), 'difference')}")
    return PROBLEMS if len(found) > rebuilt else OK
