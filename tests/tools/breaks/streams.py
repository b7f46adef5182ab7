"""What can be broken about saving, following, trimming and shared commits."""

from __future__ import annotations

from itertools import count
from typing import Any

from ..planting import planted


@planted
def held_chunks_are_forgotten_when_a_flush_fails() -> None:
    from palaver.streaming import recorder

    store = recorder.Recorder._store

    def forgetful(self: Any, items: Any, touched: Any) -> None:
        try:
            store(self, items, touched)
        except BaseException:
            self._pending.clear()
            raise

    recorder.Recorder._store = forgetful  # type: ignore[method-assign]


@planted
def an_interrupted_flush_is_written_again() -> None:
    """After a flush that failed, all that was held is held, whatever is in the file."""
    from palaver.streaming import recorder

    refresh = recorder.Recorder.refresh

    def again(self: Any) -> None:
        held, stale = list(self._pending.items), self._is_stale
        refresh(self)
        if stale and len(self._pending) < len(held):
            self._pending.items = held
            self._pending.parts = [self.state.fold.apply(parsed) for parsed, _ in held]

    recorder.Recorder.refresh = again  # type: ignore[method-assign]


@planted
def a_refused_append_leaves_what_came_before_it() -> None:
    from palaver import turn

    append = turn.Turn.append

    def one_by_one(self: Any, given: Any, *, at: int | None = None) -> None:
        for place, chunk in enumerate(given):
            append(self, [chunk], at=None if at is None else at + place)

    turn.Turn.append = one_by_one  # type: ignore[method-assign]


@planted
def held_chunks_are_not_compared() -> None:
    """append(at=…) knows only of what is stored."""
    from palaver.streaming import recorder

    def stored(self: Any, items: Any, at: int) -> int:
        return max(0, min(len(items), self.state.chunks - at))

    recorder.Recorder._stored = stored  # type: ignore[method-assign]


@planted
def close_drops_what_is_held() -> None:
    from palaver import turn

    seal = turn.Turn.seal

    def bare(self: Any, status: str | None = None) -> None:
        if self._recorder._pending:
            self._recorder._pending.clear()
            self._recorder._is_stale = True
        seal(self, status)

    turn.Turn.seal = bare  # type: ignore[method-assign]


@planted
def followers_skip_an_event_now_and_then() -> None:
    from palaver.core.read import events

    since = events.since

    def careless(tx: Any, session_id: str, cursor: int, limit: int) -> Any:
        return [event for event in since(tx, session_id, cursor, limit) if event.seq % 7 or event.kind != "chunk"]

    events.since = careless


@planted
def followers_get_an_event_twice_now_and_then() -> None:
    from palaver.core.read import events

    since, number = events.since, count()

    def forgetful(tx: Any, session_id: str, cursor: int, limit: int) -> Any:
        found = since(tx, session_id, cursor, limit)
        return found + found[-1:] if found and next(number) % 3 == 2 else found

    events.since = forgetful


@planted
def followers_are_not_told_of_what_was_trimmed() -> None:
    from palaver.core.read import events

    events.since = lambda tx, session_id, cursor, limit: events.read(tx, session_id, cursor, limit)


@planted
def open_turns_are_trimmed() -> None:
    from palaver.core.upkeep import trimming
    from palaver.db.queries import Q, Query

    for name, words, others in (
        ("turns_to_trim", "sealed_at <= :before", "coalesce(sealed_at, 0) <= :before"),
        ("set_trimmed", "AND sealed_at IS NOT NULL", ""),
    ):
        text = getattr(Q, name).text
        assert words in text
        setattr(trimming.Q, name, Query(name, text.replace(words, others)))


@planted
def everything_of_a_turn_is_trimmed() -> None:
    from palaver.core.upkeep import trimming
    from palaver.db.queries import Q, Query

    for name, words, others in (
        ("events_between", "SELECT seq, kind,", "SELECT seq, 'chunk',"),
        ("trim_chunks", "kind = 'chunk'", "kind <> 'seal'"),
    ):
        text = getattr(Q, name).text
        assert words in text
        setattr(trimming.Q, name, Query(name, text.replace(words, others)))


@planted
def numbers_are_used_again_after_a_trim() -> None:
    from palaver.core.upkeep import trimming

    trim = trimming._trim

    def restart(tx: Any, turn: Any, room: Any) -> int:
        from palaver.db.queries import Query

        lower = Query("lower", "UPDATE heads SET event_seq = :seq WHERE session_id = :session;")
        count = trim(tx, turn, room)
        tx.defer(lower, seq=turn.begin_seq, session=turn.session_id)
        return count

    trimming._trim = restart


@planted
def a_trim_that_was_cut_off_counts_as_done() -> None:
    """A turn is marked as trimmed with its first slice."""
    from palaver.core.upkeep import trimming
    from palaver.db.queries import Q

    trim = trimming._trim

    def marked(tx: Any, turn: Any, room: Any) -> int:
        tx.defer(Q.set_trimmed, turn=turn.turn_id)
        return trim(tx, turn, room)

    trimming._trim = marked


@planted
def each_slice_begins_again_at_the_beginning() -> None:
    from palaver.core.upkeep import trimming

    trim_some = trimming.trim_some

    def again(tx: Any, turns: Any) -> int:
        for turn in turns:
            turn.gone_to = turn.begin_seq
        return trim_some(tx, turns)

    trimming.trim_some = again


@planted
def a_trim_walks_to_the_end_of_the_session() -> None:
    """As if nothing told where a turn ends."""
    from palaver.core.upkeep import trimming
    from palaver.db.queries import Q, Query

    trimming.Q.line_after = Query("line_after", Q.line_after.text.replace("seq > :after", "seq > :after + 1000000"))
    trimming.SLICE = 1 << 30


@planted
def close_trims_to_the_end() -> None:
    from palaver.core.upkeep import trim_slices

    trim = trim_slices.trim
    trim_slices.trim = lambda db, older_than, seconds=None: trim(db, older_than)


@planted
def members_are_told_before_the_commit() -> None:
    from palaver.db.sqlite.engine import SqliteDatabase

    SqliteDatabase.await_group = lambda self, group: None  # type: ignore[method-assign]


@planted
def a_member_that_fails_takes_the_group_with_it() -> None:
    """And nobody is told."""
    from palaver.db.sqlite.transactions import Write

    def all_of_it(self: Any, error: BaseException) -> None:
        if self._db.in_transaction:
            self._db.roll_back()
            if self._group is not None:
                self._db.cursor.execute("BEGIN IMMEDIATE")

    Write._roll_back = all_of_it  # type: ignore[method-assign]


@planted
def a_member_that_fails_leaves_half_of_its_work() -> None:
    from palaver.db.sqlite.transactions import Write

    def none_of_it(self: Any, error: BaseException) -> None:
        if self._group is not None:
            self._db.roll_back("RELEASE member")
        elif self._db.in_transaction:
            self._db.roll_back()

    Write._roll_back = none_of_it  # type: ignore[method-assign]


@planted
def a_failed_commit_is_not_told() -> None:
    from palaver.db.sqlite.group_commit import Group

    end = Group.end
    Group.end = lambda self, error: end(self, None)  # type: ignore[method-assign]


@planted
def each_follower_has_a_watcher_of_its_own() -> None:
    from palaver.background import watcher

    class Lonely(watcher.News):
        def __init__(self, shared: Any, session_id: str) -> None:
            super().__init__(watcher.Watcher(shared._db), session_id)

    watcher.News = Lonely  # type: ignore[misc]


@planted
def everybody_is_woken_by_everything() -> None:
    from palaver.background.watcher import Watcher

    Watcher._with_news = lambda self, followers: followers  # type: ignore[method-assign]


@planted
def a_follower_that_ends_stays_subscribed() -> None:
    from palaver.background.watcher import Watcher

    Watcher.remove = lambda self, follower: None  # type: ignore[method-assign]


@planted
def a_watch_that_fails_ends_the_watcher() -> None:
    from palaver.background.watcher import Watcher

    def give_up(self: Any, error: Exception) -> None:
        self._ended.set()

    Watcher._put_off = give_up  # type: ignore[method-assign]
