"""Anthropic's messages: what each documented block becomes, and that it is given back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from palaver import formats

from .support import PDF, PNG, STEP, file, messages, said, text, tool

QUESTION = {"role": "user", "content": "How warm is it?"}
CACHE = {"type": "ephemeral", "ttl": "1h"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def use(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "weather", "input": {"city": "Rome"}, **more}


def result(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, **more}


def answer(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def asked(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_result", "url": "https://example.org", "title": "T", "encrypted_content": "e"}
SEARCHED = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND]}
FETCH = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_fetch", "input": {"url": "x"}}
NOT_FETCHED = {
    "type": "web_fetch_tool_result",
    "tool_use_id": "srvtoolu_2",
    "content": {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"},
}
MCP = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "weather", "server_name": "sky", "input": {}}
MCP_DONE = {
    "type": "mcp_tool_result",
    "tool_use_id": "mcptoolu_1",
    "is_error": False,
    "content": [{"type": "text", "text": "21"}],
}

EXACT: dict[str, dict[str, Any]] = {
    "texts": {"system": "Be brief.", "messages": [QUESTION, {"role": "assistant", "content": "21 °C."}]},
    "one text in a list": {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [asked({"type": "text", "text": "Hi."}), answer({"type": "text", "text": "Hi."})],
    },
    "where to cache": {
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind.", "cache_control": CACHE}],
        "messages": [
            asked({"type": "text", "text": "Hi.", "cache_control": CACHE}, {**IMAGE, "cache_control": CACHE}),
            answer(use("t1", cache_control=CACHE)),
            asked(result("t1", content="21", cache_control=CACHE)),
        ],
    },
    "images and documents": {
        "messages": [
            asked(
                {"type": "text", "text": "What is this?"},
                IMAGE,
                {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                {
                    "type": "document",
                    "title": "a.pdf",
                    "context": "A paper.",
                    "citations": {"enabled": True},
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
                },
                {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_2"}},
                {"type": "document", "source": {"type": "content", "content": "Said elsewhere."}},
                {"type": "search_result", "source": "s", "title": "t", "content": []},
            )
        ]
    },
    "thinking": {
        "messages": [
            QUESTION,
            answer(
                {"type": "thinking", "thinking": "Rome.", "signature": "EqQB"},
                {"type": "redacted_thinking", "data": "Emwk"},
                {"type": "text", "text": "21 °C."},
            ),
        ]
    },
    "citations": {
        "messages": [
            QUESTION,
            answer(
                {"type": "text", "text": "It is "},
                {"type": "text", "text": "21 °C", "citations": [{"type": "char_location", "cited_text": "21"}]},
            ),
        ]
    },
    "a call, its result, an answer": {
        "messages": [
            QUESTION,
            answer({"type": "text", "text": "Let me look."}, use("t1", caller={"type": "direct"})),
            asked(result("t1", content="21")),
            {"role": "assistant", "content": "21 °C."},
        ]
    },
    "results in every form, in another order, and words behind them": {
        "messages": [
            QUESTION,
            answer(*(use(f"t{n}") for n in range(1, 8))),
            asked(
                result("t2", content="No.", is_error=True),
                result("t1", content=[{"type": "text", "text": "21"}, IMAGE], is_error=False),
                result("t3"),
                result("t4", content=[{"type": "text", "text": "a"}, IMAGE], is_error=True),
                result("t5", content=[]),
                result("t6", is_error=True),
                result("t7", content=[{"type": "tool_reference", "tool_name": "x"}]),
                {"type": "text", "text": "And tomorrow?"},
            ),
        ]
    },
    "tools that run over there": {
        "messages": [
            QUESTION,
            answer({"type": "text", "text": "Hm."}, SEARCH, SEARCHED, FETCH, NOT_FETCHED, MCP, MCP_DONE),
        ]
    },
    "tools that run over there at the same time": {
        "messages": [
            QUESTION,
            answer(SEARCH, FETCH, MCP, SEARCHED, {"type": "text", "text": "Hm."}, MCP_DONE, NOT_FETCHED),
        ]
    },
    "a tool over there that still runs": {"messages": [QUESTION, answer(SEARCH)]},
    "a system message in the middle": {
        "messages": [
            QUESTION,
            {"role": "assistant", "content": "Hm."},
            {"role": "system", "content": "Louder."},
            QUESTION,
        ]
    },
    "blocks that are not known": {
        "messages": [
            asked({"type": "container_upload", "file_id": "f"}),
            answer({"type": "compaction", "content": "…"}, {"type": "text", "text": "Ok."}, {"type": "hologram"}),
        ]
    },
}


def again(value: Any) -> dict[str, Any]:
    system, written = formats.write(messages(value, "anthropic"), "anthropic")
    return {"messages": written} | ({} if system is None else {"system": system})


@pytest.mark.parametrize("name", EXACT)
def test_what_is_read_is_written_as_it_was(name: str) -> None:
    assert again(EXACT[name]) == EXACT[name]


def test_a_call_and_its_result_are_one_part() -> None:
    found = messages([QUESTION, answer(use("t1")), asked(result("t1", content="21"))], "anthropic")

    part = tool("weather", "t1", {"city": "Rome"}, output="21")
    assert found == [said("user", text("How warm is it?")), said("assistant", STEP, part)]


def test_what_the_user_says_beside_results_begins_a_turn() -> None:
    name = "results in every form, in another order, and words behind them"
    first, second = formats.read(EXACT[name], "anthropic").turns

    assert [(item.index, item.message_index) for item in first.items] == [(0, 0), (1, 1), (2, 1)]
    assert [(item.index, item.message_index) for item in second.items] == [(2, 0)]
    assert second.messages == [said("user", text("And tomorrow?"))]


def test_a_result_that_failed_is_an_error() -> None:
    name = "results in every form, in another order, and words behind them"
    parts = messages(EXACT[name], "anthropic")[1]["parts"][1:]

    assert [part["state"] for part in parts] == [
        "output-available",
        "output-error",
        "output-available",
        "output-error",
        "output-available",
        "output-error",
        "output-available",
    ]
    assert parts[0]["output"] == [text("21"), file("image/png", PNG)]
    assert [parts[1]["errorText"], parts[3]["errorText"], parts[5]["errorText"]] == ["No.", "a\n[file: image/png]", ""]


def test_thinking_and_caching_have_the_names_that_the_ai_sdk_gives_them() -> None:
    thought, hidden = messages(EXACT["thinking"], "anthropic")[1]["parts"][1:3]
    cached = messages(EXACT["where to cache"], "anthropic")

    assert thought["providerMetadata"] == {"anthropic": {"signature": "EqQB"}}
    assert hidden == {"type": "reasoning", "text": "", "providerMetadata": {"anthropic": {"redactedData": "Emwk"}}}
    assert cached[1]["parts"][1]["providerMetadata"] == {"anthropic": {"cacheControl": CACHE}}
    assert cached[2]["parts"][1]["resultProviderMetadata"] == {"anthropic": {"cacheControl": CACHE}}


def test_what_a_stored_answer_has_besides_is_homeless() -> None:
    stored = {"id": "msg_1", "type": "message", "role": "assistant", "content": "Ok.", "usage": {"output_tokens": 2}}
    (turn,) = formats.read([QUESTION, stored], "anthropic").turns

    assert [(homeless.index, homeless.path) for homeless in turn.homeless] == [(1, "id"), (1, "type"), (1, "usage")]


# ---------------------------------------------------------------- what a UIMessage becomes


def test_what_one_role_says_in_a_row_is_one_message() -> None:
    given = [
        said("user", text("Hi.")),
        said("user", text("Are you there?")),
        said("assistant", STEP, text("Yes."), STEP, text("I am.")),
        said("assistant", STEP, tool("look", "t1", {}, output="a")),
        said("user", text("And?")),
    ]

    assert formats.write(given, "anthropic") == (
        None,
        [
            asked({"type": "text", "text": "Hi."}, {"type": "text", "text": "Are you there?"}),
            answer(
                {"type": "text", "text": "Yes."},
                {"type": "text", "text": "I am."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
            ),
            asked(result("t1", content="a"), {"type": "text", "text": "And?"}),
        ],
    )


def test_system_messages_from_elsewhere_are_the_prompt() -> None:
    given = [said("system", text("Be brief.")), said("user", text("Hi.")), said("system", text("Louder."))]

    assert formats.write(given, "anthropic") == (
        [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Louder."}],
        [{"role": "user", "content": "Hi."}],
    )


def test_calls_without_a_result_are_answered_with_an_error() -> None:
    denied = {"state": "output-denied", "approval": {"id": "a", "approved": False}}
    given = [
        said("assistant", STEP, tool("look", "t1", {}), tool("look", "t2", {}) | denied),
        said("user", text("So?")),
    ]

    assert formats.write(given, "anthropic")[1][1] == asked(
        result("t1", content="interrupted", is_error=True),
        result("t2", content="Tool call execution denied.", is_error=True),
        {"type": "text", "text": "So?"},
    )


def test_a_call_over_there_that_was_left_is_answered_as_unavailable() -> None:
    written = again([QUESTION, answer(SEARCH, MCP), asked({"type": "text", "text": "And?"})])["messages"]

    assert written[1]["content"] == [
        SEARCH,
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        },
        MCP,
        {
            "type": "mcp_tool_result",
            "tool_use_id": "mcptoolu_1",
            "is_error": True,
            "content": [{"type": "text", "text": "interrupted"}],
        },
    ]


def test_ids_are_made_to_fit_and_stay_apart() -> None:
    parts = [tool("look", call_id, {}, output=call_id) for call_id in ("functions.look:0", "functions_look_0", "t")]
    given = [said("assistant", STEP, *parts, STEP, tool("look", "t", {}, output="again"))]
    written = formats.write(given, "anthropic")[1]

    ids = [block["id"] for message in written[::2] for block in message["content"]]
    assert ids == ["functions_look_0", "functions_look_0_2", "t", "t_2"]
    assert [block["tool_use_id"] for message in written[1::2] for block in message["content"]] == ids


def test_what_the_api_would_refuse_is_left_out() -> None:
    thought = {"type": "reasoning", "text": "Hm.", "providerMetadata": {"openai": {"itemId": "rs_1"}}}
    given = [
        said("user", text("Hi."), file("audio/wav", "data:audio/wav;base64,UklGRg==", filename="a.wav"), text("")),
        said("assistant", STEP, thought, text(" \n"), file("image/png", PNG)),
        said("assistant", STEP, tool("look", "t1", "not an object", output="a")),
    ]

    assert formats.write(given, "anthropic")[1] == [
        asked({"type": "text", "text": "Hi."}, {"type": "text", "text": "[file: audio/wav, a.wav]"}),
        answer({"type": "tool_use", "id": "t1", "name": "look", "input": {"input": "not an object"}}),
        asked(result("t1", content="a")),
    ]


def test_files_are_given_as_the_api_wants_them() -> None:
    files = [
        file("image/png", PNG),
        file("image/*", "https://example.org/cat.png"),
        file("application/pdf", PDF, filename="a.pdf"),
        file("text/markdown", "data:text/markdown,%23%20Hi"),
    ]

    assert formats.write([said("user", *files)], "anthropic")[1][0]["content"] == [
        IMAGE,
        {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}},
        {
            "type": "document",
            "title": "a.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "# Hi"}},
    ]
