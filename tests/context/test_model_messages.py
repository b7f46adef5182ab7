"""`convert` makes the same model messages of any UIMessages as the AI SDK's own `convertToModelMessages`; those of
an open turn have what it has so far, so that an agent's loop sees what its tools said."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import aio
from palaver.aisdk.model_messages import convert

from ..tools.chunks import result, step, text
from ..tools.talk import feed
from .messages import FIELDS, PLAIN_CASES, Random, tool_cases
from .sdk import UI, Judge
from .support import call, talk, unanswered

STATES = (
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
)


def differences(sdk: Judge, cases: dict[str, UI]) -> dict[str, Any]:
    """Case by case: (ours, theirs) where they are not the same."""
    theirs = sdk.converted(list(cases.values()))
    found = {}
    for (name, given), wanted in zip(cases.items(), theirs, strict=True):
        ours = convert(given)
        if ours != wanted:
            found[name] = {"ours": ours, "theirs": wanted}
    return found


@pytest.mark.parametrize("name", PLAIN_CASES)
def test_convert_is_the_sdks_own_for(name: str, sdk: Judge) -> None:
    assert differences(sdk, {name: PLAIN_CASES[name]}) == {}


def test_the_cases_cover_every_state_of_a_tool() -> None:
    assert {state for state, _ in FIELDS.values()} == set(STATES)


@pytest.mark.parametrize("name", FIELDS)
def test_convert_is_the_sdks_own_when(name: str, sdk: Judge) -> None:
    """Static and dynamic, run here or by the provider, with metadata and without."""
    cases = {
        case: given for case, given in tool_cases().items() if case.split(": ")[1].split(", by")[0].startswith(name)
    }
    assert len(cases) >= 16
    assert differences(sdk, cases) == {}


def random_talks(count: int) -> dict[str, UI]:
    seed = int(os.environ.get("PALAVER_SEED", "20261116"))
    print(f"seed {seed}")
    made = Random(seed)
    return {f"seed {seed}, talk {number}": made.talk() for number in range(count)}


def test_convert_is_the_sdks_own_for_hundreds_of_random_talks(sdk: Judge) -> None:
    assert differences(sdk, random_talks(300)) == {}


@pytest.mark.long
def test_convert_is_the_sdks_own_for_thousands_of_random_talks(sdk: Judge) -> None:
    assert differences(sdk, random_talks(10_000)) == {}


def test_convert_leaves_what_it_is_given_as_it_was(sdk: Judge) -> None:
    talk = Random(7).talk() + PLAIN_CASES["a conversation"]
    before = repr(talk)
    convert(talk)
    assert repr(talk) == before


# ---------------------------------------------------------------- an open turn's


def rounds(turn: palaver.Turn, see: Callable[[], list[dict[str, Any]]], *, at_most: int = 5) -> int:
    """An agent's loop: how often its model is called until it calls no tool. It does until it sees a result."""
    for number in range(1, at_most + 1):
        if any(message["role"] == "tool" for message in see()):
            feed(turn, step(*text("Done.")))
            return number
        feed(turn, step(call(f"c{number}"), result(f"c{number}", {"n": number})))
    return at_most


def test_an_agents_loop_sees_what_its_tool_said_and_ends(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    with session.turn("Go.") as turn:
        assert rounds(turn, turn.model_messages) == 2
    assert store.verify() == []


def test_what_the_session_gives_leaves_the_open_turn_out_so_a_loop_over_it_would_not_end(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    talk(session, "1")
    before = session.model_messages()
    with session.turn("Go.") as turn:
        assert rounds(turn, session.model_messages) == 5
        assert session.model_messages() == before
        assert turn.model_messages()[: len(before)] == before
    assert len(session.model_messages()) == len(before) + 1 + 2 * 5  # the question, five calls and their results


def test_the_result_of_an_approved_tool_is_seen_by_whoever_resumed_the_turn(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    asked = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}
    with session.turn("Go.") as turn:
        feed(turn, [{"type": "start"}, *step(call("c1"), asked)]).wait()
    with session.resume(turn.id) as turn:
        turn.resolve("c1", approved=True)
        turn.resolve("c1", output="ran")
        [answer, output] = turn.model_messages()[-1]["content"]
    assert (answer["type"], answer["approved"]) == ("tool-approval-response", True)
    assert output["output"] == {"type": "text", "value": "ran"}


@pytest.mark.parametrize("save_on", ["chunk", "step", "turn"])
def test_a_turns_model_messages_are_what_the_sdk_makes_of_its_context_after_every_chunk(
    path: str, sdk: Judge, save_on: str
) -> None:
    stream = [{"type": "start"}, *step(call("c1"), result("c1")), *step(*text("half")), *step(call("c2"))]
    contexts, ours = [], []
    with palaver.open(path, durability="normal", save_on=save_on) as store:
        turn = store.sessions.create("coder").turn("Go.", system_prompt="Be brief.")
        for chunk in stream:
            turn.write(chunk)
            contexts.append(turn.context())
            ours.append(turn.model_messages())
    assert ours == sdk.converted(contexts) == sdk.accepts(contexts)
    assert [unanswered(messages) for messages in ours] == [[]] * len(stream)


def test_a_turns_system_prompt_can_be_replaced(store: palaver.Store) -> None:
    with store.sessions.create("coder").turn("Go.", system_prompt="Be brief.") as turn:
        assert turn.model_messages()[0] == {"role": "system", "content": "Be brief."}
        assert turn.model_messages(system="Be long.")[0] == {"role": "system", "content": "Be long."}


def test_a_turns_model_messages_are_the_same_in_asyncio(path: str) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            async with await session.turn("Go.") as turn:
                for chunk in [{"type": "start"}, *step(call("c1"), result("c1"))]:
                    await turn.write(chunk)
                assert await turn.model_messages(system="Hm.") == convert(await turn.context(system="Hm."))
                assert [m["role"] for m in await turn.model_messages()] == ["user", "assistant", "tool"]

    asyncio.run(look())
