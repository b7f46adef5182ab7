"""Breaks of the promises about what is on disk and about usage."""

from __future__ import annotations

from typing import Any

from ..planting import planted


@planted
def a_column_appears_without_a_version() -> None:
    """The schema grows and its version does not."""
    from palaver.db import schema

    text = schema.text().replace("    deleted_at   INTEGER,\n", "    deleted_at   INTEGER,\n    pinned INTEGER,\n")
    schema.text = lambda engine="sqlite": text
    schema.current.cache_clear()


@planted
def newer_schemas_are_taken_for_ours() -> None:
    """Whatever the version, the store opens."""
    from palaver.db import migrate

    migrate.VERSION, known = 10**6, migrate.VERSION
    version_of = migrate.version_of
    migrate.version_of = lambda connection: 10**6 if version_of(connection) >= known else 0


@planted
def parts_are_written_again() -> None:
    """What is stored is a re-encoding of what was given."""
    import json

    from palaver.db.sqlite.transactions import Write

    put = Write.defer_values

    def again(self: Any, query: Any, *values: Any) -> None:
        if query.name == "insert_part":
            data = json.dumps(json.loads(values[5]), separators=(",", ":"))
            values = (*values[:5], data, *values[6:])
        put(self, query, *values)

    Write.defer_values = again  # type: ignore[method-assign]


@planted
def usage_falls_with_a_rewind() -> None:
    """A session counts only what is on its path."""
    from palaver.core.verbs import moves
    from palaver.db.queries import Q

    move = moves.move_head

    def forgetful(tx: Any, head: Any, to: str | None, **said: Any) -> None:
        move(tx, head, to, **said)
        if said["kind"] in ("rewind", "delete"):
            tx.run(
                Q.set_rollups,
                session=head.session_id,
                input=0,
                output=0,
                reasoning=0,
                cache_read=0,
                cache_write=0,
                total=0,
            )

    moves.move_head = forgetful


@planted
def usage_is_counted_twice_in_the_session() -> None:
    """Every report of usage is added to the session once more."""
    from palaver.core.turn import response
    from palaver.db.queries import Q

    count = response.count_usage

    def twice(tx: Any, turn: Any, usage: Any, cost: float) -> None:
        more = usage - turn.usage
        count(tx, turn, usage, cost)
        tx.defer(Q.add_usage, session=turn.session_id, **more.columns(), total=more.total, cost=0.0, now=0)

    response.count_usage = twice


@planted
def the_total_forgets_the_cache() -> None:
    """The total is input and output only."""
    from palaver.model import Usage

    Usage.total = property(lambda self: self.input + self.output)  # type: ignore[assignment, method-assign]


@planted
def a_usage_row_is_written_twice() -> None:
    """Every response is counted, and its row is there a second time."""
    from palaver.core.turn import usage_rows

    add = usage_rows.add

    def twice(*given: Any, **named: Any) -> None:
        add(*given, **named)
        add(*given, **named)

    usage_rows.add = twice  # type: ignore[assignment]


@planted
def the_finish_reason_is_forgotten() -> None:
    """What a stream said of its end goes with its chunks."""
    from palaver.core.turn import seal

    seal.outcome = lambda facts, status, fold: facts  # type: ignore[attr-defined]
