"""A file of version 1: its schema is the first migration, its rows are plain SQL; nothing of today's code wrote it."""

from __future__ import annotations

from pathlib import Path

import apsw

from palaver.db.schema import migrations

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
        db.execute(text)
    return db


def version_1(path: str) -> None:
    db = replay(path, 1)
    with db:
        db.execute((Path(__file__).parent / "version_1.sql").read_text())
    db.close()
