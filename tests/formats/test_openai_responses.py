"""Items of the Responses API: what each documented kind becomes, and that it is given back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from palaver import formats

from .support import PDF, PNG, STEP, again, file, messages, said, text, tool

QUESTION = {"role": "user", "content": "How warm is it?"}
CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Rome"}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "21"}
ANSWER = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "21 °C.", "annotations": []}],
}
SHELL = {"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}

EXACT: dict[str, list[dict[str, Any]]] = {
    "texts": [{"role": "system", "content": "Be brief."}, QUESTION, {"role": "assistant", "content": "21 °C."}],
    "a developer": [{"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}, QUESTION],
    "typed messages": [{"type": "message", **QUESTION, "id": "msg_0", "status": "completed"}, ANSWER],
    "images and files": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": PNG, "detail": "auto"},
                {"type": "input_image", "file_id": "file-1", "detail": "low"},
                {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
                {"type": "input_file", "file_data": PDF},
                {"type": "input_file", "file_url": "https://example.org/a.pdf"},
                {"type": "input_file", "file_id": "file-2"},
                {"type": "input_hologram", "depth": 3},
            ],
        }
    ],
    "two texts and a refusal in one message": [
        QUESTION,
        {
            **ANSWER,
            "phase": "commentary",
            "content": [
                {
                    "type": "output_text",
                    "text": "Hm.",
                    "annotations": [{"type": "file_path", "file_id": "f", "index": 0}],
                },
                {"type": "output_text", "text": "Well.", "annotations": [], "logprobs": []},
                {"type": "refusal", "refusal": "No."},
            ],
        },
    ],
    "two messages in one step": [QUESTION, ANSWER, {**ANSWER, "id": "msg_2"}],
    "answers in other forms": [
        QUESTION,
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]},
        {"role": "assistant", "content": [{"type": "input_text", "text": "Well."}]},
    ],
    "reasoning, a call, its result, an answer": [
        QUESTION,
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {**CALL, "id": "fc_1", "status": "completed"},
        {**RESULT, "id": "fco_1", "status": "completed"},
        {
            "type": "reasoning",
            "id": "rs_2",
            "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
            "encrypted_content": None,
        },
        ANSWER,
    ],
    "reasoning that is shown": [
        QUESTION,
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "In short."}],
            "content": [{"type": "reasoning_text", "text": "At length."}],
            "status": "completed",
        },
        ANSWER,
    ],
    "parallel calls, whose results come in another order": [
        QUESTION,
        CALL,
        {**CALL, "call_id": "c2", "namespace": "sky"},
        {**RESULT, "call_id": "c2"},
        RESULT,
    ],
    "results in blocks": [
        QUESTION,
        CALL,
        {**RESULT, "output": [{"type": "input_text", "text": "21"}, {"type": "input_image", "image_url": PNG}]},
    ],
    "a custom tool": [
        QUESTION,
        {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "SELECT 1"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
    ],
    "shells, a patch, a computer": [
        QUESTION,
        {
            "type": "local_shell_call",
            "id": "lsh_1",
            "call_id": "c1",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
        {"type": "local_shell_call_output", "id": "c1", "output": "a"},
        {"type": "local_shell_call", "id": "lsh_2", "call_id": "c2", "status": "completed", "action": {"type": "exec"}},
        {"type": "local_shell_call_output", "call_id": "c2", "output": "b"},
        {"type": "shell_call", "call_id": "c3", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "c3", "output": [SHELL], "max_output_length": 99},
        {
            "type": "apply_patch_call",
            "call_id": "c4",
            "status": "completed",
            "operation": {"type": "delete_file", "path": "a"},
        },
        {"type": "apply_patch_call_output", "call_id": "c4", "status": "completed"},
        {
            "type": "apply_patch_call",
            "call_id": "c5",
            "status": "completed",
            "operation": {"type": "delete_file", "path": "a"},
        },
        {"type": "apply_patch_call_output", "call_id": "c5", "status": "failed", "output": "No such file."},
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "c6",
            "status": "completed",
            "pending_safety_checks": [],
            "action": {"type": "screenshot"},
        },
        {
            "type": "computer_call_output",
            "call_id": "c6",
            "output": {"type": "computer_screenshot", "image_url": PNG},
        },
    ],
    "tools that OpenAI runs": [
        QUESTION,
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"], "results": None},
        {"type": "file_search_call", "id": "fs_2", "status": "completed", "queries": ["x"], "results": [{"score": 1}]},
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "failed",
            "code": "1/0",
            "container_id": "cntr_1",
            "outputs": None,
        },
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
        {"type": "image_generation_call", "id": "ig_2", "status": "in_progress", "result": None},
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "sky",
            "name": "weather",
            "arguments": '{"city": "Rome"}',
            "output": "21",
            "error": None,
            "status": "completed",
        },
        {
            "type": "mcp_call",
            "id": "mcp_2",
            "server_label": "sky",
            "name": "weather",
            "arguments": "{}",
            "error": {"type": "http_error", "code": 500, "message": "Oh."},
        },
        ANSWER,
    ],
    "items that are not known, and a reference": [
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
        QUESTION,
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "sky", "tools": []},
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "w", "arguments": "{}", "server_label": "sky"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        {"id": "msg_9"},
        {"type": "telepathy_call", "strength": 3},
    ],
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_read_is_written_as_it_was(name: str) -> None:
    assert again(EXACT[name], "openai-responses") == EXACT[name]


def test_a_step_begins_after_what_the_caller_said() -> None:
    found = messages([QUESTION, CALL, RESULT, {"role": "assistant", "content": "21 °C."}], "openai-responses")

    assert found == [
        said("user", text("How warm is it?")),
        said("assistant", STEP, tool("weather", "c1", {"city": "Rome"}, output="21"), STEP, text("21 °C.")),
    ]


def test_reasoning_and_ids_have_the_names_that_the_ai_sdk_gives_them() -> None:
    thought, call = messages(EXACT["reasoning, a call, its result, an answer"], "openai-responses")[1]["parts"][1:3]

    assert thought == {
        "type": "reasoning",
        "text": "",
        "providerMetadata": {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gAAA"}},
    }
    assert call["callProviderMetadata"]["openai"]["itemId"] == "fc_1"


def test_what_the_ai_sdk_recorded_is_given_back_with_its_ids() -> None:
    about = {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": None}}
    last = {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gAAA"}}
    parts = [
        {"type": "reasoning", "text": "One.", "providerMetadata": about, "state": "done"},
        {"type": "reasoning", "text": "Two.", "providerMetadata": last, "state": "done"},
        text("21 °C.", state="done", providerMetadata={"openai": {"itemId": "msg_1"}}),
    ]

    assert formats.write([said("assistant", STEP, *parts)], "openai-responses") == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
            "encrypted_content": "gAAA",
        },
        {"role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "21 °C."}]},
    ]


def test_a_hosted_tool_is_one_that_the_provider_ran() -> None:
    parts = messages(EXACT["tools that OpenAI runs"], "openai-responses")[1]["parts"]
    found = [(part["type"], part["state"], part["providerExecuted"]) for part in parts if "toolCallId" in part]

    assert found == [
        ("tool-web_search", "output-available", True),
        ("tool-file_search", "output-available", True),
        ("tool-file_search", "output-available", True),
        ("tool-code_interpreter", "output-error", True),
        ("tool-image_generation", "output-available", True),
        ("tool-image_generation", "input-available", True),
        ("tool-weather", "output-available", True),
        ("tool-weather", "output-error", True),
    ]
    assert parts[5]["output"] == [file("image/png", PNG)]
    assert parts[7]["input"] == {"city": "Rome"}


def test_a_request_and_a_response_are_read_too() -> None:
    request = {"model": "m", "instructions": "Be brief.", "input": "How warm is it?"}
    found = formats.read(request, "openai-responses")

    assert found.messages() == [said("system", text("Be brief.")), said("user", text("How warm is it?"))]
    assert found.system[0].index is None
    response = {"object": "response", "output": [{"role": "assistant", "content": "21 °C."}]}
    assert messages(response, "openai-responses") == [said("assistant", STEP, text("21 °C."))]


def test_calls_without_a_result_are_answered_in_the_way_of_their_kind() -> None:
    given = [item for item in EXACT["shells, a patch, a computer"] if not item.get("type", "").endswith("_output")]
    written = again(given, "openai-responses")

    failed = {"stdout": "", "stderr": "interrupted", "outcome": {"type": "exit", "exit_code": 1}}
    assert [item for item in written if item.get("type", "").endswith("_output")] == [
        {"type": "local_shell_call_output", "call_id": "c1", "output": "interrupted"},
        {"type": "local_shell_call_output", "call_id": "c2", "output": "interrupted"},
        {"type": "shell_call_output", "call_id": "c3", "output": [failed]},
        {"type": "apply_patch_call_output", "call_id": "c4", "status": "failed", "output": "interrupted"},
        {"type": "apply_patch_call_output", "call_id": "c5", "status": "failed", "output": "interrupted"},
    ]
    assert "computer_call" not in [item.get("type") for item in written]  # only a screenshot would be an answer


def test_reasoning_of_another_provider_is_left_out() -> None:
    thought = {"type": "reasoning", "text": "Hm.", "providerMetadata": {"anthropic": {"signature": "x"}}}

    assert formats.write([said("assistant", STEP, thought, text("Ok."))], "openai-responses") == [
        {"role": "assistant", "content": "Ok."}
    ]
