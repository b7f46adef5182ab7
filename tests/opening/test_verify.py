"""`verify` names what a raw change did, whatever it was; `fix` rewrites copies and leaves the record alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver
from palaver import GraftItem, GraftSession, GraftTurn
from palaver.core.upkeep import indexing, rules, windows
from palaver.db.sqlite.transactions import Statements
from palaver.testing import ask

from ..load.counting import steps


def altered(path: str, *statements: str) -> None:
    connection = apsw.Connection(path)
    for statement in statements:
        connection.execute(statement)
        assert connection.changes() > 0, statement
    connection.close()


@pytest.fixture
def sealed(path: str) -> str:
    with palaver.open(path) as store:
        session = store.sessions.create(agent="a", title="t", project="x")
        for number in range(3):
            ask(session, f"question {number}", f"answer {number}")
        session.fork(at=session.path()[0]).commit("in the fork")
        session.rewind(to=session.path()[1])
        assert store.verify() == []
    return path


@pytest.fixture
def grafted(sealed: str) -> str:
    """And what came from elsewhere."""
    with palaver.open(sealed) as store:
        items = [GraftItem(b"small", id="i-1"), GraftItem(b"large" * 9_000, id="i-2")]
        store.graft(GraftSession("toy", "s-1", [GraftTurn(items, messages=["from elsewhere"])]))
        assert store.verify() == []
    return sealed


TRUTH = {
    "text": ("UPDATE chat_parts SET data_json = replace(data_json, 'question 0', 'question X')", "altered"),
    "role": ("UPDATE chat_messages SET role = 'system' WHERE role = 'user'", "altered"),
    "metadata": ("UPDATE chat_messages SET metadata_json = '{\"x\":1}' WHERE role = 'user'", "altered"),
    "deleted part": ("DELETE FROM chat_parts WHERE data_json LIKE '%question 1%'", "missing"),
    "deleted message": ("DELETE FROM chat_messages WHERE role = 'user'", "missing"),
    "digest": ("UPDATE turns SET digest = x'00' WHERE depth = 1", "digest"),
    "parent": ("UPDATE turns SET parent_id = NULL WHERE depth = 2", "digest"),
    "line removed": ("DELETE FROM turn_entries WHERE kind = 'part' AND seq = 1", "digest"),
    "leaf and salt gone": ("UPDATE turn_entries SET leaf = NULL, salt = NULL WHERE kind = 'part'", "altered"),
    "salt gone": ("UPDATE turn_entries SET salt = NULL WHERE kind = 'part'", "altered"),
    "part moved": (
        "UPDATE chat_parts SET \"index\" = 9, message_id = (SELECT id FROM chat_messages WHERE role = 'assistant')"
        " WHERE data_json LIKE '%question 0%'",
        "altered",
    ),
    "reflog": ("UPDATE reflog SET at = at + 1 WHERE kind = 'seal'", "reflog"),
    "reflog line removed": ("DELETE FROM reflog WHERE kind = 'rewind'", "head"),
    "head": ("UPDATE heads SET turn_id = prev_turn_id WHERE prev_turn_id IS NOT NULL", "head"),
    "agent": ("UPDATE chat_sessions SET agent = 'b'", "agent"),
    "session of a message": ("UPDATE chat_messages SET session_id = (SELECT max(id) FROM chat_sessions)", "home"),
    "session of a part": ("UPDATE chat_parts SET session_id = 'ses_x'", "home"),
    "json": ("UPDATE chat_sessions SET metadata_json = '{'", "json"),
}


@pytest.mark.parametrize("name", TRUTH)
def test_altered_truth_is_named_and_never_fixed(sealed: str, name: str) -> None:
    statement, rule = TRUTH[name]
    altered(sealed, "PRAGMA foreign_keys=ON; " + statement if statement.startswith("DELETE FROM chat") else statement)
    with palaver.open(sealed) as store:
        assert rule in {problem.rule for problem in store.verify()}
        assert rule in {problem.rule for problem in store.verify(fix=True)}


RULES: dict[str, tuple[object, str, Any]] = {
    "text": (rules, "leaf_fits", lambda *_, **__: True),
    "salt gone": (rules.TurnProof, "_flaws", lambda *_: ()),
    "part moved": (rules.TurnProof, "_flaws", lambda *_: ()),
    "digest": (rules.TurnProof, "digest_flaw", lambda *_: None),
    "reflog": (rules.ReflogProof, "take", lambda *_: None),
    "head": (rules.ReflogProof, "head_flaw", lambda *_: None),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_is_not_asked_lets_altered_truth_through(
    sealed: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, rule = TRUTH[name]
    altered(sealed, statement)
    monkeypatch.setattr(*RULES[name])
    with palaver.open(sealed, readonly=True) as store:
        assert rule not in {problem.rule for problem in store.verify()}


ITEMS = {
    "bytes": "UPDATE natives SET body = x'00' WHERE item = 'i-1'",
    "no bytes": "UPDATE natives SET body = 'small' WHERE item = 'i-1'",
    "digest": "UPDATE natives SET digest = x'00'",
    "packed": "UPDATE natives SET body = x'28b52ffd' WHERE item = 'i-2'",
    "how it is packed": "UPDATE natives SET codec = 'rot13' WHERE item = 'i-2'",
    "session": "UPDATE natives SET session_id = 'ses_x'",
    "turn": "UPDATE natives SET turn_id = 'trn_x'",
    "turn is open": "UPDATE turns SET sealed_at = NULL WHERE id IN (SELECT turn_id FROM natives)",
}


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_of_another_program_that_was_altered_is_named_and_never_fixed(grafted: str, name: str) -> None:
    altered(grafted, ITEMS[name])
    with palaver.open(grafted, readonly=True) as store:
        assert {problem.copy for problem in store.verify() if problem.rule == "native"} == {False}


def test_a_problem_of_an_item_names_it_and_its_turn(grafted: str) -> None:
    altered(grafted, "UPDATE natives SET body = x'00' WHERE item = 'i-2'")
    with palaver.open(grafted) as store:
        (turn,) = store.sessions.get("s-1").path()
        (problem,) = store.verify(fix=True)
        assert (problem.rule, problem.where, problem.copy) == ("native", turn.id, False)
        assert problem.what == f"item i-2 of turn {turn.id} is not what was given: its digest does not fit"


def test_an_item_whose_digest_is_not_asked_for_would_get_through(grafted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    altered(grafted, ITEMS["bytes"])
    monkeypatch.setattr(rules, "native_fits", lambda *_: True)
    with palaver.open(grafted, readonly=True) as store:
        assert store.verify() == []


def test_an_item_that_was_erased_is_no_problem(grafted: str) -> None:
    altered(grafted, "UPDATE natives SET body = NULL, codec = NULL")
    with palaver.open(grafted) as store:
        assert store.verify() == []


COPIES = {
    "depth": "UPDATE turns SET depth = depth + 1",
    "tokens": "UPDATE turns SET thread_tokens = 7",
    "hidden": "UPDATE chat_messages SET metadata_json = '{\"hidden_at\":1}'",
    "shown": "UPDATE chat_messages SET metadata_json = '{}' WHERE metadata_json LIKE '%hidden_at%'",
    "rollups": "UPDATE chat_sessions SET prompt_tokens = 99, total_tokens = 99",
    "preview": "UPDATE heads SET preview = 'something else'",
    "facts": "UPDATE session_facts SET created_at = created_at + 1",
    "made": "UPDATE chat_sessions SET created_at = created_at - 1000",
}


@pytest.mark.parametrize("name", COPIES)
def test_a_wrong_copy_is_named_and_fixed(sealed: str, name: str) -> None:
    before = transcripts(sealed)
    altered(sealed, COPIES[name])
    with palaver.open(sealed) as store:
        found = store.verify()
        assert found and all(problem.copy for problem in found)
        assert store.verify(fix=True) == []
        assert store.verify() == []
    assert transcripts(sealed) == before


def transcripts(path: str) -> list[str]:
    with palaver.open(path) as store:
        return [store.sessions.get(info.id).messages_json() for info in store.sessions]


def test_verify_reads_only(sealed: str) -> None:
    altered(sealed, COPIES["preview"])
    before = Path(sealed).read_bytes()
    with palaver.open(sealed) as store:
        store.verify()
    assert Path(sealed).read_bytes() == before


# ---------------------------------------------------------------- what is said


def test_tokens_that_differ_in_their_sum_alone_are_told_apart_and_name_their_session(sealed: str) -> None:
    altered(sealed, "UPDATE chat_sessions SET total_tokens = 5 WHERE parent_id IS NULL")
    with palaver.open(sealed) as store:
        (problem,) = store.verify()
    session_id = problem.where
    zeros = "(0, 0, 0, 0, 0, 0)"
    assert problem.what == f"the tokens of session {session_id} (and their sum) are {zeros}, not (0, 0, 0, 0, 0, 5)"


def test_parents_that_go_round_in_a_circle_are_named_and_the_check_ends(sealed: str) -> None:
    with palaver.open(sealed) as store:
        session = next(info for info in store.sessions if info.relation == "root")
        first, second, *_ = [turn.id for turn in store.sessions.get(session.id).tree()]
        altered(sealed, f"UPDATE turns SET parent_id = '{second}' WHERE id = '{first}'")
        found = store.verify()
        named = [problem for problem in found if "circle" in problem.what]
        assert [(problem.rule, problem.copy) for problem in named] == [("parent", False)]
        assert named[0].where in (first, second)
        assert {problem.rule for problem in store.verify(fix=True)} >= {"parent", "digest"}


def test_a_parent_that_is_gone_is_named(sealed: str) -> None:
    altered(sealed, "UPDATE turns SET parent_id = 'trn_gone' WHERE depth = 2")
    with palaver.open(sealed) as store:
        assert {(p.rule, "trn_gone" in p.what) for p in store.verify() if not p.copy} >= {("parent", True)}


def test_progress_is_told_to_the_end(sealed: str) -> None:
    told: list[tuple[int, int]] = []
    with palaver.open(sealed) as store:
        store.verify(progress=lambda turns, sessions: told.append((turns, sessions)))
        assert told == sorted(told) and told[-1] == (4, 2)


# ---------------------------------------------------------------- windows


@contextmanager
def windows_of(size: int, inline: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("ROWS", size), ("TURNS", size), ("SESSIONS", size), ("INLINE", inline)):
            patch.setattr(windows, name, value)
        yield


def test_the_size_of_the_windows_changes_nothing(sealed: str) -> None:
    with palaver.open(sealed) as store:
        store.sessions.get(next(i.id for i in store.sessions if i.relation == "fork")).materialise()
        for statement in [*COPIES.values(), *(statement for statement, _ in TRUTH.values())]:
            apsw.Connection(sealed).execute(statement)  # some find nothing more to change
            found = store.verify()
            for size, inline in ((2, 1 << 20), (3, 0)):
                with windows_of(size, inline):
                    assert sorted(map(repr, store.verify())) == sorted(map(repr, found)), statement
        assert len(found) > 20


@contextmanager
def answers() -> Iterator[list[list[Any]]]:
    """What every statement gave."""
    given: list[list[Any]] = []
    ask_for = Statements.all

    def note(self: Statements, query: Any, **params: Any) -> list[Any]:
        given.append(ask_for(self, query, **params))
        return given[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Statements, "all", note)
        yield given


def test_no_answer_grows_with_the_store(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for number in range(300):
        session.commit(f"message {number}")
    with windows_of(50, 1 << 10), answers() as given:
        assert store.verify() == []
    assert max(map(len, given)) == 50


def test_large_values_are_read_one_at_a_time(store: palaver.Store) -> None:
    large = "x" * 300_000
    session = store.sessions.create("a")
    parts = [{"type": "text", "text": large}, {"type": "tool-t", "toolCallId": "c", "state": "output-available"}]
    parts[1]["output"] = large
    session.commit([{"role": "assistant", "metadata": {"m": large}, "parts": parts * 3}] * 2)
    with answers() as given:
        assert store.verify() == []
    sizes = [sum(len(value) for row in rows for value in row if isinstance(value, str)) for rows in given]
    assert sum(size > 200_000 for size in sizes) >= 14
    assert max(sizes) < 400_000


# ---------------------------------------------------------------- what a fork costs


def steps_to_verify(path: str, turns: int, forks: int) -> int:
    """Steps of SQLite's machine."""
    with palaver.open(path, durability="normal") as store:
        session = store.sessions.create("a")
        for number in range(turns):
            session.commit(f"message {number}")
        for _ in range(forks):
            session.fork()
        store.reindex(only_missing=True)
        indexing.merge(store.db)  # else its words lie in one segment here and in three there
    with steps() as taken, palaver.open(path) as store:
        taken.clear()
        assert store.verify() == []
        return sum(taken)


def test_a_fork_of_a_long_session_costs_what_a_fork_of_a_short_one_does(tmp_path: Path) -> None:
    counted = {
        (turns, forks): steps_to_verify(str(tmp_path / f"{turns}-{forks}.db"), turns, forks)
        for turns in (20, 200)
        for forks in (0, 20)
    }
    short, long = (counted[turns, 20] - counted[turns, 0] for turns in (20, 200))
    print(f"20 forks of 20 turns: {short} steps; of 200: {long}")
    assert 0 < long < 1.5 * short


def test_ten_times_the_turns_take_ten_times_the_steps(tmp_path: Path) -> None:
    few, many = (steps_to_verify(str(tmp_path / f"{turns}.db"), turns, 0) for turns in (60, 600))
    print(f"60 turns: {few} steps; 600: {many}")
    assert many < 11 * few
