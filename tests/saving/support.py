"""What the tests about saving share: chunks, plain SQL, bounded waiting, threads whose errors are seen."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import apsw

import palaver

PATIENCE = 30.0
NEVER = 1e9  # seconds: housekeeping that does not come
Chunk = dict[str, Any]
Begin = Callable[..., tuple[palaver.Session, palaver.Turn]]  # the fixture of that name

START = [{"type": "start-step"}, {"type": "text-start", "id": "t"}]
CALL = {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"a": 1}}
RESULT = {"type": "tool-output-available", "toolCallId": "c", "output": 2}
STEP_ENDS, ENDS = {"type": "finish-step"}, {"type": "finish"}


def delta(text: str, id: str = "t") -> Chunk:
    return {"type": "text-delta", "id": id, "delta": text}


def words(count: int) -> list[Chunk]:
    return [delta(f"word {n} ") for n in range(count)]


def query(path: str, text: str, *params: Any) -> list[tuple[Any, ...]]:
    """Plain SQL, by a connection that can only read and knows nothing of Palaver."""
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY, vfs="unix")) as connection:
        connection.set_busy_timeout(10_000)
        return connection.execute(text, params).fetchall()


def one(path: str, text: str, *params: Any) -> Any:
    ((value,),) = query(path, text, *params)
    return value


def stored(path: str) -> list[Chunk]:
    """The chunks in the file, in the order of their numbers."""
    return [json.loads(row[0]) for row in query(path, "SELECT data FROM events WHERE kind = 'chunk' ORDER BY seq")]


def text_of(session: palaver.Session) -> str:
    """What the answers say."""
    parts = [part for message in session.messages() if message["role"] == "assistant" for part in message["parts"]]
    return "".join(part["text"] for part in parts if part["type"] == "text")


def until(holds: Callable[[], Any], what: str) -> None:
    """Look again and again; it must come true."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"it never was so: {what}"
        time.sleep(0.002)


def together(*jobs: Callable[[], Any]) -> list[Any]:
    """All at once, a thread each: what each returned, or what it raised."""
    results: list[Any] = [None] * len(jobs)
    gate = threading.Barrier(len(jobs))

    def run(place: int, job: Callable[[], Any]) -> None:
        gate.wait(PATIENCE)
        try:
            results[place] = job()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    return results


def maintainers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "palaver-maintenance"]
