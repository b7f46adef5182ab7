"""Rows 167, 169, 170 and 173 of the promise ledger: what a turn was, what a session belongs to, what it all cost, and
who ends a turn of another process. Row 168 is in tests/mapping, row 172 in tests/windows."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

import palaver
from palaver.db.queries import Q

from ..tools.planting import broken_by
from ..tools.puppet import Process
from ..tools.sql import query, reading
from .support_schema import plan
from .support_tree import Walk

MODEL = {"provider_id": "acme", "model_id": "large"}

# ---------------------------------------------------------------- 167: what a turn was is read back


@broken_by("the_finish_reason_is_forgotten")
def test_promise_167_what_was_in_force_and_how_it_ended_is_read_back(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        with session.turn("go", model=MODEL, agent="reviewer", system_prompt="Be brief.", tools=["run"]) as turn:
            turn.text("done")
            turn.write({"type": "finish", "finishReason": "length"})
        with pytest.raises(RuntimeError), session.turn("again") as turn:
            turn.text("half")
            raise RuntimeError("out of luck")
    with palaver.open(path) as store:  # by another handle, from the file alone
        session = store.sessions.get(session.id)
        first, second = session.path()
        assert (first.finish, first.error, first.status) == ("length", None, "completed")
        assert (first.model, first.agent, first.tools) == (MODEL, "reviewer", ["run"])
        assert store.system_prompt(first.system_prompt or "") == "Be brief."
        assert (second.status, second.abort_reason) == ("aborted", "RuntimeError: out of luck")
        question, answer = (message["metadata"] for message in session.messages()[:2])
        assert (answer["model"], answer["agent"]) == (MODEL, "reviewer")
        assert question["model"] == MODEL


def test_promise_167_a_failed_turn_says_of_what(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    with session.turn("go") as turn:
        turn.fail("the model is overloaded", code="529")
    (info,) = session.path()
    assert (info.status, info.error) == ("failed", palaver.TurnError("the model is overloaded", "529"))


# ---------------------------------------------------------------- 169: lists by scope go by an index


def test_promise_169_a_list_by_scope_walks_the_key_of_its_fact(store: palaver.Store) -> None:
    wanted = [store.sessions.create("a", project="x", source="cli").id for _ in range(3)]
    store.sessions.create("a", project="y")
    assert [info.id for info in store.sessions.list(project="x", source="cli")] == wanted[::-1]
    statements = [query for query in vars(Q).values() if "session_facts" in getattr(query, "text", "")]
    lists = [query for query in statements if query.text.startswith("SELECT") and "LIMIT" in query.text]
    assert lists
    with reading(store.path) as db:
        for statement in lists:
            steps = plan(db, statement.text, statement.names)
            facts = [step for step in steps if "session_facts" in step or " f " in f"{step} "]
            assert facts and all("USING" in step for step in facts), (statement.name, steps)


# ---------------------------------------------------------------- 170: usage by response, and its sums

COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read", "cache_write")
KEYS = ("input", "output", "reasoning", "cache_read", "cache_write")
SUMS = ", ".join(f"coalesce(sum(u.{key}), 0)" for key in KEYS)


def rows_agree(path: str) -> None:
    """Each turn's counts are the sums of its rows; each message's `usage` is the sum of the rows that name it."""
    own = ", ".join(f"t.{count}" for count in COUNTS)
    turns = query(
        path,
        f"SELECT t.id, {own}, {SUMS} FROM turns t LEFT JOIN usage u ON u.turn_id = t.id"
        " WHERE t.kind <> 'foreign' GROUP BY t.id",
    )
    for turn_id, *counts in turns:
        assert counts[:5] == counts[5:], (turn_id, counts)
    messages = query(
        path,
        f"SELECT m.id, m.metadata_json, {SUMS} FROM chat_messages m JOIN usage u ON u.message_id = m.id GROUP BY m.id",
    )
    for message_id, metadata, *sums in messages:
        told = json.loads(metadata)["usage"]
        assert [told.get(key, 0) for key in KEYS] == sums, (message_id, told, sums)


@broken_by("a_usage_row_is_written_twice")
@pytest.mark.parametrize("steps", [30, pytest.param(600, marks=pytest.mark.long)])
def test_promise_170_rows_and_sums_agree_after_every_verb(store: palaver.Store, steps: int) -> None:
    Walk(store).run(steps, lambda: rows_agree(store.path))
    assert query(store.path, "SELECT count(*) FROM usage")[0][0] > 0


@broken_by("a_usage_row_is_written_twice")
def test_promise_170_every_response_has_a_row_with_its_source_and_model(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with session.turn("go", model=MODEL) as turn:
        turn.text("one")
        turn.usage(input=10, output=5, key="resp_1")
        turn.usage(input=10, output=5, key="resp_1")  # told again
        turn.usage(input=20, output=7, key="resp_2", cost_usd=0.25)
    entries = [(entry.key, entry.model, entry.usage.input, entry.usage.output) for entry in session.usage()]
    assert entries == [("resp_1", "large", 10, 5), ("resp_2", "large", 20, 7)]
    (info,) = session.path()
    assert (info.usage.input, info.usage.output, info.cost_usd) == (30, 12, 0.25)
    rows_agree(store.path)


# ---------------------------------------------------------------- 173: stopped by another process

_STREAMS = """
import sys, palaver
path, session_id = sys.argv[1:]
with palaver.open(path) as store:
    try:
        with store.sessions.get(session_id).turn("count") as turn:
            for n in range(1_000_000):
                turn.text(f"{n} ")
                print(n, flush=True)
    except palaver.TurnStopped as error:
        print("stopped", error.reason, flush=True)
"""


@pytest.mark.parametrize("seen", [1, 40, 200])
def test_promise_173_a_turn_that_another_process_streams_is_stopped_and_keeps_all_it_wrote(
    store: palaver.Store, seen: int
) -> None:
    session = store.sessions.create("a")
    with Process([sys.executable, "-c", _STREAMS, store.path, session.id]) as other:
        for _ in range(seen):
            acknowledged = other.line()
        session.stop()
        while (line := other.line()) is not None and not line.startswith("stopped"):
            acknowledged = line
        assert line is not None and other.status == 0
    (info,) = session.path()
    assert (info.status, session.history()[-1].kind) == ("aborted", "stop")
    kept = told(session).split()
    assert kept == [str(n) for n in range(len(kept))]
    assert len(kept) == int(acknowledged or -1) + 1
    assert store.verify() == []


def told(session: palaver.Session) -> str:
    parts: list[dict[str, Any]] = session.messages()[-1]["parts"]
    return "".join(part["text"] for part in parts if part["type"] == "text")
