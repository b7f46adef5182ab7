"""One file, several processes and threads: locks, holders, forks."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import palaver

from ..tools.puppet import Script, elsewhere, in_a_fork
from ..tools.waiting import in_threads

HOLD = """
import palaver
store = palaver.open(sys.argv[1])
with store.db.write() as tx:
    tx.generation()
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_that_is_not_given_back_in_time_says_who_holds_it(path: str) -> None:
    palaver.open(path).close()
    with Script(HOLD, path) as holder:
        assert holder.hear() == "held"
        with palaver.open(path, timeout=0.2) as store:
            with pytest.raises(palaver.StoreBusy) as caught:
                store.sessions.create(agent="a")
            assert caught.value.holder == f"process {holder.pid}"
            assert store.sessions.list().sessions == []  # readers do not wait
        holder.finish()
    with palaver.open(path, timeout=5) as store:
        store.sessions.create(agent="a")


def test_after_a_wait_that_ended_too_early_the_lock_is_free_again(path: str) -> None:
    with palaver.open(path) as store, palaver.open(path, timeout=0.1) as hasty:
        with store.db.write() as tx:
            tx.generation()
            with pytest.raises(palaver.StoreBusy):
                hasty.sessions.create(agent="a")
        for _ in range(20):
            store.sessions.create(agent="a")


def test_threads_share_a_store(store: palaver.Store) -> None:
    session = store.sessions.create(agent="a")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for place in range(20):
                session.commit(f"{number} {place}")
                session.messages()
        except BaseException as error:
            failures.append(error)

    in_threads(work, range(6))
    assert failures == []
    texts = [m["parts"][0]["text"] for m in session.messages()]
    assert len(texts) == 120
    for number in range(6):
        assert [t for t in texts if t.startswith(f"{number} ")] == [f"{number} {p}" for p in range(20)]


def test_a_store_used_after_fork_says_so_and_the_parent_goes_on(store: palaver.Store) -> None:
    session = store.sessions.create(agent="a")
    session.commit("before")

    def read() -> str:
        with pytest.raises(palaver.StoreClosed):
            session.messages()
        return "refused"

    assert in_a_fork(read) == "refused"
    session.commit("after")
    assert len(session.messages()) == 2


def test_a_closed_store_says_so(path: str) -> None:
    store = palaver.open(path)
    session = store.sessions.create(agent="a")
    store.close()
    store.close()
    with pytest.raises(palaver.StoreClosed, match="closed"):
        session.messages()
    with pytest.raises(palaver.StoreClosed, match="closed"):
        session.commit("x")


def test_closing_the_store_seals_what_is_open_as_aborted(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create(agent="a")
        turn = session.turn("Hello?")
        turn.write({"type": "text-start", "id": "t"})
        turn.write({"type": "text-delta", "id": "t", "delta": "Hel"})
    with palaver.open(path) as store:
        again = store.sessions.get(session.id)
        assert [t.status for t in again.path()] == ["aborted"]
        assert again.messages()[1]["parts"] == [{"type": "text", "text": "Hel", "state": "done"}]
    assert list(Path(path + "-owners").iterdir()) == []


SIXTEEN = """
import sys, palaver
with palaver.open(sys.argv[1]) as store:
    store.sessions.create(agent="a").commit("x")
"""


@pytest.mark.long
def test_sixteen_processes_open_a_fresh_path_at_once(path: str) -> None:
    runs = [
        subprocess.Popen([sys.executable, "-c", SIXTEEN, path], stderr=subprocess.PIPE, text=True) for _ in range(16)
    ]
    errors = [run.communicate(timeout=120)[1] for run in runs]
    assert [e for e in errors if e] == []
    with palaver.open(path) as store:
        assert len(store.sessions.list().sessions) == 16
        assert store.verify() == []


def test_nothing_of_a_killed_writer_stays_behind(path: str) -> None:
    elsewhere(
        "import palaver; palaver.open(sys.argv[1]).sessions.create(agent='a').turn('x'); os._exit(9)", path, status=9
    )
    assert len(list(Path(path + "-owners").iterdir())) == 1
    with palaver.open(path) as store:
        assert list(Path(path + "-owners").iterdir()) == []
        assert list(store.db.query("SELECT * FROM owners")[1]) == []


def test_turns_left_open_end_in_the_order_they_began_even_if_one_was_resumed(path: str) -> None:
    with palaver.open(path) as first:
        session = first.sessions.create("coder")
        early = session.turn("early")
        with palaver.open(path) as store:
            late = store.sessions.get(session.id).turn("late")
            early.wait()
            store.sessions.get(session.id).resume(early.id)
        assert [turn.id for turn in session.path() + session.strays()] == [early.id, late.id]


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("link", ["linked.db", "folder/talks.db"])
def test_opened_by_a_link_it_is_the_same_store_and_a_turn_that_streams_is_left_alone(link: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked.db").symlink_to(tmp_path / "real" / "talks.db")
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    with palaver.open(tmp_path / "real" / "talks.db") as store:
        turn = store.sessions.create("a").turn("hi")
        turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}])
        with palaver.open(tmp_path / link) as other:
            assert other.path == store.path
            assert [info.status for info in other.sessions.get(turn.session_id).tree()] == ["streaming"]
            turn.write({"type": "text-delta", "id": "t", "delta": "still mine"})
        turn.seal()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "linked.db", "real"]


def test_a_link_to_nowhere_makes_the_store_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "linked.db").symlink_to(tmp_path / "talks.db")
    with palaver.open(tmp_path / "linked.db") as store:
        store.sessions.create("a")
    assert (tmp_path / "talks.db").is_file() and (tmp_path / "linked.db").is_symlink()


def test_a_program_that_goes_to_another_folder_keeps_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with palaver.open("talks.db") as store:
        session = store.sessions.create("a")
        monkeypatch.chdir(tmp_path / "elsewhere")
        time.sleep(0.01)
        session.commit("hi")
        assert len(session.messages()) == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_others_that_come_and_go_take_nothing_away(path: str) -> None:
    """Whoever closes a store last removes its log: not while somebody has it open, even if he never used it."""
    with palaver.open(path) as store:
        store.sessions.create("a").commit("hi")
        idle, reader = palaver.open(path), palaver.open(path)
        assert [info.messages for info in reader.sessions.list().sessions] == [1]
    reader.close()
    time.sleep(0.01)
    idle.sessions.create("b")
    idle.close()
    with palaver.open(path) as store:
        assert len(store.sessions.list().sessions) == 2


def test_a_new_store_that_only_refused_something_is_closed_without_a_complaint(path: str) -> None:
    store = palaver.open(path)
    with pytest.raises(palaver.BadValue):
        store.sessions.create("a", model=17)
    store.close()


def test_a_copy_without_the_owners_of_a_store_that_this_process_lost_is_recovered_at_once(
    path: str, tmp_path: Path
) -> None:
    store = palaver.open(path)
    turn = store.sessions.create("a").turn("x")
    (tmp_path / "copy").mkdir()
    for end in ("", "-wal"):
        shutil.copy(path + end, tmp_path / "copy")
    with palaver.open(tmp_path / "copy" / "talks.db") as copy:  # it lives, as far as anybody can tell
        assert [info.status for info in copy.sessions.get(turn.session_id).tree()] == ["streaming"]
    store.close()
    with palaver.open(tmp_path / "copy" / "talks.db") as copy:
        assert [info.status for info in copy.sessions.get(turn.session_id).tree()] == ["aborted"]
