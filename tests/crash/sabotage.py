"""Bugs, planted one at a time, to show that the judge sees them. Never applied unless a test names one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def early_acks() -> None:
    """Writer: a chunk is acknowledged while it is only in memory; every 16th goes to disk, with those before it."""
    from palaver.db.sqlite.engine import SqliteDatabase

    insert = SqliteDatabase.insert
    held: list[tuple[Any, Any]] = []

    def later(self: SqliteDatabase, query: Any, params: Any) -> int:
        held.append((query, params))
        if len(held) == 16:
            for one in held:
                insert(self, *one)
            held.clear()
        return 1

    SqliteDatabase.insert = later  # type: ignore[method-assign]


def last_chunk_not_folded() -> None:
    """Recovery: the last chunk of a turn does not reach its parts."""
    from palaver.core.turn import open_turn

    replay = open_turn.replay

    def short(fold: Any, events: list[Any]) -> int:
        last = max(at for at, event in enumerate(events) if event[1] == "chunk")
        return replay(fold, events[:last] + events[last + 1 :])

    open_turn.replay = short


def tools_left_open() -> None:
    """Recovery: tool calls of a dead turn stay as they are."""
    from palaver.core.turn import seal

    seal.close_parts = lambda turn, status: None  # type: ignore[assignment]


def dead_turn_not_landed() -> None:
    """Recovery: the dead turn is put aside instead of on the path."""
    from palaver.core.settle import recovery

    recovery.finish = lambda tx, head, turn_id, status, **_: recovery.abandon(tx, head, turn_id, status)


def sealed_as_completed() -> None:
    """Recovery: a turn that was cut off claims to be complete."""
    from palaver.core.settle import recovery

    finish = recovery.finish
    recovery.finish = lambda tx, head, turn_id, status, **said: finish(tx, head, turn_id, "completed", **said)


def head_moved_without_a_line() -> None:
    """Recovery: the head moves, and the reflog does not say so."""
    from palaver.core import heads

    heads.log = lambda tx, *_, **__: b""  # type: ignore[assignment]


def strays_not_hidden() -> None:
    """Recovery: another program goes on seeing the messages of strays."""
    from palaver.core import metadata

    metadata.hide = lambda text, at: text


def usage_counted_twice() -> None:
    """Recovery: tokens of the dead turn are added to the session once more."""
    from palaver.core.turn import response, seal
    from palaver.model import Usage

    freeze = seal.freeze

    def twice(tx: Any, turn: Any, status: str, before: Any = None) -> Any:
        usage, cost = turn.usage, turn.cost
        turn.usage = Usage()
        response.count_usage(tx, turn, usage, cost)
        return freeze(tx, turn, status, before)

    seal.freeze = twice


def nothing_recovered() -> None:
    """Recovery: not done at all."""
    from palaver.core.settle import recovery

    recovery.recover = lambda tx, head, is_dead: head


def recovers_for_ever() -> None:
    """Recovery: every open moves the head again."""
    from palaver import store
    from palaver.core import heads
    from palaver.db.queries import Q

    recover = store.Store.recover

    def again(self: Any) -> int:
        found = recover(self)
        with self.db.write() as tx:
            for row in tx.all(Q.list_recent, before_at=2**62, before_id="", archived=1, limit=100):
                head = heads.lock(tx, row[0], timestamps=0)
                heads.move(tx, head, head.turn_id, kind="recover")
        return found

    store.Store.recover = again  # type: ignore[method-assign]


def live_turns_taken() -> None:
    """Recovery: every owner but ourselves is held to be dead."""
    from palaver.db.sqlite import owner_files

    owner_files.look = lambda folder, owner: owner_files.FREE


BUGS: dict[str, Callable[[], None]] = {
    plant.__name__: plant
    for plant in (
        early_acks,
        last_chunk_not_folded,
        tools_left_open,
        dead_turn_not_landed,
        sealed_as_completed,
        head_moved_without_a_line,
        strays_not_hidden,
        usage_counted_twice,
        nothing_recovered,
        recovers_for_ever,
        live_turns_taken,
    )
}


def apply(name: str | None) -> None:
    if name is not None:
        BUGS[name]()
