"""Rows 79 to 82 of the promise ledger: messages, parts and tool calls come back in the order in which they came."""

from __future__ import annotations

import random

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.puppet import elsewhere
from ..tools.sql import column, query, writing
from ..tools.talk import texts
from .support_schema import add_message, call, freeze_clock, returned, words

FROZEN = 1_800_000_000_000


# ---------------------------------------------------------------- 79: messages


@broken_by("created_at_counts_seconds")
def test_promise_079_a_thousand_messages_of_one_millisecond_keep_their_order(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze_clock(monkeypatch, FROZEN)
    wanted = [f"message {n}" for n in range(1_000)]
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        for start in range(0, 1_000, 10):
            session.commit([{"content": text} for text in wanted[start : start + 10]])
        assert texts(session) == wanted
    by_time = "SELECT data_json ->> 'text' FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id ORDER BY"
    assert column(path, f"{by_time} m.created_at, m.id") == wanted
    assert column(path, f"{by_time} m.created_at, m.id DESC") == wanted  # no two have the same time
    assert query(path, "SELECT min(created_at), max(created_at) FROM chat_messages") == [(FROZEN, FROZEN + 999)]


def test_promise_079_equal_times_of_another_program_have_one_order(store: palaver.Store) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    session = store.sessions.create("a")
    wanted = [f"msg_{n:04d}" for n in range(1_000)]
    shuffled = random.Random(seed).sample(wanted, 1_000)
    with writing(store.path, foreign_keys=True) as db, db:
        for name in shuffled:
            add_message(db, session.id, name, FROZEN)
    assert texts(session) == wanted
    assert session.adopt()
    assert texts(session) == wanted
    session.commit("and then")
    assert texts(session) == [*wanted, "and then"]


# ---------------------------------------------------------------- 80: parts

SWAPPED = """
SELECT a.id FROM chat_parts a JOIN chat_parts b ON b.message_id = a.message_id AND a."index" < b."index"
 WHERE a.id >= b.id
"""


@broken_by("part_ids_run_backwards")
def test_promise_080_parts_sort_by_id_as_they_sort_by_index(lived: str) -> None:
    assert query(lived, SWAPPED) == []
    assert query(lived, "SELECT max(n) > 3 FROM (SELECT count(*) n FROM chat_parts GROUP BY message_id)") == [(1,)]


@broken_by("part_ids_run_backwards")
def test_promise_080_ids_and_index_agree_when_another_process_goes_on(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        turn = session.turn("q")
        words(turn)
        call(turn, "c")
        turn.write({"type": "finish"})
    elsewhere(_GO_ON, path, session.id, turn.id)
    types = column(path, "SELECT type FROM chat_parts WHERE message_id = ? ORDER BY id", turn.message_id)
    assert types == ["step-start", "text", "tool-run", "step-start", "text"]
    assert query(path, SWAPPED) == []


_GO_ON = """
import palaver
from tests.promises.support_schema import words
path, session_id, turn_id = sys.argv[1:]
with palaver.open(path) as store, store.sessions.get(session_id).resume(turn_id) as turn:
    turn.resolve("c", output="found")
    words(turn)
"""


# ---------------------------------------------------------------- 81, 82: inside a turn


@broken_by("entries_are_numbered_backwards")
def test_promise_081_messages_within_a_turn_are_ordered_by_sequence(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    wanted = [f"message {n}" for n in range(30)]
    roles = ("user", "assistant", "system")
    turn = session.commit([{"role": roles[n % 3], "content": text} for n, text in enumerate(wanted)])
    found = column(
        store.path,
        "SELECT p.data_json ->> 'text' FROM turn_entries e JOIN chat_parts p ON p.message_id = e.ref"
        " WHERE e.turn_id = ? AND e.kind = 'message' ORDER BY e.seq",
        turn.id,
    )
    assert found == wanted == texts(session)


@broken_by("entries_are_numbered_backwards")
def test_promise_081_sequences_are_whole_and_unique_in_every_turn(lived: str) -> None:
    assert (
        query(
            lived,
            "SELECT turn_id FROM turn_entries GROUP BY turn_id"
            " HAVING min(seq) <> 0 OR max(seq) <> count(*) - 1 OR count(DISTINCT seq) <> count(*)",
        )
        == []
    )
    twice = "SELECT turn_id, ref FROM turn_entries WHERE kind <> 'result' GROUP BY 1, 2 HAVING count(*) > 1"
    assert query(lived, twice) == []
    assert query(lived, "SELECT id FROM turns WHERE id NOT IN (SELECT turn_id FROM turn_entries)") == []


ASTRAY = """
SELECT e.ref FROM turn_entries e JOIN chat_parts p ON p.id = e.ref
 WHERE e.kind = 'part' AND p.message_id <> (
    SELECT m.ref FROM turn_entries m WHERE m.turn_id = e.turn_id AND m.kind = 'message' AND m.seq < e.seq
     ORDER BY m.seq DESC LIMIT 1)
"""


def test_promise_081_parts_follow_their_message_in_the_sequence(lived: str) -> None:
    assert query(lived, ASTRAY) == []
    assert query(lived, "SELECT count(*) > 30 FROM turn_entries WHERE kind = 'part'") == [(1,)]


CALLS = """
SELECT p.tool_call_id FROM turn_entries e JOIN chat_parts p ON p.id = e.ref
 WHERE e.turn_id = ? AND e.kind = ? AND p.tool_call_id IS NOT NULL ORDER BY e.seq
"""


@broken_by("entries_are_numbered_backwards", "results_are_not_listed")
def test_promise_082_tool_calls_are_listed_as_they_were_made_and_results_as_they_came(store: palaver.Store) -> None:
    with store.sessions.create("a").turn("q") as turn:
        for call_id in ("z", "a", "m"):
            call(turn, call_id)
        for call_id in ("m", "z", "a"):
            returned(turn, call_id)
    assert column(store.path, CALLS, turn.id, "part") == ["z", "a", "m"]
    assert column(store.path, CALLS, turn.id, "result") == ["m", "z", "a"]


@broken_by("results_are_not_listed")
def test_promise_082_the_sequence_goes_on_after_a_restart(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        turn = session.turn("q")
        for call_id in ("b", "c", "a"):
            call(turn, call_id)
        returned(turn, "a")
        turn.write({"type": "finish"})
    elsewhere(_ANSWER, path, session.id, turn.id)
    assert column(path, CALLS, turn.id, "result") == ["a", "c", "d", "b"]
    assert column(path, CALLS, turn.id, "part") == ["b", "c", "a", "d"]
    sequence = column(path, "SELECT seq FROM turn_entries WHERE turn_id = ? ORDER BY seq", turn.id)
    assert sequence == list(range(11))


_ANSWER = """
import palaver
from tests.promises.support_schema import call, returned
path, session_id, turn_id = sys.argv[1:]
with palaver.open(path) as store, store.sessions.get(session_id).resume(turn_id) as turn:
    turn.resolve("c", output=1)
    call(turn, "d")
    returned(turn, "d")
    turn.resolve("b", error="no")
"""
