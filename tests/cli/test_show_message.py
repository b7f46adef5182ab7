"""`show SESSION@MESSAGE`: what a search found, where it was said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import palaver

from .run import Cli
from .terminal import Terminal


@pytest.fixture
def long(tmp_path: Path) -> Cli:
    """A session of ten messages."""
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(agent="coder", title="Counting", id="count")
        session.commit([{"role": "user", "id": f"my-own-message-{n}", "parts": [text(n)]} for n in range(10)])
    return Cli(tmp_path, tmp_path / "talks.db")


def text(number: int) -> dict[str, str]:
    return {"type": "text", "text": f"Number {number}."}


def numbers(shown: str) -> list[int]:
    return [int(found) for found in re.findall(r"^Number (\d)\.", shown, re.MULTILINE)]


def address(cli: Cli, *query: str) -> str:
    """As a terminal has it."""
    hit = cli.json("search", *query)["hits"][0]
    return f"{hit['session_id'][-6:]}@{hit['message_id'][-6:]}"


def test_what_a_terminal_prints_as_an_address_is_shown_with_what_is_around_it(cli: Cli) -> None:
    with Terminal({**cli.env, "NO_COLOR": "1", "PAGER": "cat"}, "search", "linker") as terminal:
        _, seen = terminal.end()
    [where] = re.findall(r"^  (\w{6}@\w{6}) assistant", seen, re.MULTILINE)
    shown = cli.ok("show", where)
    assert f"\nassistant  <-- {where[7:]}\n  tool bash\n" in shown and shown.count("<--") == 1


def test_a_message_is_shown_with_some_around_it_and_the_others_are_counted(long: Cli) -> None:
    shown = long.ok("show", "count@my-own-message-5")
    assert numbers(shown) == [2, 3, 4, 5, 6, 7, 8]
    name = long.json("ls")["sessions"][0]["id"][-6:]
    assert f"\n\n… 2 messages before (palaver show {name})\n\nuser\nNumber 2." in shown
    assert shown.endswith(f"Number 8.\n\n… 1 message after (palaver show {name})\n")
    assert re.search(r"^user  <-- \S+\nNumber 5\.$", shown, re.MULTILINE)
    assert numbers(long.ok("show", "count@my-own-message-0", "-C", "1")) == [0, 1]
    assert numbers(long.ok("show", "count@my-own-message-9", "--context", "0", "--detail")) == [9]
    assert "…" not in long.ok("show", "count@my-own-message-5", "-C", "50")


def test_json_says_which_message_and_how_many_are_left_out(long: Cli) -> None:
    answer = long.json("show", "count@my-own-message-5", "-C", "1")
    assert [message["id"] for message in answer["messages"]] == [f"my-own-message-{n}" for n in (4, 5, 6)]
    assert answer["left_out"] == {"before": 4, "after": 3}
    [hit] = long.json("search", '"Number 5"')["hits"]
    assert answer["message"] == hit["message_id"] and answer["turn"] is None
    whole = long.json("show", "count")
    assert (whole["message"], whole["left_out"]) == (None, {"before": 0, "after": 0})


def test_what_is_on_another_branch_is_shown_on_its_own(cli: Cli) -> None:
    shown = cli.ok("show", address(cli, "red", "--hidden", "role:user"))
    assert "Is it red?" in shown and "Green" not in shown
    assert cli.json("show", address(cli, "red", "--hidden", "role:user"))["turn"] is not None


def test_a_queued_message_is_shown(cli: Cli) -> None:
    cli.ok("queue", "ticket-7", "A pangolin, please.")
    assert "A pangolin, please." in cli.ok("show", address(cli, "pangolin", "--hidden"))


def test_a_message_of_the_latest_session_needs_no_name(long: Cli) -> None:
    assert numbers(long.ok("show", "@my-own-message-5", "-C", "0")) == [5]
    assert numbers(long.ok("show", "@@my-own-message-5", "-C", "0")) == [5]


def test_a_name_that_fits_no_message_or_several_is_unknown(long: Cli) -> None:
    name = long.json("ls")["sessions"][0]["id"][-6:]
    said = long.refused("show", "count@nope", code=3)
    assert said == f"palaver: session {name} has no message 'nope'; `palaver show {name} --detail` has their ids\n"
    assert "names more than one message" in long.refused("show", "count@my-own", code=3)
    assert "no session is named 'nobody@nope'" in long.refused("show", "nobody@nope", code=3)
    assert "leave the message out" in long.refused("show", "count@my-own-message-5", "-r", code=2)


def test_a_name_with_an_at_is_that_session_unless_it_is_a_message(long: Cli) -> None:
    with palaver.open(long.env["PALAVER_STORE"]) as store:
        store.sessions.create(agent="coder", id="me@home").commit(["I am home."])
        store.sessions.create(agent="coder", title="count@midnight").commit(["It is dark."])
        store.sessions.create(agent="coder", title="count@my-own-message-5").commit(["Forged."])
        for _ in range(2):
            store.sessions.create(agent="coder", title="twice").commit(["Twice."])
        store.sessions.create(agent="coder", title="twice@noon").commit(["Once."])
    assert "I am home." in long.ok("show", "me@home")
    assert "It is dark." in long.ok("show", "count@midnight")
    assert "Number 5." in long.ok("show", "count@my-own-message-5")
    assert "Once." in long.ok("show", "twice@noon")
    assert "names more than one session" in long.refused("show", "twice@midnight", code=3)
