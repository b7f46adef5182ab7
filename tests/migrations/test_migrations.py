"""An older file is brought up to date when it is opened, step by step, and ends where a new file begins."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import palaver
from palaver import exports
from palaver.core.upkeep import filling
from palaver.db import migrate
from palaver.db.schema import migrations

from ..exports import old_talks, rich
from ..tools.sql import column, everything, execute, query, tables
from . import old as v1
from .catalogue import catalogue
from .old import words
from .runner import CALM
from .support import next_version, overheard, transactions, versions

NAMES = [(1, "kernel"), (2, "event_log"), (3, "queue"), (4, "leases"), (5, "facts"), (6, "natives"), (7, "documents")]
NAMES += [(8, "row_numbers")]
CHANGES = ("CREATE", "ALTER", "DROP")


# ---------------------------------------------------------------- the same schema


def test_promise_140_the_migrations_one_after_the_other_make_the_schema_of_a_new_file(tmp_path: Path) -> None:
    new, replayed = str(tmp_path / "new.db"), str(tmp_path / "replayed.db")
    palaver.open(new).close()
    v1.replay(replayed, migrate.VERSION).close()
    assert catalogue(replayed) == catalogue(new)


@pytest.mark.parametrize("version", range(1, migrate.VERSION))
def test_promise_140_a_file_of_any_older_version_gets_the_schema_of_a_new_one(version: int, tmp_path: Path) -> None:
    new, older = str(tmp_path / "new.db"), str(tmp_path / "older.db")
    palaver.open(new).close()
    with v1.replay(older, version) as db:
        for number, name in NAMES[:version]:
            db.execute("INSERT INTO schema_migrations VALUES (?, ?, 1)", (number, name))
    db.close()
    assert catalogue(older) != catalogue(new)
    palaver.open(older).close()
    assert catalogue(older) == catalogue(new)


def test_the_catalogue_tells_partial_indexes_and_tables_without_rowid_apart(tmp_path: Path) -> None:
    palaver.open(tmp_path / "new.db").close()
    turns = catalogue(str(tmp_path / "new.db"))["turns"]
    assert turns["without rowid"] == 1
    assert turns["indexes"]["turns_live"][:3] == [0, "c", "live = 1"]
    assert [column[2] for column in turns["indexes"]["turns_live"][3]][:2] == ["session_id", "sealed_at"]


def test_promise_140_there_is_a_file_for_every_version_and_none_twice() -> None:
    numbers = [int(name.partition("_")[0]) for name, _ in migrations()]
    assert numbers == list(range(1, migrate.VERSION + 1))
    assert [(int(name[:4]), name[5:]) for name, _ in migrations()] == NAMES


def test_promise_140_from_version_6_on_a_migration_says_who_may_go_on_writing() -> None:
    assert [name for name, text in migrations()[5:] if "'writers_from'" not in text] == []


# ---------------------------------------------------------------- what an old file holds


def only_migrate(path: str) -> None:
    """Without what else happens at an opening."""
    db = apsw.Connection(path)
    migrate.migrate(db, path)
    db.close()


def test_promise_140_everything_in_an_old_file_is_readable_and_proved(old: str) -> None:
    with palaver.open(old, **CALM) as store:
        assert store.verify() == []
        for session_id, said in v1.SAID.items():
            shown = [message["parts"][-1] for message in store.sessions.get(session_id).messages()]
            assert [part.get("text") for part in shown if "text" in part] == [t for t in said if t[0] != "{"]
        assert store.sessions.get(v1.TALK).title == "The linker"
        assert store.sessions.get(v1.TALK).info.total_tokens == 14
        assert [turn.id for turn in store.sessions.get(v1.TALK).path()] == [v1.STREAMED, v1.AGAIN]


NEW_TABLES = {"journal", "settings", "queue", "deliveries", "pruned", "session_facts", "usage", "compactions", "bodies"}
WORDS = {"document_words"} | {f"document_words_{kind}" for kind in ("data", "idx", "docsize", "config")}
NEW_TABLES |= {"natives", "documents", "row_numbers", "stepped_sessions", "sqlite_sequence"} | WORDS
FILLED = {
    "turns": {"live", "stray_seq", "unindexed"},
    "heads": {"last_message_at"},
}  # columns that a migration adds and fills


def columns_of(path: str, table: str) -> list[str]:
    return column(path, f"SELECT name FROM pragma_table_info('{table}')")


@pytest.mark.parametrize("version", v1.MADE)
def test_promise_140_no_row_of_an_old_file_is_changed_by_the_migration_itself(version: str, path: str) -> None:
    v1.MADE[version](path)
    before, known = everything(path), {table: columns_of(path, table) for table in tables(path)}
    only_migrate(path)
    after = everything(path)
    assert after["settings"] == [*before.get("settings", []), ("writers_from", "5")]
    after["settings"] = after["settings"][:-1]
    assert {table for table in after if table not in before} <= NEW_TABLES
    assert all(after[table] == [] for table in after.keys() - before.keys() - WORDS)
    for table in before.keys() - {"schema_migrations"}:
        assert [row[: len(known[table])] for row in after[table]] == before[table], table
        added = columns_of(path, table)[len(known[table]) :]
        for name in set(added) - FILLED.get(table, set()):
            assert query(path, f"SELECT count({name}) FROM {table}") == [(0,)], f"{table}.{name}"


def test_promise_140_a_stray_of_an_old_file_knows_the_event_that_left_it_there(old_4: str) -> None:
    told = {turn: session_id for session_id, one in old_talks.FIRST.told().items() for turn in one["strays"]}
    only_migrate(old_4)
    found = query(old_4, "SELECT id, session_id, stray_seq, begin_seq FROM turns WHERE stray_seq IS NOT NULL")
    assert {turn: session_id for turn, session_id, *_ in found} == told and len(told) == 1
    for _, session_id, seq, begin_seq in found:
        assert query(old_4, "SELECT kind, turn FROM events WHERE session_id = ? AND seq = ?", session_id, seq) == [
            ("stray", begin_seq)
        ]


@pytest.mark.parametrize("version", ["version 1", "version 4"])  # later ones say so themselves
def test_promise_140_a_session_of_an_old_file_knows_when_it_last_got_a_message(version: str, path: str) -> None:
    v1.MADE[version](path)
    newest = query(path, "SELECT session_id, max(created_at) FROM chat_messages GROUP BY 1 ORDER BY 1")
    only_migrate(path)
    assert query(path, "SELECT session_id, last_message_at FROM heads ORDER BY 1") == newest


DERIVED = """
SELECT id, jump, thread_results, thread_calls, stray_seq, model, provider, role, persona, workspace, mode, toolset,
       prompt_digest, finish, error_code, source_event FROM turns WHERE session_id <> ? ORDER BY id
"""


def test_promise_140_what_a_migrated_file_lacks_is_filled_as_in_one_that_imports_the_same(
    old_4: str, tmp_path: Path
) -> None:
    """Both are of one store: its file, and its export of version 1. In the file, what was cut off is recovered."""
    imported = str(tmp_path / "imported.db")
    with palaver.open(imported, **CALM) as store, open(old_talks.FIRST.everything, "rb") as export:
        exports.read(store.db, export)
    with palaver.open(old_4, **CALM) as store:
        filling.fill_all(store.db)
        assert store.verify() == []
    (cut_off,) = [session_id for session_id, told in old_talks.FIRST.told().items() if told["title"] == "Cut off"]
    assert query(old_4, DERIVED, cut_off) == query(imported, DERIVED, cut_off)
    assert query(old_4, "SELECT count(*) FROM turns WHERE jump IS NULL") == [(0,)]
    for path in (old_4, imported):
        summary = "SELECT summary, tokens_before, tokens_after, model FROM compactions"
        assert query(path, summary) == [("They asked thrice.", 900, 90, "acme/small")]
        head = "FROM heads h JOIN turns t ON t.id = h.turn_id WHERE h.title = 'Compacted'"
        assert query(path, f"SELECT t.thread_calls, t.thread_results {head}") == [(3, 3)]


def test_promise_140_what_a_file_of_version_4_tells_stays_the_same(old_4: str) -> None:
    told = old_talks.FIRST.told()
    only_migrate(old_4)
    with palaver.open(old_4, readonly=True) as store:  # nothing is recovered
        assert (store.notes, store.verify()) == ([], [])
        assert old_talks.told(store, told) == told


def test_promise_140_a_file_of_version_4_is_read_as_it_is_without_a_change(old_4: str) -> None:
    told, before = old_talks.FIRST.told(), Path(old_4).read_bytes()
    with palaver.open(old_4, readonly=True) as store:
        assert "it has schema 4, not 8" in store.notes[0]
        assert old_talks.told(store, told) == told
    assert Path(old_4).read_bytes() == before


def test_promise_140_a_file_of_version_4_is_gone_on_with(old_4: str) -> None:
    ids = {told["title"]: session_id for session_id, told in old_talks.FIRST.told().items()}
    with palaver.open(old_4, **CALM) as store:
        cut_off, waiting = store.sessions.get(ids["Cut off"]), store.sessions.get(ids["Waiting"])
        assert [(turn.status, turn.usage.input) for turn in cut_off.path()] == [("aborted", 3)]
        assert words(cut_off.messages()) == ["Still there?", "I am in the middle"]
        with waiting.resume(waiting.waiting()[0].id) as turn:
            turn.resolve("call-w", output="yes")
        claimed = store.sessions.get(ids["Queued"]).claim()
        assert claimed is not None
        with claimed:
            old_talks.answer(claimed, "Fired, too.")
        talk = store.sessions.get(ids["Talk"])
        with talk.regenerate() as turn:
            old_talks.answer(turn, "Counted again.")
            turn.usage(input=5)
        store.sessions.get(ids["Copied"]).fork().commit("On a path through three sessions")
        assert talk.info.total_tokens == 28 + 5
        assert store.verify() == []


def test_promise_140_what_a_file_of_version_5_tells_stays_the_same(old_5: str) -> None:
    told = old_talks.SECOND.told()
    only_migrate(old_5)
    with palaver.open(old_5, readonly=True) as store:
        assert (store.notes, store.verify()) == ([], [])
        assert old_talks.told(store, told) == told


def test_promise_140_a_file_of_version_5_is_read_as_it_is_without_a_change(old_5: str) -> None:
    told, before = old_talks.SECOND.told(), Path(old_5).read_bytes()
    with palaver.open(old_5, readonly=True) as store:
        assert "it has schema 5, not 8" in store.notes[0]
        assert old_talks.told(store, told) == told
    assert Path(old_5).read_bytes() == before


def test_promise_140_a_file_of_version_5_takes_what_happened_elsewhere(old_5: str) -> None:
    with palaver.open(old_5, **CALM) as store:
        store.graft(rich.grafted_source())
        items = [item for turn in store.sessions.get("s-1").tree() for item in store.natives(turn.id)]
        assert b'{"id": "g-1"}' in [item.body for item in items] and len(items) == 4
        assert store.verify() == []


def test_promise_140_exactly_the_turns_that_are_open_or_have_chunks_are_live(old: str) -> None:
    only_migrate(old)
    assert {row[0] for row in query(old, "SELECT id FROM turns WHERE live = 1")} == v1.HAS_CHUNKS


def test_promise_140_what_was_open_in_an_old_file_is_recovered(old: str) -> None:
    with palaver.open(old, **CALM) as store:
        (turn,) = store.sessions.get(v1.CUT_OFF).path()
        assert (turn.id, turn.status) == (v1.OPEN, "aborted")
        assert store.sessions.get(v1.CUT_OFF).messages()[-1]["parts"][-1]["text"] == "I am in the middle"


def test_promise_140_what_waited_in_an_old_file_is_answered_and_sealed(old: str) -> None:
    with palaver.open(old) as store:
        session = store.sessions.get(v1.WAITING)
        assert [turn.id for turn in session.waiting()] == [v1.WAITS]
        with session.resume(v1.WAITS) as turn:
            turn.resolve("c1", output="yes")
        assert session.messages()[-1]["parts"][-1]["output"] == "yes"
        assert store.verify() == []


def test_promise_140_chunks_that_an_old_file_kept_are_trimmed_like_any_others(old: str) -> None:
    with palaver.open(old, **CALM) as store:
        assert store.trim(0) == 4 + 4 + 4  # the open turn was recovered; the one that waits keeps its two
        assert store.sessions.get(v1.TALK).messages()[1]["parts"][0]["text"] == "The linker flag."
        assert store.verify() == []
    assert query(old, "SELECT count(*) FROM events WHERE kind = 'chunk'") == [(2,)]
    assert query(old, "SELECT id FROM turns WHERE live = 1") == [(v1.WAITS,)]


def test_promise_140_an_old_file_takes_new_turns(old: str) -> None:
    with palaver.open(old) as store:
        session = store.sessions.get(v1.TALK)
        with session.turn("And in version 2?") as turn:
            turn.write({"type": "text-start", "id": "t"})
            turn.write({"type": "text-delta", "id": "t", "delta": "The same."})
        session.fork().commit("Here, too")
        assert [turn.status for turn in session.path()] == ["completed"] * 3
        assert store.verify() == []


# ---------------------------------------------------------------- in sequence, each at once, only once


def test_promise_140_versions_are_recorded_in_order_with_their_names(old: str, tmp_path: Path) -> None:
    palaver.open(old).close()
    palaver.open(tmp_path / "new.db").close()
    assert versions(old) == versions(str(tmp_path / "new.db")) == NAMES
    assert query(old, "SELECT applied_at FROM schema_migrations WHERE version = 1") == [(1_700_000_000_000,)]


def test_promise_140_a_second_opening_migrates_nothing(old: str) -> None:
    palaver.open(old, **CALM).close()
    before, bytes_before = everything(old), Path(old).read_bytes()
    with overheard() as heard:
        palaver.open(old, **CALM).close()
    assert [statement for statement in heard if statement.startswith(CHANGES)] == []
    assert everything(old) == before
    assert Path(old).read_bytes() == bytes_before


def test_promise_140_a_migration_is_one_transaction_that_ends_with_its_version(old: str) -> None:
    with overheard() as heard:
        palaver.open(old, **CALM).close()
    steps = [step for step in transactions(heard) if any(s.startswith(CHANGES) for s in step)]
    assert len(steps) == migrate.VERSION - 1
    assert all(step[-1].startswith("INSERT INTO schema_migrations") for step in steps)
    inside = [statement for step in steps for statement in step if statement.startswith(CHANGES)]
    assert inside == [statement for statement in heard if statement.startswith(CHANGES)]


DREAMS = ("0009_dreams", "CREATE TABLE dreams (id TEXT PRIMARY KEY); INSERT INTO dreams VALUES ('one');")
BROKEN = ("0009_dreams", "CREATE TABLE dreams (id TEXT PRIMARY KEY); INSERT INTO nowhere VALUES ('one');")


def test_promise_140_several_steps_are_as_many_transactions_in_order(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    next_version(monkeypatch, DREAMS)
    with overheard() as heard:
        palaver.open(old, **CALM).close()
    steps = [step for step in transactions(heard) if any(s.startswith(CHANGES) for s in step)]
    assert ["dreams" in " ".join(step) for step in steps] == [False] * 7 + [True]
    assert versions(old) == [*NAMES, (9, "dreams")]


def test_promise_140_a_step_that_fails_leaves_the_file_at_the_step_before(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as future:
        next_version(future, BROKEN)
        for _ in range(2):
            with pytest.raises(palaver.StoreError):
                palaver.open(old, **CALM)
    assert versions(old) == NAMES
    assert query(old, "SELECT name FROM sqlite_schema WHERE name = 'dreams'") == []
    next_version(monkeypatch, DREAMS)
    with palaver.open(old, **CALM) as store:
        assert store.verify() == []
    assert versions(old) == [*NAMES, (9, "dreams")]


def test_promise_140_the_index_of_a_file_of_version_7_is_made_again(path: str) -> None:
    """What it held of titles could not be told apart from what was said."""
    with palaver.open(path, **CALM) as store:
        session = store.sessions.create("coder", title="Herons")
        session.commit("They fish.")
        store.reindex()
    for text in (
        "DELETE FROM schema_migrations WHERE version = 8",
        "DROP TABLE row_numbers",
        "DROP TABLE stepped_sessions",
        "DROP INDEX chat_parts_failed",
        "DELETE FROM settings WHERE name = 'search_sums'",
    ):
        execute(path, text)
    only_migrate(path)
    assert query(path, "SELECT count(*) FROM documents") == [(0,)]
    with palaver.open(path, **CALM) as store:
        assert store.search("herons fish").indexed_through is not None  # and says that it is not done yet
        store.reindex(only_missing=True)
        assert (query(path, "SELECT count(*) FROM documents"), store.verify()) == ([(1,)], [])
        assert len(store.search("herons fish").hits) == 1
