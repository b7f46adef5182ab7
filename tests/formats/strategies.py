"""Conversations as they may come: of each format, and UIMessages of which each format can say everything."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import strategies as st

from .support import PDF, PNG, STEP

Value = dict[str, Any]
words = st.text(max_size=3).map("w{}".format)  # never blank
flag = st.booleans()
objects = st.sampled_from([{}, {"a": 1}, {"ä": [1.5, None, True, {"b": "\n"}], "": 2**53}, {"a": -0.0, "b": "\u2028"}])
values = objects | st.sampled_from([None, False, 0, 1e300, "", "{}", [], [[1], {"a": []}]])
names = st.sampled_from(["look", "web-search", "sql_2"])
arguments = st.sampled_from(['{"a": 1}', '{"a":1.50}', "{", "", '{"a":1}', "[]", "null", '{"ä":"\\u00e4"}'])


def several(one: st.SearchStrategy[Any], most: int = 3, least: int = 0) -> st.SearchStrategy[list[Any]]:
    return st.lists(one, min_size=least, max_size=most)


def one_of(*given: Value) -> st.SearchStrategy[Value]:
    return st.sampled_from(given)


def block(kind: str, key: str = "text", **more: Any) -> st.SearchStrategy[Value]:
    return words.map(lambda said: {"type": kind, key: said, **more})


# ---------------------------------------------------------------- Chat Completions

CHAT_FILES = one_of(
    {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}},
    {"type": "image_url", "image_url": {"url": "https://example.org/cat"}},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
    {"type": "file", "file": {"file_id": "file-1"}},
)


@st.composite
def chats(draw: st.DrawFn) -> list[Value]:
    found: list[Value] = []
    ids = count()
    for _ in range(draw(st.integers(0, 1))):
        found.append({"role": draw(st.sampled_from(["system", "developer"])), "content": draw(words)})
    for _ in range(draw(st.integers(0, 3))):
        said = draw(words | several(block("text") | CHAT_FILES, least=1))
        found.append({"role": "user", "content": said} | draw(one_of({}, {"name": "ann"})))
        for _ in range(draw(st.integers(0, 3))):
            found += draw(_chat_step(lambda: f"c{next(ids)}" if draw(flag) else "again"))
    return found


@st.composite
def _chat_step(draw: st.DrawFn, new_id: Callable[[], str]) -> list[Value]:
    said = draw(st.none() | words | several(block("text") | block("refusal", "refusal"), least=1))
    calls = draw(several(_chat_call()))
    if said is None and not calls:
        return [{"role": "assistant", "content": None, "refusal": draw(words)}]
    ids = list(dict.fromkeys(new_id() for _ in calls))  # the same one in two steps, not twice in one
    calls = [{"id": call_id, **call} for call_id, call in zip(ids, calls, strict=False)]
    answer = {"role": "assistant", "content": said} | ({"tool_calls": calls} if calls else {})
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": draw(words | several(block("text")))} for call in calls
    ]
    return [answer, *draw(st.permutations(results))]


@st.composite
def _chat_call(draw: st.DrawFn) -> Value:
    if draw(flag):
        return {"type": "custom", "custom": {"name": draw(names), "input": draw(words)}}
    return {"type": "function", "function": {"name": draw(names), "arguments": draw(arguments)}}


# ---------------------------------------------------------------- Responses

RESPONSES_FILES = one_of(
    {"type": "input_image", "image_url": PNG, "detail": "auto"},
    {"type": "input_image", "file_id": "file-1", "detail": "auto"},
    {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
    {"type": "input_file", "file_url": "https://example.org/a.pdf"},
)
HOSTED = one_of(
    {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "file_search_call", "status": "in_progress", "queries": ["x"], "results": None},
    {"type": "image_generation_call", "status": "completed", "result": "iVBORw0KGgo="},
    {"type": "mcp_call", "server_label": "s", "name": "n", "arguments": "{ }", "output": "o", "error": None},
    {"type": "telepathy_call", "strength": 3},
)


@st.composite
def items(draw: st.DrawFn) -> list[Value]:
    found: list[Value] = []
    ids = count()
    for _ in range(draw(st.integers(0, 3))):
        role = draw(st.sampled_from(["user", "user", "developer"]))
        kinds = block("input_text") if role == "developer" else block("input_text") | RESPONSES_FILES
        found.append({"role": role, "content": draw(words | several(kinds, least=1))} | draw(_typed()))
        for _ in range(draw(st.integers(0, 2))):
            found += draw(_items_of_a_step(lambda kind: f"{kind}_{next(ids)}"))
    return found


def _typed() -> st.SearchStrategy[Value]:
    return one_of({}, {"type": "message"}, {"type": "message", "status": "completed"})


@st.composite
def _items_of_a_step(draw: st.DrawFn, new_id: Callable[[str], str]) -> list[Value]:
    """What the model says, and at least one result, which ends the step."""
    said = draw(several(_spoken(new_id), 2))
    calls = draw(several(_called(new_id), 2, least=1))
    results = []
    for call in calls:
        output = draw(words | several(block("input_text") | RESPONSES_FILES))
        results.append({"type": f"{call['type']}_output", "call_id": call["call_id"], "output": output})
    return [*draw(st.permutations([*said, *calls])), *draw(st.permutations(results))]


@st.composite
def _called(draw: st.DrawFn, new_id: Callable[[str], str]) -> Value:
    about = {"call_id": new_id("call"), "name": draw(names)} | ({"id": new_id("fc")} if draw(flag) else {})
    if draw(flag):
        return {"type": "custom_tool_call", "input": draw(words), **about}
    return {"type": "function_call", "arguments": draw(arguments), **about}


@st.composite
def _spoken(draw: st.DrawFn, new_id: Callable[[str], str]) -> Value:
    kind = draw(st.sampled_from(["hosted", "reasoning", "message", "easy"]))
    if kind == "hosted":
        return {**draw(HOSTED), "id": new_id("ws")}
    if kind == "reasoning":
        more = draw(one_of({}, {"encrypted_content": "gA"}, {"encrypted_content": None}))
        return {"type": "reasoning", "id": new_id("rs"), "summary": draw(several(block("summary_text"))), **more}
    if kind == "easy":
        return {"role": "assistant", "content": draw(words | several(block("output_text"), least=1))} | draw(_typed())
    texts = block("output_text", annotations=[]) | block("refusal", "refusal")
    said = {"id": new_id("msg"), "role": "assistant", "content": draw(several(texts, least=1))}
    return {"type": "message", "status": "completed", **said}


# ---------------------------------------------------------------- Anthropic

CACHED = {"cache_control": {"type": "ephemeral"}}
ANTHROPIC_FILES = one_of(
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    {"type": "image", "source": {"type": "url", "url": "https://example.org/cat"}},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ä"}, "title": "t"},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
    {"type": "container_upload", "file_id": "f"},
)
SAID = block("text") | block("text", **CACHED)


@st.composite
def talks(draw: st.DrawFn) -> Value:
    """A request: the user and the model in turn, calls answered at the head of the next message."""
    found: list[Value] = []
    ids = count()
    results: list[Value] = []
    for _ in range(draw(st.integers(0, 4))):
        asked = draw(several(SAID | ANTHROPIC_FILES, least=0 if results else 1))
        found.append({"role": "user", "content": [*results, *asked]})
        calls, results = draw(_answer(lambda: f"t{next(ids)}"))
        found.append({"role": "assistant", "content": calls})
    if results:
        found.append({"role": "user", "content": results})
    system = draw(st.none() | words | several(SAID, least=1))
    for message in found:
        if len(message["content"]) == 1 and message["content"][0].keys() == {"type", "text"} and draw(flag):
            message["content"] = message["content"][0]["text"]
    return {"messages": found} | ({} if system is None else {"system": system})


@st.composite
def _answer(draw: st.DrawFn, new_id: Callable[[], str]) -> tuple[list[Value], list[Value]]:
    thoughts = block("thinking", "thinking", signature="s") | block("redacted_thinking", "data")
    said = draw(several(SAID | thoughts, 2, least=1))
    calls = [
        {"type": "tool_use", "id": new_id(), "name": draw(names), "input": draw(objects)} for _ in draw(several(flag))
    ]
    results = [draw(_result(call["id"])) for call in calls]
    over_there = [pair for _ in draw(several(flag, 2)) for pair in draw(_over_there(new_id()))]
    return [*said, *over_there, *calls], draw(st.permutations(results))


@st.composite
def _result(draw: st.DrawFn, call_id: str) -> Value:
    content = draw(st.none() | words | several(SAID | ANTHROPIC_FILES))
    told = {} if content is None else {"content": content}
    more = draw(one_of({}, {"is_error": True}, {"is_error": False}, CACHED))
    return {"type": "tool_result", "tool_use_id": call_id, **told, **more}


@st.composite
def _over_there(draw: st.DrawFn, call_id: str) -> list[Value]:
    call = {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": draw(objects)}
    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    content = draw(st.sampled_from([[{"type": "web_search_result", "url": "u"}], [], error]))
    result = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": content}
    between = draw(several(SAID, 1))
    return [call, *between, result]


# ---------------------------------------------------------------- UIMessages

THOUGHTS: dict[str, dict[str, Any]] = {
    "openai": {"openai": {"chat": {"field": "reasoning_content"}}},
    "openai-responses": {"openai": {"reasoningEncryptedContent": "gA"}},
    "anthropic": {"anthropic": {"signature": "s"}},
}
UI_FILES = one_of(
    {"type": "file", "mediaType": "image/png", "url": PNG},
    {"type": "file", "mediaType": "image/*", "url": "https://example.org/cat"},
    {"type": "file", "mediaType": "application/pdf", "url": PDF, "filename": "a.pdf"},
)


@st.composite
def ui_messages(draw: st.DrawFn, format: str) -> list[Value]:
    """Messages of text, reasoning, tools and files that a format can say: a step that is not the last has a call."""
    found: list[Value] = []
    ids = count()
    for _ in range(draw(st.integers(1, 3))):
        found.append({"role": "user", "parts": draw(several(block("text") | UI_FILES, least=1))})
        parts: list[Value] = []
        for number in range(steps := draw(st.integers(1, 3))):
            parts += [STEP, *draw(_ui_step(format, lambda: f"t{next(ids)}", last=number == steps - 1))]
        found.append({"role": "assistant", "parts": parts})
    return found


@st.composite
def _ui_step(draw: st.DrawFn, format: str, new_id: Callable[[], str], *, last: bool) -> list[Value]:
    thought = [{"type": "reasoning", "text": draw(words), "providerMetadata": THOUGHTS[format]}] if draw(flag) else []
    tools = [draw(_ui_tool(format, new_id())) for _ in range(draw(st.integers(0 if last else 1, 2)))]
    said = draw(several(block("text"), 2, least=0 if tools else 1))
    return [*thought, *said, *tools]


@st.composite
def _ui_tool(draw: st.DrawFn, format: str, call_id: str) -> Value:
    part = {"type": f"tool-{draw(names)}", "toolCallId": call_id, "input": draw(objects)}
    if format == "anthropic" and draw(flag):  # the others have no word for an error
        return {**part, "state": "output-error", "errorText": draw(words)}
    return {**part, "state": "output-available", "output": draw(words)}


@st.composite
def any_ui_messages(draw: st.DrawFn) -> list[Value]:
    """Messages in whatever state a store may have them."""
    roles = draw(several(st.sampled_from(["system", "user", "assistant", "assistant"]), 4))
    anything = block("text") | block("reasoning") | UI_FILES | _any_tool()
    others = one_of(
        STEP, {"type": "text", "text": " "}, {"type": "data-x", "data": 1}, {"type": "source-url", "url": "u"}
    )
    return [
        {"role": role, "parts": draw(several(anything | others, 5) if role == "assistant" else several(anything, 3))}
        for role in roles
        if role == "assistant" or draw(flag)
    ]


@st.composite
def _any_tool(draw: st.DrawFn) -> Value:
    states = ["input-streaming", "input-available", "approval-requested", "approval-responded"]
    state = draw(st.sampled_from([*states, "output-available", "output-error", "output-denied"]))
    part: Value = {"type": "tool-look", "toolCallId": draw(st.sampled_from(["a", "b:1", "", "b_1"])), "state": state}
    part |= {"input": draw(values)} if draw(flag) else {}
    part |= {"providerExecuted": True} if draw(flag) else {}
    part |= {"output": draw(values)} if state == "output-available" else {}
    return part | ({"errorText": draw(words)} if state == "output-error" else {})
