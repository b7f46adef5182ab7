"""`verify` names what a raw change did, whatever it was; `fix` rewrites copies and leaves the record alone."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import palaver
from palaver.testing import ask


def altered(path: str, *statements: str) -> None:
    connection = apsw.Connection(path)
    for statement in statements:
        connection.execute(statement)
        assert connection.changes() > 0, statement
    connection.close()


@pytest.fixture
def sealed(path: str) -> str:
    with palaver.open(path) as store:
        session = store.sessions.create(agent="a", title="t")
        for number in range(3):
            ask(session, f"question {number}", f"answer {number}")
        session.fork(at=session.path()[0]).commit("in the fork")
        session.rewind(to=session.path()[1])
        assert store.verify() == []
    return path


TRUTH = {
    "text": ("UPDATE chat_parts SET data_json = replace(data_json, 'question 0', 'question X')", "altered"),
    "role": ("UPDATE chat_messages SET role = 'system' WHERE role = 'user'", "altered"),
    "metadata": ("UPDATE chat_messages SET metadata_json = '{\"x\":1}' WHERE role = 'user'", "altered"),
    "deleted part": ("DELETE FROM chat_parts WHERE data_json LIKE '%question 1%'", "missing"),
    "deleted message": ("DELETE FROM chat_messages WHERE role = 'user'", "missing"),
    "digest": ("UPDATE turns SET digest = x'00' WHERE depth = 1", "digest"),
    "parent": ("UPDATE turns SET parent_id = NULL WHERE depth = 2", "digest"),
    "line removed": ("DELETE FROM turn_entries WHERE kind = 'part' AND seq = 1", "digest"),
    "leaf and salt gone": ("UPDATE turn_entries SET leaf = NULL, salt = NULL WHERE kind = 'part'", "altered"),
    "salt gone": ("UPDATE turn_entries SET salt = NULL WHERE kind = 'part'", "altered"),
    "part moved": (
        "UPDATE chat_parts SET \"index\" = 9, message_id = (SELECT id FROM chat_messages WHERE role = 'assistant')"
        " WHERE data_json LIKE '%question 0%'",
        "altered",
    ),
    "reflog": ("UPDATE reflog SET at = at + 1 WHERE kind = 'seal'", "reflog"),
    "reflog line removed": ("DELETE FROM reflog WHERE kind = 'rewind'", "head"),
    "head": ("UPDATE heads SET turn_id = prev_turn_id WHERE prev_turn_id IS NOT NULL", "head"),
    "agent": ("UPDATE chat_sessions SET agent = 'b'", "agent"),
    "session of a message": ("UPDATE chat_messages SET session_id = (SELECT max(id) FROM chat_sessions)", "home"),
    "session of a part": ("UPDATE chat_parts SET session_id = 'ses_x'", "home"),
    "json": ("UPDATE chat_sessions SET metadata_json = '{'", "json"),
}


@pytest.mark.parametrize("name", TRUTH)
def test_altered_truth_is_named_and_never_fixed(sealed: str, name: str) -> None:
    statement, rule = TRUTH[name]
    altered(sealed, "PRAGMA foreign_keys=ON; " + statement if statement.startswith("DELETE FROM chat") else statement)
    with palaver.open(sealed) as store:
        assert rule in {problem.rule for problem in store.verify()}
        assert rule in {problem.rule for problem in store.verify(fix=True)}


COPIES = {
    "depth": "UPDATE turns SET depth = depth + 1",
    "tokens": "UPDATE turns SET thread_tokens = 7",
    "hidden": "UPDATE chat_messages SET metadata_json = '{\"hidden_at\":1}'",
    "shown": "UPDATE chat_messages SET metadata_json = '{}' WHERE metadata_json LIKE '%hidden_at%'",
    "rollups": "UPDATE chat_sessions SET prompt_tokens = 99, total_tokens = 99",
    "preview": "UPDATE heads SET preview = 'something else'",
}


@pytest.mark.parametrize("name", COPIES)
def test_a_wrong_copy_is_named_and_fixed(sealed: str, name: str) -> None:
    before = transcripts(sealed)
    altered(sealed, COPIES[name])
    with palaver.open(sealed) as store:
        found = store.verify()
        assert found and all(problem.copy for problem in found)
        assert store.verify(fix=True) == []
        assert store.verify() == []
    assert transcripts(sealed) == before


def transcripts(path: str) -> list[str]:
    with palaver.open(path) as store:
        return [store.sessions.get(info.id).messages_json() for info in store.sessions]


def test_verify_reads_only(sealed: str) -> None:
    altered(sealed, COPIES["preview"])
    before = Path(sealed).read_bytes()
    with palaver.open(sealed) as store:
        store.verify()
    assert Path(sealed).read_bytes() == before
