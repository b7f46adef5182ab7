"""Files of other programs that are not quite as we would make them: more columns, fewer, other modes, other tables."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import palaver

from ..tools.sql import put_message
from . import judge
from .other_program import FULL, LACKING, MESSAGE_IDS, PLAIN
from .support import assert_agrees, judge_alone, make_foreign, say, shown, sql, texts

CONTRACT = ("chat_sessions", "chat_messages", "chat_parts")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "theirs.db")


def columns(path: str, table: str) -> list[str]:
    with judge.opened(path) as db:
        return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def dump(path: str) -> dict[str, Any]:
    """Every table, view and index as it was made, and every row of it."""
    made, *_ = sql(path, "SELECT type, name, sql FROM sqlite_schema ORDER BY name")
    tables = [name for kind, name, _ in made if kind == "table"]
    return {"made": made, **dict(zip(tables, sql(path, *(f'SELECT * FROM "{name}"' for name in tables)), strict=True))}


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# ---------------------------------------------------------------- columns


def test_columns_beyond_the_contract_are_left_alone_and_keep_their_values(path: str) -> None:
    make_foreign(path, "extra")
    sql(path, "UPDATE chat_messages SET stars = 3", "UPDATE chat_parts SET note = 'n-' || id")
    with palaver.open(path) as store:
        session = store.sessions.get(PLAIN)
        say(session, "four", "fourth")
        session.rewind(to=MESSAGE_IDS[10])
        session.undo()
        assert texts(assert_agrees(store).transcripts[PLAIN])[-2:] == ["four", "fourth"]
    stars, notes, ours = sql(
        path,
        "SELECT DISTINCT stars FROM chat_messages WHERE id LIKE '%Foreign0%'",
        "SELECT count(*) FROM chat_parts WHERE id LIKE '%Foreign0%' AND note IS NOT 'n-' || id",
        "SELECT DISTINCT m.stars, p.note FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id"
        " WHERE m.id NOT LIKE '%Foreign0%'",
    )
    assert (stars, notes, ours) == ([(3,)], [(0,)], [(5, None)])
    assert columns(path, "chat_sessions")[-1] == "colour"


def test_columns_of_another_order_are_read_by_name(path: str) -> None:
    make_foreign(path)
    names = 'updated_at, type, "index", data_json, id, created_at, tool_state, session_id, tool_call_id, message_id'
    types = ", ".join(
        f"{n} {'INTEGER' if n in ('updated_at', 'created_at') or 'index' in n else 'TEXT'}" for n in names.split(", ")
    )
    sql(
        path,
        "ALTER TABLE chat_parts RENAME TO old",
        f"CREATE TABLE chat_parts ({types}, PRIMARY KEY (id))",
        f"INSERT INTO chat_parts ({names}) SELECT {names} FROM old",
        "DROP TABLE old",
    )
    expected = judge_alone(path).transcripts
    with palaver.open(path) as store:
        assert shown(store.sessions.get(FULL).messages()) == shown(expected[FULL])
        say(store.sessions.get(PLAIN), "four", "fourth")
        assert_agrees(store)


def test_missing_optional_columns_and_indexes_are_added(path: str) -> None:
    make_foreign(path, "sparse")
    assert not LACKING & set(columns(path, "chat_sessions"))
    with palaver.open(path) as store:
        added = {*columns(path, "chat_sessions"), *columns(path, "chat_parts")}
        assert added >= LACKING
        with judge.opened(path) as db:
            for _, table, wanted in judge.INDEXES:
                assert wanted in judge.indexes_of(db, table)
        session = store.sessions.get(PLAIN)
        say(session, "four", "fourth")
        assert texts(session.messages())[-2:] == ["four", "fourth"]
        assert session.info.cost_usd == 0
    left = judge_alone(path)
    assert {violation[0] for violation in left.violations} == {20}  # their tool calls never had the hoisted column


def test_a_file_with_empty_contract_tables_is_a_store(path: str) -> None:
    make_foreign(path)
    sql(path, "DELETE FROM chat_sessions")
    with palaver.open(path) as store:
        assert list(store.sessions) == []
        say(store.sessions.create("coder"), "hello", "hi")
        assert_agrees(store)


def test_a_file_with_only_some_of_the_tables_gets_the_others(path: str) -> None:
    make_foreign(path)
    sql(path, "DROP TABLE chat_parts")
    with palaver.open(path) as store:
        assert [message["parts"] for message in store.sessions.get(PLAIN).messages()] == [[]] * 6
        say(store.sessions.get(PLAIN), "four", "fourth")
        assert_agrees(store)


@pytest.mark.parametrize("table", CONTRACT)
def test_a_column_that_we_cannot_fill_refuses_writes_by_name_and_reads_work(path: str, table: str) -> None:
    make_foreign(path)
    sql(
        path,
        f"CREATE TABLE copy AS SELECT *, 'v' AS demanding FROM {table}",
        *rebuild(path, table),
    )
    before = dump(path)
    with palaver.open(path) as store:
        session = store.sessions.get(PLAIN)
        assert texts(session.messages())[0] == "one"
        assert len(list(store.sessions)) == 5
        with pytest.raises(palaver.SchemaMismatch, match="demanding"):
            store.sessions.create("coder") if table == "chat_sessions" else session.turn("hello")
        assert texts(session.messages())[-1] == "three, unanswered"
    after = dump(path)
    assert {name: after[name] for name in CONTRACT} == {name: before[name] for name in CONTRACT}


def rebuild(path: str, table: str) -> list[str]:
    """Statements that give a table one more column, NOT NULL and without a default."""
    (made,), *_ = sql(path, f"SELECT sql FROM sqlite_schema WHERE name = '{table}'")
    text = made[0].rstrip().removesuffix(")") + ", demanding TEXT NOT NULL)"
    return [
        "PRAGMA foreign_keys = OFF",
        f"DROP TABLE {table}",
        text,
        f"INSERT INTO {table} SELECT * FROM copy",
        "DROP TABLE copy",
    ]


def test_ids_of_another_scheme_are_kept(path: str) -> None:
    make_foreign(path)
    rename = [f"UPDATE {t} SET {c} = replace(replace({c}, 'ses_', 'chat/'), 'msg_', 'M-')" for t, c in NAMED]
    sql(path, "PRAGMA foreign_keys = OFF", *rename)
    expected = judge_alone(path).transcripts
    session_id = PLAIN.replace("ses_", "chat/")
    with palaver.open(path) as store:
        session = store.sessions.get(session_id)
        assert [m["id"] for m in session.messages()] == [m["id"] for m in expected[session_id]]
        say(session, "four", "fourth")
        session.rewind(to=MESSAGE_IDS[12].replace("msg_", "M-"))
        assert texts(session.messages()) == ["one", "first answer", "two"]
        session.undo()
        fork = session.fork(at=MESSAGE_IDS[11].replace("msg_", "M-"))
        assert (fork.info.parent_id, texts(fork.messages())) == (session_id, ["one", "first answer"])
        assert shown(judge.look(path).transcripts[session_id]) == shown(session.messages())


NAMED = (
    *(("chat_sessions", column) for column in ("id", "parent_id", "parent_message_id")),
    *(("chat_messages", column) for column in ("id", "session_id")),
    *(("chat_parts", column) for column in ("message_id", "session_id")),
)


# ---------------------------------------------------------------- modes


def test_a_file_in_delete_mode_becomes_a_wal_file_with_all_that_was_in_it(path: str) -> None:
    make_foreign(path, "delete-mode")
    assert sql_mode(path) == "delete"
    expected = judge_alone(path).transcripts
    with palaver.open(path) as store:
        assert shown(store.sessions.get(FULL).messages()) == shown(expected[FULL])
        say(store.sessions.get(PLAIN), "four", "fourth")
    assert sql_mode(path) == "wal"
    assert judge_alone(path).violations == []


def sql_mode(path: str) -> str:
    """Bytes 18 and 19 of the header: 2 in WAL mode, 1 otherwise."""
    return {b"\x02\x02": "wal", b"\x01\x01": "delete"}[Path(path).read_bytes()[18:20]]


# ---------------------------------------------------------------- other people's tables


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE turns (id INTEGER PRIMARY KEY, player TEXT)",
        "CREATE TABLE events (at INTEGER, what TEXT)",
        "CREATE TABLE schema_migrations (name TEXT)",
        "CREATE TABLE heads (coin TEXT)",
        "CREATE VIEW session_rows AS SELECT 1 AS one",
        "CREATE TABLE session_rows (one INTEGER)",
    ],
    ids=lambda text: " ".join(text.split()[1:3]),
)
def test_a_name_of_ours_that_means_something_else_refuses_the_file_and_changes_nothing(
    path: str, statement: str
) -> None:
    make_foreign(path, "delete-mode")
    sql(path, statement)
    before = dump(path)
    sql(path, "PRAGMA journal_mode = DELETE")
    bytes_before = digest(path)
    with pytest.raises(palaver.SchemaMismatch):
        palaver.open(path)
    assert digest(path) == bytes_before
    assert dump(path) == before


@pytest.mark.parametrize("column", ["session_id", "id"])
def test_a_table_without_the_columns_that_hold_it_together_is_refused(path: str, column: str) -> None:
    sql(path, f"CREATE TABLE chat_messages ({'id' if column == 'session_id' else 'session_id'} TEXT PRIMARY KEY)")
    with pytest.raises(palaver.SchemaMismatch):
        palaver.open(path)


def test_tables_that_are_not_ours_stay_as_they_are(path: str) -> None:
    make_foreign(path)
    sql(path, "CREATE TABLE recipes (id INTEGER PRIMARY KEY, text TEXT)", "INSERT INTO recipes VALUES (1, 'soup')")
    with palaver.open(path) as store:
        say(store.sessions.get(PLAIN), "four", "fourth")
        assert store.verify() == []
    assert sql(path, "SELECT * FROM recipes") == [[(1, "soup")]]


def test_triggers_of_another_program_run_and_do_no_harm(path: str) -> None:
    make_foreign(path)
    sql(
        path,
        "CREATE TABLE audit (id TEXT)",
        "CREATE TRIGGER note AFTER INSERT ON chat_messages BEGIN INSERT INTO audit VALUES (new.id); END",
    )
    with palaver.open(path) as store:
        say(store.sessions.get(PLAIN), "four", "fourth")
        assert_agrees(store)
    assert sql(path, "SELECT count(*) FROM audit") == [[(2,)]]


# ---------------------------------------------------------------- ids and texts that look like ours


@pytest.mark.parametrize("odd", ["with\x1ea line", "with\x1fa field", "\x1epart", "message\x1fone\x1f", "a,b", "\x1e"])
def test_an_id_may_have_our_own_separators_in_it(path: str, odd: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        say(session, "one", "first")
        row = put_message(path, session.id, "two")
        sql(
            path,
            "PRAGMA foreign_keys=OFF",
            ("UPDATE chat_messages SET id = ? WHERE id = ?", (odd, row)),
            ("UPDATE chat_parts SET message_id = ? WHERE message_id = ?", (odd, row)),
        )
        session.adopt()
        assert texts(session.messages()) == ["one", "first", "two"]
        assert [message["id"] for message in session.messages()][-1] == odd
        assert texts(session.fork().messages()) == ["one", "first", "two"]


def test_a_part_that_is_no_json_does_not_spill_into_its_neighbours(path: str) -> None:
    """A text that closes the list it is read in: it is shown as damaged; the others are not shifted."""
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        say(session, "one", "first")
        say(session, "two", "second")
        damaged = '{"type":"text","text":"a"}],[{"type":"text","text":"b"}'
        sql(path, ("UPDATE chat_parts SET data_json = ? WHERE data_json LIKE '%first%'", (damaged,)))
        shown = [[part["type"] for part in message["parts"]] for message in session.messages()]
        assert shown == [["text"], ["step-start", "data-damaged"], ["text"], ["step-start", "text"]]
