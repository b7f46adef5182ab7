"""Rows 19, 22, 23, 26 and 28 of the promise ledger: where a part belongs, how it is found, and by which columns."""

from __future__ import annotations

import json
import re

import pytest

import palaver
from palaver.db.queries import Q

from ..tools.planting import broken_by
from ..tools.puppet import elsewhere
from ..tools.sql import column, query, reading, writing
from .support_schema import call, live, plan, talk, waiting_turn

MANY = 10_000

# ---------------------------------------------------------------- 19: late results


@broken_by("a_late_output_lands_on_every_call_of_that_id")
def test_promise_019_a_late_output_finds_its_row_after_many_parts_and_a_restart(path: str) -> None:
    with palaver.open(path) as store:
        other = store.sessions.create("a")
        waiting_turn(other, "call-1")  # a provider may repeat a call id: not this one
        session = store.sessions.create("a")
        turn = session.turn("q")
        call(turn, "call-1")
        turn.append({"type": "data-x", "id": str(n), "data": n} for n in range(MANY // 2))
        turn.write({"type": "finish"})
        _write_parts_elsewhere(store, MANY // 2)
    before = _parts_of_call(path)
    elsewhere(_RESOLVE, path, session.id, turn.id)
    after = _parts_of_call(path)
    assert len(before) == len(after) == 2
    assert after[0] == before[0]
    assert after[1] == (turn.message_id, 0, "output-available", '{"late":[1.10]}')


_RESOLVE = """
import palaver
path, session_id, turn_id = sys.argv[1:]
with palaver.open(path) as store, store.sessions.get(session_id).resume(turn_id) as turn:
    turn.resolve("call-1", output=palaver.base.exact_json.Raw(b'{"late":[1.10]}'))
"""


def _write_parts_elsewhere(store: palaver.Store, count: int) -> None:
    """In another message of another session."""
    parts = [{"type": "data-y", "data": n} for n in range(count)]
    store.sessions.create("b").commit([{"role": "assistant", "parts": parts}])


def _parts_of_call(path: str) -> list[tuple[str, int, str, str | None]]:
    return query(
        path,
        "SELECT message_id, \"index\", tool_state, data_json -> 'output' FROM chat_parts WHERE tool_call_id = ?"
        " ORDER BY rowid",
        "call-1",
    )  # type: ignore[return-value]


@broken_by("a_late_output_is_not_kept_after_the_seal")
def test_promise_019_an_output_after_the_seal_is_kept_and_the_sealed_row_stays(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        turn = waiting_turn(session, "call-1")
        session.commit("the user moves on")
        sealed = _parts_of_call(path)
        with pytest.raises(palaver.TurnSealed) as late:
            turn.resolve("call-1", output={"late": True})
        assert _parts_of_call(path)[:1] == sealed
        assert [(p[2], json.loads(p[3] or "null")) for p in _parts_of_call(path)[1:]] == [
            ("output-available", {"late": True})
        ]
        assert [stray.id for stray in session.strays()] == [late.value.late]
        assert store.verify() == []


def test_promise_019_a_call_is_found_by_its_column_not_by_its_json(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    assert query(path, "SELECT id FROM chat_parts WHERE tool_call_id IS NOT (data_json ->> 'toolCallId')") == []
    with reading(path) as db:
        steps = plan(db, "SELECT id FROM chat_parts WHERE tool_call_id = 'c'")
    assert steps == ["SEARCH chat_parts USING INDEX chat_parts_by_tool_call (tool_call_id=?)"]


# ---------------------------------------------------------------- 22, 23: homes


@broken_by("parts_do_not_name_their_session")
def test_promise_022_a_part_is_in_the_session_of_its_message(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    assert (
        query(
            path,
            "SELECT p.id FROM chat_parts p LEFT JOIN chat_messages m ON m.id = p.message_id"
            " WHERE m.session_id IS NULL OR p.session_id <> m.session_id",
        )
        == []
    )
    assert query(path, "SELECT count(DISTINCT session_id) FROM chat_parts") == [(6,)]


def test_promise_023_no_verb_writes_to_the_columns_that_never_change(path: str) -> None:
    palaver.open(path).close()
    with writing(path, foreign_keys=True) as db:
        for table, columns in {"chat_messages": "id, session_id", "chat_parts": "id, session_id, message_id"}.items():
            db.execute(
                f"CREATE TRIGGER keep_{table} BEFORE UPDATE OF {columns} ON {table}"
                " BEGIN SELECT RAISE(ABORT, 'a home changed'); END"
            )
    with palaver.open(path) as store:
        live(store)
        assert store.verify() == []


def test_promise_023_no_shipped_statement_assigns_them() -> None:
    fixed = {
        "chat_sessions": {"id", "agent", "created_at"},
        "chat_messages": {"id", "session_id", "role", "created_at"},
        "chat_parts": {"id", "message_id", "session_id", '"index"', "created_at"},
    }
    updates = [m for query in Q for m in [re.match(r"UPDATE (\w+) SET (.*?)(?: WHERE|;)", query.text)] if m]
    assert {m[1] for m in updates} >= set(fixed)
    for match in updates:
        if {"restamp_message", "put_behind"} & {query.name for query in Q if query.text.startswith(match[0])}:
            continue  # a queued message gets its created_at when it fires; a row of another program's may be put behind
        assert not fixed.get(match[1], set()) & set(re.findall(r'("?\w+"?) =', match[2])), match[0]


@broken_by("verify_does_not_look_where_rows_were_written")
@pytest.mark.parametrize("table", ["chat_messages", "chat_parts"])
def test_promise_023_verify_names_a_row_that_was_moved_by_hand(store: palaver.Store, table: str) -> None:
    session, other = store.sessions.create("a"), store.sessions.create("a")
    talk(session)
    talk(other)
    moved = column(store.path, f"SELECT id FROM {table} WHERE session_id = ? LIMIT 1", session.id)[0]
    with writing(store.path, foreign_keys=True) as db:
        db.execute(f"UPDATE {table} SET session_id = ? WHERE id = ?", (other.id, moved))
    assert moved in {p.where for p in store.verify() if p.rule == "home" and not p.copy}
    assert moved in {p.where for p in store.verify(fix=True) if p.rule == "home"}
    assert column(store.path, f"SELECT session_id FROM {table} WHERE id = ?", moved) == [other.id]


# ---------------------------------------------------------------- 26, 28: flat, by columns


def test_promise_026_parts_are_flat_and_sub_agents_hang_on_the_session(path: str) -> None:
    with palaver.open(path) as store:
        session = live(store)
    columns = [row[1] for row in query(path, "PRAGMA table_info(chat_parts)")]
    assert columns == [
        *("id", "message_id", "session_id", "index", "type", "data_json", "tool_call_id", "tool_state"),
        *("created_at", "updated_at"),
    ]
    keys = [(row[2], row[3]) for row in query(path, "PRAGMA foreign_key_list(chat_parts)")]
    assert keys == [("chat_messages", "message_id")]
    spawned = query(
        path, "SELECT parent_id, relation FROM chat_sessions JOIN heads ON session_id = id WHERE agent = 'helper'"
    )
    assert spawned == [(session.id, "spawn")]


JSON_CALL = re.compile(r"json\w*\s*\(|->", re.IGNORECASE)
HOLDS_JSON = {"chat_sessions", "chat_messages", "chat_parts", "turns", "events", "heads"}
WHOLE_STORE = {  # what looks everywhere by its meaning: adopt, export of everything, the end of an id
    *("export_turn_edges", "export_message_edges", "export_reflog_edges"),
    *("sessions_with_loose_rows", "find_id_tails", "count_turns"),
    *("count_sessions", "count_rows", "irregular_sessions", "loose_everywhere"),
    *("journaled_sessions", "any_session", "import_live", "count_indexable", "count_indexable_up_to"),
}


def test_promise_028_no_shipped_statement_looks_into_json() -> None:
    assert [query.name for query in Q if JSON_CALL.search(query.text)] == []


def test_promise_028_no_shipped_statement_scans_a_table_that_holds_json(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    with reading(path) as db:
        planned = [query for query in Q if not query.text.startswith("CREATE")]
        found = {query.name: _scans(plan(db, query.text, query.names), query.text) for query in planned}
    assert {name: tables for name, tables in found.items() if tables and name not in WHOLE_STORE} == {}
    assert len(found) > 70


def _scans(steps: list[str], text: str) -> list[str]:
    """Scans of whole tables; a recursive query's own rows and the index of open turns are small."""
    found = [re.match(r"SCAN (\w+)( USING (?:COVERING )?INDEX turns_(?:live|unindexed))?", step) for step in steps]
    names = [m[1] for m in found if m and not m[2]]
    return [name for name in names if _table(name, text) in HOLDS_JSON | {"turn_entries"}]


def _table(name: str, text: str) -> str:
    match = re.search(rf"(?:FROM|JOIN) (\w+) {name}\b", text)
    return match[1] if match else name
