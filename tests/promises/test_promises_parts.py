"""Rows 15 to 28 of the promise ledger: roles, parts, tool calls, homes, and statements that need no JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import palaver

from ..fold.sdk import Oracle
from .sabotage import broken_by
from .support_schema import ask, first_column, live

STATES = {
    "input-streaming": {"input": {"a": 1}},
    "input-available": {"input": {"a": 1}},
    "approval-requested": {"input": {}, "approval": {"id": "ap"}},
    "approval-responded": {"input": {}, "approval": {"id": "ap", "approved": True, "reason": "fine"}},
    "output-available": {"input": {}, "output": {"b": [2]}},
    "output-error": {"input": {}, "errorText": "no"},
    "output-denied": {"input": {}, "approval": {"id": "ap", "approved": False}},
}
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "Hello", "state": "done", "providerMetadata": {"p": {"k": 1}}},
    {"type": "reasoning", "text": "Hm.", "state": "done"},
    {"type": "step-start"},
    {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA==", "filename": "a.png"},
    {"type": "source-url", "sourceId": "s1", "url": "https://example.org/", "title": "A page"},
    {"type": "source-document", "sourceId": "s2", "mediaType": "text/plain", "title": "A text", "filename": "t.txt"},
    {"type": "data-weather", "id": "w", "data": {"sun": True, "wind": [1, 2.5]}},
    *({"type": "tool-run-it", "toolCallId": f"s-{s}", "state": s, **more} for s, more in STATES.items()),
    *({"type": "dynamic-tool", "toolName": "x", "toolCallId": f"d-{s}", "state": s, **m} for s, m in STATES.items()),
]


@pytest.fixture(scope="module")
def sdk() -> Iterator[Oracle]:
    oracle = Oracle()
    yield oracle
    oracle.close()


# ---------------------------------------------------------------- 15: roles


@pytest.mark.parametrize("role", ["tool", "developer", "User", "", None, 5, "assistant "])
def test_promise_015_a_role_that_is_not_one_of_three_is_refused(store: palaver.Store, role: Any) -> None:
    session = store.sessions.create("a")
    message = {"role": role, "parts": [{"type": "text", "text": "x"}]}
    for given in (message, json.dumps(message).encode()):
        with pytest.raises(palaver.BadValue, match="role is user, assistant or system"):
            session.commit([given])
        with pytest.raises(palaver.BadValue):
            session.turn([given])
    assert ask(store.path, "SELECT count(*) FROM chat_messages") == [(0,)]


def test_promise_015_the_three_roles_are_stored_as_given(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit([{"role": role, "content": role} for role in ("system", "user", "assistant")])
    assert first_column(store.path, "SELECT role FROM chat_messages ORDER BY created_at") == [
        "system",
        "user",
        "assistant",
    ]
    live(store)
    assert set(first_column(store.path, "SELECT DISTINCT role FROM chat_messages")) == {"system", "user", "assistant"}


# ---------------------------------------------------------------- 16: index


@broken_by("part_indexes_repeat")
def test_promise_016_parts_are_numbered_from_0_without_gap_or_repeat(store: palaver.Store) -> None:
    live(store)
    assert (
        first_column(
            store.path,
            'SELECT message_id FROM chat_parts GROUP BY message_id HAVING min("index") <> 0'
            ' OR max("index") <> count(*) - 1 OR count(DISTINCT "index") <> count(*)',
        )
        == []
    )
    assert ask(store.path, "SELECT max(n) > 3 FROM (SELECT count(*) n FROM chat_parts GROUP BY message_id)") == [(1,)]


@broken_by("part_indexes_repeat")
def test_promise_016_the_index_grows_by_one_with_every_part_that_streams(store: palaver.Store) -> None:
    with store.sessions.create("a").turn("q") as turn:
        for place in range(30):
            turn.write({"type": "data-tick", "id": str(place), "data": place})
            places = first_column(
                store.path, 'SELECT "index" FROM chat_parts WHERE message_id = ? ORDER BY rowid', turn.message_id
            )
            assert places == list(range(place + 1))


# ---------------------------------------------------------------- 17, 18: types and data


def test_promise_017_every_part_type_passes_the_sdks_own_validator(store: palaver.Store, sdk: Oracle) -> None:
    session = store.sessions.create("a")
    session.commit([{"id": "u", "content": "q"}, {"id": "m", "role": "assistant", "parts": PARTS}])
    read = session.messages()
    assert read[1]["parts"] == PARTS
    answer = sdk.ask("validate", {"messages": read, "ignoreIncompleteToolCalls": True})
    assert answer.get("stage") != "validate", answer
    stored = ask(store.path, 'SELECT type, data_json FROM chat_parts WHERE message_id <> ? ORDER BY "index"', "u")
    assert [(kind, json.loads(data)) for kind, data in stored[1:]] == [(part["type"], part) for part in PARTS]


def test_promise_017_the_validator_would_say_so(sdk: Oracle) -> None:
    broken = {"type": "tool-run", "toolCallId": "c", "state": "running"}
    answer = sdk.ask("validate", [{"id": "m", "role": "assistant", "parts": [broken]}])
    assert (answer["ok"], answer["stage"]) == (False, "validate")


def test_promise_017_what_streams_in_has_the_sdks_types(store: palaver.Store, sdk: Oracle) -> None:
    session = store.sessions.create("a")
    with session.turn("q") as turn:
        turn.append(_one_of_each())
    answer = sdk.ask("validate", {"messages": session.messages(), "ignoreIncompleteToolCalls": True})
    assert answer.get("stage") != "validate", answer
    types = first_column(
        store.path, 'SELECT type FROM chat_parts WHERE message_id = ? ORDER BY "index"', turn.message_id
    )
    assert types == [
        *("step-start", "text", "reasoning", "file", "source-url", "source-document", "data-x"),
        *("tool-run", "dynamic-tool"),
    ]


def _one_of_each() -> list[dict[str, Any]]:
    return [
        {"type": "start", "messageId": "m"},
        {"type": "start-step"},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "Hi"},
        {"type": "text-end", "id": "t"},
        {"type": "reasoning-start", "id": "r"},
        {"type": "reasoning-delta", "id": "r", "delta": "Hm"},
        {"type": "reasoning-end", "id": "r"},
        {"type": "file", "mediaType": "text/plain", "url": "data:text/plain,x"},
        {"type": "source-url", "sourceId": "1", "url": "https://example.org/"},
        {"type": "source-document", "sourceId": "2", "mediaType": "text/plain", "title": "t"},
        {"type": "data-x", "data": {"a": 1}},
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}},
        {"type": "tool-output-available", "toolCallId": "c", "output": 1},
        {"type": "tool-input-start", "toolCallId": "d", "toolName": "look", "dynamic": True},
        {"type": "tool-input-available", "toolCallId": "d", "toolName": "look", "input": {}, "dynamic": True},
        {"type": "tool-output-error", "toolCallId": "d", "errorText": "no", "dynamic": True},
        {"type": "finish-step"},
        {"type": "finish"},
    ]


@broken_by("parts_are_encoded_again")
def test_promise_018_ten_thousand_parts_come_back_byte_for_byte(store: palaver.Store) -> None:
    dice = _dice()
    session = store.sessions.create("a")
    given = [_part(dice) for _ in range(10_000)]
    for start in range(0, len(given), 500):
        message = '{"role":"assistant","parts":[' + ",".join(given[start : start + 500]) + "]}"
        session.commit([message.encode()])
    order = (
        "SELECT p.data_json FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id"
        ' ORDER BY m.created_at, p."index"'
    )
    assert first_column(store.path, order) == given
    assert _exact(session.messages_json(), "parts") == [_exactly(part) for part in given]


def test_promise_018_what_streams_in_keeps_its_bytes(store: palaver.Store) -> None:
    dice = _dice()
    session = store.sessions.create("a")
    values = [f"[{_value(dice, 4)}, 1.10]" for _ in range(500)]
    with session.turn("q") as turn:
        for place, value in enumerate(values):
            turn.write(f'{{"type":"data-x","id":"{place}","data":{value}}}')
    stored = first_column(
        store.path, 'SELECT data_json FROM chat_parts WHERE message_id = ? ORDER BY "index"', turn.message_id
    )
    assert stored == [f'{{"type":"data-x","id":"{n}","data":{value}}}' for n, value in enumerate(values)]


def _dice() -> random.Random:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


def _part(dice: random.Random) -> str:
    call_id = dice.randrange(10**6)
    return dice.choice(
        (
            f'{{ "type":"text","text":{_text(dice)}}}',
            f'{{"type" : "data-{dice.choice("xyz")}", "data":{_value(dice, 4)}}}',
            f'{{"future":{_value(dice, 3)},"type":"media-{dice.choice("ab")}"}}',
            f'{{"type":"tool-f","toolCallId":"{call_id}","state":"output-available","input":{_value(dice, 3)},'
            f'"output":{_value(dice, 3)}}}',
        )
    )


NUMBERS = (
    "0",
    "-0",
    "-0.0",
    "1.10",
    "1e5",
    "1E+2",
    "12345678901234567890123",
    "0.1000000000000000055",
    "5e-324",
    "1.0",
)
TEXTS = (
    '""',
    '"\\u0000"',
    '"\\ud800"',
    '"\\uDC00x"',
    '"é\\u00e9"',
    '"\\/"',
    '"😀"',
    '"\\ud83d\\ude00"',
    '"\u2028"',
    '"\x7f"',
)


def _text(dice: random.Random) -> str:
    return dice.choice((*TEXTS, json.dumps("".join(chr(dice.randrange(32, 500)) for _ in range(dice.randrange(9))))))


def _value(dice: random.Random, depth: int) -> str:
    kind = dice.randrange(6 if depth else 4)
    if kind == 4:
        return (
            "[" + dice.choice((",", " , ", ",\n")).join(_value(dice, depth - 1) for _ in range(dice.randrange(4))) + "]"
        )
    if kind == 5:
        pairs = (f"{_text(dice)}:{_value(dice, depth - 1)}" for _ in range(dice.randrange(4)))
        return "{" + ",".join(pairs) + " }"
    return dice.choice(NUMBERS) if kind == 0 else _text(dice) if kind < 3 else dice.choice(("true", "false", "null"))


def _exactly(text: str) -> Any:
    """JSON with nothing rounded, no key dropped and no order lost."""
    return json.loads(text, parse_float=str, parse_int=str, object_pairs_hook=tuple)


def _exact(text: str, key: str) -> list[Any]:
    return [part for message in _exactly(text) for part in dict(message)[key]]


# ---------------------------------------------------------------- 20: tool states


@broken_by("a_tool_state_stays_what_it_was")
def test_promise_020_tool_state_follows_the_stream_through_all_seven_states(store: palaver.Store) -> None:
    turn = store.sessions.create("a").turn("q")
    ask_first = {"type": "tool-approval-request", "approvalId": "ap"}
    script: list[tuple[str, dict[str, Any], str]] = [
        ("a", {"type": "tool-input-start", "toolName": "run"}, "input-streaming"),
        ("a", {"type": "tool-input-available", "toolName": "run", "input": {}}, "input-available"),
        ("a", ask_first, "approval-requested"),
        ("a", {"approved": True}, "approval-responded"),
        ("a", {"type": "tool-output-available", "output": 1}, "output-available"),
        ("b", {"type": "tool-input-available", "toolName": "run", "input": {}}, "input-available"),
        ("b", {"type": "tool-output-error", "errorText": "no"}, "output-error"),
        ("c", {"type": "tool-input-available", "toolName": "run", "input": {}}, "input-available"),
        ("c", ask_first, "approval-requested"),
        ("c", {"approved": False}, "approval-responded"),
        ("c", {"type": "tool-output-denied"}, "output-denied"),
    ]
    for call_id, step, wanted in script:
        if "type" in step:
            turn.write({**step, "toolCallId": call_id})
        else:
            turn.resolve(call_id, **step)
        found = ask(
            store.path, "SELECT tool_state, data_json ->> 'state' FROM chat_parts WHERE tool_call_id = ?", call_id
        )
        assert found == [(wanted, wanted)]
    turn.seal()


@pytest.mark.parametrize("state", ["running", "pending", "error", "", None, 7])
def test_promise_020_a_tool_part_in_any_other_state_is_refused(store: palaver.Store, state: Any) -> None:
    session = store.sessions.create("a")
    for kind in ({"type": "tool-run"}, {"type": "dynamic-tool", "toolName": "run"}):
        part = {**kind, "toolCallId": "c", "state": state, "input": {}}
        with pytest.raises(palaver.BadValue):
            session.commit([{"role": "assistant", "parts": [part]}])
    assert ask(store.path, "SELECT count(*) FROM chat_parts") == [(0,)]


def test_promise_020_no_other_word_is_in_the_column_after_every_verb(store: palaver.Store) -> None:
    live(store)
    words = set(first_column(store.path, "SELECT DISTINCT tool_state FROM chat_parts WHERE tool_state IS NOT NULL"))
    assert words <= set(STATES) and words
    assert ask(store.path, "SELECT id FROM chat_parts WHERE tool_state <> (data_json ->> 'state')") == []
