"""A store that keeps everything, its three tables as bytes, and other programs that write into them by plain SQL."""

from __future__ import annotations

from typing import Any

import palaver

from ..tools import chunks
from ..tools.chunks import answer, tool
from ..tools.sql import query, writing

TABLES = ("chat_sessions", "chat_messages", "chat_parts")
Chunk = dict[str, Any]


def full(path: str, **options: Any) -> palaver.Store:
    """Every part's row follows each chunk, so that there is much to journal; no fsync, no thread beside us."""
    given = {"durability": "normal", "save_buffer_ms": 0, "recover_every": None, **options}
    return palaver.open(path, events="full", **given)


# ---------------------------------------------------------------- plain SQL


def columns(path: str, table: str) -> list[str]:
    return [row[1] for row in query(path, f"PRAGMA table_info({table})")]


def dump(path: str) -> dict[str, list[tuple[str, ...]]]:
    """The three tables, each value as SQL would spell it: text, number and bytes look different."""
    found = {}
    for table in TABLES:
        values = ", ".join(f'quote("{name}")' for name in columns(path, table))
        found[table] = query(path, f"SELECT {values} FROM {table} ORDER BY id")
    return found


def is_gapless(path: str) -> bool:
    """The journal of every session is numbered 1, 2, 3 …"""
    rows = query(path, "SELECT min(seq), max(seq), count(*), count(DISTINCT seq) FROM journal GROUP BY session_id")
    return bool(rows) and all(low == 1 and high == count == distinct for low, high, count, distinct in rows)


UNTOLD = """
SELECT id FROM {table} WHERE id GLOB '{prefix}_*' AND id NOT IN (
    SELECT data ->> 'id' FROM journal WHERE statement GLOB 'insert_*' OR statement GLOB 'import_*')
"""


def untold(path: str) -> list[str]:
    """Rows of ours that no line of the journal made: a rebuild would take them for another program's."""
    prefixes = zip(TABLES, ("ses", "msg", "prt"), strict=True)
    return [row[0] for table, prefix in prefixes for row in query(path, UNTOLD.format(table=table, prefix=prefix))]


def replays(store: palaver.Store) -> list[str]:
    """What is wrong with the journal; nothing, if carried out again it gives the tables row for row."""
    gaps = [] if is_gapless(store.path) else ["the journal has gaps"]
    missing = [f"no line made {row}" for row in untold(store.path)]
    return gaps + missing + [f"{problem.where}: {problem.what}" for problem in store.rebuild(fix=False)]


# ---------------------------------------------------------------- what others write


def foreign_message(path: str, session_id: str, name: str, role: str = "user", at: int | None = None) -> None:
    with writing(path) as db:
        ((newest,),) = db.execute("SELECT max(created_at) FROM chat_messages").fetchall()
        at = at or (newest or 0) + 1
        db.execute("INSERT INTO chat_messages VALUES (?1, ?2, ?3, '{}', ?4, ?4)", (name, session_id, role, at))
        part = f'{{"type":"text","text":"{name} speaks"}}'
        values = (f"part of {name}", name, session_id, part, at)
        db.execute("INSERT INTO chat_parts VALUES (?1, ?2, ?3, 0, 'text', ?4, NULL, NULL, ?5, ?5)", values)


def foreign_session(path: str, name: str) -> None:
    with writing(path) as db:
        columns = "id, agent, model_json, created_at, updated_at"
        db.execute(f"INSERT INTO chat_sessions ({columns}) VALUES (?, 'theirs', '{{}}', 5, 5)", (name,))
    foreign_message(path, name, f"message of {name}")


# ---------------------------------------------------------------- streams


def text(words: str, pieces: int = 3, name: str = "t") -> list[Chunk]:
    return chunks.text(words, name, pieces=pieces)


def talk(session: palaver.Session, question: str = "And?", size: int = 20, **setup: Any) -> str:
    """A whole streamed turn; its id."""
    with session.turn(question, **setup) as turn:
        for chunk in answer(size):
            turn.write(chunk)
        turn.usage(input=10, output=5, cost_usd=0.1)
    return turn.id


def ask_a_tool(session: palaver.Session, size: int = 20) -> palaver.Turn:
    """A turn that waits for the result of a call."""
    turn = session.turn("Do it")
    for chunk in (*tool("w1", size, answered=False), {"type": "finish"}):
        turn.write(chunk)
    assert turn.status == "waiting"
    return turn
