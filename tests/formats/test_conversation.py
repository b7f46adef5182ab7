"""Turns, places and what has no home: the same for every format, shown in the shortest."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from palaver import formats
from palaver.formats import Homeless, Item, Prompt, TurnIn

from . import test_anthropic, test_openai_chat, test_openai_responses
from .support import STEP, messages, said, text, tool

USER = {"role": "user", "content": "Hi."}
ANSWER = {"role": "assistant", "content": "Hello."}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a"}


def chat(*given: dict[str, Any]) -> formats.Conversation:
    return formats.read(list(given), "openai")


def test_a_turn_is_what_the_user_says_and_everything_up_to_the_next_time() -> None:
    found = chat({"role": "system", "content": "Be kind."}, USER, USER, CALL, RESULT, ANSWER, USER)

    hi, hello = said("user", text("Hi.")), text("Hello.")
    assert found == formats.Conversation(
        system=[Prompt(0, "system", said("system", text("Be kind.")))],
        turns=[
            TurnIn(
                messages=[hi, hi, said("assistant", STEP, tool("look", "c1", {}, output="a"), STEP, hello)],
                items=[
                    Item(1, "user", 0),
                    Item(2, "user", 1),
                    Item(3, "assistant", 2),
                    Item(4, "tool", 2),
                    Item(5, "assistant", 2),
                ],
                homeless=[],
            ),
            TurnIn(messages=[hi], items=[Item(6, "user", 0)], homeless=[]),
        ],
        homeless=[],
    )


def test_a_conversation_may_begin_with_an_answer() -> None:
    first, second = chat(ANSWER, USER).turns

    assert [message["role"] for message in (*first.messages, *second.messages)] == ["assistant", "user"]


def test_a_system_message_in_the_middle_keeps_its_place() -> None:
    (turn,) = chat(USER, CALL, {"role": "developer", "content": "Hurry."}, RESULT, ANSWER).turns

    assert [message["role"] for message in turn.messages] == ["user", "assistant", "system", "assistant"]
    assert turn.messages[1] == said("assistant", STEP, tool("look", "c1", {}, output="a"))
    assert turn.items[2:] == [Item(2, "developer", 2), Item(3, "tool", 1), Item(4, "assistant", 3)]


def test_a_result_that_comes_after_the_next_question_is_in_the_turn_of_its_call() -> None:
    first, second = chat(USER, CALL, USER, RESULT).turns

    assert first.messages[1]["parts"][1]["output"] == "a"
    assert first.items[-1] == Item(3, "tool", 1) and second.items == [Item(2, "user", 0)]


@pytest.mark.parametrize("before", [[], [CALL, RESULT]], ids=["never asked for", "answered already"])
def test_a_result_without_a_call_is_a_message_of_its_own(before: list[dict[str, Any]]) -> None:
    (turn,) = chat(USER, *before, RESULT, ANSWER).turns

    row = said("assistant", {"type": "data-tool-row", "data": RESULT})
    assert turn.messages[-2:] == [row, said("assistant", STEP, text("Hello."))]
    assert turn.items[-2:] == [
        Item(1 + len(before), "tool", len(turn.messages) - 2),
        Item(2 + len(before), "assistant", len(turn.messages) - 1),
    ]
    assert RESULT not in formats.write(turn.messages, "openai")[1 + len(before) :]  # no API would take it


def test_what_is_in_no_message_is_named() -> None:
    call = copy.deepcopy(CALL)
    call["tool_calls"][0]["function"]["parsed_arguments"] = {}
    prompt = {"role": "system", "content": "Be kind.", "id": "s"}
    found = chat(
        prompt, {**USER, "timestamp": 1}, call, {**RESULT, "took_ms": 3}, {"role": "assistant", "content": None}
    )

    what = "no place for it in a message"
    assert found.turns[0].homeless == [
        Homeless(1, "timestamp", what),
        Homeless(2, "tool_calls[0].function.parsed_arguments", what),
        Homeless(3, "took_ms", what),
    ]
    assert found.homeless == [Homeless(0, "id", what), Homeless(4, "", "an empty message")]


@pytest.mark.parametrize(
    ("format", "examples"),
    [
        ("openai", test_openai_chat.EXACT),
        ("openai-responses", test_openai_responses.EXACT),
        ("anthropic", test_anthropic.EXACT),
    ],
)
def test_every_item_has_a_place_and_what_was_given_is_left_as_it_was(format: str, examples: dict[str, Any]) -> None:
    for given in examples.values():
        before = copy.deepcopy(given)
        found = formats.read(given, format)
        written = copy.deepcopy(found.messages())
        formats.write(found.messages(), format)

        assert given == before and found.messages() == written
        items = given["messages"] if isinstance(given, dict) else given
        placed = {item.index for turn in found.turns for item in turn.items}
        prompts = {prompt.index for prompt in found.system}
        assert placed | prompts >= set(range(len(items)))
        assert not found.homeless and not any(turn.homeless for turn in found.turns)
        for turn in found.turns:
            assert {item.message_index for item in turn.items} == set(range(len(turn.messages)))


def test_uimessages_are_grouped_and_stay_as_they_are() -> None:
    given = [
        {"id": "s", "role": "system", "parts": [text("Be kind.")]},
        {"id": "u", "role": "user", "parts": [text("Hi.")], "metadata": {"a": 1}},
        {"id": "a", "role": "assistant", "parts": [STEP, text("Hello.", state="done")]},
        {"id": "u2", "role": "user", "parts": [text("Bye.")]},
    ]
    found = formats.read({"id": "chat", "messages": given}, "aisdk")

    assert (found.messages(), formats.write(given, "aisdk")) == (given, given)
    assert [turn.items for turn in found.turns] == [[Item(1, "user", 0), Item(2, "assistant", 1)], [Item(3, "user", 0)]]


def test_a_tool_whose_name_no_type_can_hold_has_it_in_a_field() -> None:
    call = copy.deepcopy(CALL)
    call["tool_calls"][0]["function"]["name"] = "lo\nok"
    part = messages([USER, call, RESULT], "openai")[1]["parts"][1]

    assert (part["type"], part["toolName"]) == ("dynamic-tool", "lo\nok")
    assert formats.write(messages([USER, call, RESULT], "openai"), "openai") == [USER, call, RESULT]
