"""Breaks of the promises about saving, crashes and power cuts."""

from __future__ import annotations

from typing import Any

from ..planting import planted


@planted
def nothing_is_synced() -> None:
    """Every commit is left to the operating system."""
    from palaver.db.sqlite import engine

    engine._levels = lambda durability, *, memory: (0, 0)


@planted
def boundaries_are_not_synced() -> None:
    """Boundaries are committed like chunks."""
    from palaver.db.sqlite import engine

    engine._levels = lambda durability, *, memory: (engine.NORMAL, engine.NORMAL)


@planted
def user_message_is_kept_in_memory() -> None:
    """What the user said is written when the turn is sealed."""
    from palaver.core.turn import open_turn, seal

    write, freeze = open_turn.write_messages, seal.freeze
    held: dict[str, Any] = {}

    def later(tx: Any, turn: Any, prepared: Any, *, last_at: int) -> None:
        held[turn.id] = (prepared, last_at)

    def at_the_end(tx: Any, turn: Any, status: str, before: Any = None) -> Any:
        prepared, last_at = held.pop(turn.id, ([], 0))
        write(tx, turn, prepared, last_at=last_at)
        return freeze(tx, turn, status, before)

    open_turn.write_messages, seal.freeze = later, at_the_end


@planted
def chunks_are_acknowledged_early() -> None:
    """A chunk is acknowledged while it is only in memory; every eighth goes to disk, with those before it."""
    from palaver.db.sqlite.engine import SqliteDatabase

    insert = SqliteDatabase.insert
    held: list[tuple[Any, Any]] = []

    def later(self: SqliteDatabase, query: Any, params: Any) -> int:
        held.append((query, params))
        if len(held) == 8:
            for one in held:
                insert(self, *one)
            held.clear()
        return 1

    SqliteDatabase.insert = later  # type: ignore[method-assign]


@planted
def assistant_row_is_made_at_begin() -> None:
    """The assistant's row is there before anything was said."""
    from palaver.core.turn import open_turn, response

    begin = open_turn.begin

    def eager(tx: Any, head: Any, *given: Any, **named: Any) -> Any:
        turn = begin(tx, head, *given, **named)
        response.open_response(tx, turn)
        return turn

    open_turn.begin = eager  # type: ignore[assignment]


@planted
def every_update_makes_a_row() -> None:
    """A part that changes gets a new row instead of its own."""
    from palaver.core.turn import open_turn, response
    from palaver.core.turn.message_input import prepare_part

    write = response.write_part

    def insert(tx: Any, turn: Any, index: int) -> str:
        if index < len(turn.part_ids):
            row = prepare_part(turn.fold.part(index))
            open_turn.insert_part(tx, turn.session_id, turn.response_id, index, row, 0)
        return write(tx, turn, index)

    response.write_part = insert  # type: ignore[assignment]


@planted
def leaves_cover_nothing() -> None:
    """The digest of a part does not depend on its bytes."""
    from palaver.core import digests

    leaf = digests.leaf
    digests.leaf = lambda salt, kind, stored: leaf(salt, kind, "")


@planted
def usage_is_kept_until_the_seal() -> None:
    """Tokens reach the session's row when the turn is sealed."""
    from palaver.core.turn import response, seal
    from palaver.model import Usage

    count, freeze = response.count_usage, seal.freeze
    held: dict[str, Any] = {}

    def later(tx: Any, turn: Any, usage: Any, cost: float) -> None:
        held[turn.id] = (usage, cost)
        turn.usage, turn.cost = usage, cost

    def at_the_end(tx: Any, turn: Any, status: str, before: Any = None) -> Any:
        if turn.id in held:
            turn.usage, turn.cost = Usage(), 0.0
            count(tx, turn, *held.pop(turn.id))
        return freeze(tx, turn, status, before)

    response.count_usage, seal.freeze = later, at_the_end


@planted
def updated_at_is_left_alone() -> None:
    """The end of a step does not touch the session's row."""
    from palaver.db.queries import Q, Query

    for name in ("touch_session", "touch_session_model", "add_usage"):
        text = getattr(Q, name).text.replace("max(updated_at, :now)", "min(updated_at, :now)")
        setattr(Q, name, Query(name, text))


@planted
def last_chunk_is_not_folded() -> None:
    """The last chunk of an open turn does not reach its parts."""
    from palaver.core.turn import open_turn

    replay = open_turn.replay

    def short(fold: Any, events: list[Any]) -> int:
        last = max((at for at, event in enumerate(events) if event[1] == "chunk"), default=len(events))
        return replay(fold, events[:last] + events[last + 1 :])

    open_turn.replay = short


@planted
def dead_turns_are_set_aside() -> None:
    """Recovery makes every dead turn a stray."""
    from palaver.core.settle import recovery

    recovery.finish = lambda tx, head, turn_id, status, **_: recovery.abandon(tx, head, turn_id, status)


@planted
def nothing_is_recovered() -> None:
    """What a dead writer left open stays open."""
    from palaver.core.settle import recovery

    recovery.recover = lambda tx, head, is_dead: head


@planted
def open_tools_stay_open() -> None:
    """A seal leaves tool calls as they are."""
    from palaver.core.turn import seal

    seal.close_parts = lambda turn, status: None


@planted
def dead_turns_are_called_complete() -> None:
    """Recovery seals a cut-off turn as completed, its tool calls as they are."""
    from palaver.core.settle import recovery
    from palaver.core.turn import seal

    finish = recovery.finish
    recovery.finish = lambda tx, head, turn_id, status, **said: finish(tx, head, turn_id, "completed", **said)
    seal.close_parts = lambda turn, status: None


@planted
def living_writers_are_robbed() -> None:
    """Recovery takes turns from writers that live."""
    from palaver.db.sqlite import owner_files

    owner_files.look = lambda folder, owner: owner_files.FREE


@planted
def readers_trust_the_part_row() -> None:
    """A reader shows the part rows of an open turn, which may lag."""
    from palaver.core.read import transcript

    transcript._fold_into = lambda *_: None  # type: ignore[assignment]


@planted
def nothing_is_hidden() -> None:
    """Rows that left the path are not marked for other readers."""
    from palaver.core import metadata

    metadata.hide = lambda text, at: text


@planted
def prompt_digest_covers_half() -> None:
    """A prompt is named by its first words only."""
    from hashlib import sha256

    from palaver.core.turn import options

    options.sha256 = lambda body: sha256(body[:40])
