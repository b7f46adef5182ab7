"""`palaver stop`, `end` and `reopen`, and the facts of a session, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver

from .run import Cli


def test_a_turn_is_stopped_whoever_writes_it(cli: Cli) -> None:
    with palaver.open(cli.home / "talks.db") as store:
        turn = store.sessions.get("ticket-7").turn("Go on for ever.")
        turn.text("One, two")
        assert cli.json("stop", "ticket-7", "--reason", "enough")["stopped"] == [turn.id]
        with pytest.raises(palaver.TurnStopped, match="enough"):
            turn.text(", three")
            turn.seal()
    assert "One, two\n--- aborted: enough\n" in cli.ok("show", "ticket-7")
    assert "is being written or waits" in cli.refused("stop", "ticket-7", code=5)


def test_one_turn_is_stopped_by_a_piece_of_its_id(cli: Cli) -> None:
    with palaver.open(cli.home / "talks.db") as store:
        session = store.sessions.get("ticket-7")
        one, other = session.turn("One."), session.turn("Two.")
        assert one.id[-6:] in cli.ok("stop", "ticket-7", "--turn", one.id[-6:])
        assert [turn.id for turn in session.live()] == [other.id]
        session.stop(other.id)


def test_a_session_is_ended_and_reopened(cli: Cli) -> None:
    assert cli.json("end", "ticket-7", "closed")["session"]["end_reason"] == "closed"
    assert "ended: closed" in cli.ok("show", "ticket-7")
    assert cli.json("reopen", "ticket-7")["session"]["ended_at"] is None
    assert "was not ended" in cli("reopen", "ticket-7").err


@pytest.fixture
def shop(tmp_path: Path) -> Cli:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create(title="A", project="shop", user="ann", facts={"team": "checkout"})
        store.sessions.create(title="B", project="shop", user="bob")
        store.sessions.create(title="C", project="blog")
    return Cli(tmp_path, tmp_path / "talks.db")


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        (("--project", "shop"), {"A", "B"}),
        (("--project", "shop", "--user", "ann"), {"A"}),
        (("--fact", "team=checkout"), {"A"}),
        (("--fact", "project=shop", "--fact", "user=bob"), {"B"}),
        (("--source", "slack"), set()),
    ],
)
def test_sessions_are_listed_by_their_facts(shop: Cli, words: tuple[str, ...], titles: set[str]) -> None:
    assert {one["title"] for one in shop.json("ls", *words)["sessions"]} == titles


def test_facts_are_told(shop: Cli) -> None:
    facts = {"project": "shop", "team": "checkout", "user": "ann"}
    assert shop.json("show", "A")["session"]["facts"] == facts
    assert {one["title"]: one["facts"] for one in shop.json("ls")["sessions"]}["A"] == facts
    assert "\nproject=shop, team=checkout, user=ann\n" in shop.ok("show", "A", "--detail")
    assert "project=shop" not in shop.ok("show", "A")


def test_half_a_fact_is_refused(shop: Cli) -> None:
    for fact in ("team", "team=", "=checkout"):
        assert "name=value" in shop.refused("ls", "--fact", fact, code=2)
    assert "has one project" in shop.refused("ls", "--project", "shop", "--fact", "project=blog", code=2)
