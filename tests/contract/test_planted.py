"""The judge is judged: each planted corruption must be found, in a healthy store and by the right promise."""

from __future__ import annotations

import ast
import shutil
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import palaver

from . import judge
from .support import assert_agrees, say, shown, stream

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with some of everything, which the judge finds nothing wrong with."""
    path = tmp_path_factory.mktemp("planted") / "talks.db"
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        for number in range(3):
            with session.turn(f"question {number}") as turn:
                turn.write({"type": "tool-input-available", "toolCallId": f"c{number}", "toolName": "run", "input": {}})
                turn.write({"type": "tool-output-available", "toolCallId": f"c{number}", "output": number})
                stream(turn, f"answer {number}")
                turn.usage(input=10, output=5)
        say(session.fork(), "otherwise", "yes")
        session.undo()
        assert_agrees(store)
    assert [file.name for file in path.parent.glob("*-wal")] == []
    return path


@pytest.fixture
def healthy(original: Path, path: str) -> str:
    """A copy to be spoilt."""
    return str(shutil.copy(original, path))


def spoil(path: str, statement: str) -> None:
    with closing(apsw.Connection(path)) as db:
        db.execute(statement)


# What is planted, and the promise that must break.
CORRUPTIONS: dict[str, tuple[int, str]] = {
    "a gap in the index": (16, 'UPDATE chat_parts SET "index" = "index" + 1 WHERE "index" = 2'),
    "an index twice": (16, 'UPDATE chat_parts SET "index" = 0 WHERE "index" = 1'),
    "an index that starts at one": (16, 'UPDATE chat_parts SET "index" = "index" + 1'),
    "a part of another session": (22, "UPDATE chat_parts SET session_id = 'ses_elsewhere' WHERE \"index\" = 1"),
    "a part without a message": (22, "UPDATE chat_parts SET message_id = 'msg_nowhere' WHERE \"index\" = 1"),
    "a wrong rollup": (
        158,
        "UPDATE chat_sessions SET prompt_tokens = prompt_tokens + 1, total_tokens = total_tokens + 1",
    ),
    "usage counted twice": (158, "UPDATE chat_sessions SET completion_tokens = 2 * completion_tokens"),
    "a wrong total": (159, "UPDATE chat_sessions SET total_tokens = total_tokens - 1"),
    "broken JSON in a part": (9, 'UPDATE chat_parts SET data_json = \'{"type":\' WHERE "index" = 0'),
    "broken JSON in metadata": (9, "UPDATE chat_messages SET metadata_json = '' WHERE role = 'user'"),
    "broken JSON in a session": (9, "UPDATE chat_sessions SET model_json = 'large'"),
    "permissions that are no list": (7, "UPDATE chat_sessions SET permissions_json = '{}'"),
    "metadata that is no object": (8, "UPDATE chat_messages SET metadata_json = '[]' WHERE role = 'user'"),
    "a model without a provider": (5, 'UPDATE chat_sessions SET model_json = \'{"model_id":"m"}\''),
    "an update before the creation": (10, "UPDATE chat_messages SET updated_at = created_at - 1"),
    "seconds for milliseconds": (10, "UPDATE chat_parts SET created_at = created_at / 1000"),
    "a time as text": (10, "UPDATE chat_sessions SET created_at = '2026-01-01'"),
    "a fourth role": (15, "UPDATE chat_messages SET role = 'tool' WHERE role = 'user'"),
    "a type that is not the part's": (17, "UPDATE chat_parts SET type = 'reasoning' WHERE type = 'text'"),
    "a type that nobody knows": (17, "UPDATE chat_parts SET type = 'step-finish' WHERE type = 'step-start'"),
    "a state that is not the part's": (
        20,
        "UPDATE chat_parts SET tool_state = 'input-available' WHERE tool_state NOT NULL",
    ),
    "an eighth state": (20, "UPDATE chat_parts SET tool_state = 'running' WHERE tool_state NOT NULL"),
    "a call id that is not hoisted": (20, "UPDATE chat_parts SET tool_call_id = NULL"),
    "a call id on a text": (20, "UPDATE chat_parts SET tool_call_id = 'c' WHERE type = 'text'"),
    "a branch from an answer": (
        6,
        "UPDATE chat_sessions SET parent_message_id = (SELECT id FROM chat_messages WHERE role = 'assistant' LIMIT 1)"
        " WHERE parent_id NOT NULL",
    ),
    "a branch of another parent": (6, "UPDATE chat_sessions SET parent_id = 'ses_nowhere' WHERE parent_id NOT NULL"),
    "two messages of one moment": (
        74,
        "UPDATE chat_messages SET created_at = (SELECT min(created_at) FROM chat_messages)",
    ),
    "an id without its prefix": (2, "UPDATE chat_parts SET id = 'x' || id"),
    "a message without a session": (1, "UPDATE chat_messages SET session_id = 'ses_nowhere' WHERE role = 'user'"),
    "a lost session index": (12, "DROP INDEX chat_sessions_by_archived"),
    "a lost message index": (13, "DROP INDEX chat_messages_by_session"),
    "a lost part index": (14, "DROP INDEX chat_parts_by_tool_call"),
    "a tree of parts": (26, "ALTER TABLE chat_parts ADD COLUMN parent_part_id TEXT"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_judge_finds(healthy: str, name: str) -> None:
    promise, statement = CORRUPTIONS[name]
    spoil(healthy, statement)
    assert promise in {violation.promise for violation in judge.rules_broken(healthy)}


# Corruptions that break no row by itself: the rebuilt transcript is another one.
DISTORTIONS = {
    "messages in the wrong order": "UPDATE chat_messages SET created_at = 4000000000000 - created_at",
    "a hidden message that is not hidden": (
        "UPDATE chat_messages SET metadata_json = json_remove(metadata_json, '$.hidden_at')"
    ),
    "a message hidden that should be seen": (
        "UPDATE chat_messages SET metadata_json = json_set(metadata_json, '$.hidden_at', 1760000000000)"
    ),
    "a message queued that was said": (
        "UPDATE chat_messages SET metadata_json = json_set(metadata_json, '$.queued_at', 1760000000000)"
    ),
    "two parts in the wrong order": (
        'UPDATE chat_parts SET "index" = (SELECT count(*) - 1 FROM chat_parts p'
        ' WHERE p.message_id = chat_parts.message_id) - "index"'
    ),
    "another text": "UPDATE chat_parts SET data_json = json_set(data_json, '$.text', 'forged') WHERE type = 'text'",
    "a lost message": "DELETE FROM chat_messages WHERE id = (SELECT min(id) FROM chat_messages)",
}


@pytest.mark.parametrize("name", DISTORTIONS)
def test_the_judge_rebuilds_something_else_after(healthy: str, name: str) -> None:
    with palaver.open(healthy) as store:
        (session,) = [info.id for info in store.sessions if info.relation == "root"]
        ours = shown(store.sessions.get(session).messages())
    assert shown(judge.look(healthy).transcripts[session]) == ours
    spoil(healthy, DISTORTIONS[name])
    assert shown(judge.look(healthy).transcripts[session]) != ours


# ---------------------------------------------------------------- independence


def imports(file: Path) -> set[str]:
    """The top-level names of every module that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else (node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize(("file", "allowed"), [("judge.py", {"apsw"}), ("other_program.py", set())])
def test_judge_and_neighbour_share_no_code_with_us(file: str, allowed: set[str]) -> None:
    assert imports(HERE / file) - sys.stdlib_module_names == allowed
