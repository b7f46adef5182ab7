"""What the promises about tables, ids and order share: a session's whole life, and clocks."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

import palaver
from palaver.base import clock, ids

from ..tools.sql import query, reading, writing

QUESTION = {"role": "user", "parts": [{"type": "text", "text": "What is it?"}]}
ANSWER = {"role": "assistant", "parts": [{"type": "text", "text": "This."}]}
TABLES = ("chat_sessions", "chat_messages", "chat_parts")


# ---------------------------------------------------------------- plain SQL


def no_rows(path: str, sql: str) -> None:
    assert query(path, sql) == [], sql


def plan(connection: apsw.Connection, sql: str, names: tuple[str, ...] = ()) -> list[str]:
    """What SQLite would do for a statement, line by line."""
    rows = connection.execute("EXPLAIN QUERY PLAN " + sql, dict.fromkeys(names, 1) if names else ())
    return [row[3] for row in rows.fetchall()]


def indexes_of(path: str, table: str) -> list[tuple[str, ...]]:
    """The column lists that the catalogue has whole indexes on."""
    with reading(path) as db:
        names = [row[1] for row in db.execute(f"PRAGMA index_list({table})").fetchall() if not row[4]]
        return [tuple(row[2] for row in db.execute(f'PRAGMA index_info("{name}")').fetchall()) for name in names]


# ---------------------------------------------------------------- streams


def words(turn: palaver.Turn, text: str = "One two three.") -> None:
    """A step with a text in it, word by word."""
    turn.write({"type": "start-step"})
    turn.write({"type": "text-start", "id": "t"})
    for word in text.split(" "):
        turn.write({"type": "text-delta", "id": "t", "delta": word + " "})
    turn.write({"type": "text-end", "id": "t"})
    turn.write({"type": "finish-step"})


def call(turn: palaver.Turn, call_id: str, name: str = "run") -> None:
    turn.write({"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": {"a": 1}})


def returned(turn: palaver.Turn, call_id: str) -> None:
    turn.write({"type": "tool-output-available", "toolCallId": call_id, "output": {"from": call_id}})


def talk(session: palaver.Session, text: str = "Tell me", answer: str = "One two three.", **setup: Any) -> str:
    """A whole streamed turn; its id."""
    with session.turn(text, **setup) as turn:
        words(turn, answer)
        turn.usage(input=10, output=5, reasoning=3, cache_read=2, cache_write=1)
    return turn.id


def waiting_turn(session: palaver.Session, call_id: str) -> palaver.Turn:
    turn = session.turn("Do it")
    call(turn, call_id)
    turn.write({"type": "finish"})
    assert turn.status == "waiting"
    return turn


# ---------------------------------------------------------------- a life


def live(store: palaver.Store) -> palaver.Session:
    """Every verb at least once: streams, tools, branches, forks, sub-agents, lost races, foreign rows."""
    session = store.sessions.create("coder", workspace="/src", model="acme/one", title="A life", metadata={"k": [1]})
    talk(
        session, "first", model={"provider_id": "acme", "model_id": "two", "variant": "fast"}, system_prompt="Be kind."
    )
    session.commit([QUESTION, ANSWER, QUESTION, ANSWER])
    _use_tools(session)
    _branch(session)
    _lose_a_race(session)
    _move_about(session)
    _write_as_another_program(store, session)
    child = store.sessions.create("helper", parent=session, tool_call_id="c1")
    talk(child, "a sub-agent's task")
    _end_others(store)
    return session


def _use_tools(session: palaver.Session) -> None:
    with session.turn("use tools", agent="plan") as turn:
        turn.write({"type": "start", "messageMetadata": {"custom": {"x": 1.10}}})
        call(turn, "c1")
        call(turn, "c2", "look")
        returned(turn, "c2")
        returned(turn, "c1")
        words(turn)
    turn = waiting_turn(session, "c3")
    with session.resume(turn.id) as turn:
        turn.resolve("c3", output=["done"])
        words(turn)


def _branch(session: palaver.Session) -> None:
    with session.regenerate() as turn:
        words(turn, "Another answer.")
    with session.edit(session.messages()[-2]["id"], "asked otherwise") as turn:
        words(turn, "Yet another.")
    fork = session.fork(at=session.messages()[2]["id"], title="A fork")
    talk(fork, "in the fork")
    talk(fork.fork(), "in the fork's fork")


def _lose_a_race(session: palaver.Session) -> None:
    first, second = session.turn("first runner"), session.turn("second runner")
    words(first)
    words(second)
    first.seal()
    with pytest.raises(palaver.HeadConflict):
        second.seal()
    session.fork(at=second.id)


def _move_about(session: palaver.Session) -> None:
    session.rewind(to=session.path()[1])
    session.undo()
    session.rewind(to=session.messages()[1]["id"])
    session.undo()
    session.undo()
    session.redo()
    with pytest.raises(ZeroDivisionError), session.turn("this one breaks") as turn:
        words(turn)
        raise ZeroDivisionError


def _write_as_another_program(store: palaver.Store, session: palaver.Session) -> None:
    with writing(store.path, foreign_keys=True) as db:
        newest = db.execute("SELECT max(created_at) FROM chat_messages").fetchone()[0]
        add_message(db, session.id, "msg_foreign", max(clock.now_ms(), newest + 1))
    session.adopt()


def _end_others(store: palaver.Store) -> None:
    deleted = store.sessions.create("coder", metadata={"kept": True})
    talk(deleted, "to be deleted")
    deleted.delete()
    back = store.sessions.create("coder")
    talk(back, "deleted and brought back")
    back.delete()
    back.undelete()
    store.sessions.create("coder", title="archived").archive()


def add_message(db: apsw.Connection, session_id: str, message_id: str, at: int, role: str = "user") -> None:
    """A message with one part, as a program writes it that only knows the contract."""
    db.execute(
        "INSERT INTO chat_messages (id, session_id, role, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
        (message_id, session_id, role, at, at),
    )
    db.execute(
        'INSERT INTO chat_parts (id, message_id, session_id, "index", type, data_json, created_at, updated_at)'
        " VALUES (?, ?, ?, 0, 'text', ?, ?, ?)",
        ("prt_" + message_id, message_id, session_id, '{"type":"text","text":"' + message_id + '"}', at, at),
    )


# ---------------------------------------------------------------- clocks and processes


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, ms: int) -> None:
        self.ms = ms

    def __call__(self) -> int:
        return self.ms * 1_000_000


def freeze_clock(patch: pytest.MonkeyPatch, ms: int) -> Clock:
    """Ids start anew with it, and afterwards go on from where they were."""
    frozen = Clock(ms)
    patch.setattr(clock, "_now_ns", frozen)
    patch.setattr(ids, "_last", 0)
    return frozen
