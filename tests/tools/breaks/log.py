"""Breaks of rows 140 and 148: migrations that are not one step, journals that are not the whole truth."""

from __future__ import annotations

from typing import Any

from palaver.core.upkeep import journal, rebuild
from palaver.db import migrate, schema
from palaver.db.queries import Q, Query

from ..planting import planted


@planted
def a_migration_is_committed_before_its_version() -> None:
    step = migrate._step

    class Hasty:
        """Commits what was done whenever a version is about to be recorded."""

        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

        def execute(self, sql: str, *params: Any) -> Any:
            if sql.startswith("INSERT INTO schema_migrations"):
                self._connection.execute("COMMIT; BEGIN IMMEDIATE")
            return self._connection.execute(sql, *params)

    migrate._step = lambda connection, path: step(Hasty(connection), path)


@planted
def a_migration_does_not_know_which_turns_are_live() -> None:
    files = schema.migrations

    def without_update() -> list[tuple[str, str]]:
        return [(name, text.replace("SET live = 1", "SET live = 0")) for name, text in files()]

    schema.migrations = without_update


def _left_out(*names: str) -> None:
    journal.LOGGED = journal.LOGGED - set(names)  # type: ignore[assignment]


@planted
def the_journal_misses_changed_parts() -> None:
    _left_out("update_part")


@planted
def the_journal_misses_changed_metadata() -> None:
    _left_out("set_message_metadata")


@planted
def the_journal_misses_streamed_parts() -> None:
    _left_out("insert_streamed_part")


@planted
def the_journal_is_numbered_over_all_sessions() -> None:
    text = Q.write_journal.text.replace("FROM journal j WHERE j.session_id = ?", "FROM journal j")
    text = text.replace("FROM journal j WHERE j.session_id = :session", "FROM journal j")
    Q.__dict__["write_journal"] = Query("write_journal", text)


@planted
def the_journal_writes_every_text_out_again() -> None:
    journal._SHORT = 10**9


@planted
def a_rebuild_only_looks() -> None:
    compare = rebuild.compare
    rebuild.compare = lambda tx, session, scratch, *, fix: compare(tx, session, scratch, fix=False)


@planted
def a_rebuild_leaves_missing_rows_missing() -> None:
    compare = rebuild.compare

    def only_changed(tx: Any, session: str, scratch: Any, *, fix: bool) -> Any:
        return (p for p in compare(tx, session, scratch, fix=False) if fix and "missing" not in p.what)

    rebuild.compare = only_changed
