"""What is exported, cleared, deleted and pruned: whole, and nothing else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from .support import MESSAGE_COLUMNS, SESSION_COLUMNS, Clock, call, contents, counts, found, rows_of

# ---------------------------------------------------------------- exported


@pytest.fixture
def full(db: Any) -> Any:
    db.create_session("s", "cli", model="m", model_config={"a": [1, "ü"]}, system_prompt="p", user_id="u")
    db.set_session_title("s", "T")
    db.append_message("s", "user", "hello\nthere")
    db.append_message("s", "assistant", None, tool_calls=[call("c1"), call("c2")], reasoning="hm", token_count=4)
    db.append_message("s", "tool", "", tool_name="f", tool_call_id="c1")
    db.append_message("s", "tool", None, tool_name="f", tool_call_id="nobody's")
    db.append_message("s", "assistant", "done", finish_reason="stop", reasoning_details=[{"a": 1}])
    db.update_token_counts("s", input_tokens=5, estimated_cost_usd=0.25, cost_status="estimated")
    db.create_session("t", "telegram", parent_session_id="s")
    db.append_message("t", "user", "日本")
    db.end_session("t", "timeout")
    return db


def test_promise_149_an_exported_session_is_its_row_and_its_messages(full: Any) -> None:
    for name in ("s", "t"):
        exported = full.export_session(name)
        assert exported == {**full.get_session(name), "messages": full.get_messages(name)}
        assert list(exported)[-1] == "messages"
    assert [row["content"] for row in full.export_session("s")["messages"]] == ["hello\nthere", None, "", None, "done"]


def test_promise_149_an_unknown_session_is_not_exported(db: Any) -> None:
    assert db.export_session("nobody") is None
    assert db.export_all() == []


def test_promise_149_all_are_exported_or_those_of_a_source(full: Any) -> None:
    def told(*given: Any, **named: Any) -> dict[str, Any]:
        exported = full.export_all(*given, **named)
        assert type(exported) is list
        return {one["id"]: {name: one[name] for name in [*SESSION_COLUMNS, "messages"]} for one in exported}

    whole = {
        name: {
            name: value for name, value in full.export_session(name).items() if name in [*SESSION_COLUMNS, "messages"]
        }
        for name in ("s", "t")
    }
    assert told() == whole
    assert told("cli") == {"s": whole["s"]}
    assert told(source="telegram") == {"t": whole["t"]}
    assert told("nowhere") == {}


@pytest.mark.schema6("later versions have more columns, and `last_active`")
def test_promise_149_an_export_has_exactly_the_columns_newest_first(full: Any) -> None:
    full.append_message("s", "user", "later")
    exported = full.export_all()
    assert [one["id"] for one in exported] == ["t", "s"]
    assert exported == [full.export_session("t"), full.export_session("s")]
    assert list(exported[0]) == [*SESSION_COLUMNS, "messages"]
    assert list(exported[1]["messages"][0]) == MESSAGE_COLUMNS


def test_promise_149_an_export_is_json(full: Any) -> None:
    exported = full.export_all()
    assert json.loads(json.dumps(exported)) == exported


def test_promise_149_what_was_exported_can_be_told_again(full: Any) -> None:
    """import(export(x)) = x, but for numbers and times."""
    kept = [name for name in MESSAGE_COLUMNS if name not in ("id", "session_id", "timestamp")]

    def told(name: str) -> list[dict[str, Any]]:
        return [{column: row[column] for column in kept} for row in full.get_messages(name)]

    full.create_session("again", "cli")
    for row in full.export_session("s")["messages"]:
        given = {name: row[name] for name in kept}
        for name in ("reasoning_details", "codex_reasoning_items"):
            given[name] = json.loads(given[name]) if given[name] else None
        full.append_message("again", **given)
    assert told("again") == told("s")
    assert counts(full, "again") == counts(full, "s")


# ---------------------------------------------------------------- cleared


def test_promise_090_clearing_keeps_the_session_and_zeroes_its_counts(full: Any) -> None:
    before = full.get_session("s")
    assert counts(full, "s") == (5, 2)
    assert full.clear_messages("s") is None
    assert full.get_session("s") == {**before, "message_count": 0, "tool_call_count": 0}
    assert full.get_messages("s") == []
    assert full.get_messages_as_conversation("s") == []
    assert full.export_session("s")["messages"] == []
    assert full.message_count("s") == 0
    assert full.search_messages("hello") == []


def test_promise_090_clearing_touches_no_other_session(full: Any) -> None:
    full.clear_messages("s")
    assert contents(full, "t") == ["日本"]
    assert full.message_count() == 1
    assert full.get_session("t")["parent_session_id"] == "s"


def test_promise_090_after_clearing_it_begins_anew(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "old")
    db.append_message("s", "assistant", None, tool_calls=[call("c1")])
    db.clear_messages("s")
    db.append_message("s", "tool", "late", tool_call_id="c1")
    db.append_message("s", "user", "new")
    db.append_message("s", "assistant", None, tool_calls=[call("c1")])
    db.append_message("s", "tool", "result", tool_call_id="c1")
    assert contents(db, "s") == ["late", "new", None, "result"]
    assert counts(db, "s") == (4, 1)
    assert rows_of(db) == ["s"]
    assert db.list_sessions_rich()[0]["preview"] == "new"


def test_promise_090_clearing_what_is_clear(db: Any) -> None:
    db.create_session("s", "cli")
    before = db.get_session("s")
    db.clear_messages("s")
    db.clear_messages("s")
    assert db.get_session("s") == before


# ---------------------------------------------------------------- deleted


def test_a_deleted_session_is_gone(full: Any) -> None:
    assert full.delete_session("s") is True
    assert full.get_session("s") is None
    assert full.get_messages("s") == []
    assert full.export_session("s") is None
    assert full.get_session_title("s") is None
    assert full.get_session_by_title("T") is None
    assert full.resolve_session_id("s") is None
    assert full.search_messages("hello") == []
    assert [one["id"] for one in full.export_all()] == ["t"]
    assert [row["id"] for row in full.search_sessions()] == rows_of(full) == ["t"]
    assert (full.session_count(), full.message_count(), full.message_count("s")) == (1, 1, 0)


def test_deleting_what_is_not_there(db: Any) -> None:
    assert db.delete_session("nobody") is False
    db.create_session("s", "cli")
    assert db.delete_session("s") is True
    assert db.delete_session("s") is False


def test_children_of_a_deleted_session_are_on_their_own(db: Any) -> None:
    db.create_session("root", "cli")
    for name in ("one", "two"):
        db.create_session(name, "cli", parent_session_id="root")
        db.append_message(name, "user", f"said in {name}")
    db.create_session("grandchild", "cli", parent_session_id="one")
    db.delete_session("root")
    assert db.get_session("one")["parent_session_id"] is None
    assert db.get_session("two")["parent_session_id"] is None
    assert db.get_session("grandchild")["parent_session_id"] == "one"
    assert contents(db, "one") == ["said in one"]
    assert set(rows_of(db)) == {"one", "two"}


@pytest.mark.schema6("0.19.0 deletes with a session the sub-agents that say they are its own")
def test_no_child_is_deleted_with_its_parent(db: Any) -> None:
    db.create_session("root", "cli")
    db.create_session("child", "cli", parent_session_id="root", model_config={"_delegate_from": "root"})
    db.delete_session("root")
    assert db.get_session("child")["parent_session_id"] is None


def test_a_deleted_id_can_be_made_again(full: Any) -> None:
    for _ in range(3):
        full.delete_session("s")
        full.create_session("s", "discord")
        row = full.get_session("s")
        assert (row["source"], row["model"], row["title"], row["message_count"]) == ("discord", None, None, 0)
        assert full.get_messages("s") == []
        full.append_message("s", "user", "anew")
        assert contents(full, "s") == ["anew"]
        assert found(full, "anew") == {"s"}
        assert found(full, "hello") == set()
        assert full.session_count() == 2


def test_a_session_made_again_has_no_children_from_before(db: Any) -> None:
    db.create_session("s", "cli")
    db.create_session("t", "cli", parent_session_id="s")
    db.delete_session("s")
    db.create_session("s", "cli")
    assert db.get_session("t")["parent_session_id"] is None
    assert set(rows_of(db)) == {"s", "t"}


def test_a_deleted_session_takes_no_message(db: Any) -> None:
    db.create_session("s", "cli")
    db.delete_session("s")
    with pytest.raises(sqlite3.IntegrityError):
        db.append_message("s", "user", "x")
    with pytest.raises(sqlite3.IntegrityError):
        db.create_session("t", "cli", parent_session_id="s")
    assert db.session_count() == 0


def test_a_session_in_which_a_call_waits_can_be_deleted(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", None, tool_calls=[call("c1")])
    assert db.delete_session("s") is True
    db.create_session("s", "cli")
    db.append_message("s", "tool", "late", tool_call_id="c1")
    assert contents(db, "s") == ["late"]
    assert counts(db, "s") == (1, 0)


# ---------------------------------------------------------------- pruned


def ended(db: Any, *names: str, source: str = "cli") -> None:
    for name in names:
        db.create_session(name, source)
        db.append_message(name, "user", f"said in {name}")
        db.end_session(name, "done")


def test_promise_089_only_ended_sessions_that_started_before_are_pruned(db: Any, clock: Clock) -> None:
    ended(db, "old 1", "old 2")
    db.create_session("old and open", "cli")
    clock.turn(days=91)
    ended(db, "new")
    assert db.prune_sessions(older_than_days=90) == 2
    assert {row["id"] for row in db.search_sessions()} == {"old and open", "new"}
    assert db.get_messages("old 1") == []
    assert db.message_count() == 1
    assert found(db, "said") == {"new"}


def test_promise_089_ninety_days_unless_told(db: Any, clock: Clock) -> None:
    ended(db, "s")
    clock.turn(days=89.99)
    assert db.prune_sessions() == 0
    clock.turn(days=0.02)
    assert db.prune_sessions() == 1
    assert db.session_count() == 0


def test_promise_089_the_start_decides_and_not_the_end(db: Any, clock: Clock) -> None:
    db.create_session("long", "cli")
    clock.turn(days=40)
    db.append_message("long", "user", "still here")
    db.end_session("long", "done")
    assert db.prune_sessions(older_than_days=30) == 1


@pytest.mark.parametrize("days", [1, 30, 0.5])
def test_promise_089_the_boundary(db: Any, clock: Clock, days: float) -> None:
    ended(db, "s")
    clock.turn(days=days, seconds=-5)
    assert db.prune_sessions(older_than_days=days) == 0
    clock.turn(seconds=10)
    assert db.prune_sessions(older_than_days=days) == 1


def test_promise_089_by_source(db: Any, clock: Clock) -> None:
    ended(db, "c1", "c2")
    ended(db, "t1", source="telegram")
    clock.turn(days=31)
    assert db.prune_sessions(older_than_days=30, source="telegram") == 1
    assert {row["id"] for row in db.search_sessions()} == {"c1", "c2"}
    assert db.prune_sessions(30, "nowhere") == 0
    assert db.prune_sessions(30, "cli") == 2


def test_promise_089_no_days_are_all_that_ended(db: Any, clock: Clock) -> None:
    ended(db, "s")
    db.create_session("open", "cli")
    clock.turn(seconds=1)
    assert db.prune_sessions(older_than_days=0) == 1
    assert rows_of(db) == ["open"]


def test_promise_089_nothing_to_prune(db: Any) -> None:
    assert db.prune_sessions() == 0
    ended(db, "s")
    assert db.prune_sessions(older_than_days=1) == 0


def test_promise_089_a_session_that_was_opened_again_stays(db: Any, clock: Clock) -> None:
    ended(db, "s")
    db.reopen_session("s")
    clock.turn(days=100)
    assert db.prune_sessions() == 0
    db.end_session("s", "again")
    assert db.prune_sessions() == 1


def test_promise_089_children_of_the_pruned_are_on_their_own(db: Any, clock: Clock) -> None:
    ended(db, "root")
    clock.turn(days=50)
    db.create_session("child", "cli", parent_session_id="root")
    clock.turn(days=50)
    assert db.prune_sessions() == 1
    assert db.get_session("child")["parent_session_id"] is None
    assert rows_of(db) == ["child"]


def test_promise_089_a_line_is_pruned_with_its_children(db: Any, clock: Clock) -> None:
    for number in range(4):
        db.create_session(f"s{number}", "cli", parent_session_id=f"s{number - 1}" if number else None)
        db.end_session(f"s{number}", "compression")
    db.create_session("open", "cli", parent_session_id="s3")
    clock.turn(days=100)
    assert db.prune_sessions() == 4
    assert db.get_session("open")["parent_session_id"] is None
    assert db.session_count() == 1


def test_promise_089_a_pruned_id_and_its_title_are_free(db: Any, clock: Clock) -> None:
    ended(db, "s")
    db.set_session_title("s", "T")
    clock.turn(days=100)
    db.prune_sessions()
    db.create_session("s", "cli")
    db.create_session("t", "cli")
    assert db.get_session("s")["title"] is None
    assert db.set_session_title("t", "T") is True
    assert db.prune_sessions() == 0


def test_everything_holds_after_closing(open_db: Callable[[], Any], clock: Clock) -> None:
    db = open_db()
    ended(db, "pruned")
    clock.turn(days=100)
    ended(db, "deleted", "kept")
    db.prune_sessions()
    db.delete_session("deleted")
    db.close()
    again = open_db()
    assert rows_of(again) == ["kept"]
    assert again.resolve_session_id("pruned") is None
    assert again.message_count() == 1
