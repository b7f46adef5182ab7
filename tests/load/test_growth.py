"""Growth: a file takes little more than what was said, and twice as many chunks take no more than twice the room.

Sizes are of the pages in use: free pages are used again before the file grows.
"""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import palaver

WORD = "some words, no more "
PER_TEXT = 2.0  # bytes of the file for a byte of the session as JSON
DOUBLED = 2.2
NEVER = 3600.0  # seconds until chunks would be trimmed


def size(path: str) -> int:
    """Bytes in use, the log included."""
    db = apsw.Connection(path)
    db.set_busy_timeout(10_000)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    pages, free, page = (db.execute(f"PRAGMA {name}").fetchall()[0][0] for name in NAMES)
    db.close()
    return int((pages - free) * page)


NAMES = ("page_count", "freelist_count", "page_size")


def stream(session: palaver.Session, chunks: int) -> None:
    with session.turn("question") as turn:
        turn.write({"type": "text-start", "id": "t"})
        for _ in range(chunks):
            turn.write({"type": "text-delta", "id": "t", "delta": WORD})
        turn.write({"type": "text-end", "id": "t"})


# ---------------------------------------------------------------- after trimming


def test_a_hundred_turns_take_at_most_twice_their_json(path: str) -> None:
    with palaver.open(path, events="live", durability="normal") as store:
        empty = size(path)
        session = store.sessions.create("grower")
        for _ in range(100):
            stream(session, 200)
        before = size(path)
        assert store.trim(older_than=0) >= 100 * 200
        used, text = size(path), len(session.messages_json().encode())
        print(f"{text} bytes of JSON: {used} bytes, {used / text:.2f} of it; before trimming {before / text:.2f}")
        assert empty < used <= PER_TEXT * text


# ---------------------------------------------------------------- twice as much takes twice the room


def growth(path: str, mode: str, chunks: int, buffer: float) -> int:
    """Bytes that a file grows by when so many chunks are streamed into it."""
    options = {"events": mode, "trim_after": NEVER, "save_buffer_ms": buffer, "durability": "normal"}
    with palaver.open(path, **options) as store:
        session = store.sessions.create("grower")
        before = size(path)
        stream(session, chunks)
        return size(path) - before


def hold(folder: Path, mode: str, chunks: int, buffer: float) -> None:
    once = growth(str(folder / "once.db"), mode, chunks, buffer)
    twice = growth(str(folder / "twice.db"), mode, 2 * chunks, buffer)
    print(f"{mode}, {chunks} chunks: {once / chunks:.1f} bytes each; twice as many: {twice / once:.2f} times that")
    assert 0 < once < twice <= DOUBLED * once


@pytest.mark.parametrize("mode", ["live", "full"])
@pytest.mark.parametrize("buffer", [0.0, 50.0])
def test_twice_the_chunks_take_twice_the_room(tmp_path: Path, mode: str, buffer: float) -> None:
    hold(tmp_path, mode, 2_000, buffer)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["live", "full"])
def test_a_hundred_thousand_chunks_take_twice_the_room_of_half_as_many(tmp_path: Path, mode: str) -> None:
    hold(tmp_path, mode, 50_000, 50.0)
