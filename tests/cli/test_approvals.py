"""`palaver approve` and `palaver deny`: a person answers what an agent asks, and the agent goes on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import palaver
from palaver import Session, Store, Turn
from palaver.cli.program import COMMANDS

from .puppet import Puppet
from .run import Cli
from .test_reference import documented


@pytest.fixture
def store(cli: Cli) -> Iterator[Store]:
    """The agent's own, beside the person's command line."""
    with palaver.open(cli.home / "talks.db") as opened:
        yield opened


def call(turn: Turn, call_id: str, command: str) -> None:
    turn.write({"type": "tool-input-available", "toolCallId": call_id, "toolName": "bash", "input": {"run": command}})
    turn.write({"type": "tool-approval-request", "approvalId": f"may-{call_id}", "toolCallId": call_id})


def ask(store: Store, *calls: str) -> Session:
    """A session that waits for somebody to allow these calls."""
    session = store.sessions.create("coder", title="Careful")
    with session.turn("Clean up.") as turn:
        for call_id in calls:
            call(turn, call_id, f"rm {call_id}")
        turn.write({"type": "finish"})
    assert turn.status == "waiting"
    return session


def approvals(session: Session) -> dict[str, Any]:
    parts = [part for message in session.messages() for part in message["parts"]]
    return {part["toolCallId"]: part["approval"] for part in parts if "approval" in part}


def test_the_only_call_is_approved_and_its_turn_goes_on_waiting_for_its_agent(cli: Cli, store: Store) -> None:
    session = ask(store, "c1")
    said = cli.ok("approve", "Careful")
    assert said == f"approved bash (c1) in {session.id[-6:]}; its agent goes on from there\n"
    assert approvals(session) == {"c1": {"id": "may-c1", "approved": True}}
    (turn,) = session.waiting()
    with session.resume(turn.id) as resumed:
        resumed.write({"type": "tool-output-available", "toolCallId": "c1", "output": "gone"})
    assert resumed.status == "completed" and session.waiting() == []


def test_a_call_is_denied_with_a_reason(cli: Cli, store: Store) -> None:
    session = ask(store, "c1")
    cli.ok("deny", "Careful", "--reason", "Not on the live server.")
    assert approvals(session) == {"c1": {"id": "may-c1", "approved": False, "reason": "Not on the live server."}}
    assert [turn.status for turn in session.waiting()] == ["waiting"]


def test_of_several_one_is_named_by_its_id_a_piece_of_it_or_that_of_the_request(cli: Cli, store: Store) -> None:
    session = ask(store, "call_one", "call_two", "call_three")
    assert "2 calls still to answer" in cli.ok("approve", "Careful", "call_tw")
    assert "1 call still to answer" in cli.ok("deny", "Careful", "may-call_one")
    cli.ok("approve", "Careful")  # the only one that is left
    granted = {name: approval["approved"] for name, approval in approvals(session).items()}
    assert granted == {"call_one": False, "call_two": True, "call_three": True}


def test_several_are_listed_and_none_is_answered(cli: Cli, store: Store) -> None:
    session = ask(store, "call_one", "call_two")
    done = cli("approve", "Careful")
    assert done.code == 3
    assert done.out.splitlines() == ['call_one  bash  {"run":"rm call_one"}', 'call_two  bash  {"run":"rm call_two"}']
    assert done.err == f"palaver: 2 calls of session {session.id[-6:]} wait for an answer; say which\n"
    assert "more than one call" in cli.refused("deny", "Careful", "call_", code=3)
    assert all("approved" not in approval for approval in approvals(session).values())


def test_json_has_what_the_reference_says(cli: Cli, store: Store) -> None:
    session = ask(store, "c1", "c2")
    done = cli("approve", "Careful", "--json")
    assert done.code == 3 and json.loads(done.err)["error"]["kind"] == "AmbiguousName"
    listed = done.json()
    assert (listed["session"], listed["answered"]) == (session.id, None)
    assert [one["call_id"] for one in listed["waiting"]] == ["c1", "c2"]
    for name, call_id in (("approve", "c1"), ("deny", "c2")):
        answer = cli.json(name, "Careful", call_id)
        top, inside = documented(name)
        assert set(answer) == top and set(answer["answered"]) == inside
        assert (answer["answered"]["tool"], answer["answered"]["input"]) == ("bash", {"run": f"rm {call_id}"})
    assert answer["waiting"] == [] and {"approve", "deny"} <= set(COMMANDS)


def test_a_call_that_cannot_be_answered_says_why(cli: Cli, store: Store) -> None:
    session = ask(store, "c1", "c2")
    assert "no call 'c9'" in cli.refused("approve", "Careful", "c9", code=3)
    assert "these do: c1 (bash), c2 (bash)" in cli.refused("approve", "Careful", "c9", code=3)
    cli.ok("approve", "Careful", "c1")
    assert "was answered already" in cli.refused("deny", "Careful", "c1", code=5)
    session.resume(session.waiting()[0].id).abort()
    assert "its turn is sealed (aborted)" in cli.refused("approve", "Careful", "c2", code=5)
    assert "nothing in session" in cli.refused("approve", "Careful", code=5)
    assert "none does" in cli.refused("deny", "Careful", "c9", code=3)
    cli.refused("approve", "nobody", code=3)
    assert approvals(session)["c1"]["approved"] is True


def test_a_call_that_wants_a_result_is_not_approved(cli: Cli, store: Store) -> None:
    session = store.sessions.create(title="Careful")
    with session.turn("Look.") as turn:
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "look", "input": {}})
        turn.wait()
    assert "does not ask for an approval; it is input-available" in cli.refused("approve", "Careful", "c1", code=5)


def test_what_asks_while_it_is_being_written_is_told_so(cli: Cli) -> None:
    with palaver.open(cli.home / "talks.db") as store:
        session = store.sessions.create(title="Careful").id
    with Puppet(cli.home / "talks.db", session, cli.env) as agent:
        agent.begin("Clean up.")
        tool = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "bash", "input": {}}
        agent.do("append", [tool, {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c1"}])
        assert "still being written" in cli.refused("approve", "Careful", "c1", code=5)
        assert "nothing in session" in cli.refused("approve", "Careful", code=5)
        agent.do("wait")
        cli.ok("approve", "Careful")


def test_a_hostile_input_cannot_act_on_the_terminal(cli: Cli, store: Store) -> None:
    session = store.sessions.create(title="Careful")
    with session.turn("Clean up.") as turn:
        for call_id in ("c1", "c2"):
            call(turn, call_id, "\x1b[2J\u202e")
        turn.wait()
    done = cli("approve", "Careful")
    assert done.code == 3 and "\x1b" not in done.out + done.err and "\u202e" not in done.out


def test_an_input_comes_out_as_its_agent_wrote_it(cli: Cli, store: Store) -> None:
    session = store.sessions.create(title="Careful")
    with session.turn("Pay.") as turn:
        turn.write('{"type":"tool-input-available","toolCallId":"c1","toolName":"pay","input":{"sum":1.10,"n":1e2}}')
        turn.write({"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c1"})
        turn.wait()
    assert '"input": {"sum":1.10,"n":1e2}' in cli.ok("approve", "Careful", "--json")
