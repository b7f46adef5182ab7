"""Breaks of the promises about deleting, archiving and the tree of turns."""

from __future__ import annotations

from typing import Any

from ..planting import planted


def _query(text: str) -> Any:
    from palaver.db.queries import Query, for_sqlite

    return Query("planted", for_sqlite(text))


@planted
def foreign_keys_are_off() -> None:
    """No connection minds its foreign keys."""
    from palaver.db.sqlite import engine

    connect = engine.connect

    def careless(*given: Any, **named: Any) -> Any:
        connection = connect(*given, **named)
        connection.execute("PRAGMA foreign_keys=OFF")
        return connection

    engine.connect = careless


@planted
def foreign_keys_are_off_for_readers() -> None:
    """The writing connection alone minds them."""
    from palaver.db.sqlite.engine import SqliteDatabase

    borrow = SqliteDatabase.borrow

    def careless(self: SqliteDatabase) -> Any:
        connection = borrow(self)
        connection.execute("PRAGMA foreign_keys=OFF")
        return connection

    SqliteDatabase.borrow = careless  # type: ignore[method-assign]


def _after_delete(*statements: str) -> None:
    from palaver.core.verbs import lifecycle

    delete = lifecycle.delete
    queries = [_query(statement) for statement in statements]

    def more(tx: Any, runtime: Any, session_id: str) -> None:
        delete(tx, runtime, session_id)
        for query in queries:
            tx.run(query, session=session_id)

    lifecycle.delete = more


@planted
def delete_takes_the_children() -> None:
    """Sessions that came from a deleted one go with it."""
    _after_delete(
        "DELETE FROM chat_sessions WHERE parent_id = :session",
        "DELETE FROM heads WHERE origin_id = :session",
    )


@planted
def delete_takes_the_rows() -> None:
    """The messages of a deleted session go, whoever else lists them."""
    _after_delete("DELETE FROM chat_messages WHERE session_id = :session")


@planted
def delete_takes_the_turns() -> None:
    """The turns of a deleted session go."""
    _after_delete("DELETE FROM turns WHERE session_id = :session")


@planted
def delete_takes_the_lines() -> None:
    """The reflog of a deleted session goes, all but its last line."""
    _after_delete("DELETE FROM reflog WHERE session_id = :session AND revision < 1")


@planted
def rewind_takes_the_turns() -> None:
    """A rewind erases what it goes back over."""
    from palaver.core.read import entries
    from palaver.core.verbs import moves

    move = moves.move_head
    erase = _query("DELETE FROM turns WHERE id = :turn AND :session = session_id")

    def hard(tx: Any, head: Any, to: str | None, **given: Any) -> None:
        move(tx, head, to, **given)
        kept = entries.path(tx, to)
        for turn in entries.path(tx, head.turn_id):
            if turn not in kept:
                tx.run(erase, turn=turn, session=head.session_id)

    moves.move_head = hard


@planted
def lists_show_archived_sessions() -> None:
    """Archived sessions are listed unless told otherwise."""
    from palaver.core.read import session_list

    page = session_list.page
    session_list.page = lambda tx, wanted, after: page(
        tx, wanted._replace(which=wanted.which._replace(archived=True)), after
    )


@planted
def archived_sessions_take_writes() -> None:
    """Archived is only a word."""
    from palaver.core.settle import preflight

    preflight.refuse_closed = lambda head: None


@planted
def parents_are_forgotten() -> None:
    """A turn that was committed whole has no parent."""
    from palaver.db.queries import Q
    from palaver.db.sqlite.transactions import Write

    put = Write.defer_values

    def orphaned(self: Write, query: Any, turn: Any, parent: Any, *rest: Any) -> None:
        put(self, query, turn, None if query is Q.insert_sealed_turn else parent, *rest)

    Write.defer_values = orphaned  # type: ignore[assignment,method-assign]


@planted
def heads_move_without_a_line() -> None:
    """The head moves and nothing says so."""
    from palaver.core import heads

    log = heads.log

    def forgetful(tx: Any, session_id: str, seq: int, kind: str, *line: Any, **more: Any) -> bytes:
        return log(tx, session_id, seq, kind, *line, **more) if kind in ("create", "fork") else b""

    heads.log = forgetful  # type: ignore[assignment]


@planted
def links_cover_nothing() -> None:
    """A line's link does not depend on the line."""
    from palaver.core import heads

    heads.line_link = lambda before, *fields: b"link"  # type: ignore[assignment]


@planted
def head_at_is_one_line_off() -> None:
    """A time is answered by the line before."""
    from palaver.db.queries import Q, Query

    Q.head_at = Query("head_at", Q.head_at.text.replace("at <= ", "at < "))  # type: ignore[misc]
