"""A store driven at random reads, after every step, as its model does: through our API and through plain SQL."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ..fold.sdk import Oracle
from .bench import CONTEXTS
from .machine import REACHED
from .runs import run

# What a run must have come across; otherwise it says nothing about it.

RULES = """
create | spawn | begin | exchange | ask a tool | append | malformed chunk | commit | usage | wait | resume | late result
seal completed | seal failed | seal aborted | begin with a stale revision | commit with a stale revision
resolve: output | resolve: error | resolve: approve | resolve: deny | regenerate | edit | edit beside an open turn
undo | redo | move | interjection
rewind to turn | rewind to message | fork at head | fork at turn | fork at message | fork at open turn | fork at stray
fork at open message | archive | archive with an open turn | delete | foreign rows | foreign session | adopt
foreign rows beside an open turn | adopt everywhere | time passes | second writer | one of two writers dies | crash
reopen | race | unarchive | undelete | usage in the stream
enqueue | enqueue beside an open turn | enqueue again | enqueue with another content | claim | claim nothing
claim by id | claim by id: refused | claim with a stale revision | cancel | cancel what was cancelled
a line | a line beside others | failed start | left by an exception | claimed by one who dies
compact: whole | compact: turn | compact: off the path | compact: stale | prune | prune nothing | long talk
long talk with others beside it
"""
CHUNKS = """
start | start-step | finish-step | finish | abort | error | message-metadata | data-note | text-start | text-delta
text-end | reasoning-start | reasoning-delta | reasoning-end | tool-input-start | tool-input-delta
tool-input-available | tool-approval-request | tool-output-available | tool-output-error
"""
BRANCHES = """
two open turns on one revision | lost race | commit over an open turn | finish with open tools waits
the user moved on: landed | the user moved on: stray | closing waits for a living turn | a sibling up to a message
recovered onto the path | recovered as a stray | recovery waits | adopted | adoption waits | undo past a begin
take-in at seal | take-in at recover | deleted with an open turn | closed with an open turn | move to a stray
refused: HeadConflict | refused: NothingToUndo | refused: MessageNotFound | refused: SessionArchived
refused: SessionDeleted | refused: TurnSealed | refused: TurnWaiting | refused: UsageConflict
given back | not given back twice | recovered into the queue | claimed beside an open turn | nothing to claim
sent again: pending | sent again: aborted | deleted with a queue | refused: QueueConflict | refused: MessageCancelled
refused: MessageFired | compact beside an open turn | adopted for a summary | refused: NotOnPath | refused: BadValue
refused: Refused | answered again before a summary
context: kept turns | context: a summary of everything | context: a pruned output | context: an open tool is closed
"""

ROOT = Path(__file__).parents[2]
EXAMPLES = 20
FIRST = 1  # a seed that comes across almost everything in that many
LONG = 300


def test_the_store_reads_as_its_model_after_every_step_and_the_sdk_takes_what_it_ends_with() -> None:
    """In a process of its own: Hypothesis draws from the constants of every module that is loaded, and the examples
    would depend on what ran before."""
    whole = "from tests.model import test_model; test_model.one_run()"
    done = subprocess.run([sys.executable, "-c", whole], cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-5_000:]


def one_run() -> None:
    """One run for all of it; what it missed is looked for in a few short ones more."""
    REACHED.clear()
    CONTEXTS.clear()
    run(EXAMPLES, seed=FIRST, shrink=False)
    for seed in range(FIRST + 1, FIRST + 21):
        if missed():
            run(EXAMPLES // 4, seed=seed, shrink=False)
    assert missed() == []
    the_sdk_takes_all_of(CONTEXTS)


def the_sdk_takes_all_of(contexts: list[tuple[list[Any], list[Any]]]) -> None:
    seen = [(context, ours) for context, ours in contexts if context]
    assert len(seen) > EXAMPLES // 2
    with closing(Oracle()) as oracle:
        answers = oracle.ask_many("validate", [context for context, _ in seen])
    for (context, ours), answer in zip(seen, answers, strict=True):
        if not ours and "must not be empty" in str(answer.get("error")):
            continue  # data parts alone: there is nothing to tell a model
        assert answer["ok"], json.dumps([answer.get("error"), context])[:5_000]
        assert answer["modelMessages"] == ours


@pytest.mark.long
def test_the_store_reads_as_its_model_for_much_longer() -> None:
    run(LONG, seed=time.time_ns() % 2**32)


def missed() -> list[str]:
    return [name for name in expected_names() if not REACHED[name]]


def expected_names() -> list[str]:
    names = [*names_in(RULES), *names_in(BRANCHES), *(f"chunk {kind}" for kind in names_in(CHUNKS))]
    assert len(names) == len(set(names))
    return names


def names_in(text: str) -> list[str]:
    return [name.strip() for line in text.strip().splitlines() for name in line.split("|")]
