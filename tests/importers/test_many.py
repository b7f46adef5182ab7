"""Files with a whole conversation to a line: each is a session of its own, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

from palaver import BadValue, GraftRefused, Store, importers

from ..tools.talk import texts
from .examples import as_file, session_of


def talk(words: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": words}, {"role": "assistant", "content": f"{words}!"}]


def lines(*values: Any) -> bytes:
    return b"".join(as_file(value) + b"\n" for value in values)


TALKS = lines({"messages": talk("eins")}, {"messages": talk("zwei")})


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_each_line_is_a_session_with_a_number(store: Store, format: str) -> None:
    data = TALKS + b"\n" + as_file(talk("drei"))  # an empty line has none, and an array is a conversation, too

    report = store.graft(importers.conversations_in(data, format, id="tuning", file="t.jsonl", agent="tuned"))

    assert [session.foreign_id for session in report.sessions] == ["tuning/1", "tuning/2", "tuning/3"]
    for number, words in enumerate(["eins", "zwei", "drei"], 1):
        session = store.sessions.get(f"tuning/{number}")
        assert texts(session) == [words, f"{words}!"]
        for native in store.natives(session.path()[0].id):
            assert native.body is not None and native.place is not None
            assert data[native.place :].startswith(native.body)
    assert store.graft(importers.conversations_in(data, format, id="tuning")).turns == 0


def test_ui_messages_too(store: Store) -> None:
    said = {"id": "a", "role": "user", "parts": [{"type": "text", "text": "Hi."}]}

    store.graft(importers.conversations_in(lines({"messages": [said]}, [said]), "aisdk", id="ui"))

    assert [texts(store.sessions.get(f"ui/{number}")) for number in (1, 2)] == [["Hi."], ["Hi."]]


@pytest.mark.parametrize("data", [TALKS, b"[" + TALKS.strip().replace(b"\n", b",") + b"]"])
@pytest.mark.parametrize("format", ["openai", "anthropic", "aisdk"])
def test_as_one_conversation_they_are_refused(data: bytes, format: str) -> None:
    with pytest.raises(BadValue, match=r"several conversations, each in an object of its own: .*conversations_in"):
        session_of(data, format)


def test_a_line_that_is_no_conversation_is_told_and_the_others_come_in(store: Store) -> None:
    first, third = as_file({"messages": talk("eins")}), as_file({"messages": talk("drei")})
    bad = [b'{"messages": [{"role": "us', b'{"role": "user", "content": "Hi."}', b"7", b'{"messages": [7]}', b"\xff"]
    data = b"\n".join([first, *bad, third])

    with pytest.raises(GraftRefused) as told:
        store.graft(importers.conversations_in(data, "openai", id="t", file="t.jsonl"))

    problems = told.value.report.problems
    assert [problem.session for problem in problems] == ["t/2", "t/3", "t/4", "t/5", "t/6"]
    begin = len(first) + 1
    assert f"byte {begin + data[begin:].index(b'{', 1)} on: it breaks off" in str(problems[0])
    assert "has none of these" in str(problems[1])
    assert texts(store.sessions.get("t/1")) == ["eins", "eins!"]
    assert texts(store.sessions.get("t/7")) == ["drei", "drei!"]


def test_no_line_is_read_before_it_is_wanted() -> None:
    class File(BytesIO):
        count = 0

        def __next__(self) -> bytes:
            self.count += 1
            return super().__next__()

        def __iter__(self) -> Iterator[bytes]:
            return self

    file = File(TALKS * 50)
    sessions = importers.conversations_in(file, "openai", id="t")

    assert [next(sessions).id, next(sessions).id, file.count] == ["t/1", "t/2", 2]


@pytest.mark.parametrize("wrong", [7, None, ["a"]])
def test_what_is_no_file_is_refused(wrong: Any) -> None:
    with pytest.raises(BadValue, match="data is a file of bytes"):
        next(importers.conversations_in(wrong, "openai", id="t"))


def test_a_format_that_is_none_is_refused() -> None:
    with pytest.raises(BadValue, match="format is one of aisdk, openai, anthropic, not 'xml'"):
        next(importers.conversations_in(b"", "xml", id="t"))
