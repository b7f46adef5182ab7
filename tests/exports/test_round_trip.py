"""Out and in again: every byte, every digest, every view of every session comes back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import apsw
import pytest

import palaver
from palaver import exports
from palaver.core.read import places
from palaver.db import schema
from palaver.exports import Summary, Written, tables

from ..tools.sql import query
from . import rich
from .conftest import Source
from .support import HEADER, contents, export, groups, session_of, take

Scratch = Callable[[str], palaver.Store]


def test_an_export_of_what_was_imported_is_the_same_file(source: Source, target: palaver.Store) -> None:
    summary, refused = take(target, source.data)
    assert refused == []
    assert summary == Summary(imported=12, already_there=0, refused=0, lines=source.data.count(b"\n"))
    assert export(target) == source.data


def test_every_row_of_every_table_arrives_as_it_was(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    source.store.trim(older_than=0)  # chunks that are to be trimmed are not exported
    assert contents(target.path) == contents(source.store.path)


def test_verify_finds_nothing_after_an_import(source: Source, target: palaver.Store) -> None:
    assert source.store.verify() == []
    take(target, source.data)
    assert target.verify() == []


def test_every_session_reads_the_same_to_the_byte(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    for name, session_id in source.ids.items():
        if name != "deleted":
            assert target.sessions.get(session_id).messages_json() == source.messages(name), name


def test_numbers_and_escapes_keep_their_spelling(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    text = target.sessions.get(source.ids["odd"]).messages_json()
    assert '"nul \\u0000 half \\ud800 pair \\ud83d\\ude00","n":1.10}' in text
    assert '{"b":1e2,"a":[1.10, 123456789012345678901234567890], "":null}' in text


def test_history_strays_waiting_turns_and_names_come_along(source: Source, target: palaver.Store) -> None:
    source.store.trim(older_than=0)  # chunks that are to be trimmed are not exported
    take(target, source.data)
    for name in ("main", "fork", "races", "waiting", "spawned"):
        there, here = source.store.sessions.get(source.ids[name]), target.sessions.get(source.ids[name])
        assert here.history() == there.history()
        assert here.strays() == there.strays()
        assert here.waiting() == there.waiting()
        assert here.aliases() == there.aliases()
        assert here.events() == there.events()
        assert here.info == there.info
    assert len(target.sessions.get(source.ids["races"]).strays()) == 1
    assert target.sessions.get("my own id").id == source.ids["spawned"]
    assert target.sessions.find("the helper").id == source.ids["spawned"]


def test_a_stray_knows_the_event_that_left_it_beside_the_path(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    races = target.sessions.get(source.ids["races"])
    (event,) = [event for event in races.events() if event.kind == "stray"]
    (stray,) = races.strays()
    assert query(target.path, "SELECT id, stray_seq FROM turns WHERE stray_seq IS NOT NULL") == [(stray.id, event.seq)]


def test_usage_facts_and_bodies_come_along(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    there, here = (store.sessions.get(source.ids["counted"]) for store in (source.store, target))
    assert here.usage() == there.usage()
    assert [(one.key, one.source, one.usage.input) for one in here.usage()] == [
        *(("resp-1", "turn", 7), ("resp-2", "turn", 3), (None, "metadata", 1), ("resp-3", "title", 4)),
    ]
    assert (here.info.end_reason, here.info.ended_at) == ("all counted", there.info.ended_at)
    assert here.info.last_message_at == there.info.last_message_at
    assert here.facts == there.facts == {"note": "a\nb", "project": "palaver", "source": "cli"}
    assert [info.id for info in target.sessions.list(project="palaver")] == [here.id]
    bodies = {kind: body for kind, body in query(target.path, "SELECT kind, body FROM bodies ORDER BY body DESC")}
    assert bodies["tools"] == '[{"name":"run","input_schema":{"type":"object"}},"read"]'
    assert query(target.path, "SELECT count(*) FROM bodies WHERE kind = 'settings'") == [(2,)]


def test_what_follows_from_other_rows_is_worked_out_and_not_in_the_file(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    assert b'"jump"' not in source.data and b'"table":"compactions"' not in source.data
    turn = "SELECT jump, thread_calls, thread_results, role, persona, mode, source_event FROM turns WHERE persona <> ''"
    assert query(target.path, turn) == [("", 1, 1, "reviewer", "grumpy", "plan", "push-1")]
    assert query(target.path, "SELECT count(*) FROM turns WHERE jump IS NULL") == [(0,)]
    assert query(target.path, "SELECT summary, tokens_before FROM compactions") == [("They counted.", 12)]


def test_an_imported_session_is_gone_on_with(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    main = target.sessions.get(source.ids["main"])
    with main.turn("and now?") as turn:
        rich.answer(turn, "we go on")
    waiting = target.sessions.get(source.ids["waiting"])
    with waiting.resume(waiting.waiting()[0].id) as turn:
        turn.resolve("call-1", output={"ok": True})
    main.undo()
    main.redo()
    assert main.messages()[-1]["parts"][-1]["text"] == "we go on "
    assert target.verify() == []


def test_a_deleted_session_comes_back_deleted_and_can_be_undeleted(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    session_id = source.ids["deleted"]
    with pytest.raises(palaver.SessionNotFound):
        target.sessions.get(session_id)
    target.sessions.get(session_id, deleted=True).undelete()
    assert len(target.sessions.get(session_id).messages()) == 3
    assert target.verify() == []


def test_a_streaming_turn_arrives_without_a_writer_and_is_sealed_as_aborted(scratch: Scratch, path: str) -> None:
    here = scratch("here")
    session = here.sessions.create("coder")
    rich.stream_open(here, session.id)
    data = export(here)
    assert b'"owner":null' in data and b'"owner":"' not in data
    with palaver.open(path) as there:
        assert take(there, data)[0].imported == 1
        assert export(there) == data
        assert there.sessions.get(session.id).messages() == session.messages()
    with palaver.open(path) as there:
        assert [turn.status for turn in there.sessions.get(session.id).path()] == ["aborted"]
        assert there.sessions.get(session.id).messages()[-1]["parts"][-1]["text"] == "half an ans"
        assert there.verify() == []


def test_a_fork_comes_after_the_session_it_came_from(source: Source) -> None:
    order = [session_of(group) for group in groups(source.data)]
    place = {name: order.index(session_id) for name, session_id in source.ids.items()}
    assert place["main"] < place["fork"] < place["second"]
    assert place["main"] < place["spawned"]
    assert place["deleted"] < place["rescued"]


def test_a_fork_at_a_turn_of_an_unrelated_session_comes_after_that_one_too(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it could be made once."""
    monkeypatch.setattr(places, "_is_ours", lambda *_: True)
    here, there = scratch("here"), scratch("there")
    first = here.sessions.create("a")
    first.commit(["one"])
    deep = here.sessions.create("b")
    deep.commit(["two"])
    for _ in range(3):
        deep = deep.fork()
        deep.commit(["more"])
    crossing = first.fork(at=deep.path()[-1].id)
    crossing.commit(["across"])
    data = export(here)
    order = [session_of(group) for group in groups(data)]
    assert order[-1] == crossing.id
    assert take(there, data) == (Summary(imported=6, already_there=0, refused=0, lines=data.count(b"\n")), [])


def test_no_owner_and_no_time_of_export_is_in_the_file(source: Source) -> None:
    assert source.data.startswith(HEADER)
    assert b'"table":"owners"' not in source.data
    assert export(source.store) == source.data


def test_the_summary_and_the_progress_tell_what_was_written(source: Source) -> None:
    told: list[tuple[int, int]] = []
    out = io.BytesIO()
    written = exports.write(source.store.db, out, progress=lambda *so_far: told.append(so_far))
    assert written == Written(12, 0, source.data.count(b"\n"), len(source.data))
    assert [sessions for sessions, _ in told] == list(range(1, 13))


def test_progress_of_an_import_ends_with_every_byte_of_the_file(source: Source, target: palaver.Store) -> None:
    told: list[tuple[int, int]] = []
    exports.read(target.db, io.BytesIO(source.data), progress=lambda *so_far: told.append(so_far))
    assert told[-1] == (12, len(source.data))
    assert told == sorted(told)


def test_an_empty_store_is_two_lines(target: palaver.Store, scratch: Scratch) -> None:
    data = export(target)
    assert data == HEADER + b'{"end":"export","sessions":0}\n'
    assert take(scratch("other"), data)[0] == Summary(0, 0, 0, 2)


def test_memory_stores_export_and_import(source: Source) -> None:
    with palaver.open(":memory:") as store:
        take(store, source.data)
        assert export(store) == source.data


# Of turns; and of this store's housekeeping, `live`.
DERIVED = {
    *(
        "live",
        "unindexed",
        "jump",
        "thread_results",
        "thread_calls",
        "stray_seq",
        "model",
        "provider",
        "role",
        "persona",
    ),
    *("workspace", "mode", "toolset", "prompt_digest", "finish", "error_code", "source_event"),
}

NUMBERED = {"row_numbers", "stepped_sessions", "sqlite_sequence"}  # a copy hands out numbers of its own
UNSAID = {"turns": DERIVED, "natives": {"codec"}}  # how an item is packed is the store's own affair


def test_the_tables_of_an_export_are_those_of_the_schema_column_by_column() -> None:
    db = apsw.Connection(":memory:")
    db.execute(schema.text())
    there = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    there = {name for name in there if not name.startswith("document")}  # derived: an import indexes anew
    left_out = {"owners", "schema_migrations", "journal", "settings", "compactions"} | NUMBERED
    assert there - left_out == set(tables.BY_NAME)
    kinds = {"text": "TEXT", "json": "TEXT", "object": "TEXT", "null": "TEXT", "int": "INTEGER", "count": "INTEGER"}
    kinds |= {"real": "REAL", "salt": "BLOB", "hash": "BLOB", "bytes": "BLOB"}
    for table in tables.IN_ORDER:
        columns = db.execute(f'PRAGMA table_info("{table.name}")').fetchall()
        columns = [c for c in columns if c[1] not in UNSAID.get(table.name, ())]
        assert [(c[1], c[2], not c[3] and not c[5]) for c in columns] == [
            (c.name, kinds[c.kind], c.null or c.kind == "null") for c in table.columns
        ], table.name


def test_every_line_is_one_json_object_with_the_columns_in_their_order(source: Source) -> None:
    for line in source.data.split(b"\n")[:-1]:
        row = json.loads(line)
        if "table" in row:
            assert list(row) == ["table", *tables.BY_NAME[row["table"]].names]
