"""`tail` shows what another process writes, chunk by chunk, in a real terminal; nothing twice, nothing missing."""

from __future__ import annotations

import io
import json
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import palaver
from palaver.cli.ui.live import Live
from palaver.cli.ui.screen import Screen

from . import talks
from .puppet import Puppet
from .run import COMMAND, Cli
from .terminal import PATIENCE, Terminal


@pytest.fixture
def talk(tmp_path: Path) -> tuple[Cli, str]:
    """A store with one session of one turn; and its id."""
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(title="Live")
        talks.talk(session, "Ready?", "Ready.")
    return Cli(tmp_path, tmp_path / "talks.db", NO_COLOR="1"), session.id


@pytest.fixture
def puppet(talk: tuple[Cli, str]) -> Iterator[Puppet]:
    cli, session = talk
    with Puppet(cli.home / "talks.db", session, cli.env) as made:
        yield made


def test_a_stream_is_followed_chunk_by_chunk(talk: tuple[Cli, str], puppet: Puppet) -> None:
    with Terminal(talk[0].env, "tail", "Live", "-f") as terminal:
        terminal.until("Ready.\n")
        puppet.begin("What is new?")
        terminal.until("What is new?\n")
        for word in ("one ", "two ", "three "):
            puppet.say(word)
            assert terminal.until(word).endswith(word)
        puppet.do("seal")
        puppet.begin("And then?")
        puppet.say("Four.")
        seen = terminal.until("Four.")
        terminal.process.send_signal(signal.SIGINT)
        code, _ = terminal.end()
        puppet.do("seal")
    assert code == 130
    assert "one two three \n" in seen
    assert seen.count("Ready.") == 1 and seen.count("What is new?") == 1
    assert seen.index("three ") < seen.index("And then?") < seen.index("Four.")


def test_it_ends_with_the_turn(talk: tuple[Cli, str], puppet: Puppet) -> None:
    puppet.begin("What is new?")
    puppet.say("half a ")
    with Terminal(talk[0].env, "tail", "@") as terminal:
        assert terminal.until("half a ").endswith("half a ")
        puppet.say("sentence.")
        assert "half a sentence." in terminal.until("sentence.")
        puppet.do("seal")
        code, seen = terminal.end()
    assert code == 0
    assert seen.count("half a ") == 1


def test_a_tool_call_and_an_error_are_lines_of_their_own(talk: tuple[Cli, str], puppet: Puppet) -> None:
    puppet.begin("Run it.")
    with Terminal(talk[0].env, "tail", "@") as terminal:
        terminal.until("Run it.")
        puppet.say("Trying")
        call = {"toolCallId": "c", "toolName": "bash", "input": {"command": "make"}}
        puppet.do("write", {"type": "tool-input-available", **call})
        puppet.do("write", {"type": "tool-output-error", "toolCallId": "c", "errorText": "no rule"})
        puppet.do("seal")
        code, seen = terminal.end()
    assert code == 0
    assert "Trying\n  tool bash\n    command: make\n    error: no rule\n" in seen


def test_it_ends_when_the_turn_waits_for_an_answer(talk: tuple[Cli, str], puppet: Puppet) -> None:
    puppet.begin("May I?")
    with Terminal(talk[0].env, "tail", "@") as terminal:
        terminal.until("May I?")
        puppet.do("write", {"type": "tool-input-available", "toolCallId": "c", "toolName": "rm", "input": {}})
        puppet.do("wait")
        code, seen = terminal.end()
    assert code == 0
    assert "waiting for an answer" in seen


def test_it_ends_when_the_writer_died(talk: tuple[Cli, str], puppet: Puppet) -> None:
    puppet.begin("Are you there?")
    puppet.say("I am ab")
    with Terminal(talk[0].env, "tail", "@") as terminal:
        terminal.until("I am ab")
        puppet.kill()
        code, seen = terminal.end()
    assert code == 0
    assert "its writer died" in seen


def test_without_a_running_turn_it_shows_the_end_and_ends(talk: tuple[Cli, str]) -> None:
    assert talk[0].ok("tail", "@") == "user\nReady?\n\nassistant\n  thinks: Let me think.\n\nReady. \n"
    assert talk[0].ok("tail", "@", "-n", "1") == "assistant\n  thinks: Let me think.\n\nReady. \n"
    assert talk[0].ok("tail", "@", "-n", "0") == ""


def test_json_is_a_line_per_event(talk: tuple[Cli, str], puppet: Puppet) -> None:
    puppet.begin("What is new?")
    cli = talk[0]
    tail = subprocess.Popen([*COMMAND, "tail", "@", "--json"], env=cli.env, cwd=cli.home, stdout=subprocess.PIPE)
    assert tail.stdout
    try:
        deadline = time.monotonic() + PATIENCE
        while not select.select([tail.stdout], [], [], 0.1)[0]:  # until it follows
            assert time.monotonic() < deadline
            puppet.say("né\x1b")
        puppet.do("seal")
        out, _ = tail.communicate(timeout=PATIENCE)
    finally:
        tail.kill()
        tail.wait(PATIENCE)
    events = [json.loads(line) for line in out.decode("ascii").splitlines()]
    assert tail.returncode == 0
    assert {tuple(event) for event in events} == {("seq", "kind", "turn", "at", "data")}
    assert events[0]["data"] == {"type": "text-delta", "id": "t", "delta": "né\x1b"}
    assert [event["kind"] for event in events][-1] == "seal" and events[-1]["data"]["turn"].startswith("trn_")
    numbers = [event["seq"] for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_hostile_deltas_are_made_visible_as_they_come(talk: tuple[Cli, str], puppet: Puppet) -> None:
    with Terminal(talk[0].env, "tail", "@", "-f") as terminal:
        terminal.until("Ready.\n")
        puppet.begin("\x1b]0;owned\x07")
        puppet.say("\x1b[2J\u202e done")
        seen = terminal.until(" done")
    puppet.do("seal")
    assert "\x1b" not in seen and "␛[2J\\u{202e}" in seen and "␛]0;owned␇" in seen


def test_how_a_turn_ended_is_told_below_it_and_as_it_ends(talk: tuple[Cli, str], tmp_path: Path) -> None:
    cli, session = talk
    with palaver.open(tmp_path / "talks.db") as store:
        found = store.sessions.get(session)
        with found.turn("Which?") as turn:
            turn.text("The fi")
            turn.fail("overloaded")
        assert cli.ok("tail", "@", "-n", "2") == "user\nWhich?\n\nassistant\nThe fi\n--- failed: overloaded\n"
        after = found.cursor()
        with found.turn("And?") as turn:
            turn.text("So")
            turn.abort("enough")
        stopped = found.turn("More?")
        stopped.text("Mo")
        found.stop(reason="too much")
        paper = io.StringIO()
        live = Live(Screen(paper), found)
        for event in found.events(after):
            live.event(event)
    assert paper.getvalue() == (
        "user\nAnd?\n\nassistant\nSo\n--- aborted: enough\n\nuser\nMore?\n\nassistant\nMo\n--- stop too much\n"
    )
