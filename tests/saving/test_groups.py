"""Commits that share an fsync: what a thread is told to be kept is kept, and one that fails takes nobody with it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver.db.queries import Q

from ..tools.chunks import delta
from ..tools.planting import broken_by
from ..tools.sql import one, query
from ..tools.waiting import together
from .disk import Disk
from .puppet import CREW, whole
from .support import NEVER, PATIENCE, START, Chunk, words

pytestmark = pytest.mark.on_disk

THREADS = 16


def texts(path: str) -> Counter[str]:
    """Who said something, and how often: three times for each whole turn."""
    found = query(path, "SELECT data_json ->> 'text' FROM chat_parts WHERE type = 'text'")
    return Counter(text.partition("/")[0] for (text,) in found)


def each(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    return together(*(lambda me=me: work(me) for me in range(threads)))  # type: ignore[misc]


def commit_some(sessions: list[palaver.Session], count: int) -> Callable[[int], list[str]]:
    """A thread that commits so often, each time to another session: those that it was told are kept."""

    def work(me: int) -> list[str]:
        told = []
        for number in range(count):
            sessions[(me + number) % len(sessions)].commit(whole(f"{me}:{number}"))
            told.append(f"{me}:{number}")
        return told

    return work


# ---------------------------------------------------------------- everything is kept


def test_sixteen_threads_share_fsyncs_and_everything_they_were_told_is_kept(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full") as store:
        sessions = [store.sessions.create("a") for _ in range(THREADS)]
        disk.syncs, disk.sync_seconds = 0, 0.003
        told, torn = each(commit_some(sessions, 6)), list[str]()
        for names in told:
            assert isinstance(names, list), names
            torn += [who for who in names if texts(path)[who] != 3]
        assert torn == [] and sum(texts(path).values()) == 3 * 6 * THREADS
        assert 0 < disk.syncs < 6 * THREADS / 2
        assert store.verify() == []


@broken_by("members_are_told_before_the_commit")
def test_a_thread_reads_its_own_commit_as_soon_as_it_is_told(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full") as store:
        sessions = [store.sessions.create("a") for _ in range(8)]
        disk.sync_seconds = 0.003

        def work(me: int) -> list[int]:
            seen = []
            for number in range(5):
                sessions[me].commit(f"{number}")
                seen.append(len(sessions[me].messages()))
            return seen

        assert each(work, 8) == [[1, 2, 3, 4, 5]] * 8


def test_threads_that_stream_and_threads_that_commit_share_the_file(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full", trim_after=NEVER) as store:
        sessions = [store.sessions.create("a") for _ in range(8)]
        disk.sync_seconds = 0.001

        def stream(me: int) -> list[Chunk]:
            with sessions[me].turn("hello") as turn:
                for chunk in [*START, *words(6)]:
                    turn.write(chunk)
            return list(sessions[me].messages()[1]["parts"])

        found = each(lambda me: stream(me) if me % 2 else commit_some([sessions[me]], 6)(me), 8)
        assert found[1::2] == [palaver.fold([*START, *words(6)])["parts"]] * 4
        assert [len(told) for told in found[::2]] == [6] * 4
        assert store.verify() == []


def test_of_threads_that_race_for_one_head_one_wins_each_revision(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full") as store:
        session = store.sessions.create("a")
        disk.sync_seconds = 0.002

        def race(me: int) -> int:
            won = 0
            for _ in range(6):
                try:
                    session.commit(whole(f"{me}:{won}"), expected=session.revision)
                    won += 1
                except palaver.HeadConflict:
                    pass
            return won

        wins = each(race, 8)
        assert sum(wins) == session.revision > 0
        assert texts(path) == {f"{me}:{n}": 3 for me in range(8) for n in range(wins[me])}
        assert store.verify() == []


# ---------------------------------------------------------------- one that fails


def lose_the_race(session: palaver.Session) -> None:
    with pytest.raises(palaver.HeadConflict):
        session.commit(whole("lost"), expected=99)


def name_what_is_not_there(session: palaver.Session) -> None:
    with pytest.raises(palaver.NotFound):
        session.rewind(to="msg_nowhere")


def take_a_name_that_is_taken(session: palaver.Session) -> None:
    with pytest.raises(palaver.AliasTaken):
        session.alias("taken")


def write_to_what_is_archived(session: palaver.Session) -> None:
    with pytest.raises(palaver.SessionArchived):
        session.commit(whole("lost"))


FAILURES = [lose_the_race, name_what_is_not_there, take_a_name_that_is_taken, write_to_what_is_archived]


@broken_by("a_member_that_fails_takes_the_group_with_it", "a_member_that_fails_leaves_half_of_its_work")
def test_a_member_that_fails_takes_back_its_own_work_and_nobody_elses(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full") as store:
        sessions = [store.sessions.create("a") for _ in range(THREADS)]
        sessions[0].alias("taken")
        archived = store.sessions.create("b")
        archived.archive()
        disk.sync_seconds = 0.003

        def work(me: int) -> list[str] | None:
            if me % 2:
                return commit_some(sessions, 6)(me)
            fail = FAILURES[me // 2 % 4]
            for _ in range(8):
                fail(archived if fail is write_to_what_is_archived else sessions[1])
            return None

        assert each(work)[::2] == [None] * (THREADS // 2)
        assert texts(path) == {f"{me}:{n}": 3 for me in range(1, THREADS, 2) for n in range(6)}
        assert store.verify() == []


@broken_by("a_member_that_fails_leaves_half_of_its_work")
def test_a_transaction_that_is_left_by_an_exception_leaves_nothing_in_its_group(disk: Disk, path: str) -> None:
    """The last thing a member does before it fails may be half of its work."""
    with palaver.open(path, durability="full") as store:
        sessions = [store.sessions.create("a") for _ in range(8)]
        disk.sync_seconds = 0.003

        ended: list[int] = []

        def fail(me: int) -> None:
            while len(ended) < 4:
                with pytest.raises(ZeroDivisionError), store.db.write(hard=True) as tx:
                    tx.run(Q.set_title, session=sessions[me].id, title="half")
                    raise ZeroDivisionError

        def succeed(me: int) -> None:
            commit_some(sessions, 30)(me)
            ended.append(me)

        assert each(lambda me: fail(me) if me % 2 else succeed(me), 8) == [None] * 8  # no thread raised anything
        assert query(path, "SELECT title FROM heads WHERE title IS NOT NULL") == []
        assert sum(texts(path).values()) == 3 * 30 * 4


# ---------------------------------------------------------------- a commit that fails


@broken_by("a_failed_commit_is_not_told", "members_are_told_before_the_commit")
def test_a_commit_that_fails_is_told_to_every_member_and_nothing_is_half_there(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full") as store:
        sessions = [store.sessions.create("a") for _ in range(THREADS)]
        disk.sync_seconds = 0.002
        told, refused = list[str](), list[str]()

        def work(me: int) -> None:
            for number in range(12):
                who = f"{me}:{number}"
                disk.full |= number in (3, 7) and me % 4 == 0  # until somebody meets it
                try:
                    sessions[(me + number) % THREADS].commit(whole(who))
                    told.append(who)
                except palaver.StoreFull:
                    refused.append(who)
                    disk.full = False

        assert each(work) == [None] * THREADS
        disk.full = False
        assert len(told) + len(refused) == 12 * THREADS and told and refused
        assert texts(path) == dict.fromkeys(told, 3)
        sessions[0].commit(whole("afterwards"))
        assert texts(path)["afterwards"] == 3 and store.verify() == []


def test_chunks_of_a_group_whose_commit_failed_can_be_written_again(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full", trim_after=NEVER) as store:
        sessions = [store.sessions.create("a") for _ in range(8)]
        turns = [session.turn("hello") for session in sessions]
        disk.sync_seconds = 0.002
        sent = [*START, *words(10)]

        def stream(me: int) -> int:
            failures = 0
            for number, chunk in enumerate(sent):
                disk.full |= number == 5 and me == 0
                while turns[me].chunks == number:
                    try:
                        turns[me].write(chunk)
                    except palaver.StoreFull:
                        failures += 1
                        disk.full = False
            return failures

        assert sum(each(stream, 8)) > 0
        for turn in turns:
            turn.seal()
        assert [session.messages()[1]["parts"] for session in sessions] == [palaver.fold(sent)["parts"]] * 8
        assert store.verify() == []


# ---------------------------------------------------------------- a waiter that gives up


def test_threads_that_give_up_waiting_leave_nothing_uncommitted_or_locked(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full", timeout=0.03) as store:
        sessions = [store.sessions.create("a") for _ in range(THREADS)]
        disk.sync_seconds = 0.02
        told, busy = list[str](), list[str]()

        def work(me: int) -> None:
            for number in range(8):
                try:
                    sessions[me].commit(whole(f"{me}:{number}"))
                    told.append(f"{me}:{number}")
                except palaver.StoreBusy:
                    busy.append(f"{me}:{number}")

        assert each(work) == [None] * THREADS
        assert texts(path) == dict.fromkeys(told, 3)
        disk.sync_seconds = 0.0
        with palaver.open(path, timeout=1) as other:
            other.sessions.get(sessions[0].id).commit(whole("elsewhere"))
        assert texts(path)["elsewhere"] == 3 and len(told) + len(busy) == 8 * THREADS
        assert store.verify() == []


def test_a_store_that_is_closed_under_its_writers_keeps_what_they_were_told(disk: Disk, path: str) -> None:
    store = palaver.open(path, durability="full")
    sessions = [store.sessions.create("a") for _ in range(8)]
    disk.sync_seconds = 0.002
    told, going = list[str](), threading.Semaphore(0)

    def work(me: int) -> None:
        with pytest.raises(palaver.StoreClosed):
            for number in range(100_000):
                sessions[me].commit(whole(f"{me}:{number}"))
                told.append(f"{me}:{number}")
                going.release()

    def close() -> None:
        for _ in range(40):
            assert going.acquire(timeout=PATIENCE)
        store.close()

    assert together(close, *(lambda me=me: work(me) for me in range(8))) == [None] * 9  # type: ignore[misc]
    assert texts(path) == dict.fromkeys(told, 3)
    with palaver.open(path, timeout=1) as store:
        assert store.verify() == []


# ---------------------------------------------------------------- kill -9


@pytest.mark.parametrize("after", [40, 150, pytest.param(3_000, marks=pytest.mark.long)])
@broken_by("members_are_told_before_the_commit")
def test_what_threads_were_told_before_a_kill_is_kept_and_no_turn_is_torn(path: str, after: int) -> None:
    with CREW.start("commit", path=path, threads=THREADS, sessions=4) as writer:
        writer.hear()
        told = [writer.hear() for _ in range(after)]
        told += writer.kill()
    kept = texts(path)
    assert [who for who in told if kept[who] != 3] == []
    assert set(kept.values()) == {3} and len(kept) - len(told) <= THREADS
    with palaver.open(path) as store:
        assert store.verify() == []


# ---------------------------------------------------------------- memory


def test_threads_share_a_store_in_memory() -> None:
    with palaver.open(":memory:", trim_after=0.01) as store:
        sessions = [store.sessions.create("a") for _ in range(8)]

        def work(me: int) -> list[str]:
            for number in range(10):
                sessions[me].commit(whole(f"{me}:{number}"))
                with sessions[me].turn("hello") as turn:
                    turn.append([*START, delta(f"{me}:{number}")])
            return [m["parts"][-1]["text"] for m in sessions[me].messages() if m["role"] == "assistant"]

        found = each(work, 8)
        expected = [[text for n in range(10) for text in (f"{me}:{n}/1", f"{me}:{n}")] for me in range(8)]
        assert found == expected
        assert store.verify() == []


def test_threads_that_race_for_one_head_in_memory_never_share_a_revision() -> None:
    with palaver.open(":memory:") as store:
        session = store.sessions.create("a")

        def race(me: int) -> int:
            won = 0
            for _ in range(20):
                try:
                    session.commit(f"{me}", expected=session.revision)
                    won += 1
                except palaver.HeadConflict:
                    pass
            return won

        assert sum(each(race, 8)) == session.revision == len(session.messages()) > 0


def test_the_lines_of_a_group_are_one_history(disk: Disk, path: str) -> None:
    """Links, numbers and revisions of commits that were made in one transaction follow each other."""
    with palaver.open(path, durability="full") as store:
        session = store.sessions.create("a")
        disk.sync_seconds = 0.003
        each(lambda me: [session.commit(f"{me}:{n}") for n in range(4)], 8)
        assert [line.revision for line in session.history()] == list(range(33))
        assert one(path, "SELECT count(DISTINCT turn_id) FROM reflog WHERE turn_id IS NOT NULL") == 32
        assert len(session.messages()) == 32 and store.verify() == []
