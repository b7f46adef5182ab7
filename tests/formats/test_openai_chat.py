"""Chat Completions messages: what each documented shape becomes, and that it is given back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from palaver import formats

from .support import PDF, PNG, STEP, again, file, messages, said, text, tool

QUESTION = {"role": "user", "content": "How warm is it?"}


def call(call_id: str, arguments: str = '{"city":"Rome"}', name: str = "weather") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


EXACT: dict[str, list[dict[str, Any]]] = {
    "texts": [{"role": "system", "content": "Be brief."}, QUESTION, {"role": "assistant", "content": "21 °C."}],
    "a developer, with a name": [{"role": "developer", "content": "Be brief.", "name": "ops"}, QUESTION],
    "names": [{**QUESTION, "name": "ann"}, {"role": "assistant", "content": "Hi.", "name": "bot"}],
    "one text in a list": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
    ],
    "two texts": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    "images, audio, files": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
                {"type": "file", "file": {"file_data": PDF}},
                {"type": "file", "file": {"file_data": "JVBERi0xLjc=", "filename": "bare.pdf"}},
                {"type": "file", "file": {"filename": "an-image.png", "file_data": PNG}},
                {"type": "file", "file": {"file_id": "file-abc"}},
            ],
        }
    ],
    "where to cache": [
        {"role": "user", "content": [{"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}}]}
    ],
    "a call, its result, an answer": [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call("c1")]},
        result("c1", "21"),
        {"role": "assistant", "content": "21 °C."},
    ],
    "a call after words, and without content": [
        QUESTION,
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call("c1")]},
        result("c1", "21"),
        {"role": "assistant", "tool_calls": [call("c2")]},
        result("c2", ""),
    ],
    "parallel calls, whose results come in another order": [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2"), call("c3")]},
        result("c3", "3"),
        result("c1", [{"type": "text", "text": "1"}]),
        result("c2", "2", name="weather"),
    ],
    "the same id in another step": [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call("call_0")]},
        result("call_0", "first"),
        {"role": "assistant", "content": None, "tool_calls": [call("call_0")]},
        result("call_0", "second"),
    ],
    "the same id twice in one step": [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call("", '{"n":1}'), call("", '{"n":2}')]},
        result("", "1"),
        result("", "2"),
    ],
    "a custom tool": [
        QUESTION,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}],
        },
        result("c1", "1"),
    ],
    "what another API adds to a call": [
        QUESTION,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("c1") | {"extra_content": {"google": {"thought_signature": "x"}}}],
        },
        result("c1", "1"),
    ],
    "the older function call": [
        QUESTION,
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
        {"role": "function", "name": "weather", "content": "21"},
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
        {"role": "function", "name": "weather", "content": None},
    ],
    "refusals": [
        QUESTION,
        {"role": "assistant", "content": None, "refusal": "I will not."},
        QUESTION,
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        QUESTION,
        {"role": "assistant", "content": [{"type": "text", "text": "Hm."}, {"type": "refusal", "refusal": "No."}]},
    ],
    "audio that was said": [QUESTION, {"role": "assistant", "audio": {"id": "audio_1"}}],
    "reasoning that is shown": [
        QUESTION,
        {"role": "assistant", "content": "21 °C.", "reasoning_content": "They ask about Rome."},
        QUESTION,
        {"role": "assistant", "content": "21 °C.", "reasoning": "Again.", "reasoning_details": [{"type": "x"}]},
    ],
    "citations": [
        QUESTION,
        {"role": "assistant", "content": "21 °C.", "annotations": [{"type": "url_citation", "url_citation": {}}]},
    ],
    "a block that is not known": [{"role": "user", "content": [{"type": "hologram", "depth": 3}]}],
    "a system message in the middle": [
        QUESTION,
        {"role": "assistant", "content": "21 °C."},
        {"role": "system", "content": "Now in Fahrenheit."},
        {"role": "assistant", "content": "70 °F."},
    ],
    "several answers in a row": [
        QUESTION,
        {"role": "assistant", "content": "Hm."},
        {"role": "assistant", "content": "21 °C."},
    ],
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_read_is_written_as_it_was(name: str) -> None:
    assert again(EXACT[name], "openai") == EXACT[name]


def test_a_call_and_its_result_are_one_part() -> None:
    given = EXACT["a call, its result, an answer"]

    assert messages(given, "openai") == [
        said("user", text("How warm is it?")),
        said("assistant", STEP, tool("weather", "c1", {"city": "Rome"}, output="21"), STEP, text("21 °C.")),
    ]


def test_files_are_file_parts() -> None:
    found = messages(EXACT["images, audio, files"], "openai")[0]["parts"]

    assert [(part["mediaType"], part["url"]) for part in found[1:]] == [
        ("image/png", PNG),
        ("image/*", "https://example.org/cat.png"),
        ("audio/wav", "data:audio/wav;base64,UklGRg=="),
        ("audio/mpeg", "data:audio/mpeg;base64,SUQz"),
        ("application/pdf", PDF),
        ("application/pdf", PDF),
        ("application/octet-stream", "data:application/octet-stream;base64,JVBERi0xLjc="),
        ("image/png", PNG),
        ("application/octet-stream", "file-abc"),
    ]
    assert found[1]["providerMetadata"] == {"openai": {"imageDetail": "low"}}  # the AI SDK's name for it
    assert [part.get("filename") for part in found[5:8]] == ["a.pdf", None, "bare.pdf"]


def test_a_result_goes_to_the_latest_call_of_its_id() -> None:
    parts = messages(EXACT["the same id in another step"], "openai")[1]["parts"]

    assert [part.get("output") for part in parts] == [None, "first", None, "second"]


@pytest.mark.parametrize(
    "arguments", ['{"city": "Rome"}', '{"t":1.10}', '{"a":1,"a":2}', "null", "[]", '"text"', " {}"]
)
def test_arguments_keep_their_letters(arguments: str) -> None:
    given = [QUESTION, {"role": "assistant", "content": None, "tool_calls": [call("c1", arguments)]}, result("c1", "")]

    assert again(given, "openai") == given


def test_arguments_that_are_no_json_are_text_and_the_part_says_so() -> None:
    for arguments in ('{"city": "Ro', "", "NaN"):
        calls = {"role": "assistant", "content": None, "tool_calls": [call("c1", arguments)]}
        given = [QUESTION, calls, result("c1", "What?")]
        part = messages(given, "openai")[1]["parts"][1]

        assert part["input"] == arguments
        assert part["callProviderMetadata"] == {"openai": {"invalidArguments": True}}
        assert again(given, "openai") == given


def test_an_input_that_was_changed_is_written_as_it_is_now() -> None:
    calls = {"role": "assistant", "content": None, "tool_calls": [call("c1", '{"n": 1}')]}
    found = messages([QUESTION, calls, result("c1", "")], "openai")
    found[1]["parts"][1]["input"] = {"n": True}

    assert formats.write(found, "openai")[1]["tool_calls"][0]["function"]["arguments"] == '{"n":true}'


def test_nulls_of_an_answer_are_as_good_as_nothing() -> None:
    nulls = {"refusal": None, "audio": None, "function_call": None, "tool_calls": None, "reasoning_content": None}
    given = [QUESTION, {"role": "assistant", "content": "21 °C.", **nulls}]

    assert again(given, "openai") == [QUESTION, {"role": "assistant", "content": "21 °C."}]


def test_a_call_without_a_type_is_a_functions() -> None:
    bare = call("c1")
    del bare["type"]
    given = [QUESTION, {"role": "assistant", "content": None, "tool_calls": [bare]}, result("c1", "21")]

    assert again(given, "openai")[1]["tool_calls"] == [call("c1")]


# ---------------------------------------------------------------- what a UIMessage becomes


def test_calls_without_a_result_are_answered() -> None:
    denied = {"state": "output-denied", "approval": {"id": "a", "approved": False, "reason": "Not on Sundays."}}
    parts = [
        tool("clean", "c1", {}),
        tool("clean", "c2", {}) | denied,
        tool("clean", "c3", {}, errorText="No such file."),
        tool("clean", "c4", {}, state="approval-requested", approval={"id": "b"}),
        {"type": "tool-clean", "toolCallId": "c5", "state": "input-streaming", "rawInput": '{"a'},
    ]
    written = formats.write([said("user", text("Clean up.")), said("assistant", STEP, *parts)], "openai")

    assert written[2:] == [
        result("c1", "interrupted"),
        result("c2", "Not on Sundays."),
        result("c3", "No such file."),
        result("c4", "interrupted"),
        result("c5", "interrupted"),
    ]
    assert written[1]["tool_calls"][4]["function"]["arguments"] == '{"a'


def test_an_output_that_is_no_text_is_told_as_json() -> None:
    written = formats.write([said("assistant", STEP, tool("look", "c1", {}, output={"files": ["a"]}))], "openai")

    assert written[1] == result("c1", '{"files":["a"]}')


def test_what_has_no_place_in_these_messages_is_left_out() -> None:
    given = [
        said("user", file("application/pdf", "https://example.org/a.pdf", filename="a.pdf")),
        said("assistant", STEP, {"type": "reasoning", "text": "Hm."}, {"type": "data-weather", "data": 1}),
        said(
            "assistant", STEP, file("image/png", PNG), {"type": "source-url", "sourceId": "1", "url": "x"}, text("Ok.")
        ),
    ]

    assert formats.write(given, "openai") == [
        {"role": "user", "content": "[file: application/pdf, a.pdf, https://example.org/a.pdf]"},
        {"role": "assistant", "content": "Ok."},
    ]
