"""Files of version 1, 4 and 5: their schema is the first migrations, their rows are plain SQL; nothing of today's code
wrote them. Those of version 4 and 5 were dumped by the Palavers of the time, with all that they had: see
../exports/old_talks.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from palaver.db.schema import migrations, statements
from tests.exports import old_talks

TALK, FORK = "ses_18bcfe56803000hhkWAAZBcrIF", "ses_18bcfe568380007Gta8TnZeFln"
WAITING, CUT_OFF = "ses_18bcfe56841000GzA5zFIoNDSC", "ses_18bcfe568510007x5haeqMVdwz"
STREAMED, COMMITTED, AGAIN = (
    "trn_18bcfe5680a000QGuOpGK5l6mV",
    "trn_18bcfe568210008ypj3yaPLrgc",
    "trn_18bcfe568280003L7N5nqGd7yv",
)
IN_THE_FORK, WAITS, OPEN = (
    "trn_18bcfe5683c000RD3yU6k0lEsx",
    "trn_18bcfe568470005Z7f2u9wzwig",
    "trn_18bcfe56857000xysFo1nCwBIo",
)
SAID = {
    TALK: ["Why?", "The linker flag.", "And now?", "All green."],
    FORK: ["Why?", "The linker flag.", "And now?", "All green.", "In the fork"],
    WAITING: ["May I?", '{"q":1.1}'],
    CUT_OFF: ["Still there?", "I am in the middle"],
}
HAS_CHUNKS = {STREAMED, AGAIN, WAITS, OPEN}  # and so they are live


def replay(path: str, version: int) -> apsw.Connection:
    """A file that the first migrations were run on, one after the other."""
    db = apsw.Connection(path)
    db.execute("PRAGMA page_size=2048; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF").fetchall()
    for _, text in migrations()[:version]:
        for statement in statements(text):
            db.execute(statement)
    return db


def version_1(path: str) -> None:
    _made(path, 1)


def version_4(path: str) -> None:
    _made(path, 4)


def version_5(path: str) -> None:
    _made(path, 5)


MADE = {"version 1": version_1, "version 4": version_4, "version 5": version_5}
TALKS = {"version 4": old_talks.FIRST, "version 5": old_talks.SECOND}


def _made(path: str, version: int) -> None:
    db = replay(path, version)
    with db:
        db.execute((Path(__file__).parent / f"version_{version}.sql").read_text())
    db.close()


def words(messages: list[dict[str, Any]]) -> list[str]:
    """Each message by its last part: the text, or what a tool or a summary was given."""
    shown = [message["parts"][-1] for message in messages]
    given = (part.get("input", part.get("data")) for part in shown)
    return [part.get("text") or json.dumps(one, separators=(",", ":")) for part, one in zip(shown, given, strict=True)]


def said(start: str) -> dict[str, list[str]]:
    """What the sessions of a file say that are in a list."""
    if start == "version 1":
        return SAID
    told = TALKS[start].told() if start in TALKS else {}
    listed = {session_id: one for session_id, one in told.items() if one["title"] not in ("Deleted", None)}
    return {session_id: words(one["messages"]) for session_id, one in listed.items()}
