"""Sessions of `SessionDB`: made once, ended and opened again, found by their id."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest

from .support import SESSION_COLUMNS, Clock, contents, counts

# ---------------------------------------------------------------- made


def test_creating_gives_back_the_id(db: Any) -> None:
    assert db.create_session("sess_abc123", "cli") == "sess_abc123"


def test_a_session_comes_back_as_it_was_made(db: Any) -> None:
    db.create_session("parent", "cli")
    db.create_session(
        session_id="child",
        source="telegram",
        model="anthropic/claude-sonnet-4.6",
        model_config={"temperature": 0.5},
        system_prompt="Be brief.",
        user_id="user_1",
        parent_session_id="parent",
    )
    row = db.get_session("child")
    assert row["id"] == "child"
    assert row["source"] == "telegram"
    assert row["model"] == "anthropic/claude-sonnet-4.6"
    assert row["system_prompt"] == "Be brief."
    assert row["user_id"] == "user_1"
    assert row["parent_session_id"] == "parent"


def test_the_arguments_may_be_given_in_order(db: Any) -> None:
    db.ensure_session("s", "discord", "m-1")
    assert (db.get_session("s")["source"], db.get_session("s")["model"]) == ("discord", "m-1")


def test_a_row_has_every_column(db: Any) -> None:
    db.create_session("s", "cli")
    row = db.get_session("s")
    assert type(row) is dict
    assert set(SESSION_COLUMNS) <= set(row)


@pytest.mark.schema6("later versions have more columns, some in between")
def test_a_row_has_exactly_the_columns_of_schema_6_in_their_order(db: Any) -> None:
    db.create_session("s", "cli")
    assert list(db.get_session("s")) == SESSION_COLUMNS


def test_what_was_not_said_is_null_and_counts_are_zero(db: Any) -> None:
    db.create_session("s", "cli")
    row = db.get_session("s")
    counted = [name for name in SESSION_COLUMNS if name.endswith(("_count", "_tokens"))]
    assert len(counted) == 7
    assert {name: row[name] for name in counted} == dict.fromkeys(counted, 0)
    assert all(type(row[name]) is int for name in counted)
    empty = set(SESSION_COLUMNS) - set(counted) - {"id", "source", "started_at"}
    assert {name: row[name] for name in empty} == dict.fromkeys(empty)


def test_the_start_is_a_time_in_seconds(db: Any) -> None:
    before = time.time()
    db.create_session("s", "cli")
    row = db.get_session("s")
    assert type(row["started_at"]) is float
    assert before - 0.001 <= row["started_at"] <= time.time() + 0.001


def test_the_configuration_of_the_model_is_json_text(db: Any) -> None:
    config = {"temperature": 0.25, "stop": ["»"], "nested": {"deep": None}, "n": 1}
    db.create_session("s", "cli", model_config=config)
    text = db.get_session("s")["model_config"]
    assert type(text) is str
    assert json.loads(text) == config
    assert text == json.dumps(config)


def test_an_empty_configuration_is_none(db: Any) -> None:
    db.create_session("s", "cli", model_config={})
    assert db.get_session("s")["model_config"] is None


def test_an_empty_text_is_not_null(db: Any) -> None:
    db.create_session("s", "cli", model="", system_prompt="", user_id="")
    row = db.get_session("s")
    assert (row["model"], row["system_prompt"], row["user_id"]) == ("", "", "")


def test_any_source_will_do(db: Any) -> None:
    for source in ("cli", "telegram", "a b", "ünï", 'it\'s "odd"', "x" * 300):
        db.create_session(f"of {source}", source)
        assert db.get_session(f"of {source}")["source"] == source


IDS = [
    "20260401_101500_ab12cd",
    "ünï 🎉",
    "a/b:c",
    "'; DROP TABLE sessions; --",
    "%",
    "_",
    "\\",
    " s ",
    "x" * 300,
    "42",
]


def test_any_text_is_an_id(db: Any) -> None:
    for id in IDS:
        assert db.create_session(id, "cli") == id
        db.append_message(id, "user", id)
    for id in IDS:
        assert db.get_session(id)["id"] == id
        assert contents(db, id) == [id]
    assert db.session_count() == len(IDS)


# ---------------------------------------------------------------- made again


@pytest.mark.schema6("0.19.0 fills columns that are still NULL")
def test_a_session_that_is_there_stays_as_it_is(db: Any) -> None:
    db.create_session("s", "cli", system_prompt="first")
    before = db.get_session("s")
    assert db.create_session("s", "telegram", model="m", system_prompt="second", user_id="u") == "s"
    assert db.get_session("s") == before


def test_the_first_writer_wins(db: Any) -> None:
    db.create_session("s", "cli", model="first", system_prompt="first")
    db.append_message("s", "user", "hello")
    before = db.get_session("s")
    assert db.create_session("s", "telegram", model="second", system_prompt="second") == "s"
    assert db.get_session("s") == before
    assert contents(db, "s") == ["hello"]
    assert db.session_count() == 1


def test_making_it_again_does_not_open_an_ended_one(db: Any) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "user_exit")
    db.create_session("s", "cli")
    assert db.get_session("s")["end_reason"] == "user_exit"


def test_ensuring_makes_a_session_that_is_missing(db: Any) -> None:
    db.ensure_session("s")
    assert db.get_session("s")["source"] == "unknown"
    db.ensure_session("t", source="gateway", model="m-1")
    assert (db.get_session("t")["source"], db.get_session("t")["model"]) == ("gateway", "m-1")


def test_ensuring_leaves_a_session_that_is_there(db: Any) -> None:
    db.create_session("s", "cli", model="first")
    before = db.get_session("s")
    db.ensure_session("s", source="gateway", model="second")
    assert db.get_session("s") == before


@pytest.mark.schema6("0.19.0 fills a model that is NULL")
def test_ensuring_does_not_even_fill_in_the_model(db: Any) -> None:
    db.create_session("s", "cli")
    db.ensure_session("s", model="later")
    assert db.get_session("s")["model"] is None


def test_messages_go_into_an_ensured_session(db: Any) -> None:
    db.ensure_session("s")
    db.append_message("s", "user", "hello")
    assert counts(db, "s") == (1, 0)


# ---------------------------------------------------------------- not there


def test_an_unknown_session_is_none(db: Any) -> None:
    assert db.get_session("nobody") is None
    assert db.get_session("") is None


def test_a_session_that_is_known_by_half_is_none(db: Any) -> None:
    db.create_session("abc", "cli")
    assert db.get_session("ab") is None
    assert db.get_session("%") is None
    assert db.get_session("abc ") is None


def test_a_parent_that_is_not_there_is_refused(db: Any) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        db.create_session("s", "cli", parent_session_id="nobody")
    assert db.get_session("s") is None


@pytest.mark.parametrize("missing", ["source", "role"])
def test_what_must_be_there_is_asked_for(db: Any, missing: str) -> None:
    db.create_session("s", "cli")
    with pytest.raises(sqlite3.Error):
        if missing == "source":
            db.create_session("t", None)
        else:
            db.append_message("s", None, "hello")
    assert (db.session_count(), db.message_count()) == (1, 0)


# ---------------------------------------------------------------- ended and opened again


def test_promise_091_end_session_sets_the_time_and_the_reason(db: Any) -> None:
    db.create_session("s", "cli")
    before = time.time()
    assert db.end_session("s", end_reason="user_exit") is None
    row = db.get_session("s")
    assert type(row["ended_at"]) is float
    assert before - 0.001 <= row["ended_at"] <= time.time() + 0.001
    assert row["end_reason"] == "user_exit"
    assert row["ended_at"] >= row["started_at"]


def test_promise_091_the_first_reason_stays(db: Any, clock: Clock) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "compression")
    before = db.get_session("s")
    clock.turn(seconds=10)
    db.end_session("s", "user_exit")
    assert db.get_session("s") == before


def test_promise_091_reopen_session_clears_both_and_a_new_end_is_possible(db: Any, clock: Clock) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "user_exit")
    first = db.get_session("s")["ended_at"]
    assert db.reopen_session("s") is None
    row = db.get_session("s")
    assert (row["ended_at"], row["end_reason"]) == (None, None)
    clock.turn(seconds=10)
    db.end_session("s", "timeout")
    row = db.get_session("s")
    assert row["end_reason"] == "timeout"
    assert row["ended_at"] >= first + 10


def test_opening_one_that_is_open_changes_nothing(db: Any) -> None:
    db.create_session("s", "cli")
    before = db.get_session("s")
    db.reopen_session("s")
    assert db.get_session("s") == before


def test_an_end_and_a_new_beginning_leave_the_messages(db: Any) -> None:
    db.create_session("s", "cli", model="m")
    db.append_message("s", "user", "hello")
    before = db.get_session("s")
    db.end_session("s", "x")
    db.reopen_session("s")
    assert db.get_session("s") == before
    assert contents(db, "s") == ["hello"]


def test_whoever_ended_still_takes_messages(db: Any) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "compression")
    db.append_message("s", "user", "late")
    assert contents(db, "s") == ["late"]
    row = db.get_session("s")
    assert (row["message_count"], row["end_reason"]) == (1, "compression")


def test_any_reason_will_do(db: Any) -> None:
    for reason in ("compression", "session_reset", "ünï", "x" * 300):
        db.create_session(reason, "cli")
        db.end_session(reason, reason)
        assert db.get_session(reason)["end_reason"] == reason


def test_an_empty_source_and_an_empty_reason_are_not_null(db: Any) -> None:
    db.create_session("s", "")
    db.end_session("s", "")
    row = db.get_session("s")
    assert (row["source"], row["end_reason"]) == ("", "")


def test_an_end_without_a_reason_is_an_end(db: Any) -> None:
    db.create_session("s", "cli")
    db.end_session("s", None)
    assert db.get_session("s")["ended_at"] is not None
    db.end_session("s", "later")
    assert db.get_session("s")["end_reason"] is None


UNKNOWN: dict[str, Callable[[Any], Any]] = {
    "end": lambda db: db.end_session("nobody", "x"),
    "reopen": lambda db: db.reopen_session("nobody"),
    "system_prompt": lambda db: db.update_system_prompt("nobody", "x"),
    "clear": lambda db: db.clear_messages("nobody"),
}


def test_with_an_unknown_session_nothing_happens(db: Any) -> None:
    db.create_session("s", "cli")
    before = db.get_session("s")
    for what, do in UNKNOWN.items():
        assert do(db) is None, what
        assert db.get_session("s") == before
        assert db.session_count() == 1


@pytest.mark.schema6("0.19.0 makes the session")
def test_counting_tokens_of_an_unknown_session_makes_none(db: Any) -> None:
    assert db.update_token_counts("nobody", input_tokens=5) is None
    assert db.get_session("nobody") is None
    assert db.session_count() == 0


# ---------------------------------------------------------------- the system prompt


def test_the_system_prompt_is_replaced(db: Any) -> None:
    db.create_session("s", "cli", system_prompt="old")
    assert db.update_system_prompt("s", "new\nwith lines — and ünï") is None
    assert db.get_session("s")["system_prompt"] == "new\nwith lines — and ünï"
    db.update_system_prompt("s", "")
    assert db.get_session("s")["system_prompt"] == ""
    db.update_system_prompt("s", None)
    assert db.get_session("s")["system_prompt"] is None


def test_the_system_prompt_is_no_message(db: Any) -> None:
    db.create_session("s", "cli", system_prompt="Be brief.")
    db.update_system_prompt("s", "Be very brief.")
    assert db.get_messages("s") == []
    assert db.get_messages_as_conversation("s") == []
    assert counts(db, "s") == (0, 0)


def test_a_long_system_prompt_comes_back(db: Any) -> None:
    prompt = "Do this, and that. " * 20_000
    db.create_session("s", "cli", system_prompt=prompt)
    assert db.get_session("s")["system_prompt"] == prompt


# ---------------------------------------------------------------- found by the beginning of the id


def test_an_id_resolves_to_itself(db: Any) -> None:
    db.create_session("20260315_092437_c9a6ff", "cli")
    db.create_session("20260315_092437_c9a6ff2", "cli")
    assert db.resolve_session_id("20260315_092437_c9a6ff") == "20260315_092437_c9a6ff"


def test_the_beginning_of_one_id_resolves_to_it(db: Any) -> None:
    db.create_session("20260315_092437_c9a6ff", "cli")
    db.create_session("20260316_092437_c9a6ff", "cli")
    assert db.resolve_session_id("20260315") == "20260315_092437_c9a6ff"
    assert db.resolve_session_id("20260316_0924") == "20260316_092437_c9a6ff"


def test_the_beginning_of_two_resolves_to_none(db: Any) -> None:
    db.create_session("20260315_092437_aaaaaa", "cli")
    db.create_session("20260315_092437_bbbbbb", "cli")
    assert db.resolve_session_id("20260315_092437") is None


def test_what_begins_no_id_resolves_to_none(db: Any) -> None:
    db.create_session("20260315_092437_c9a6ff", "cli")
    assert db.resolve_session_id("2027") is None
    assert db.resolve_session_id("c9a6ff") is None  # it is the end of one
    assert db.resolve_session_id("20260315_092437_c9a6ff_") is None


def test_wildcards_are_plain_characters_of_an_id(db: Any) -> None:
    for name in ("a%b", "a_b", "a\\b", "axb"):
        db.create_session(name, "cli")
    for prefix, id in (("a%", "a%b"), ("a_", "a_b"), ("a\\", "a\\b"), ("%", None), ("_", None)):
        assert db.resolve_session_id(prefix) == id


def test_a_deleted_session_resolves_to_none(db: Any) -> None:
    db.create_session("abc1", "cli")
    db.create_session("abc2", "cli")
    db.delete_session("abc1")
    assert db.resolve_session_id("abc1") is None
    assert db.resolve_session_id("abc") == "abc2"


# ---------------------------------------------------------------- closed, and there again


def test_everything_is_there_after_closing(open_db: Callable[[], Any]) -> None:
    db = open_db()
    db.create_session("s", "cli", model="m")
    db.append_message("s", "assistant", "yes", token_count=3)
    db.set_session_title("s", "A title")
    before = db.export_all()
    assert db.close() is None
    assert open_db().export_all() == before


def test_closing_twice_is_once(db: Any) -> None:
    db.create_session("s", "cli")
    db.close()
    assert db.close() is None


def test_two_open_ones_see_what_the_other_wrote(open_db: Callable[[], Any]) -> None:
    one, other = open_db(), open_db()
    one.create_session("s", "cli")
    first = one.append_message("s", "user", "one")
    second = other.append_message("s", "assistant", "other")
    assert contents(one, "s") == contents(other, "s") == ["one", "other"]
    assert first < second
    assert counts(one, "s") == (2, 0)
