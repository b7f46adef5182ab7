"""`palaver copy`: another store with the same sessions, whatever happens on the way; and it says so if they are not."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import CopyReport, Session, copying, exports

from . import talks
from .puppet import Puppet
from .run import COMMAND, Cli
from .terminal import Terminal

# Copies, and is killed: before or after the commit of the nth session that goes in.
DYING = """
import os, signal, sys
import palaver
from palaver.exports import reader

source, target, space, when, nth = sys.argv[1], sys.argv[2], sys.argv[3] or None, sys.argv[4], int(sys.argv[5])
calls, take_entries, settle = 0, reader.take_entries, reader._Import._settle

def dying(tx, *rest, **more):
    global calls
    done = take_entries(tx, *rest, **more)
    calls += 1
    if calls == nth and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    return done

def settled(self, arrival):
    settle(self, arrival)
    if calls == nth and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)

reader.take_entries, reader._Import._settle = dying, settled
palaver.copy(palaver.open(source), palaver.open(target, space))
"""


def die(source: Path | str, target: Path | str, space: str, when: str, nth: int) -> None:
    arguments = [str(source), str(target), space, when, str(nth)]
    run = subprocess.run([sys.executable, "-c", DYING, *arguments], capture_output=True, text=True, timeout=60)
    assert run.returncode == -signal.SIGKILL, run.stderr


def export(store: palaver.Store, folder: Path, name: str = "export.jsonl") -> bytes:
    with (folder / name).open("wb") as out:
        exports.write(store.db, out)
    return (folder / name).read_bytes()


def several(path: Path | str, number: int = 6) -> list[str]:
    """Sessions, each a fork of the one before."""
    with palaver.open(path) as store:
        session = store.sessions.create("coder", title="0")
        talks.talk(session, "Question 0", "Answer 0.")
        made = [session]
        for place in range(1, number):
            made.append(made[-1].fork(title=str(place)))
            talks.talk(made[-1], f"Question {place}", f"Answer {place}.")
        return [one.id for one in made]


# ---------------------------------------------------------------- the command


def test_a_copy_is_the_same_to_the_byte_and_a_second_one_changes_nothing(cli: Cli) -> None:
    assert cli.ok("copy", "talks.db", "new/other.db") == "copied 2 sessions; 2 compared, all the same\n"
    again = cli.json("copy", "talks.db", "new/other.db")
    assert (again["copied"], again["already_there"], again["problems"]) == (0, 2, [])
    cli.ok("export", "-o", "one.jsonl")
    cli.ok("export", "-s", "new/other.db", "-o", "two.jsonl")
    assert (cli.home / "one.jsonl").read_bytes() == (cli.home / "two.jsonl").read_bytes()


def test_named_sessions_bring_what_they_stand_on(cli: Cli) -> None:
    fork = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    assert cli.json("copy", "talks.db", "other.db", fork[-6:])["copied"] == 2  # with what is left of the other
    assert [one["id"] for one in cli.json("ls", "-s", "other.db")["sessions"]] == [fork]
    assert cli.ok("copy", "talks.db", "other.db") == "copied 1 session, 1 already there; 2 compared, all the same\n"
    cli.refused("copy", "talks.db", "third.db", "no such session", code=3)
    assert not (cli.home / "third.db").exists()


def test_a_store_is_not_copied_onto_itself(cli: Cli) -> None:
    (cli.home / "link.db").symlink_to("talks.db")
    for name in ("talks.db", "./talks.db", "link.db"):
        assert "is the store to copy from, too" in cli.refused("copy", "talks.db", name, code=2)


def test_a_source_that_is_not_there_makes_no_target(bare: Cli) -> None:
    assert "there is no store at" in bare.refused("copy", "nowhere.db", "other.db", code=4)
    assert list(bare.home.iterdir()) == []


def test_a_session_that_went_on_is_named_and_stays_as_it_was_copied(cli: Cli) -> None:
    cli.ok("copy", "talks.db", "other.db")
    with palaver.open(cli.home / "talks.db") as store:
        session = store.sessions.find("the-build")
        talks.talk(session, "And now?", "Now it is red.")
    before = cli.json("show", "ticket-7", "-s", "other.db")
    done = cli("copy", "talks.db", "other.db")
    assert done.code == 1 and f"problem: session {session.id}: " in done.err and "differs" in done.err
    assert done.out == "copied 0 sessions, 1 already there, 1 problem\n"
    assert cli.json("show", "ticket-7", "-s", "other.db") == before
    assert cli("copy", "talks.db", "other.db", "--json").json()["problems"][0]["session"] == session.id


def test_a_session_that_is_being_written_is_left_for_later(cli: Cli) -> None:
    session = cli.json("show", "ticket-7")["session"]["id"]
    with Puppet(cli.home / "talks.db", session, cli.env) as puppet:
        puppet.begin("Still there?")
        puppet.say("Yes, ")
        done = cli("copy", "talks.db", "other.db")
        assert done.code == 1 and f"problem: session {session}: it is being written" in done.err
        assert session not in {one["id"] for one in cli.json("ls", "-s", "other.db")["sessions"]}
        puppet.say("I am.")
        puppet.do("seal")
    cli.ok("copy", "talks.db", "other.db")
    assert cli.json("show", "ticket-7", "-s", "other.db") == cli.json("show", "ticket-7")


def test_a_new_store_keeps_as_much_as_the_one_it_came_from(cli: Cli) -> None:
    palaver.open(cli.home / "full.db", events="full").close()
    cli.ok("copy", "full.db", "other.db")
    assert cli.ok("rebuild", "--check", "-s", "other.db") == "every row is as it was written\n"


def test_progress_is_shown_on_a_terminal_only(cli: Cli) -> None:
    store = str(cli.home / "talks.db")
    with Terminal(cli.env, "copy", store, str(cli.home / "one.db")) as terminal:
        code, seen = terminal.end()
    assert code == 0 and re.search(r"\d sessions?, ", seen) and "copied 2 sessions" in seen
    assert cli("copy", store, str(cli.home / "two.db")).err == ""


def test_interrupted_it_ends_at_once_and_goes_on_the_next_time(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    several(tmp_path / "talks.db", 30)
    process = subprocess.Popen(
        [*COMMAND, "copy", "talks.db", "other.db"], env=cli.env, cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    try:
        while process.poll() is None and not (tmp_path / "other.db").exists():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (130, -signal.SIGINT, 0)
    finally:
        process.kill()
        process.wait(60)
    assert "30 compared, all the same" in cli.ok("copy", "talks.db", "other.db")


# ---------------------------------------------------------------- the library


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 3, 6])
def test_killed_anywhere_it_goes_on_where_it_was(tmp_path: Path, when: str, nth: int) -> None:
    several(tmp_path / "talks.db")
    die(tmp_path / "talks.db", tmp_path / "other.db", "", when, nth)
    with palaver.open(tmp_path / "talks.db") as source, palaver.open(tmp_path / "other.db") as target:
        assert target.verify() == []
        there = nth - (when == "before")
        assert palaver.copy(source, target) == CopyReport(6, 6 - there, there, [])
        assert export(source, tmp_path) == export(target, tmp_path)


def test_sessions_are_named_by_themselves_or_their_ids(tmp_path: Path) -> None:
    ids = several(tmp_path / "talks.db", 3)
    seen: list[tuple[int, int]] = []
    with palaver.open(tmp_path / "talks.db") as source, palaver.open(":memory:") as target:
        first = source.sessions.get(ids[0])
        assert isinstance(first, Session)
        report = palaver.copy(source, target, [first, ids[0]], lambda *done: seen.append(done))
        assert report == CopyReport(1, 1, 0, [])
        assert seen and seen[-1][0] == 1
        with pytest.raises(palaver.SessionNotFound):
            palaver.copy(source, target, ["ses_nobody"])
        with pytest.raises(palaver.BadValue, match="copy from, too"):
            palaver.copy(target, target)


def test_archived_and_deleted_sessions_come_along(tmp_path: Path) -> None:
    ids = several(tmp_path / "talks.db", 3)
    with palaver.open(tmp_path / "talks.db") as source, palaver.open(":memory:") as target:
        source.sessions.get(ids[1]).archive()
        source.sessions.get(ids[2]).delete()
        assert palaver.copy(source, target).copied == 3
        assert target.sessions.get(ids[1]).info.archived_at is not None
        with pytest.raises(palaver.SessionNotFound):
            target.sessions.get(ids[2])


def test_a_target_that_fails_ends_the_copy_with_its_own_error(tmp_path: Path) -> None:
    several(tmp_path / "talks.db")
    with palaver.open(tmp_path / "talks.db") as source:
        target = palaver.open(":memory:")
        target.close()
        with pytest.raises(palaver.StoreClosed):
            palaver.copy(source, target)


def test_a_source_that_fails_on_the_way_ends_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several(tmp_path / "talks.db")

    def broken(db: Any, out: Any, sessions: Any = None, **_: Any) -> None:
        out.write(b'{"palaver":"export","version":1,"schema":1}\n{"session":"ses_1"}\n')
        raise palaver.StoreUnavailable("gone")

    monkeypatch.setattr(copying.exports, "write", broken)
    with palaver.open(tmp_path / "talks.db") as source, palaver.open(":memory:") as target:
        with pytest.raises(palaver.StoreUnavailable, match="gone"):
            palaver.copy(source, target)
        assert target.sessions.list().sessions == []


# ---------------------------------------------------------------- planted


def lose(target: palaver.Store, session_id: str) -> None:
    with target.db.write(hard=True) as tx:
        tx.run(copying.Q.drop_head, session=session_id)


def undo(target: palaver.Store, session_id: str) -> None:
    target.sessions.get(session_id).undo()


def go_on(target: palaver.Store, session_id: str) -> None:
    target.sessions.get(session_id).commit(["more"])


@pytest.mark.parametrize(("bug", "what"), [(lose, "revision"), (undo, "digest"), (go_on, "messages")])
def test_a_copy_that_is_not_the_same_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: Any, what: str
) -> None:
    ids = several(tmp_path / "talks.db", 3)
    real = exports.read

    def spoiling(db: Any, *rest: Any, **more: Any) -> exports.Summary:
        summary = real(db, *rest, **more)
        bug(target, ids[2])
        return summary

    monkeypatch.setattr(copying.exports, "read", spoiling)
    with palaver.open(tmp_path / "talks.db") as source, palaver.open(":memory:") as target:
        report = palaver.copy(source, target)
    assert [one.session for one in report.problems] == [ids[2]]
    assert what in report.problems[0].why


def test_a_session_that_does_not_arrive_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = several(tmp_path / "talks.db", 3)
    shutil.copy(tmp_path / "talks.db", tmp_path / "kept.db")
    real = exports.write
    monkeypatch.setattr(copying.exports, "write", lambda db, out, sessions, **_: real(db, out, sessions=[ids[0]]))
    with palaver.open(tmp_path / "talks.db") as source, palaver.open(":memory:") as target:
        report = palaver.copy(source, target)
    assert {one.session: one.why for one in report.problems} == dict.fromkeys(ids[1:], "it did not arrive")
