"""Files that will not do: what comes before the fault is kept, and the problem says at which byte it is. A file of
something else is refused before anything is written."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import BadValue, GraftRefused, GraftReport, Store, importers

from ..tools.talk import texts
from .examples import EXACT, as_file, session_of

CHAT = [
    {"role": "user", "content": "Eins für alle."},
    {"role": "assistant", "content": "Zwei."},
    {"role": "user", "content": "Drei."},
]
TEXTS = ["Eins für alle.", "Zwei.", "Drei."]


def refused(store: Store, data: Any, format: str = "openai") -> GraftReport:
    with pytest.raises(GraftRefused) as told:
        store.graft(session_of(data, format, file="chat.json"))
    report: GraftReport = told.value.report
    return report


def second(data: bytes) -> int:
    """At which byte the second message begins."""
    return data.index(as_file(CHAT[1])[:20])


def lines(*values: Any) -> bytes:
    return b"".join(as_file(value) + b"\n" for value in values)


ARRAY, LINES, OBJECT = as_file(CHAT), lines(*CHAT), as_file({"model": "m", "messages": CHAT})
BROKEN: dict[str, tuple[bytes, int, str]] = {
    "an array that breaks off": (ARRAY[: second(ARRAY) + 25], second(ARRAY), "it breaks off"),
    "an array that breaks off behind a message": (ARRAY[: second(ARRAY) - 2], second(ARRAY) - 2, "it breaks off"),
    "an array that breaks off behind a comma": (ARRAY[: second(ARRAY)], second(ARRAY), "it breaks off"),
    "an object that breaks off": (OBJECT[: second(OBJECT) + 25], second(OBJECT), "it breaks off"),
    "lines that break off": (LINES[: second(LINES) + 25], second(LINES), "it breaks off"),
    "two values in a line": (lines(CHAT[0], 1).replace(b"1\n", b"1 2\n"), second(LINES) + 1, "behind the value"),
    "no comma": (ARRAY.replace(b"}, {", b"}  {", 1), second(ARRAY), "there should be ','"),
    "something behind the array": (as_file(CHAT[:1]) + b" [1]", len(as_file(CHAT[:1])) + 1, "behind the array"),
    "not UTF-8 in an array": (ARRAY.replace(b"Zwei", b"Zw\xe9i"), second(ARRAY), "it is not UTF-8 at byte "),
    "not UTF-8 in lines": (LINES.replace(b"Zwei", b"Zw\xe9i"), second(LINES), "it is not UTF-8 at byte "),
    "NaN": (ARRAY.replace(b'"Zwei."', b"NaN"), second(ARRAY), "NaN is not a JSON number"),
    "a number that no double holds": (ARRAY.replace(b'"Zwei."', b"1e999"), second(ARRAY), "does not fit a double"),
    "a message nested too deep": (
        ARRAY.replace(b'"Zwei."', b"[" * 2_000 + b"]" * 2_000),
        second(ARRAY),
        "nested",
    ),
    "a message that is no object": (as_file([CHAT[0], 7, CHAT[2]]), len(as_file(CHAT[:1])) + 1, "not 7"),
    "a line that is no object": (lines(CHAT[0], [1]), second(LINES), "not [1]"),
    "a message that is none": (as_file([CHAT[0], {"role": "bot"}]), len(as_file(CHAT[:1])) + 1, "messages[1].role"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_comes_before_a_fault_is_kept_and_the_problem_says_the_byte(store: Store, name: str) -> None:
    data, place, why = BROKEN[name]

    (problem,) = refused(store, data).problems

    assert f"chat.json cannot be read from byte {place} on: " in str(problem) and why in str(problem)
    assert isinstance(problem.error, BadValue)
    assert texts(store.sessions.get("chat-42")) == TEXTS[:1]
    store.graft(session_of(ARRAY, "openai"))  # it was mended
    assert texts(store.sessions.get("chat-42")) == TEXTS


NOTHING: dict[str, tuple[Any, str, str]] = {
    "a PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "openai", "chat.json cannot be read from byte 0 on: "),
    "UTF-16": (json.dumps(CHAT).encode("utf-16"), "openai", "from byte 0 on: it is not UTF-8"),
    "an object without messages": (b"{}", "openai", "byte 0: messages[0].role is missing"),
    "an object of something else": (b'{"name": "x",\n "version": 1}', "anthropic", "chat.json cannot be read from"),
    "a number": (b"7", "openai", "byte 0: messages[0] is an object, not 7"),
    "a text": (b'"Hi."', "aisdk", "byte 0: messages[0] is an object, not 'Hi.'"),
    "deep": (b"[" * 2_000 + b"]" * 2_000, "openai", "from byte 1 on: it is nested too deep"),
    "a first message that is none": (b'[{"role": "bot"}]', "openai", "byte 1: messages[0].role is one of"),
    "OpenAI's for Anthropic": (
        as_file(EXACT["openai"]["a call, its result, an answer"]),
        "anthropic",
        "these are no messages of Anthropic; they look like OpenAI's (openai)",
    ),
    "Responses for Anthropic": (
        as_file(EXACT["openai-responses"]["reasoning, a call, its result, an answer"]),
        "anthropic",
        "they look like OpenAI's (openai-responses)",
    ),
    "Anthropic's for OpenAI": (
        as_file(EXACT["anthropic"]["thinking"]),
        "openai",
        "these are no messages of OpenAI; they look like Anthropic's (anthropic)",
    ),
    "the AI SDK's for OpenAI": (
        as_file(EXACT["aisdk"]["openai: texts"]),
        "openai",
        "they look like the AI SDK's (aisdk)",
    ),
    "OpenAI's for the AI SDK": (
        as_file(EXACT["openai"]["texts"]),
        "aisdk",
        "these are no messages of the AI SDK; they look like OpenAI's (openai)",
    ),
    "a value that is no list": (7, "openai", "messages is a list of them, not int"),
    "a value without messages": ({"model": "m"}, "openai", "an object of messages has them under"),
    "a value of no JSON": ([{"role": "user", "content": {1, 2}}], "openai", "set is not a JSON value"),
    "a value with NaN": ([{"role": "user", "content": float("nan")}], "openai", "not a JSON number"),
    "a value that is no message": ([CHAT[0], 7], "openai", "messages[1] is an object, not 7"),
    "half a character": ("\ud800", "openai", "from byte 0 on: it is not UTF-8"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_something_else_is_refused_and_nothing_is_written(store: Store, name: str) -> None:
    data, format, why = NOTHING[name]

    with pytest.raises(BadValue) as refusal:
        store.graft(session_of(data, format, file="chat.json"))

    assert why in str(refusal.value)
    assert len(list(store.sessions.list())) == 0


def test_an_answer_of_an_api_is_no_conversation(store: Store) -> None:
    answer = {"id": "chatcmpl-1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}}]}
    for source in (answer, json.dumps(answer).encode()):
        with pytest.raises(BadValue):
            importers.openai(source, id="a")
    assert list(store.sessions.list()) == []


def test_a_database_is_no_conversation(store: Store, tmp_path: Path) -> None:
    with palaver.open(tmp_path / "other.db") as other:
        other.sessions.create("coder")

    with pytest.raises(BadValue, match="cannot be read from byte 0 on"):
        session_of((tmp_path / "other.db").read_bytes(), "openai")


def test_an_id_that_stands_twice_with_other_words_is_told_with_its_place(store: Store) -> None:
    value = [{"id": "a", **CHAT[0]}, {"id": "b", **CHAT[1]}, {"id": "a", **CHAT[2]}]
    data = as_file(value)

    (problem,) = refused(store, data).problems

    assert (problem.item, problem.file, problem.place) == ("a", "chat.json", data.rindex(b'{"id"'))
    assert "twice, and not the same" in str(problem)
    assert texts(store.sessions.get("chat-42")) == TEXTS[:2]


@pytest.mark.parametrize("id", ["\ud800", "x" * 600, "a\x00b"])
def test_an_id_that_cannot_be_kept_is_told_with_its_place(store: Store, id: str) -> None:
    data = json.dumps([CHAT[0], CHAT[1], {"id": id, **CHAT[2]}]).encode()

    (problem,) = refused(store, data).problems

    assert problem.place == data.rindex(b'{"id"')
    assert texts(store.sessions.get("chat-42")) == TEXTS[:2]


def test_half_a_character_in_an_escape_comes_in_as_it_is(store: Store) -> None:
    value = [{"role": "user", "content": "half: \ud83d"}]

    store.graft(session_of(json.dumps(value).encode(), "openai"))

    assert store.sessions.get("chat-42").messages(format="openai") == value


# ---------------------------------------------------------------- whatever comes


def spoilt(chance: random.Random, valid: list[bytes]) -> bytes:
    """A file that was cut, spliced with another, or has bytes that are none of its own."""
    data = bytearray(chance.choice(valid))
    for _ in range(chance.randint(1, 3)):
        at, other = chance.randrange(len(data) + 1), chance.choice(valid)
        begin = chance.randrange(len(other))
        way = chance.randrange(5)
        if way == 0:
            del data[at:]
        elif way == 1:
            del data[at : at + chance.randint(1, 40)]
        elif way == 2:
            data[at:at] = other[begin : begin + chance.randint(1, 60)]
        elif way == 3:
            data[at : at + 1] = chance.randbytes(chance.randint(1, 3))
        else:
            data[at : at + 1] = chance.choice([b'"', b"[", b"]", b"{", b"}", b",", b":", b"\n", b"null", b"NaN", b"1"])
    return bytes(data)


def test_whatever_the_bytes_are_it_is_ours_to_refuse() -> None:
    chance = random.Random(20261118)
    valid = {format: [as_file(value) for value in named.values()] for format, named in EXACT.items()}
    valid["openai"] += [as_file(value, indent=1) for value in EXACT["openai"].values()]
    valid["openai-responses"] += [lines(*value) for value in EXACT["openai-responses"].values()]
    came_in = 0
    with palaver.open(":memory:") as store:
        for number in range(600):
            format = chance.choice(list(valid))
            data = spoilt(chance, valid[format]) if number % 10 else chance.randbytes(chance.randrange(200))
            try:
                came_in += store.graft(session_of(data, format, id=f"s{number}")).turns
            except GraftRefused as error:
                came_in += error.report.turns
            except BadValue:
                pass
            except Exception as error:
                raise AssertionError(f"{number}: {format} {data!r}") from error
        assert store.verify() == []
    assert came_in > 150


def test_whatever_the_lines_are_those_that_are_conversations_come_in() -> None:
    chance = random.Random(20261118)
    valid = [as_file({"messages": value}) for value in EXACT["openai"].values()]
    given = [chance.choice(valid) if number % 3 else spoilt(chance, valid) for number in range(150)]
    data = b"\n".join(line.replace(b"\n", b" ") for line in given)
    with palaver.open(":memory:") as store:
        with pytest.raises(GraftRefused) as told:
            store.graft(importers.conversations_in(data, "openai", id="t"))
        sessions = told.value.report.sessions
        assert len(sessions) == len([line for line in data.split(b"\n") if line.strip()])
        assert sum(session.turns > 0 for session in sessions) >= 100
        assert all(isinstance(problem.error, BadValue) for problem in told.value.report.problems)
        assert store.verify() == []
