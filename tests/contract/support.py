"""What the tests of the contract share: streams, the comparison with the judge, and the other program as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw

import palaver

from ..tools.puppet import Process
from . import judge

HERE = Path(__file__).parent
OTHER = HERE / "other_program.py"
WAIT = 60


# ---------------------------------------------------------------- streams


def answer(text: str, *, message_id: str | None = None) -> list[dict[str, Any]]:
    """The chunks of a short answer: one step, one text, word by word."""
    start: dict[str, Any] = {"type": "start"} | ({"messageId": message_id} if message_id else {})
    words = [{"type": "text-delta", "id": "t", "delta": f"{word} "} for word in text.split()]
    return [
        start,
        {"type": "start-step"},
        {"type": "text-start", "id": "t"},
        *words,
        {"type": "text-end", "id": "t"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop"},
    ]


def say(session: palaver.Session, question: str, text: str, **setup: Any) -> None:
    """One whole turn."""
    with session.turn(question, **setup) as turn:
        stream(turn, text)


def stream(turn: palaver.Turn, text: str) -> None:
    for chunk in answer(text):
        turn.write(chunk)


def texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    """What was said, without the rest."""
    return ["".join(p["text"] for p in m["parts"] if p["type"] == "text").strip() for m in messages]


# ---------------------------------------------------------------- the judge's view and ours


def shown(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Role, metadata and parts; ids are left out, for a client may know a message by another name than its row."""
    return [{"role": m["role"], "metadata": m.get("metadata", {}), "parts": m["parts"]} for m in messages]


def assert_agrees(store: palaver.Store, *, strict_time: bool = True) -> judge.Verdict:
    """No promise is broken, and every session that is not a fork reads as the judge rebuilds it."""
    verdict = judge.look(store.path, strict_time=strict_time)
    assert verdict.violations == []
    for session_id, rebuilt in verdict.transcripts.items():
        session = store.sessions.get(session_id, deleted=True)
        if session.info.relation != "fork":
            assert shown(rebuilt) == shown(session.messages())
    return verdict


def assert_prefix(rebuilt: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]) -> None:
    """What another program reads of an open turn may be behind; it is never anything else."""
    assert len(rebuilt) <= len(ours)
    for old, new in zip(rebuilt, ours, strict=False):
        assert old["role"] == new["role"]
        assert len(old["parts"]) <= len(new["parts"])
        for before, after in zip(old["parts"], new["parts"], strict=False):
            assert before["type"] == after["type"]
            assert after.get("text", "").startswith(before.get("text", ""))


# ---------------------------------------------------------------- other processes


@cache
def _made(kind: str) -> bytes:
    """A file that only the other program has ever touched, closed."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "theirs.db"
        command = [sys.executable, str(OTHER), "make", str(path), kind]
        subprocess.run(command, check=True, timeout=WAIT)
        assert [file.name for file in path.parent.iterdir()] == ["theirs.db"]
        return path.read_bytes()


def make_foreign(path: str | Path, kind: str = "plain") -> None:
    Path(path).write_bytes(_made(kind))


def other(verb: str, path: str | Path, *args: str) -> Process:
    """The other program at work beside us; ended with the block."""
    return Process([sys.executable, str(OTHER), verb, str(path), *args])


def sql(path: str | Path, *statements: str | tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
    """Plain SQL on a connection of its own, with parameters or without; the rows of each statement."""
    pairs = [(given, ()) if isinstance(given, str) else given for given in statements]
    with closing(apsw.Connection(str(path))) as db:
        db.set_busy_timeout(5000)
        db.execute("PRAGMA foreign_keys = ON")
        return [list(db.execute(text, params)) for text, params in pairs]


def judge_alone(path: str | Path) -> judge.Verdict:
    """The judge as a program by itself, on the standard library's SQLite."""
    command = [sys.executable, HERE / "judge.py", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return judge.Verdict(**json.loads(done.stdout))
