"""Processes that die in the middle of a claim, and what plain SQL says of the rows they leave.

`python -m tests.promises.support_queue` claims, and dies: `inside` its transaction or `after` it.
"""

from __future__ import annotations

import signal
from typing import Any

import palaver
from palaver.db.queries import Q

from ..tools.puppet import Puppet, die, play
from ..tools.sql import query

ROWS = """
SELECT p.data_json ->> '$.text', json_extract(m.metadata_json, '$.queued_at'), t.status
  FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
  JOIN turn_entries e ON e.ref = m.id AND e.kind = 'message' JOIN turns t ON t.id = e.turn_id
 WHERE m.session_id = ? AND m.role = 'user' ORDER BY m.created_at
"""


def rows(path: str, session_id: str) -> dict[str, tuple[int | None, str]]:
    """What each message of the user says (queued_at), and what its turn is."""
    return {text: (queued_at, status) for text, queued_at, status in query(path, ROWS, session_id)}


def claim_and_die(path: str, session_id: str, moment: str) -> None:
    with Puppet("tests.promises.support_queue", "claim", path=path, session_id=session_id, moment=moment) as process:
        process.wait()
        assert process.status == -signal.SIGKILL


def die_inside(tx: Any, session_id: str) -> None:
    """The claim's own statements have run, and nothing is committed."""
    assert tx.one(Q.pending, session=session_id) is None
    die()


def claim(path: str, session_id: str, moment: str) -> None:
    store = palaver.open(path)
    if moment == "inside":
        from palaver.core.read import previews

        previews.recompute = die_inside  # it is called last
    store.sessions.get(session_id).claim()
    die()


if __name__ == "__main__":
    play()
