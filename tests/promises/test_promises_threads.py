"""Rows 36 to 42 of the promise ledger: the tree of turns. A thread is derived: its turn, and the way to the root."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.puppet import all_at_once
from ..tools.sql import column, execute, query, writing
from .support_schema import ANSWER, QUESTION, add_message, call, live, talk, words

# Every turn beside every turn on its way to the root, itself included.
WAY = """
WITH RECURSIVE way (turn_id, id, parent_id, place) AS (
    SELECT id, id, parent_id, 0 FROM turns
    UNION ALL
    SELECT way.turn_id, t.id, t.parent_id, way.place + 1 FROM turns t JOIN way ON t.id = way.parent_id
)
"""
TOKENS = "t.input_tokens + t.output_tokens + t.reasoning_tokens + t.cache_read + t.cache_write"
BY_HAND = (
    WAY
    + f"""
SELECT way.turn_id, count(*), sum({TOKENS}) FROM way JOIN turns t ON t.id = way.id
 GROUP BY way.turn_id ORDER BY way.turn_id
"""
)


# ---------------------------------------------------------------- 36, 37, 38: threads


def test_promise_036_every_turn_has_exactly_one_thread_that_begins_at_a_root(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    turns = column(path, "SELECT id FROM turns ORDER BY id")
    assert len(turns) > 15
    assert column(path, WAY + "SELECT turn_id FROM way WHERE parent_id IS NULL ORDER BY turn_id") == turns


@broken_by("a_turn_forgets_what_came_before_it")
def test_promise_037_depth_and_tokens_of_a_thread_are_those_of_its_ancestry(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    stored = query(path, "SELECT id, depth, thread_tokens FROM turns ORDER BY id")
    assert stored == query(path, BY_HAND)
    assert max(row[2] for row in stored) > 40


@broken_by("a_turn_forgets_what_came_before_it")
def test_promise_037_a_thread_of_three_adds_up_as_by_hand(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    usages: list[dict[str, int]] = [{"input": 100, "output": 20}, {"reasoning": 7}, {"cache_read": 5, "cache_write": 1}]
    for usage in usages:
        with session.turn("q") as turn:
            words(turn)
            turn.usage(**usage)
    stored = query(store.path, "SELECT depth, thread_tokens, thread_messages FROM turns ORDER BY depth")
    assert stored == [(1, 120, 2), (2, 127, 4), (3, 133, 6)]
    session.rewind(to=session.path()[0])
    talk(session, "another branch")
    assert query(store.path, "SELECT depth, thread_tokens FROM turns WHERE id = ?", session.path()[-1].id) == [(2, 141)]


def test_promise_037_a_long_thread_is_walked_to_its_root(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for number in range(400):
        session.commit(f"question {number}")
    last = session.path()[-1].id
    way = column(store.path, WAY + "SELECT id FROM way WHERE turn_id = ? ORDER BY place DESC", last)
    assert way == [turn.id for turn in session.path()]
    assert query(store.path, "SELECT depth FROM turns WHERE id = ?", last) == [(400,)]


def test_promise_038_a_thread_key_names_one_turn(store: palaver.Store) -> None:
    session, other = store.sessions.create("a"), store.sessions.create("a")
    first, second = session.commit("one").id, session.commit("two").id
    session.alias("nice-key", "thread_key", turn=first)
    session.alias("nice-key", "thread_key", turn=first)  # saying it again changes nothing
    for taker, turn_id in ((session, second), (other, other.commit("three").id), (session, None)):
        with pytest.raises(palaver.AliasTaken) as taken:
            taker.alias("nice-key", "thread_key", turn=turn_id)
        assert taken.value.session_id == session.id
    with pytest.raises(palaver.AliasTaken):
        other.alias("nice-key", "label")  # find("nice-key") is one session, in whatever namespace
    assert store.sessions.turn_of("nice-key").id == first
    keys = query(store.path, "SELECT name, session_id, turn_id FROM aliases WHERE namespace = 'thread_key'")
    assert keys == [("nice-key", session.id, first)]


def test_promise_038_a_thread_key_needs_a_turn_that_exists(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with pytest.raises(palaver.TurnNotFound):
        session.alias("key", "thread_key", turn="trn_1a1e12ee73e001fW7SlrTg97TP")
    assert query(store.path, "SELECT count(*) FROM aliases") == [(0,)]


def test_promise_038_a_name_that_means_two_sessions_from_of_old_is_told_by_its_namespaces(store: palaver.Store) -> None:
    one, other, third = (store.sessions.create("a") for _ in range(3))
    one.alias("main")
    put = "INSERT INTO aliases (namespace, name, session_id, created_at) VALUES (?, ?, ?, 1)"
    execute(store.path, put, "slug", "main", other.id)
    execute(store.path, put, "slug", one.id, third.id)
    with pytest.raises(palaver.BadValue, match=r"'main' names 2 sessions; .* of alias, slug$"):
        store.sessions.find("main")
    assert (store.sessions.find("main", "alias"), store.sessions.find("main", "slug")) == (one, other)
    assert (store.sessions.find(one.id), store.sessions.find(one.id, "slug")) == (one, third)
    other.delete()
    assert store.sessions.find("main") == one


@broken_by("an_alias_goes_to_whoever_asks_last")
def test_promise_038_of_eight_processes_one_gets_the_key(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        turns = [session.commit(f"question {n}").id for n in range(8)]
    answers = [said for (said,) in all_at_once(_CLAIM, [(path, session.id, turn_id) for turn_id in turns])]
    assert sorted(answer.split()[0] for answer in answers) == ["taken"] * 7 + ["won"]
    winner = next(answer.split()[1] for answer in answers if answer.startswith("won"))
    assert query(path, "SELECT namespace, name, turn_id FROM aliases") == [("thread_key", "wanted", winner)]


_CLAIM = """
import palaver
path, session_id, turn_id = sys.argv[1:]
with palaver.open(path) as store:
    session = store.sessions.get(session_id)
    print("ready", flush=True)
    input()
    try:
        session.alias("wanted", "thread_key", turn=turn_id)
        print("won", turn_id)
    except palaver.AliasTaken:
        print("taken", turn_id)
"""


# ---------------------------------------------------------------- 39: shared turns


@broken_by("a_fork_begins_with_nothing")
def test_promise_039_a_fork_reaches_the_turns_it_shares_and_copies_none(store: palaver.Store) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    sessions = [store.sessions.create("a")]
    wanted: list[list[str]] = [[]]  # by hand: the turns on each session's path
    for step in range(120):
        at = dice.randrange(len(sessions))
        if dice.random() < 0.25 and wanted[at]:
            place = dice.randrange(len(wanted[at]))
            sessions.append(sessions[at].fork(at=wanted[at][place]))
            wanted.append(wanted[at][: place + 1])
        else:
            wanted[at].append(sessions[at].commit(f"step {step}").id)
    for session, path in zip(sessions, wanted, strict=True):
        assert _path_by_sql(store.path, session.id) == path
    assert column(store.path, "SELECT id FROM turns ORDER BY id") == sorted({t for path in wanted for t in path})


def _path_by_sql(path: str, session_id: str) -> list[str]:
    sql = (
        WAY
        + "SELECT way.id FROM way JOIN heads h ON h.turn_id = way.turn_id WHERE h.session_id = ? ORDER BY place DESC"
    )
    return column(path, sql, session_id)


def test_promise_039_both_sessions_read_the_shared_messages(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit([QUESTION, ANSWER])
    fork = session.fork()
    shared = session.messages()
    session.commit("only here")
    fork.commit("only there")
    assert session.messages()[:2] == fork.messages()[:2] == shared
    assert [m["parts"][0]["text"] for m in (session.messages()[2], fork.messages()[2])] == ["only here", "only there"]
    assert query(store.path, "SELECT session_id, count(*) FROM turns GROUP BY 1 ORDER BY 2") == [
        (fork.id, 1),
        (session.id, 2),
    ]


# ---------------------------------------------------------------- 40: the states of a turn

FINAL = ("completed", "failed", "aborted")
MOVES: dict[str, Callable[[palaver.Session, palaver.Turn], Any]] = {
    "write": lambda s, t: t.write({"type": "data-x", "data": 1}),
    "wait": lambda s, t: t.wait(),
    "resume": lambda s, t: s.resume(t.id),
    "completed": lambda s, t: t.seal("completed"),
    "failed": lambda s, t: t.seal("failed"),
    "aborted": lambda s, t: t.abort(),
}
# state → move → the state it leads to, or how it is refused
ALLOWED: dict[str, dict[str, Any]] = {
    "streaming": {"write": "streaming", "wait": "waiting", "resume": palaver.Refused, **{f: f for f in FINAL}},
    "waiting": {
        "write": palaver.TurnWaiting,
        "wait": palaver.TurnWaiting,
        "resume": "streaming",
        **{f: f for f in FINAL},
    },
    **{state: dict.fromkeys(MOVES, palaver.TurnSealed) for state in FINAL},
}


@broken_by("a_turn_may_go_anywhere")
def test_promise_040_a_turn_goes_only_where_the_table_says(store: palaver.Store) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    everything, seen = {(state, move) for state in ALLOWED for move in MOVES}, set()
    for _ in range(2_000):
        if seen >= everything:
            break
        session = store.sessions.create("a")
        turn, state = session.turn("q"), "streaming"
        for _ in range(8):
            move = dice.choice(sorted(MOVES))
            seen.add((state, move))
            turn, state = _try(session, turn, state, move)
            assert column(store.path, "SELECT status FROM turns WHERE id = ?", turn.id) == [state]
    assert seen == everything


def _try(session: palaver.Session, turn: palaver.Turn, state: str, move: str) -> tuple[palaver.Turn, str]:
    wanted = ALLOWED[state][move]
    if isinstance(wanted, str):
        return MOVES[move](session, turn) or turn, wanted
    with pytest.raises(wanted):
        MOVES[move](session, turn)
    return turn, state


@pytest.mark.parametrize("status", ["pending", "streaming", "waiting", "archived", "deleted", "running", ""])
def test_promise_040_a_turn_cannot_be_sealed_as_anything_else(store: palaver.Store, status: str) -> None:
    turn = store.sessions.create("a").turn("q")
    if status:
        with pytest.raises(palaver.BadValue):
            turn.seal(status)
        assert column(store.path, "SELECT status FROM turns") == ["streaming"]
    turn.seal()
    assert column(store.path, "SELECT status FROM turns") == ["completed"]


def test_promise_040_status_and_seal_agree_after_every_verb(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    assert (
        query(
            path, "SELECT id FROM turns WHERE (status IN ('completed', 'failed', 'aborted')) <> (sealed_at IS NOT NULL)"
        )
        == []
    )
    assert query(path, "SELECT id FROM turns WHERE (digest IS NULL) <> (sealed_at IS NULL)") == []


# ---------------------------------------------------------------- 42: the response

RESPONSE = """
SELECT t.id FROM turns t WHERE t.sealed_at IS NOT NULL AND t.response_id IS NOT (
    SELECT m.id FROM turn_entries e JOIN chat_messages m ON m.id = e.ref AND m.role = 'assistant'
     WHERE e.turn_id = t.id AND e.kind = 'message' ORDER BY e.seq DESC LIMIT 1)
"""


@broken_by("a_committed_turn_does_not_name_its_response")
def test_promise_042_a_turn_names_its_final_assistant_message(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit([QUESTION, ANSWER, QUESTION, {**ANSWER, "id": "msg_1a1e12ee73e001fW7SlrTg97TP"}])
    session.commit("no answer yet")
    with session.turn("tools") as turn:
        call(turn, "c")
        turn.write({"type": "tool-output-available", "toolCallId": "c", "output": 1})
    with session.regenerate() as again:
        words(again)
    assert query(store.path, RESPONSE) == []
    found = column(store.path, "SELECT response_id FROM turns ORDER BY started_at")
    assert found == ["msg_1a1e12ee73e001fW7SlrTg97TP", None, turn.message_id, again.message_id]


def test_promise_042_turns_made_of_rows_written_elsewhere_name_theirs_too(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit([QUESTION, ANSWER, QUESTION, ANSWER])
    session.rewind(to=session.messages()[1]["id"])
    with writing(store.path, foreign_keys=True) as db:
        stamp = db.execute("SELECT max(created_at) FROM chat_messages").get
        add_message(db, session.id, "msg_theirs", stamp + 1)
        add_message(db, session.id, "msg_reply", stamp + 2, role="assistant")
    assert session.adopt()
    assert query(store.path, RESPONSE) == []
    assert store.verify() == []


def test_promise_042_turn_and_message_ids_are_independent(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    assert query(path, "SELECT id FROM turns WHERE substr(id, 5) = substr(response_id, 5)") == []
    assert query(path, "SELECT t.id FROM turns t JOIN chat_messages m ON m.id = t.id") == []
