"""Following a session: every event as it comes, in order, once, whoever writes; a reset where some were trimmed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import apsw
import pytest

import palaver

from ..tools.chunks import delta
from ..tools.planting import broken_by
from ..tools.waiting import together, until
from .puppet import CREW
from .support import ENDS, NEVER, PATIENCE, START, STEP_ENDS, Begin, Chunk, text_of, words

QUIET = 0.3  # seconds after which a follower of nothing ends
WHERE = pytest.mark.parametrize("path", ["file", ":memory:"], indirect=True)


@pytest.fixture
def path(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return ":memory:" if getattr(request, "param", "file") == ":memory:" else str(tmp_path / "talks.db")


@pytest.fixture
def store(path: str) -> Iterator[palaver.Store]:
    with palaver.open(path, trim_after=NEVER) as opened:
        yield opened


def plain(events: list[palaver.Event]) -> list[list[Any]]:
    return [[event.seq, event.kind, event.turn, event.data] for event in events]


def chunks_of(events: list[palaver.Event], turn: int | None = None) -> list[Chunk]:
    return [event.data for event in events if event.kind == "chunk" and turn in (None, event.turn)]


def through_the_seal(events: Iterator[palaver.Event], seals: int = 1) -> list[palaver.Event]:
    found = []
    for event in events:
        found.append(event)
        seals -= event.kind in ("seal", "stray")
        if not seals:
            return found
    raise AssertionError(f"no seal came: {[event.kind for event in found]}")


def write(turn: palaver.Turn, chunks: list[Chunk]) -> None:
    for chunk in chunks:
        turn.write(chunk)


def stream(session: palaver.Session, chunks: list[Chunk]) -> None:
    with session.turn("hello") as turn:
        write(turn, chunks)


# ---------------------------------------------------------------- in one process


@WHERE
@broken_by("followers_skip_an_event_now_and_then", "followers_get_an_event_twice_now_and_then")
def test_a_follower_gets_what_another_thread_writes_in_order_and_once(store: palaver.Store) -> None:
    session, sent = store.sessions.create("a"), [*START, *words(300), STEP_ENDS]
    following = session.follow(timeout=PATIENCE)
    writer, found = together(lambda: stream(session, sent), lambda: through_the_seal(following))
    assert writer is None
    assert [event.kind for event in found] == ["begin", *["chunk"] * len(sent), "seal"]
    assert chunks_of(found) == sent
    assert plain(found) == plain(session.events())[1:]  # the first is the session's creation


@WHERE
def test_a_follower_gets_each_chunk_before_the_next_is_written(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    following = session.follow(timeout=PATIENCE)
    turn = session.turn("hello")
    assert next(following).kind == "begin"
    for chunk in [*START, *words(20)]:
        turn.write(chunk)
        assert next(following).data == chunk


@WHERE
@broken_by("followers_skip_an_event_now_and_then", "followers_get_an_event_twice_now_and_then")
def test_a_follower_of_two_turns_at_once_gets_both_whole(store: palaver.Store) -> None:
    session, sent = store.sessions.create("a"), [*START, *words(100)]
    turns = [session.turn(f"question {n}") for n in range(2)]
    follower = session.follow(after=0, timeout=PATIENCE)

    def write_both() -> None:
        assert together(*(lambda turn=turn: write(turn, sent) for turn in turns)) == [None, None]  # type: ignore[misc]
        turns[0].seal()
        with pytest.raises(palaver.HeadConflict):
            turns[1].seal()

    written, found = together(write_both, lambda: through_the_seal(follower, seals=2))
    assert written is None
    assert plain(found) == plain(session.events())
    begun = [event.seq for event in found if event.kind == "begin"]
    assert [chunks_of(found, seq) for seq in begun] == [sent, sent]


@WHERE
def test_a_follower_from_now_on_gets_nothing_of_before(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    stream(session, START)
    following = session.follow(timeout=PATIENCE)
    stream(session, [*START, delta("new")])
    assert chunks_of(through_the_seal(following)) == [*START, delta("new")]


@WHERE
def test_a_follower_from_a_cursor_gets_what_came_after_it(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    stream(session, [*START, *words(3)])
    known = session.events()
    for place, event in enumerate(known):
        assert plain(list(session.follow(after=event.seq, timeout=0))) == plain(known[place + 1 :])


def test_more_events_than_one_read_gives_all_come(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    turn = session.turn("hello")
    turn.append([*START, *words(3_500)])
    found = list(session.follow(after=0, timeout=0))
    assert len(found) == 3_504 and chunks_of(found) == [*START, *words(3_500)]
    assert [event.seq for event in found] == list(range(1, 3_505))


@WHERE
def test_a_follower_that_nothing_comes_for_ends(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    assert list(session.follow(timeout=QUIET)) == []
    assert list(session.follow(after=0, timeout=QUIET)) == session.events()


@WHERE
def test_a_follower_that_waits_hardly_reads(store: palaver.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    session, reads, read = store.sessions.create("a"), [0], type(store.db).read

    def counted(db: Any) -> Any:
        reads[0] += 1
        return read(db)

    monkeypatch.setattr(type(store.db), "read", counted)
    assert list(session.follow(timeout=QUIET)) == []
    assert reads[0] < 20


def test_what_a_policy_holds_back_comes_with_its_flush(begin: Begin) -> None:
    session, turn = begin("step")
    following = session.follow(timeout=PATIENCE)
    turn.append([*START, delta("held")])
    assert list(session.follow(timeout=0)) == []
    turn.append([STEP_ENDS])
    assert [next(following).data for _ in range(4)] == [*START, delta("held"), STEP_ENDS]


# ---------------------------------------------------------------- sessions and stores that go, or come


@WHERE
def test_a_session_that_is_deleted_tells_its_followers(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    following = session.follow(timeout=QUIET)
    session.delete()
    assert [event.kind for event in following] == ["delete"]


@WHERE
def test_closing_the_store_ends_its_followers(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    stream(session, START)
    following, heard = session.follow(after=0), threading.Event()

    def listen() -> list[str]:
        kinds = []
        with pytest.raises(palaver.StoreClosed):
            for event in following:
                kinds.append(event.kind)
                heard.set()
        return kinds

    def close() -> None:
        assert heard.wait(PATIENCE)
        store.close()

    assert together(listen, close) == [["create", "begin", "chunk", "chunk", "seal"], None]
    with pytest.raises(palaver.StoreClosed):
        session.follow()


def test_a_session_that_another_program_made_can_be_followed_before_it_has_a_head(
    store: palaver.Store, path: str
) -> None:
    row = "INSERT INTO chat_sessions (id, agent, model_json, created_at, updated_at) VALUES ('theirs', 'x', '{}', 1, 1)"
    with closing(apsw.Connection(path)) as other:
        other.set_busy_timeout(10_000)
        other.execute(row)
    session = store.sessions.get("theirs")
    assert list(session.follow(timeout=0)) == []
    following = session.follow(timeout=PATIENCE)
    stream(session, START)
    found = through_the_seal(following)
    assert [event.kind for event in found] == ["create", "begin", "chunk", "chunk", "seal"]


# ---------------------------------------------------------------- between processes


@broken_by("followers_skip_an_event_now_and_then", "followers_get_an_event_twice_now_and_then")
def test_a_follower_gets_what_another_process_writes_chunk_by_chunk(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    following = session.follow(timeout=PATIENCE)
    with CREW.start("act", path=path) as writer:
        turn = writer("begin", session.id, "question")
        assert next(following).kind == "begin"
        for chunk in [*START, *words(40), STEP_ENDS, ENDS]:
            writer("call", turn, "write", chunk)
            assert next(following).data == chunk
        writer("call", turn, "seal")
        assert next(following).kind == "seal"


@broken_by("followers_skip_an_event_now_and_then", "followers_get_an_event_twice_now_and_then")
def test_another_process_follows_two_turns_without_a_gap_or_a_double(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    with CREW.start("follow", path=path, session=session.id, after=0) as follower:
        assert follower.hear() == "following"
        turns = [session.turn(f"question {n}") for n in range(2)]
        sent = [*START, *words(200)]
        assert together(*(lambda turn=turn: write(turn, sent) for turn in turns)) == [None, None]  # type: ignore[misc]
        turns[1].seal()
        expected = plain(session.events())
        assert [follower.hear() for _ in expected] == expected
        assert follower.kill() == []
    assert sum(kind == "chunk" for _, kind, _, _ in expected) == 2 * len(sent)


def test_a_follower_sees_the_turn_of_a_killed_writer_end(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    following = session.follow(timeout=PATIENCE)
    with CREW.start("act", path=path) as writer:
        turn = writer("begin", session.id, "question")
        writer("call", turn, "append", [*START, delta("half")])
        writer.kill()
    store.recover()
    assert [next(following).kind for _ in range(5)] == ["begin", "chunk", "chunk", "chunk", "recover"]


# ---------------------------------------------------------------- what was trimmed


@WHERE
@broken_by("followers_are_not_told_of_what_was_trimmed")
def test_a_cursor_of_before_a_trim_gets_one_reset_and_then_what_follows(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    stream(session, [*START, *words(5)])
    seal = session.events()[-1].seq
    store.trim(older_than=0)
    following = session.follow(after=4, timeout=PATIENCE)
    reset = next(following)
    assert (reset.seq, reset.kind, reset.turn) == (seal, "reset", None)
    stream(session, [*START, delta("new")])
    found = through_the_seal(following)
    assert [event.kind for event in found] == ["begin", "chunk", "chunk", "chunk", "seal"]
    assert plain(list(session.follow(after=reset.seq, timeout=0))) == plain(found)


@WHERE
def test_a_cursor_at_or_behind_what_was_trimmed_gets_no_reset(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    stream(session, [*START, *words(5)])
    last_chunk, seal = (event.seq for event in session.events()[-2:])
    store.trim(older_than=0)
    assert [event.kind for event in session.follow(after=last_chunk, timeout=0)] == ["seal"]
    assert list(session.follow(after=seal, timeout=0)) == []
    assert [event.kind for event in session.follow(after=last_chunk - 1, timeout=0)] == ["reset"]


def test_a_follower_that_is_overtaken_by_a_trim_is_reset_in_the_middle(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    following = session.follow(timeout=QUIET)
    stream(session, [*START, *words(2_500)])  # more than is read at once
    assert next(following).kind == "begin"
    store.trim(older_than=0)
    rest = list(following)
    kinds = [event.kind for event in rest]
    assert kinds.count("reset") == 1 and kinds[-1] == "reset"
    assert rest[-1].seq == session.snapshot()[1]


@pytest.mark.parametrize("place", [0, 3, 60])
@broken_by("followers_skip_an_event_now_and_then")
def test_a_snapshot_and_what_follows_it_are_the_whole_state(store: palaver.Store, place: int) -> None:
    """A client that reads once and then only listens knows what the session says."""
    session = store.sessions.create("a")
    stream(session, [*START, delta("earlier")])
    store.trim(older_than=0)
    sent, turn = [*START, *words(60)], session.turn("hello")
    turn.append(sent[:place])
    messages, cursor = session.snapshot()
    turn.append(sent[place:])
    turn.seal()
    heard = list(session.follow(after=cursor, timeout=0))
    seen: list[Chunk] = sent[:place]
    assert (len(messages) == 4) == (place > 0)
    assert palaver.fold([*seen, *chunks_of(heard)])["parts"] == session.messages()[3]["parts"]
    assert heard[-1].kind == "seal"


def test_after_a_reset_snapshot_and_follow_give_everything(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    stream(session, [*START, delta("trimmed")])
    store.trim(older_than=0)
    turn = session.turn("hello")
    turn.append(START)
    (reset,) = session.follow(after=1, timeout=0)
    messages, cursor = session.snapshot()
    assert (reset.kind, reset.seq) == ("reset", cursor)
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    turn.append([delta("all")])
    turn.seal()
    assert chunks_of(list(session.follow(after=reset.seq, timeout=0))) == [delta("all")]
    assert text_of(session) == "trimmedall"


def test_a_follower_in_another_process_is_reset_when_maintenance_trims(path: str) -> None:
    with palaver.open(path, trim_after=0.02) as store:
        session = store.sessions.create("a")
        stream(session, [*START, *words(5)])
        until(lambda: not chunks_of(session.events()), "the chunks are trimmed")
        with CREW.start("follow", path=path, session=session.id, after=2) as follower:
            assert follower.hear() == "following"
            assert follower.hear()[1] == "reset"
            session.title = "news"
            assert follower.hear()[1] == "title"
            assert follower.kill() == []
