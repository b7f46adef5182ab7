"""A store in which an older version, or another program, left numbers that no sum can hold: it opens and goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

import palaver

from ..cli.run import Cli


@pytest.fixture
def session_id(path: str) -> str:
    """As one call of `usage(input=2**63-1)` and one of `usage(input=5)` left it, and a writer that died after that."""
    with palaver.open(path) as store:
        session = store.sessions.create("a", title="Absurd")
        with session.turn("one") as turn:
            turn.usage(input=1)
        left = session.turn("two")
        left.usage(input=5)
        sql(
            path,
            "UPDATE turns SET input_tokens = 9223372036854775807, thread_tokens = 9223372036854775807"
            " WHERE digest IS NOT NULL",
            "UPDATE turns SET thread_tokens = 9223372036854775807, owner = 'nobody' WHERE digest IS NULL",
            "UPDATE chat_sessions SET prompt_tokens = 9223372036854775807 + 5, total_tokens = 9223372036854775807 + 5,"
            " cost_usd = 9e999",
        )
        return session.id


def sql(path: str, *statements: str) -> Sequence[object]:
    db = apsw.Connection(path)
    try:
        return [list(db.execute(statement)) for statement in statements]
    finally:
        db.close()


def test_it_opens_and_goes_on(path: str, session_id: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.get(session_id)
        assert [turn.status for turn in session.path()] == ["completed", "aborted"]
        session.commit("three")
        with session.turn("four") as turn:
            turn.write({"type": "start", "messageMetadata": {"usage": {"input": 7}}})
        assert len(session.messages()) == 7
        assert {problem.rule for problem in store.verify()} <= {"thread", "rollups", "usage"}
        store.verify(fix=True)
        assert session.info.total_tokens < 2**53


@pytest.mark.parametrize("command", ["ls", "show", "doctor", "verify", "tree", "log"])
def test_every_command_looks_at_it(path: str, tmp_path: Path, session_id: str, command: str) -> None:
    about = () if command in ("ls", "doctor", "verify") else (session_id,)
    done = Cli(tmp_path, path)(command, *about, "--json")
    assert "Traceback" not in done.err
    for line in done.out.splitlines():
        json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
