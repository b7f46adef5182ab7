"""The shapes of files: each element comes in with its own bytes and the byte at which they stand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from palaver import Native, Store

from ..tools.sql import query
from .examples import as_file, given_back, session_of

CHAT = [
    {"role": "user", "content": "Wie warm ist es in Köln? ☀️"},
    {"role": "assistant", "content": "Grüße: 21 °C, 晴れ.\u2028\x85"},
    {"role": "user", "content": "Danke."},
]
PROMPTED = {"model": "m", "metadata": {"first": CHAT[0]}, "system": "Sei knäpp.", "messages": CHAT}
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "input_text", "text": "Köln?"}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "21 °C"}]},
]
LINES = "\n".join(json.dumps(each, ensure_ascii=False) for each in CHAT).encode()


def natives(store: Store) -> list[Native]:
    return [native for turn in store.sessions.get("chat-42").path() for native in store.natives(turn.id)]


SHAPES: dict[str, tuple[str, bytes, Any]] = {
    "an array": ("openai", as_file(CHAT), CHAT),
    "an array, indented": ("openai", as_file(CHAT, indent=2), CHAT),
    "an array, with escapes": ("openai", json.dumps(CHAT).encode(), CHAT),
    "an array, packed": ("openai", as_file(CHAT, separators=(",", ":")), CHAT),
    "a byte order mark": ("openai", b"\xef\xbb\xbf" + as_file(CHAT), CHAT),
    "blanks around it": ("openai", b" \r\n\t" + as_file(CHAT) + b"\n\n", CHAT),
    "an object": ("openai", as_file({"model": "m", "first": CHAT[0], "messages": CHAT}), CHAT),
    "an object, indented": ("openai", as_file({"model": "m", "messages": CHAT}, indent="\t"), CHAT),
    "an object with a prompt": ("anthropic", as_file(PROMPTED), {"system": "Sei knäpp.", "messages": CHAT}),
    "a prompt behind": ("anthropic", as_file({"messages": CHAT, "system": "Ü"}), {"system": "Ü", "messages": CHAT}),
    "a request of Responses": ("openai-responses", as_file({"model": "m", "input": ITEMS}), ITEMS),
    "an answer of Responses": ("openai-responses", as_file({"object": "response", "output": ITEMS}), ITEMS),
    "what was asked and answered": ("openai-responses", as_file({"output": ITEMS[1:], "input": ITEMS[:1]}), ITEMS),
    "a text that was asked": ("openai-responses", as_file({"input": "Ü?"}), [{"role": "user", "content": "Ü?"}]),
    "lines": ("openai", LINES, CHAT),
    "lines, and a last line feed": ("openai", LINES + b"\n", CHAT),
    "lines with returns and empty ones": ("openai", LINES.replace(b"\n", b"\r\n\r\n"), CHAT),
    "lines and a byte order mark": ("openai", b"\xef\xbb\xbf" + LINES, CHAT),
    "one line, which has an array of its own": ("openai-responses", as_file(ITEMS[2]), None),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_and_each_item_is_where_it_says(store: Store, shape: str) -> None:
    format, data, value = SHAPES[shape]

    store.graft(session_of(data, format, file="chat.json"))

    assert value is None or given_back(store, format) == value
    found = natives(store)
    assert found and all(native.file == "chat.json" for native in found)
    for native in found:
        assert native.body is not None and native.place is not None
        assert data[native.place : native.place + len(native.body)] == native.body


def test_an_element_that_stands_twice_in_a_file_has_its_own_place(store: Store) -> None:
    data = as_file({"metadata": {"first": CHAT[0]}, "messages": [CHAT[0], CHAT[1], CHAT[0]]})

    store.graft(session_of(data, "openai"))

    element = as_file(CHAT[0])
    behind_metadata = data.index(element, data.index(b'"messages"'))
    assert [native.place for native in natives(store)][::2] == [behind_metadata, data.rindex(element)]


def test_what_was_asked_comes_with_its_instructions(store: Store) -> None:
    store.graft(session_of(as_file({"instructions": "Sei knapp.", "input": ITEMS}), "openai"))

    assert given_back(store, "openai-responses") == [{"role": "system", "content": "Sei knapp."}, *ITEMS]


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", b"[]", b" [ ]\n", b'{"messages": []}'])
@pytest.mark.parametrize("format", ["openai", "anthropic", "aisdk"])
def test_a_file_in_which_nothing_is_said_is_a_session_in_which_nothing_was_said(
    store: Store, data: bytes, format: str
) -> None:
    report = store.graft(session_of(data, format))

    assert (len(report.sessions), report.turns) == (1, 0)
    assert given_back(store, "openai") == []
    assert store.graft(session_of(data, format)).sessions[0].is_new is False


def test_a_text_and_a_value_are_read_as_a_file_is(store: Store) -> None:
    for source in (as_file(CHAT), as_file(CHAT).decode(), CHAT, tuple(CHAT), {"messages": CHAT}):
        store.graft(session_of(source, "openai", id=f"of {type(source).__name__}"))

    for name in ("bytes", "str", "list", "tuple", "dict"):
        assert store.sessions.get(f"of {name}").messages(format="openai") == CHAT


# ---------------------------------------------------------------- what has no home


def told(store: Store, turn_id: str) -> list[str]:
    ((facts,),) = query(store.path, "SELECT facts_json FROM turns WHERE id = ?", turn_id)
    found: list[str] = json.loads(facts)["homeless"]
    return found


def test_what_no_message_says_is_counted_told_and_kept(store: Store) -> None:
    stored = {"role": "assistant", "content": [{"type": "text", "text": "Ok."}], "usage": {"output_tokens": 2}}
    value = [{"role": "user", "content": "Hi."}, {**stored, "stop_reason": "end_turn"}]

    (done,) = store.graft(session_of(as_file(value), "anthropic")).sessions

    assert done.homeless == 2
    (turn,) = store.sessions.get("chat-42").path()
    assert told(store, turn.id) == [
        "item 1 usage: no place for it in a message",
        "item 1 stop_reason: no place for it in a message",
    ]
    assert json.loads(store.natives(turn.id)[1].body or b"") == value[1]


def test_keys_that_a_ui_message_does_not_have_are_told_and_a_time_is_its_time(store: Store) -> None:
    said = {"role": "user", "parts": [{"type": "text", "text": "Hi."}]}
    value = [
        {"id": "a", **said, "createdAt": "2020-09-13T12:26:40Z", "likes": 3, "author": "ann"},
        {"id": "b", **said, "createdAt": 1_600_000_001_000},
        {"id": "c", **said, "createdAt": "2020-09-13T12:26:42"},
        {"id": "d", **said, "createdAt": "yesterday"},
    ]

    (done,) = store.graft(session_of(as_file(value), "aisdk")).sessions

    session = store.sessions.get("chat-42")
    assert [message.created_at for message in session.transcript()][:3] == [
        1_600_000_000_000,
        1_600_000_001_000,
        1_600_000_002_000,
    ]
    (turn,) = session.path()
    assert done.homeless == 3
    assert told(store, turn.id) == [
        "item 0 likes: it is no key of a UIMessage",
        "item 0 author: it is no key of a UIMessage",
        "item 3 createdAt: it is no key of a UIMessage",
    ]
