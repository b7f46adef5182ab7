"""A conversation that comes in from a file is given back as the same value; so is one that grew in between, and the
same again writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import Store

from .examples import ALL, EXACT, as_file, given_back, prefixes, session_of


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One store for all examples: each is a session of its own."""
    with palaver.open(tmp_path_factory.mktemp("examples") / "a.db", durability="normal") as store:
        yield store


@pytest.mark.parametrize(("format", "name"), ALL)
def test_what_comes_in_is_given_back_and_the_same_again_writes_nothing(
    shared: Store, tmp_path: Path, format: Any, name: str
) -> None:
    value, file, id = EXACT[format][name], tmp_path / "chat.json", f"whole {format} {name}"
    file.write_bytes(as_file(value))

    shared.graft(session_of(file.read_bytes(), format, id=id, file=str(file)))

    session = shared.sessions.get(id)
    assert session.messages(format=format) == value
    revision = session.revision
    again = shared.graft(session_of(file.read_bytes(), format, id=id, file=str(file)))
    assert (again.turns, again.items, session.revision) == (0, 0, revision)


@pytest.mark.parametrize(("format", "name"), ALL)
def test_what_grows_message_by_message_ends_as_what_came_at_once(shared: Store, format: Any, name: str) -> None:
    value, id = EXACT[format][name], f"grown {format} {name}"

    for part in prefixes(value):
        shared.graft(session_of(as_file(part), format, id=id))
        shared.graft(session_of(part, format, id=f"values of {id}"))

    for session in (shared.sessions.get(id), shared.sessions.get(f"values of {id}")):
        assert session.messages(format=format) == value
    revision = shared.sessions.get(id).revision
    assert shared.graft(session_of(as_file(value), format, id=id)).turns == 0
    assert shared.sessions.get(id).revision == revision


def test_all_of_them_leave_a_store_in_order(shared: Store) -> None:
    assert shared.verify() == []


def test_a_call_that_nothing_answers_is_told_as_interrupted_and_its_item_is_kept(store: Store) -> None:
    value = EXACT["anthropic"]["a tool over there that still runs"]

    store.graft(session_of(as_file(value), "anthropic"))

    question, answer = given_back(store, "anthropic")["messages"]
    assert [question, answer["content"][:1]] == [value["messages"][0], value["messages"][1]["content"]]
    assert answer["content"][1]["type"] == "web_search_tool_result"
    (turn,) = store.sessions.get("chat-42").path()
    assert store.natives(turn.id)[1].body == as_file(value["messages"][1])


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
LATE = [
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "user", "content": "Hurry."},
    {"role": "tool", "tool_call_id": "c1", "content": "Seen."},
    {"role": "assistant", "content": "Done."},
]


def test_a_result_that_comes_after_the_user_spoke_again_is_not_parted_from_its_call(store: Store) -> None:
    for part in prefixes(LATE):
        store.graft(session_of(as_file(part), "openai"))

    (call,) = [part for part in store.sessions.get("chat-42").parts(type="tool-look")]
    assert call["data"]["output"] == "Seen."
    assert store.graft(session_of(as_file(LATE), "openai")).turns == 0


def test_texts_that_any_of_them_could_have_said_are_whose_the_caller_says(store: Store) -> None:
    value = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hi."}]
    for format in ("openai", "anthropic"):
        assert store.graft(session_of(as_file(value), format)).sessions[0].origin == format
