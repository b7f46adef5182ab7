"""`palaver queue`: what waits in a session, sending a message, and taking one back."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver

from . import talks
from .run import Cli


def ids(cli: Cli, name: str = "ticket-7") -> list[str]:
    return [one["id"] for one in cli.json("queue", name)["queue"]]


def test_nothing_waits_at_first(cli: Cli) -> None:
    assert cli.ok("queue", "ticket-7") == "nothing waits\n"
    assert cli.json("queue", "ticket-7") == {"queue": []}


def test_a_message_is_sent_and_waits(cli: Cli) -> None:
    out = cli.ok("queue", "ticket-7", "And then run the tests.", "--id", "msg-7")
    first, count = out.splitlines()
    assert first.startswith("msg-7") and first.endswith("And then run the tests.")
    assert count == "1 message waiting"
    assert "And then run the tests." not in cli.ok("show", "ticket-7")
    assert cli.ok("verify").strip() != ""


def test_json_has_what_the_reference_says(cli: Cli) -> None:
    cli.ok("queue", "ticket-7", "one", "--id", "m1")
    one, two = cli.json("queue", "ticket-7", "two")["queue"]
    assert set(one) == {"id", "turn_id", "queued_at", "message"} == set(two)
    assert one["id"] == "m1" and one["turn_id"].startswith("trn_")
    assert one["message"] == {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "one"}]}
    assert two["message"]["parts"][0]["text"] == "two" and two["message"]["id"] == two["id"]
    assert one["queued_at"] < two["queued_at"]


def test_first_come_first_and_the_agent_finds_them_so(cli: Cli, tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        cli.ok("queue", "ticket-7", text, "--id", text)
    assert ids(cli) == ["one", "two", "three"]
    with palaver.open(tmp_path / "talks.db") as store:
        turn = store.sessions.get("ticket-7").claim()
        assert turn is not None
        with turn:
            talks.stream(turn, "Done one.")
    assert ids(cli) == ["two", "three"]
    shown = cli.json("show", "ticket-7")["messages"]
    assert shown[-2]["parts"] == [{"type": "text", "text": "one"}]


def test_the_same_again_is_the_same_message(cli: Cli) -> None:
    first = cli.json("queue", "ticket-7", "hello", "--id", "m1")
    assert cli.json("queue", "ticket-7", "hello", "--id", "m1") == first
    said = cli.refused("queue", "ticket-7", "goodbye", "--id", "m1", code=5)
    assert "'m1' was enqueued before with another content" in said
    assert cli.json("queue", "ticket-7") == first


def test_a_message_is_taken_back(cli: Cli) -> None:
    cli.ok("queue", "ticket-7", "stay", "--id", "m1")
    cli.ok("queue", "ticket-7", "go", "--id", "m2")
    out = cli.ok("queue", "ticket-7", "--cancel", "m2")
    assert "stay" in out and "go" not in out and "1 message waiting" in out
    assert cli.json("queue", "ticket-7", "--cancel", "m2") == cli.json("queue", "ticket-7")  # once more: nothing to do
    assert ids(cli) == ["m1"]


def test_what_was_fired_cannot_be_taken_back(cli: Cli, tmp_path: Path) -> None:
    cli.ok("queue", "ticket-7", "go", "--id", "m1")
    with palaver.open(tmp_path / "talks.db") as store:
        turn = store.sessions.get("ticket-7").claim()
        assert turn is not None
        turn.write({"type": "start"})
        turn.seal()
    assert "was fired already" in cli.refused("queue", "ticket-7", "--cancel", "m1", code=5)


def test_mistakes_are_told_apart_by_their_code(cli: Cli) -> None:
    assert "no message 'm9'" in cli.refused("queue", "ticket-7", "--cancel", "m9", code=3)
    assert "not both" in cli.refused("queue", "ticket-7", "text", "--cancel", "m9", code=2)
    cli.refused("queue", "nobody", "text", code=3)
    cli.refused("queue", code=2)
    cli.ok("archive", "ticket-7")
    assert "archived" in cli.refused("queue", "ticket-7", "text", code=5)


def test_an_id_without_a_text_is_refused(cli: Cli) -> None:
    cli.refused("queue", "ticket-7", "--id", "m1", code=2)
    assert ids(cli) == []


def test_a_program_gets_its_error_as_json(cli: Cli) -> None:
    done = cli("queue", "ticket-7", "--cancel", "m9", "--json")
    assert done.code == 3 and done.out == ""
    assert '"kind": "MessageNotFound"' in done.err


@pytest.mark.parametrize("text", ["\x1b[2J\x1b]0;owned\x07", "\u202eevil", "a\nb\rc", "x" * 5_000])
def test_a_hostile_message_takes_one_quiet_line(cli: Cli, text: str) -> None:
    out = cli.ok("queue", "ticket-7", text, "--id", "m1")
    assert len(out.splitlines()) == 2
    assert not any(character in out for character in "\x1b\x07\u202e\r")
    assert cli.json("queue", "ticket-7")["queue"][0]["message"]["parts"][0]["text"] == text


def test_what_was_taken_back_before_is_said(cli: Cli) -> None:
    cli.ok("queue", "ticket-7", "one", "--id", "m1")
    assert cli("queue", "ticket-7", "--cancel", "m1").err == ""
    done = cli("queue", "ticket-7", "--cancel", "m1")
    assert (done.code, done.err) == (0, "palaver: note: message 'm1' was taken back before\n")


def test_what_waits_stands_in_columns(cli: Cli) -> None:
    cli.ok("queue", "ticket-7", "one", "--id", "m1")
    cli.ok("queue", "ticket-7", "two", "--id", "msg-17")
    first, second, _ = cli.ok("queue", "ticket-7").splitlines()
    assert first.index("one") == second.index("two")
