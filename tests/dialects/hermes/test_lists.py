"""Lists of sessions: newest first, with a preview and the last activity, one row for each conversation."""

from __future__ import annotations

from typing import Any

import pytest

from .support import SESSION_COLUMNS, Clock, call, compressed, rows_of


def row_of(db: Any, id: str, **how: Any) -> dict[str, Any]:
    (row,) = (row for row in db.list_sessions_rich(**how) if row["id"] == id)
    return row


# ---------------------------------------------------------------- what a row says


def test_a_row_is_the_session_with_a_preview_and_its_last_activity(db: Any) -> None:
    db.create_session("s", "cli", model="m", system_prompt="p", user_id="u", model_config={"a": 1})
    db.append_message("s", "user", "Hello there")
    db.append_message("s", "assistant", "Hi")
    db.update_token_counts("s", input_tokens=5, estimated_cost_usd=0.5)
    db.set_session_title("s", "T")
    (row,) = db.list_sessions_rich()
    last = db.get_messages("s")[-1]["timestamp"]
    assert row == {**db.get_session("s"), "preview": "Hello there", "last_active": last}


@pytest.mark.schema6("later versions have more columns")
def test_a_row_has_exactly_these_keys(db: Any) -> None:
    db.create_session("s", "cli")
    (row,) = db.list_sessions_rich()
    assert list(row)[: len(SESSION_COLUMNS)] == SESSION_COLUMNS
    assert set(row) == {*SESSION_COLUMNS, "preview", "last_active"}


def test_there_may_be_none(db: Any) -> None:
    assert db.list_sessions_rich() == []
    assert db.search_sessions() == []
    assert db.session_count() == 0


def test_without_messages_the_last_activity_is_the_start(db: Any) -> None:
    db.create_session("s", "cli")
    (row,) = db.list_sessions_rich()
    assert (row["preview"], row["last_active"]) == ("", row["started_at"])


def test_the_last_activity_is_the_latest_message(db: Any, clock: Clock) -> None:
    db.create_session("s", "cli")
    for role in ("user", "assistant", "tool", "session_meta"):
        clock.turn(seconds=5)
        db.append_message("s", role, "x", tool_calls=[call("c1")] if role == "assistant" else None, tool_call_id="c1")
        assert row_of(db, "s")["last_active"] == db.get_messages("s")[-1]["timestamp"]
    clock.turn(seconds=5)
    db.set_session_title("s", "T")
    db.update_token_counts("s", input_tokens=1)
    db.end_session("s", "x")
    assert row_of(db, "s")["last_active"] == db.get_messages("s")[-1]["timestamp"]
    db.clear_messages("s")
    assert row_of(db, "s")["last_active"] == row_of(db, "s")["started_at"]


PREVIEWS = [
    ("short", "short"),
    ("x" * 60, "x" * 60),
    ("x" * 61, "x" * 60 + "..."),
    ("x" * 500, "x" * 60 + "..."),
    ("日" * 61, "日" * 60 + "..."),
    ("two\nlines", "two lines"),
    ("a\r\nb\n\nc", "a  b  c"),
    ("end\n", "end"),
    ("tab\there", "tab\there"),
    ("", ""),
    ("   ", ""),
    ("%s {x} 'q' \"q\"", "%s {x} 'q' \"q\""),
]


def test_the_preview_is_the_beginning_of_what_the_user_said(db: Any) -> None:
    for number, (text, _) in enumerate(PREVIEWS):
        db.create_session(f"s{number}", "cli")
        db.append_message(f"s{number}", "user", text)
    told = {row["id"]: row["preview"] for row in db.list_sessions_rich()}
    assert told == {f"s{number}": preview for number, (_, preview) in enumerate(PREVIEWS)}


def test_the_preview_is_of_the_first_that_a_user_said(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "system", "of the system")
    db.append_message("s", "assistant", "of the assistant")
    db.append_message("s", "tool", "of a tool")
    assert row_of(db, "s")["preview"] == ""
    db.append_message("s", "user", None)
    assert row_of(db, "s")["preview"] == ""
    db.append_message("s", "user", "first")
    db.append_message("s", "user", "second")
    assert row_of(db, "s")["preview"] == "first"


def test_an_empty_text_is_the_first_that_a_user_said(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "")
    db.append_message("s", "user", "second")
    assert row_of(db, "s")["preview"] == ""


def test_the_preview_is_of_the_session_itself(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
        db.append_message(name, "user", f"said in {name}")
    assert {row["id"]: row["preview"] for row in db.list_sessions_rich()} == {"s": "said in s", "t": "said in t"}


# ---------------------------------------------------------------- order, pages, filters


@pytest.fixture
def many(db: Any, clock: Clock) -> Any:
    for number in range(25):
        db.create_session(f"s{number:02}", ["cli", "telegram", "discord"][number % 3])
        clock.turn(seconds=1)
    return db


def test_the_newest_is_first(many: Any) -> None:
    many.append_message("s03", "user", "newest message, old session")
    assert rows_of(many, limit=100) == [f"s{number:02}" for number in reversed(range(25))]


@pytest.mark.schema6("0.19.0 goes by the last activity")
def test_the_newest_is_first_among_the_plain_rows(many: Any) -> None:
    many.append_message("s03", "user", "newest message, old session")
    assert [row["id"] for row in many.search_sessions(limit=100)] == [f"s{n:02}" for n in reversed(range(25))]


def test_at_once_the_newest_is_first(db: Any) -> None:
    """Within one thousandth of a second, too."""
    names = [f"s{number}" for number in (3, 1, 4, 0, 5, 9, 2, 6)]
    for name in names:
        db.create_session(name, "cli")
    assert rows_of(db) == names[::-1]
    assert [row["id"] for row in db.search_sessions()] == names[::-1]


@pytest.mark.parametrize("method", ["list_sessions_rich", "search_sessions"])
def test_pages(many: Any, method: str) -> None:
    def ids(**how: Any) -> list[str]:
        return [row["id"] for row in getattr(many, method)(**how)]

    whole = [f"s{number:02}" for number in reversed(range(25))]
    assert ids() == whole[:20]
    assert ids(offset=20) == whole[20:]
    assert ids(limit=7, offset=5) == whole[5:12]
    assert ids(limit=100) == whole
    assert ids(limit=-1) == whole
    assert ids(limit=0) == []
    assert ids(offset=25) == []
    assert ids(source="cli", limit=3, offset=2) == [id for id in whole if int(id[1:]) % 3 == 0][2:5]


@pytest.mark.parametrize("method", ["list_sessions_rich", "search_sessions"])
def test_by_source(many: Any, method: str) -> None:
    rows = getattr(many, method)(source="telegram", limit=100)
    assert {row["source"] for row in rows} == {"telegram"}
    assert len(rows) == 8
    assert getattr(many, method)("nowhere") == []
    assert len(getattr(many, method)(source="", limit=100)) == 25  # no filter


def test_without_sources(many: Any) -> None:
    rows = many.list_sessions_rich(exclude_sources=["telegram", "discord"], limit=100)
    assert {row["source"] for row in rows} == {"cli"}
    assert len(rows) == 9
    assert len(many.list_sessions_rich(exclude_sources=["nowhere"], limit=100)) == 25
    assert len(many.list_sessions_rich(exclude_sources=[], limit=100)) == 25
    assert many.list_sessions_rich(source="cli", exclude_sources=["cli"]) == []


def test_sessions_are_counted(many: Any) -> None:
    assert many.session_count() == 25
    assert many.session_count("cli") == 9
    assert many.session_count(source="telegram") == 8
    assert many.session_count("nowhere") == 0
    many.delete_session("s00")
    assert (many.session_count(), many.session_count("cli")) == (24, 8)


def test_children_and_ended_ones_are_counted(db: Any) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "x")
    db.create_session("t", "cli", parent_session_id="s")
    assert db.session_count() == db.session_count("cli") == 2


def test_plain_rows_are_the_sessions(db: Any) -> None:
    db.create_session("s", "cli", model="m")
    db.create_session("t", "cli", parent_session_id="s")
    db.append_message("s", "user", "x")
    rows = db.search_sessions()
    assert {row["id"] for row in rows} == {"s", "t"}
    for row in rows:
        assert {name: row[name] for name in SESSION_COLUMNS} == {
            name: db.get_session(row["id"])[name] for name in SESSION_COLUMNS
        }


@pytest.mark.schema6("0.19.0 adds `last_active`")
def test_plain_rows_have_exactly_the_columns(db: Any) -> None:
    db.create_session("s", "cli")
    assert [list(row) for row in db.search_sessions()] == [SESSION_COLUMNS]


def test_ended_sessions_are_listed(db: Any) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "user_exit")
    assert rows_of(db) == ["s"]


# ---------------------------------------------------------------- children


def test_children_are_listed_only_if_asked_for(db: Any, clock: Clock) -> None:
    db.create_session("root", "cli")
    clock.turn(seconds=1)
    db.create_session("child", "cli", parent_session_id="root")
    clock.turn(seconds=1)
    db.create_session("grandchild", "cli", parent_session_id="child")
    assert rows_of(db) == ["root"]
    assert rows_of(db, include_children=True) == ["grandchild", "child", "root"]
    assert rows_of(db, include_children=True, limit=1) == ["grandchild"]


def test_children_of_an_ended_session_are_children(db: Any, clock: Clock) -> None:
    db.create_session("root", "cli")
    db.end_session("root", "user_exit")
    clock.turn(seconds=1)
    db.create_session("child", "cli", parent_session_id="root")
    assert rows_of(db) == ["root"]


@pytest.mark.schema6("0.19.0 lists branches")
def test_children_of_a_branched_session_are_children(db: Any, clock: Clock) -> None:
    db.create_session("root", "cli")
    db.end_session("root", "branched")
    clock.turn(seconds=1)
    db.create_session("child", "cli", parent_session_id="root")
    assert rows_of(db) == ["root"]


def test_a_child_whose_parent_was_deleted_is_listed(db: Any) -> None:
    db.create_session("root", "cli")
    db.create_session("child", "cli", parent_session_id="root")
    db.delete_session("root")
    assert rows_of(db) == ["child"]


# ---------------------------------------------------------------- a conversation that was compressed


def test_one_that_was_not_compressed_is_its_own_tip(db: Any) -> None:
    db.create_session("s", "cli")
    assert db.get_compression_tip("s") == "s"
    db.end_session("s", "user_exit")
    assert db.get_compression_tip("s") == "s"


def test_an_unknown_one_is_its_own_tip(db: Any) -> None:
    assert db.get_compression_tip("nobody") == "nobody"


def test_one_that_was_compressed_and_not_gone_on_with_is_its_own_tip(db: Any) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "compression")
    assert db.get_compression_tip("s") == "s"
    assert rows_of(db) == ["s"]
    assert "_lineage_root_id" not in db.list_sessions_rich()[0]


@pytest.mark.parametrize("length", [2, 3, 12])
def test_the_tip_is_at_the_end_of_the_chain(db: Any, clock: Clock, length: int) -> None:
    ids = [f"s{number}" for number in range(length)]
    compressed(db, clock, *ids)
    assert [db.get_compression_tip(id) for id in ids] == [ids[-1]] * length


def test_only_a_compressed_session_is_gone_on_with(db: Any, clock: Clock) -> None:
    for reason in ("user_exit", "branched", "Compression", "compressed"):
        db.create_session(reason, "cli")
        db.end_session(reason, reason)
        clock.turn(seconds=1)
        db.create_session(f"child of {reason}", "cli", parent_session_id=reason)
        assert db.get_compression_tip(reason) == reason


def test_a_child_of_a_live_session_does_not_go_on(db: Any) -> None:
    db.create_session("s", "cli")
    db.create_session("t", "cli", parent_session_id="s")
    assert db.get_compression_tip("s") == "s"


@pytest.mark.schema6("0.19.0 does not go by time")
def test_a_child_from_before_the_compression_does_not_go_on(db: Any, clock: Clock) -> None:
    db.create_session("s", "cli")
    db.create_session("sub-agent", "cli", parent_session_id="s")
    clock.turn(seconds=1)
    db.end_session("s", "compression")
    assert db.get_compression_tip("s") == "s"
    clock.turn(seconds=1)
    db.create_session("t", "cli", parent_session_id="s")
    assert db.get_compression_tip("s") == "t"


def test_of_two_the_newer_goes_on(db: Any, clock: Clock) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "compression")
    for name in ("t", "u"):
        clock.turn(seconds=1)
        db.create_session(name, "cli", parent_session_id="s")
    assert db.get_compression_tip("s") == "u"


def test_the_walk_ends_when_the_parent_is_opened_again(db: Any, clock: Clock) -> None:
    compressed(db, clock, "s", "t")
    db.reopen_session("s")
    assert db.get_compression_tip("s") == "s"


def test_the_walk_goes_on_from_the_middle_after_a_deletion(db: Any, clock: Clock) -> None:
    compressed(db, clock, "s", "t", "u")
    db.delete_session("s")
    assert db.get_compression_tip("s") == "s"
    assert db.get_compression_tip("t") == "u"
    assert rows_of(db) == ["u"]
    assert db.list_sessions_rich()[0]["_lineage_root_id"] == "t"


def test_a_walk_is_100_steps_at_most(db: Any, clock: Clock) -> None:
    ids = [f"s{number:03}" for number in range(104)]
    compressed(db, clock, *ids)
    assert db.get_compression_tip("s003") == "s103"
    assert db.get_compression_tip("s000") == "s100"


@pytest.fixture
def chain(db: Any, clock: Clock) -> Any:
    """A conversation in three sessions, with one before it and one behind."""
    db.create_session("before", "cli")
    clock.turn(seconds=1)
    for number, id in enumerate(["root", "middle", "tip"]):
        parent = [None, "root", "middle"][number]
        db.create_session(id, "cli", model=f"model of {id}", system_prompt=f"prompt of {id}", parent_session_id=parent)
        db.append_message(id, "user", f"said in {id}")
        for _ in range(number):
            clock.turn(seconds=1)
            db.append_message(id, "assistant", "x", tool_calls=[call()])
        db.update_token_counts(id, input_tokens=10**number)
        db.set_session_title(id, f"title of {id}")
        if id != "tip":
            clock.turn(seconds=1)
            db.end_session(id, "compression")
            clock.turn(seconds=1)
        if id == "root":
            db.create_session("behind", "cli")
            clock.turn(seconds=1)
    return db


def test_a_compressed_conversation_is_one_row(chain: Any) -> None:
    assert rows_of(chain) == ["behind", "tip", "before"]


def test_it_has_the_start_of_the_root_and_the_life_of_the_tip(chain: Any) -> None:
    row, root, tip = row_of(chain, "tip"), chain.get_session("root"), chain.get_session("tip")
    assert row["_lineage_root_id"] == "root"
    assert row["started_at"] == root["started_at"] < tip["started_at"]
    for name in ("title", "message_count", "tool_call_count", "ended_at", "end_reason", "model", "system_prompt"):
        assert row[name] == tip[name]
    assert (row["title"], row["message_count"], row["tool_call_count"]) == ("title of tip", 3, 2)
    assert row["preview"] == "said in tip"
    assert row["last_active"] == chain.get_messages("tip")[-1]["timestamp"]


def test_it_is_a_root_and_has_what_the_root_cost(chain: Any) -> None:
    row = row_of(chain, "tip")
    assert (row["parent_session_id"], row["input_tokens"]) == (None, 1)


def test_an_ended_tip_is_an_ended_conversation(chain: Any) -> None:
    chain.end_session("tip", "user_exit")
    row = row_of(chain, "tip")
    assert row["end_reason"] == "user_exit"
    assert row["ended_at"] == chain.get_session("tip")["ended_at"]


def test_the_others_have_no_root_but_themselves(chain: Any) -> None:
    assert ["_lineage_root_id" in row for row in chain.list_sessions_rich()] == [False, True, False]


def test_without_projection_the_root_is_listed(chain: Any) -> None:
    rows = chain.list_sessions_rich(project_compression_tips=False)
    assert [row["id"] for row in rows] == ["behind", "root", "before"]
    assert all("_lineage_root_id" not in row for row in rows)
    assert rows[1] == {
        **chain.get_session("root"),
        "preview": "said in root",
        "last_active": chain.get_messages("root")[-1]["timestamp"],
    }


def test_with_children_nothing_is_projected(chain: Any) -> None:
    rows = chain.list_sessions_rich(include_children=True)
    assert [row["id"] for row in rows] == ["tip", "middle", "behind", "root", "before"]
    assert all("_lineage_root_id" not in row for row in rows)


def test_pages_are_of_conversations(chain: Any) -> None:
    assert [rows_of(chain, limit=1, offset=at) for at in range(4)] == [["behind"], ["tip"], ["before"], []]


def test_the_source_of_a_conversation_is_that_of_its_root(db: Any, clock: Clock) -> None:
    db.create_session("root", "telegram")
    db.end_session("root", "compression")
    clock.turn(seconds=1)
    db.create_session("tip", "cli", parent_session_id="root")
    assert rows_of(db, source="telegram") == ["tip"]
    assert db.list_sessions_rich()[0]["source"] == "telegram"
    assert rows_of(db, source="cli") == []
    assert rows_of(db, exclude_sources=["telegram"]) == []


# ---------------------------------------------------------------- depth


def test_promise_092_a_line_of_children_is_walked_however_long_and_has_no_cycle(db: Any) -> None:
    """parent_session_id leads from the last to the first, each once; nothing of ours can change a parent."""
    count = 120
    for number in range(count):
        db.create_session(f"s{number}", "cli", parent_session_id=f"s{number - 1}" if number else None)
    db.create_session("s0", "cli", parent_session_id=None)
    seen, at = [], f"s{count - 1}"
    while at is not None:
        seen.append(at)
        at = db.get_session(at)["parent_session_id"]
    assert seen == [f"s{number}" for number in reversed(range(count))]
    assert rows_of(db) == ["s0"]


@pytest.mark.schema6("0.19.0 fills in a parent that is NULL")
def test_promise_092_a_session_does_not_become_the_child_of_its_own_child(db: Any) -> None:
    db.create_session("s", "cli")
    db.create_session("t", "cli", parent_session_id="s")
    db.create_session("s", "cli", parent_session_id="t")
    assert db.get_session("s")["parent_session_id"] is None
    assert db.get_session("t")["parent_session_id"] == "s"
    assert rows_of(db) == ["s"]
