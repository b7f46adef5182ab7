"""`palaver rm --older-than`: what nobody has talked in for long is listed, and deleted only by --yes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import palaver
from palaver import Session, Store
from tests.tools import chunks

from .run import Cli
from .terminal import Terminal

NOW = 1_800_000_000_000
SECOND, DAY = 1_000, 86_400_000
Turn = Callable[[int], None]


@pytest.fixture
def turn_to(monkeypatch: pytest.MonkeyPatch) -> Turn:
    """The clock stands still, where it was turned to."""
    at = [NOW]
    monkeypatch.setattr("palaver.base.clock._now_ns", lambda: at[0] * 1_000_000)

    def turn(when: int) -> None:
        at[0] = when

    return turn


@pytest.fixture
def old(tmp_path: Path, turn_to: Turn) -> Cli:
    """Sessions of many ages, some of them ended, one of Slack, one archived."""
    with palaver.open(tmp_path / "talks.db") as store:
        for title, ago in (("older", 90 * DAY + 1), ("exact", 90 * DAY), ("younger", 90 * DAY - 1)):
            turn_to(NOW - 200 * DAY)
            session = store.sessions.create("coder", title=title)
            turn_to(NOW - ago)
            session.commit("Hello?")
            session.end()
        turn_to(NOW - 100 * DAY)
        store.sessions.create("coder", title="bare", source="slack").end()
        store.sessions.create("coder", title="not over", source="slack").commit("Hello?")
        shelved = store.sessions.create("coder", title="shelved")
        shelved.commit("Hello?")
        shelved.end()
        turn_to(NOW)
        shelved.archive()
        store.sessions.create("coder", title="new").end()
    return Cli(tmp_path, tmp_path / "talks.db")


def titles(cli: Cli) -> set[str]:
    return {one["title"] for one in cli.json("ls", "--all")["sessions"]}


ALL = {"older", "exact", "younger", "bare", "not over", "shelved", "new"}


def would(cli: Cli, *words: str) -> set[str]:
    """What would be deleted; nothing is."""
    found = {one["title"] for one in cli.json("rm", *words)["sessions"]}
    assert titles(cli) == ALL
    return found


def test_only_what_is_older_is_meant_and_the_very_day_is_not(old: Cli) -> None:
    assert would(old, "--older-than", "90d") == {"older", "bare", "not over"}
    assert would(old, "--older-than", "90d", "--ended") == {"older", "bare"}
    assert would(old, "--older-than", "90d", "--ended", "--source", "slack") == {"bare"}
    assert would(old, "--older-than", "90d", "--source", "api") == set()
    assert would(old, "--older-than", "90d", "--all") == {"older", "bare", "not over", "shelved"}
    assert would(old, "--older-than", "14w") == {"bare", "not over"}
    assert would(old, "--older-than", "999999w") == set()


@pytest.mark.parametrize(("age", "ago"), [("7s", 7), ("7m", 420), ("7h", 25_200), ("7d", 604_800), ("7w", 4_233_600)])
def test_an_age_is_in_seconds_minutes_hours_days_or_weeks(tmp_path: Path, turn_to: Turn, age: str, ago: int) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        for title, more in (("older", 1), ("exact", 0)):
            turn_to(NOW - ago * SECOND - more)
            store.sessions.create("coder", title=title)
    turn_to(NOW)
    listed = Cli(tmp_path, tmp_path / "talks.db").json("rm", "--older-than", age)["sessions"]
    assert [one["title"] for one in listed] == ["older"]


def test_without_yes_they_are_listed_with_their_last_word_and_nothing_is_deleted(old: Cli) -> None:
    before = (old.home / "talks.db").read_bytes()
    done = old("rm", "--older-than", "90d", "--ended", TZ="UTC")
    bare, older = done.out.splitlines()
    assert re.fullmatch(r"ses_\w{26} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d bare", bare)
    assert re.fullmatch(r"ses_\w{26} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d older", older)
    assert done.err == "palaver: note: nothing was deleted; --yes deletes these 2\n"
    assert (done.code, (old.home / "talks.db").read_bytes()) == (0, before)
    none = old("rm", "--older-than", "1000d")
    assert (none.code, none.out) == (0, "") and "no such session is that old" in none.err


def test_with_yes_they_are_deleted_and_counted_and_come_back(old: Cli) -> None:
    assert old.ok("rm", "--older-than", "90d", "--ended", "--yes") == "deleted 2 sessions\n"
    assert titles(old) == ALL - {"older", "bare"}
    assert old.ok("rm", "--older-than", "90d", "--ended", "--yes") == "deleted 0 sessions\n"
    old.ok("rm", "--undo", "older")
    assert titles(old) == ALL - {"bare"}
    gone = old.json("rm", "--older-than", "90d", "--yes")["sessions"]
    assert [one["title"] for one in gone] == ["not over", "older"] and all(one["deleted_at"] for one in gone)


def test_it_takes_more_than_a_page(tmp_path: Path, turn_to: Turn) -> None:
    turn_to(NOW - 2 * DAY)
    with palaver.open(tmp_path / "talks.db", durability="normal") as store:
        for _ in range(120):
            store.sessions.create("coder")
        turn_to(NOW)
        store.sessions.create("coder", title="new")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    assert len(cli.ok("rm", "--older-than", "1d").splitlines()) == 120
    assert cli.ok("rm", "--older-than", "1d", "--yes") == "deleted 120 sessions\n"
    assert titles(cli) == {"new"}


def test_who_talks_is_left_alone(tmp_path: Path, turn_to: Turn) -> None:
    turn_to(NOW - 2 * DAY)
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create("coder", title="long work")
        turn = session.turn("Go on.")
        turn.write(chunks.text("Well")[0])
        turn_to(NOW)
        done = Cli(tmp_path, tmp_path / "talks.db")("rm", "--older-than", "1d", "--yes")
        assert (done.code, done.out) == (0, "deleted 0 sessions\n")
        assert f"{session.id[-6:]} is being written; it is left alone" in done.err
        assert session.info.deleted_at is None


def test_forks_keep_what_they_share(tmp_path: Path, turn_to: Turn) -> None:
    turn_to(NOW - 2 * DAY)
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create("coder", title="old")
        session.commit("Hello?")
        turn_to(NOW)
        session.fork(title="new")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    assert cli.ok("rm", "--older-than", "1d", "--yes") == "deleted 1 session\n"
    assert titles(cli) == {"new"} and "Hello?" in cli.ok("show", "new") and cli.ok("verify") == "everything fits\n"


def test_on_a_terminal_it_is_not_asked_but_said_how(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = _long_ago(store)
    cli = Cli(tmp_path, tmp_path / "talks.db", NO_COLOR="1")
    with Terminal(cli.env, "rm", "--older-than", "90d") as terminal:
        code, seen = terminal.end()
    assert code == 0 and "--yes deletes it" in seen and f"{session.id[-6:]} " in seen and session.id not in seen
    assert cli.ok("rm", "--list") == ""


def _long_ago(store: Store) -> Session:
    turn = palaver.GraftTurn(
        [palaver.GraftItem(b"1", "1")], [{"role": "user", "content": "Hi", "created_at": NOW // 2}]
    )
    [done] = store.graft([palaver.GraftSession("elsewhere", "s", [turn], created_at=NOW // 2)]).sessions
    return store.sessions.get(str(done.session_id))


def test_what_was_brought_in_is_as_old_as_its_last_word(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = _long_ago(store)
    [listed] = Cli(tmp_path, tmp_path / "talks.db").json("rm", "--older-than", "90d")["sessions"]
    assert (listed["id"], listed["last_message_at"]) == (session.id, NOW // 2)
