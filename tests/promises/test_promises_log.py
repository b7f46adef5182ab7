"""Rows 140 and 148 of the promise ledger: migrations and the log of a store that keeps everything.

The short of it, each shown to notice a break; tests/migrations and tests/journal have the long.
"""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import palaver
from palaver.db import migrate
from tests.journal.support import TABLES, dump, is_gapless, untold
from tests.migrations.conftest import fast  # noqa: F401  a folder in memory
from tests.migrations.old import HAS_CHUNKS, version_1
from tests.migrations.support import finished, overheard, run, transactions
from tests.tools.sql import query, writing

from ..tools.planting import broken_by
from .support_log import keeping, talk, text

BYTES = "SELECT sum(octet_length(data)) FROM (SELECT data FROM journal UNION ALL SELECT data FROM events)"


# ---------------------------------------------------------------- 140: migrations


@pytest.mark.long
@broken_by("a_migration_is_committed_before_its_version")
def test_promise_140_killed_at_any_statement_the_next_opening_finishes_it(fast: Path) -> None:  # noqa: F811
    finished(fast, "version 1", run(fast, start="version 1", trouble="statement"), at_least=25)


@broken_by("a_migration_is_committed_before_its_version")
def test_promise_140_the_version_is_recorded_with_the_change(path: str) -> None:
    version_1(path)
    with overheard() as heard:
        palaver.open(path).close()
    versions = [one for one in transactions(heard) if any("INTO schema_migrations" in s for s in one)]
    assert len(versions) == migrate.VERSION - 1
    assert all(any(s.startswith(("CREATE", "ALTER")) for s in one) for one in versions)


@broken_by("a_migration_does_not_know_which_turns_are_live")
def test_promise_140_what_the_new_version_needs_to_know_of_old_rows_is_worked_out(path: str) -> None:
    version_1(path)
    db = apsw.Connection(path)
    migrate.migrate(db, path)
    db.close()
    assert {row[0] for row in query(path, "SELECT id FROM turns WHERE live = 1")} == HAS_CHUNKS


# ---------------------------------------------------------------- 148: the log


@broken_by(
    "the_journal_misses_changed_parts", "the_journal_misses_changed_metadata", "the_journal_misses_streamed_parts"
)
def test_promise_148_state_is_the_projection_of_the_log_row_for_row(path: str) -> None:
    with keeping(path) as store:
        talk(store)
        assert store.rebuild(fix=False) == []
        assert untold(path) == []


@broken_by("the_journal_is_numbered_over_all_sessions")
def test_promise_148_the_log_is_keyed_by_session_and_number_without_gaps(path: str) -> None:
    with keeping(path) as store:
        for _ in range(3):
            talk(store)
        assert is_gapless(path)
        assert [row[1] for row in query(path, "PRAGMA table_info(journal)") if row[5]] == ["session_id", "seq"]


@broken_by("a_rebuild_only_looks", "a_rebuild_leaves_missing_rows_missing", "the_journal_misses_streamed_parts")
def test_promise_148_a_fresh_database_is_rebuilt_from_the_log(path: str) -> None:
    with keeping(path) as store:
        session = talk(store)
        before, shown = dump(path), session.messages()
        with writing(path) as db:
            for table in TABLES:
                db.execute(f"DELETE FROM {table}")
        store.rebuild()
        assert dump(path) == before
        assert session.messages() == shown
        assert store.verify() == []


@broken_by("a_rebuild_only_looks")
def test_promise_148_rows_that_were_changed_are_as_the_log_says(path: str) -> None:
    with keeping(path) as store:
        talk(store)
        before = dump(path)
        with writing(path) as db:
            db.execute("UPDATE chat_parts SET data_json = '{}', tool_state = 'x'")
            db.execute("UPDATE chat_messages SET role = 'system', metadata_json = '{}'")
            db.execute("UPDATE chat_sessions SET agent = 'another', total_tokens = 0")
        assert len(store.rebuild()) == sum(len(rows) for rows in before.values())
        assert dump(path) == before


@broken_by("the_journal_writes_every_text_out_again")
@pytest.mark.parametrize("size", [10, 2_000])
def test_promise_148_the_log_grows_with_the_bytes_that_are_streamed(size: int, tmp_path: Path) -> None:
    def grown(chunks: int) -> int:
        path = str(tmp_path / f"{chunks}.db")
        with keeping(path) as store, store.sessions.create("coder").turn("go") as turn:
            for chunk in text("w" * size * chunks, chunks):
                turn.write(chunk)
        ((total,),) = query(path, BYTES)
        return int(total)

    assert grown(100) <= 2.2 * grown(50)
