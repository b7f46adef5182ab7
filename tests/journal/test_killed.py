"""A line of the journal and the change that it tells of are one: neither is ever there without the other."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import palaver

from ..tools.puppet import Crew, Script
from ..tools.sql import query
from ..tools.waiting import in_threads
from .support import full, replays, talk


def run(folder: Path, every: int, first: int) -> dict[str, Any]:
    found: dict[str, Any] = Crew("tests.journal.killed").alone("killed", folder=str(folder), every=every, first=first)
    return found


def test_promise_148_killed_anywhere_the_journal_still_gives_the_tables(fast: Path) -> None:
    first = random.SystemRandom().randint(1, 16)
    print(f"every 16th statement from {first} on")
    found = run(fast, 16, first)
    assert found["wrong"] == {}
    assert found["tried"] > 15


@pytest.mark.long
def test_promise_148_killed_at_any_statement_the_journal_still_gives_the_tables(fast: Path) -> None:
    found = run(fast, 1, 1)
    assert found["wrong"] == {}
    assert found["tried"] > 250


# ---------------------------------------------------------------- many at once

WRITER = """
import sys
from tests.journal.support import full, talk
with full(sys.argv[1]) as store:
    session = store.sessions.get(sys.argv[2])
    for number in range(8):
        session.commit(f"{sys.argv[3]} says {number}")
        talk(session.fork(), size=300)
"""


def test_promise_148_processes_that_write_one_session_number_its_lines_together(kept: palaver.Store) -> None:
    session = kept.sessions.create("coder")
    session.commit("hello")
    with ExitStack() as stack:
        started = [stack.enter_context(Script(WRITER, kept.path, session.id, name)) for name in "abc"]
        assert [process.finish() for process in started] == [[], [], []]
    assert replays(kept) == []
    assert len(session.path()) == 1 + 3 * 8
    assert query(kept.path, "SELECT count(DISTINCT session_id) FROM journal") == [(1 + 3 * 8,)]


def test_promise_148_threads_that_share_a_commit_keep_their_lines_apart(path: str) -> None:
    with full(path, durability="full") as store:
        sessions = [store.sessions.create("coder") for _ in range(4)]

        def write(session: palaver.Session) -> None:
            for number in range(6):
                session.commit(f"number {number}")
                talk(session.fork(), size=300)

        in_threads(write, [session for session in sessions for _ in range(2)])
        assert replays(store) == []
        assert store.verify() == []
