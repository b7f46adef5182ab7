"""`palaver verify`: every digest and every derived copy, recomputed and compared."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from palaver import Problem

from ..command import Call, command
from ..exits import OK, PROBLEMS
from ..ui.format import count
from ..ui.progress import VerifyProgress


@command(
    "verify",
    examples=["palaver verify", "palaver verify --fix --json"],
    keys={
        "problems[]": "what does not fit (after --fix: what is left), with:",
        "  rule": "which rule: altered, missing, digest, parent, reflog, head, hidden_at, rollups …",
        "  where": "the row it is about",
        "  what": "a sentence",
        "  copy": "true: a derived copy, which --fix rewrites; false: the record itself",
        "fixed": "how many copies were rewritten",
    },
)
@click.option("--fix", is_flag=True, help="Rewrite derived copies that are wrong. The record itself is never touched.")
def verify(call: Call, fix: bool) -> int:
    """Prove that nothing was altered.

    Exit code 1 if something does not fit."""
    store = call.store(readonly=not fix)
    with VerifyProgress() as progress:
        before = store.verify(progress=progress)
        left = store.verify(fix=True, progress=progress) if fix and before else before
    fixed = len(before) - len(left) if fix else 0
    if call.json:
        listed: list[dict[str, Any]] = [msgspec.to_builtins(problem) for problem in left]
        call.screen.json({"problems": listed, "fixed": fixed})
    else:
        _print(call, left, fixed)
    return PROBLEMS if left else OK


def _print(call: Call, left: list[Problem], fixed: int) -> None:
    screen = call.screen
    for problem in left:
        kind = "copy" if problem.copy else "RECORD"
        where = "" if problem.where in problem.what else f" ({problem.where})"
        screen.say(
            f"{screen.paint(kind, 'red')} {screen.sanitized(problem.rule)}: {screen.sanitized(problem.what + where)}"
        )
    if fixed:
        screen.say(f"rewrote {count(fixed, 'copy') if fixed == 1 else f'{fixed:,} copies'}")
    if left and any(problem.copy for problem in left):
        screen.hint("`palaver verify --fix` rewrites copies")
    screen.say(f"found {count(len(left), 'problem')}" if left else "everything fits")
