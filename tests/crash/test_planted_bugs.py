"""The judge is worth something only if it sees bugs: each one planted here must be found, and by its name.

Some bugs are in the writer, some in the recovery, some are done to the file itself. The same judgement without a bug
finds nothing.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from .conftest import Other
from .history import History, Log
from .killing import judge, run

RECOVERY = {
    "last_chunk_is_not_folded": "recovery: turn",
    "open_tools_stay_open": "is sealed, tool c1 is input-available",
    "dead_turns_are_set_aside": "should have landed",
    "dead_turns_are_called_complete": "was cut off and is completed",
    "heads_move_without_a_line": "the head is not where its last line says",
    "nothing_is_hidden": "is not hidden: its session shows otherwise",
    "usage_counted_twice": "rollups",
    "nothing_is_recovered": "is still streaming and nobody writes it",
    "recovers_for_ever": "it changed reflog",
}

# What a bad store could have done to a file: the damage, and the words of the judge.
DAMAGE = {
    "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events WHERE kind = 'chunk')": "lost: turn",
    "UPDATE events SET data = replace(data, 'half', 'HALF')": "turn",
    "DELETE FROM turn_entries WHERE kind = 'message' AND seq = 0": "is in no turn",
    "DELETE FROM chat_parts": "lost: the user said",
    "UPDATE heads SET revision = revision + 1": "the head is not where its last line says",
    "UPDATE reflog SET reason = 'somebody else'": "is not chained to the one before",
    "UPDATE chat_sessions SET prompt_tokens = prompt_tokens + 1": "rollups",
    "UPDATE chat_messages SET created_at = 1": "created_at does not increase",
    "UPDATE chat_messages SET metadata_json = '{\"hidden_at\":1}'": "is hidden: its session shows otherwise",
    "DELETE FROM turns": "lost: turn",
    "DELETE FROM chat_sessions": "lost: session",
    "PRAGMA foreign_keys = OFF; DELETE FROM chat_messages WHERE role = 'assistant'": "foreign_key_check",
}


def options(folder: Path, workload: str) -> dict[str, Any]:
    return {"workload": workload, "path": str(folder / "s.db"), "acks": str(folder / "acks"), "seed": 1}


@pytest.fixture(scope="module")
def grave(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose process ended with two turns open, each with a text and a tool."""
    folder = tmp_path_factory.mktemp("grave")
    run(options(folder, "left_open"))
    return folder


def copy_of(grave: Path, folder: Path) -> dict[str, Any]:
    shutil.copytree(grave, folder)
    return options(folder, "left_open")


def test_without_a_bug_the_judge_finds_nothing(grave: Path, tmp_path: Path) -> None:
    assert judge([copy_of(grave, tmp_path / "copy")]) == [[]]


@pytest.mark.planted("nothing_is_hidden")
@pytest.mark.parametrize(("bug", "words"), RECOVERY.items())
def test_a_bug_in_the_recovery_is_found(bug: str, words: str, grave: Path, tmp_path: Path) -> None:
    problems = judge([copy_of(grave, tmp_path / "copy")], bug)[0]
    assert words in "\n".join(problems)


@pytest.fixture(scope="module")
def said_of_damage(grave: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the judge says of each damaged copy."""
    folder = tmp_path_factory.mktemp("damaged")
    copies = [copy_of(grave, folder / str(number)) for number in range(len(DAMAGE))]
    for copy, statement in zip(copies, DAMAGE, strict=True):
        db = sqlite3.connect(copy["path"])  # nobody else has it open: its process is dead
        db.executescript(statement)
        db.close()
    return dict(zip(DAMAGE, map("\n".join, judge(copies)), strict=True))


@pytest.mark.parametrize(("statement", "words"), DAMAGE.items())
def test_a_change_of_the_file_behind_the_stores_back_is_found(
    statement: str, words: str, said_of_damage: dict[str, str]
) -> None:
    assert words in said_of_damage[statement]


@pytest.mark.parametrize(("bug", "words"), [("chunks_are_acknowledged_early", "lost: turn"), (None, "")])
def test_chunks_acknowledged_before_they_are_written_are_missed(bug: str | None, words: str, tmp_path: Path) -> None:
    given = options(tmp_path, "cut_off")
    run({**given, "save_buffer_ms": 1e9}, bug)
    problems = "\n".join(judge([given])[0])
    assert words in problems and bool(words) == bool(problems)


def test_an_open_that_takes_turns_from_the_living_is_noticed_by_them(tmp_path: Path, other: Any) -> None:
    writer: Other = other()
    session = writer("create")
    turn = writer("begin", session, "hi")
    other(bug="living_writers_are_robbed")
    assert writer("statuses", session) == {turn: "aborted"}


def test_a_line_that_its_process_was_killed_in_is_no_acknowledgement(tmp_path: Path) -> None:
    """The kernel may stop a write between two pages."""
    path = tmp_path / "acks"
    log = Log(str(path))
    log.call("open", lambda: None)
    with path.open("ab") as file:
        file.write(b'\n{"by": "1/1", "n": 7, "o')
    log.call("seal", lambda: None)
    calls = History(str(path)).calls
    assert [(call.verb, call.ok) for call in calls] == [("open", {}), ("seal", {})]
