"""Whatever happens to the three tables, `rebuild` makes them again from the journal, to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

import palaver

from ..exports import rich
from ..tools.sql import query, writing
from .support import TABLES, columns, dump, foreign_message, foreign_session, full, replays, talk
from .verbs import LONG, stream_and_be_killed

MESSAGES = "chat_messages"
COLUMNS = {
    "chat_sessions": "agent workspace_root model_json parent_id parent_message_id permissions_json metadata_json "
    "prompt_tokens completion_tokens reasoning_tokens cache_read cache_write total_tokens cost_usd created_at "
    "updated_at archived_at",
    "chat_messages": "session_id role metadata_json created_at updated_at",
    "chat_parts": "message_id session_id index type data_json tool_call_id tool_state created_at updated_at",
}
EVERY_COLUMN = [(table, column) for table, names in COLUMNS.items() for column in names.split()]
OURS = "id NOT LIKE '%stranger%'"  # another program's row is not in the journal
Damage = Callable[[str], tuple[str, list[palaver.Problem]]]


@pytest.fixture
def life(short_life: str) -> str:
    return str(short_life)


@pytest.fixture
def damaged(life: str, path: str) -> Damage:
    """Damages a copy by plain SQL and rebuilds it: the copy, and what was found."""

    def work(sql: str) -> tuple[str, list[palaver.Problem]]:
        shutil.copy(life, path)
        with writing(path) as db:
            db.execute(sql)
        with palaver.open(path, durability="normal", recover_every=None) as store:
            return path, store.rebuild()

    return work


def rows(found: list[palaver.Problem], table: str) -> int:
    return sum(problem.where.startswith(table + " ") for problem in found)


def ours(path: str) -> dict[str, list[tuple[str, ...]]]:
    return {table: [row for row in rows if "stranger" not in row[0]] for table, rows in dump(path).items()}


# ---------------------------------------------------------------- damage


def test_the_columns_named_here_are_those_of_the_tables(life: str) -> None:
    assert {table: ["id", *names.split()] for table, names in COLUMNS.items()} == {
        table: columns(life, table) for table in TABLES
    }


@pytest.mark.parametrize(("table", "column"), EVERY_COLUMN)
def test_promise_148_a_column_that_was_changed_is_as_it_was(
    table: str, column: str, life: str, damaged: Damage
) -> None:
    kept = f'SELECT count(*) FROM {table} WHERE {OURS} AND "{column}" IS NOT 77'
    wrong = query(life, kept)[0][0]
    path, found = damaged(f'UPDATE {table} SET "{column}" = 77 WHERE {OURS}')
    assert (len(found), rows(found, table)) == (wrong, wrong)
    assert all(problem.what == f"{column} is not what was written" for problem in found) or column == "session_id"
    assert dump(path) == dump(life)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("which", ["1", "random() % 2", "rowid % 3 = 0"])
def test_promise_148_rows_that_were_deleted_are_there_again(table: str, which: str, life: str, damaged: Damage) -> None:
    before = query(life, f"SELECT count(*) FROM {table}")[0][0]
    path, found = damaged(f"DELETE FROM {table} WHERE {OURS} AND ({which})")
    assert 0 < rows(found, table) == len(found) <= before
    assert {problem.what for problem in found} == {"the row is missing"}
    assert dump(path) == dump(life)


def test_promise_148_a_session_deleted_with_all_that_hangs_on_it_is_there_again(life: str, damaged: Damage) -> None:
    path, found = damaged(f"PRAGMA foreign_keys=ON; DELETE FROM chat_sessions WHERE {OURS}")
    assert all(rows(found, table) for table in TABLES)
    assert ours(path) == ours(life)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE chat_parts SET data_json = CAST(data_json AS BLOB)",
        "UPDATE chat_messages SET metadata_json = CAST(metadata_json AS BLOB)",
        "UPDATE chat_parts SET data_json = replace(data_json, ':', ': ')",
        "UPDATE chat_parts SET data_json = substr(data_json, 1, 10)",
        "UPDATE chat_sessions SET cost_usd = cost_usd + 1e-12",
        "UPDATE chat_messages SET metadata_json = '{}'",
    ],
)
def test_promise_148_values_that_only_look_alike_are_told_apart(sql: str, life: str, damaged: Damage) -> None:
    path, found = damaged(f"{sql} WHERE {OURS}")
    assert len(found) > 3
    assert dump(path) == dump(life)


def test_promise_148_a_fresh_database_is_rebuilt_from_the_log(life: str, damaged: Damage) -> None:
    path, found = damaged("; ".join(f"DELETE FROM {table}" for table in TABLES))
    assert dump(path) == ours(life)
    assert len(found) == sum(len(rows) for rows in ours(life).values())


def test_promise_148_what_is_said_is_read_again_and_proved(kept: palaver.Store) -> None:
    session = kept.sessions.create("coder")
    talk(session, size=LONG)
    fork = session.fork()
    talk(fork)
    before = session.messages(), fork.messages()
    with writing(kept.path) as db:
        for table in TABLES:
            db.execute(f"DELETE FROM {table}")
    assert kept.verify() != []
    kept.rebuild()
    assert (session.messages(), fork.messages()) == before
    assert kept.verify() == []
    talk(session, "and on it goes")
    assert replays(kept) == []


def test_promise_148_one_session_is_rebuilt_and_no_other(kept: palaver.Store) -> None:
    one, other = kept.sessions.create("coder"), kept.sessions.create("coder", id="their-name")
    one.commit("hello")
    other.commit("hello")
    before = dump(kept.path)[MESSAGES]
    with writing(kept.path) as db:
        db.execute("UPDATE chat_messages SET role = 'system'")
    assert len(kept.rebuild(one.id)) == 1
    assert [row in before for row in dump(kept.path)[MESSAGES]] == [True, False]
    assert len(kept.rebuild("their-name")) == 1
    assert dump(kept.path)[MESSAGES] == before


def test_promise_148_looking_changes_nothing(lived: str) -> None:
    with writing(lived) as db:
        db.execute("UPDATE chat_parts SET data_json = 'x'")
    before = dump(lived)
    with palaver.open(lived) as store:
        found = store.rebuild(fix=False)
        assert found == store.rebuild(fix=False)
        assert all((problem.rule, problem.copy) == ("rebuild", True) for problem in found)
    assert dump(lived) == before


def test_promise_148_a_turn_that_was_open_when_its_writer_died_is_not_there_twice(path: str) -> None:
    """Recovery, at the opening, comes before anybody can rebuild."""
    with full(path) as store:
        session = store.sessions.create("coder")
        session.commit("zero")
    stream_and_be_killed(path, session.id)
    with writing(path) as db:
        for table in reversed(TABLES):
            db.execute(f"DELETE FROM {table}")
    with palaver.open(path) as store:
        store.rebuild()
        assert store.verify() == []
        assert replays(store) == []
        answer = store.sessions.get(session.id).messages()[-1]["parts"]
        assert [part["type"] for part in answer] == ["text", "tool-run"]
        assert answer[0]["text"] == "w" * 1000


# ---------------------------------------------------------------- what is not ours


def test_promise_148_rows_of_another_program_are_left_alone(kept: palaver.Store) -> None:
    session = kept.sessions.create("coder")
    talk(session)
    foreign_message(kept.path, session.id, "stranger")
    foreign_session(kept.path, "theirs")
    with writing(kept.path) as db:
        mine = session.messages()[0]["id"]
        values = ("extra", mine, session.id)
        db.execute("INSERT INTO chat_parts VALUES (?, ?, ?, 9, 'text', '{}', NULL, NULL, 1, 1)", values)
        before = dump(kept.path)
        db.execute("DELETE FROM chat_parts WHERE id LIKE 'prt%'")
        db.execute("UPDATE chat_messages SET role = 'system' WHERE id LIKE 'msg%'")
    assert {problem.where.split()[1][:4] for problem in kept.rebuild()} == {"prt_", "msg_"}
    assert dump(kept.path) == before


def test_promise_148_changed_rows_of_another_program_stay_changed_also_when_adopted(kept: palaver.Store) -> None:
    session = kept.sessions.create("coder")
    foreign_message(kept.path, session.id, "stranger")
    session.adopt()
    with writing(kept.path) as db:
        db.execute("UPDATE chat_messages SET role = 'system' WHERE id = 'stranger'")
    assert kept.rebuild() == []
    assert query(kept.path, "SELECT role FROM chat_messages") == [("system",)]


def test_promise_148_a_session_that_was_not_recorded_from_its_beginning_is_told_and_left_alone(
    kept: palaver.Store,
) -> None:
    foreign_session(kept.path, "theirs")
    kept.sessions.get("theirs").commit("from us")
    ours = kept.sessions.create("coder")
    ours.commit("hello")
    with writing(kept.path) as db:
        db.execute("UPDATE chat_messages SET role = 'system'")
    before = query(kept.path, "SELECT * FROM chat_messages WHERE session_id = 'theirs'")
    late, row = sorted(kept.rebuild(), key=lambda problem: problem.rule)
    assert (late.rule, late.where, late.copy) == ("journal", "theirs", False)
    assert late.what == "was not recorded from its beginning; nothing was rebuilt"
    assert (row.rule, row.what) == ("rebuild", "role is not what was written")
    assert query(kept.path, "SELECT * FROM chat_messages WHERE session_id = 'theirs'") == before


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM journal WHERE session_id = :spoiled",
        "DELETE FROM journal WHERE session_id = :spoiled AND seq = 1",
        "DELETE FROM journal WHERE session_id = :spoiled AND seq = 3",
        "DELETE FROM events WHERE session_id = :spoiled",
        "UPDATE journal SET data = substr(data, 1, 20) WHERE session_id = :spoiled AND seq = 4",
        "UPDATE journal SET statement = 'of_the_future' WHERE session_id = :spoiled AND seq = 4",
    ],
)
def test_promise_148_a_session_whose_log_is_damaged_is_told_and_the_others_are_rebuilt(
    harm: str, kept: palaver.Store
) -> None:
    spoiled, other = kept.sessions.create("coder"), kept.sessions.create("coder")
    for session in (spoiled, other):
        talk(session, size=LONG)
    right = dump(kept.path)
    with writing(kept.path) as db:
        db.execute(harm, {"spoiled": spoiled.id})
        db.execute("UPDATE chat_parts SET type = 'text'")
    wrong = dump(kept.path)
    found = kept.rebuild()
    assert [(p.where, p.copy) for p in found if p.rule == "journal"] == [(spoiled.id, False)]
    for table in TABLES:
        home = columns(kept.path, table).index("id" if table == "chat_sessions" else "session_id")
        expected = [w if w[home] == f"'{spoiled.id}'" else r for r, w in zip(right[table], wrong[table], strict=True)]
        assert dump(kept.path)[table] == expected


# ---------------------------------------------------------------- which stores keep one


def test_promise_148_a_store_that_keeps_no_journal_refuses_to_rebuild(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    session.commit("hello")
    for fix in (True, False):
        with pytest.raises(palaver.Refused, match='one that is begun with events="full" does'):
            store.rebuild(session.id, fix=fix)
    assert query(store.path, "SELECT count(*) FROM journal") == [(0,)]


def test_promise_148_a_journal_begins_with_the_store_or_not_at_all(path: str) -> None:
    with palaver.open(path) as store:
        store.sessions.create("coder")
    with pytest.raises(palaver.BadValue, match='this store was begun with events="live"'):
        palaver.open(path, events="full")
    with palaver.open(path, events="live") as store, pytest.raises(palaver.Refused):
        store.rebuild()


def test_promise_148_a_store_that_keeps_everything_does_so_whoever_opens_it(path: str) -> None:
    full(path).close()
    with palaver.open(path) as store:
        store.sessions.create("coder").commit("hello")
        assert replays(store) == []
    with pytest.raises(palaver.BadValue, match='this store was begun with events="full"'):
        palaver.open(path, events="live")


def test_promise_148_an_empty_store_may_still_be_asked_to_keep_everything(path: str) -> None:
    palaver.open(path).close()
    with full(path) as store:
        store.sessions.create("coder")
        assert replays(store) == []


def test_promise_148_nobody_writes_past_the_journal_once_it_is_chosen(path: str) -> None:
    """A process that opened the empty store before the choice was made is not let write without it."""
    before = palaver.open(path)
    full(path).close()
    with pytest.raises(palaver.StoreError, match="open it again"):
        before.sessions.create("coder")
    before.close()
    with palaver.open(path) as store:
        store.sessions.create("coder")
        assert replays(store) == []
        assert len(list(store.sessions)) == 1


def test_promise_148_only_live_and_full_are_kinds_of_logs(path: str) -> None:
    with pytest.raises(palaver.BadValue, match="events is live or full, not 'all'"):
        palaver.open(path, events="all")


def test_promise_148_a_session_that_nobody_knows_is_not_found(kept: palaver.Store) -> None:
    with pytest.raises(palaver.SessionNotFound):
        kept.rebuild("ses_nowhere")


def test_promise_148_a_store_in_memory_keeps_a_journal_too() -> None:
    with palaver.open(":memory:", events="full") as store:
        talk(store.sessions.create("coder"), size=LONG)
        assert store.rebuild(fix=False) == []


# ---------------------------------------------------------------- what came from elsewhere


def test_a_grafted_session_is_made_again_from_the_journal_and_its_items_stay(path: str) -> None:
    with full(path) as store:
        store.graft(rich.grafted_source())
        store.graft(rich.grafted_source(rich._turn("g-5", "came later", b"5")))
    before, items = dump(path), query(path, "SELECT * FROM natives ORDER BY turn_id, seq")
    with writing(path) as db:
        db.execute("DELETE FROM chat_parts; DELETE FROM chat_messages; UPDATE chat_sessions SET agent = 'x'")
    with full(path) as store:
        assert store.rebuild() != []
        assert store.verify() == []
        (again,) = store.graft(rich.grafted_source(rich._turn("g-5", "came later", b"5"))).sessions
        assert (again.turns, again.items) == (0, 0)
    assert dump(path) == before
    assert query(path, "SELECT * FROM natives ORDER BY turn_id, seq") == items and len(items) == 5
