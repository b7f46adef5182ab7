"""Fields and parts that this version does not know survive it (row 142).

A file was written by a newer version, or by another program: every verb that reads and writes beside such rows must
leave their bytes as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import execute, query
from .support_tree import answers

UNKNOWN = [
    '{"type":"media-3d","mesh":{"v":[1.10,2e3]},"x_future":null}',
    '{"type":"text","text":"hi","annotations":[{"kind":"new","n":12345678901234567890}],"state":"done"}',
    '{"type":"tool-run","toolCallId":"c","state":"output-available","input":{},"output":1,"progress":{"at":1.0}}',
    '{"type":"data-future","id":"d","data":{"b":1,"a":2},"visibility":"team"}',
    '{"type":"text","text":"lone \\ud800 and \\u0000","z":1,"a":2}',
]
METADATA = '{"model":{"provider_id":"p","model_id":"m","effort":"high"},"future":{"n":1.10,"k":[{}]}}'
QUESTION = '{"role":"user","metadata":' + METADATA + ',"parts":[{"type":"text","text":"hello","mentions":[1.50]}]}'
ANSWER = '{"role":"assistant","metadata":' + METADATA + ',"parts":[' + ",".join(UNKNOWN) + "]}"


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    made = store.sessions.create("a", metadata={"plugin": {"v": 3}})
    made.commit([QUESTION.encode(), ANSWER.encode()])
    made.commit("and then?")
    return made


def stored(path: str) -> list[str]:
    """The bytes of the unknown message's parts."""
    found = query(
        path,
        "SELECT data_json FROM chat_parts WHERE message_id = "
        "(SELECT message_id FROM chat_parts WHERE type = 'media-3d') ORDER BY \"index\"",
    )
    return [row[0] for row in found]


def metadata(path: str) -> str:
    """The bytes of its metadata, without what the store itself adds."""
    text: str = query(path, "SELECT metadata_json FROM chat_messages WHERE role = 'assistant' ORDER BY created_at")[0][
        0
    ]
    return text


VERBS: dict[str, Callable[[palaver.Session], object]] = {
    "fork": lambda s: s.fork(at=s.messages()[1]["id"]).commit("in the fork"),
    "rewind and undo": lambda s: (s.rewind(to=s.messages()[0]["id"]), s.undo()),
    "regenerate": lambda s: answers(s.regenerate(s.messages()[1]["id"]), "again"),
    "regenerate and undo": lambda s: (answers(s.regenerate(s.messages()[1]["id"]), "again"), s.undo()),
    "edit": lambda s: answers(s.edit(s.messages()[0]["id"], "hello!"), "again"),
    "archive": lambda s: (s.archive(), s.unarchive()),
    "delete and undelete": lambda s: (s.delete(), s.undelete()),
    "title": lambda s: setattr(s, "title", "new"),
    "verify and fix": lambda s: s._store.verify(fix=True),
}


@pytest.mark.parametrize("verb", VERBS)
@broken_by("parts_are_written_again")
def test_promise_142_unknown_fields_and_parts_survive(
    store: palaver.Store, session: palaver.Session, verb: str
) -> None:
    assert stored(store.path) == UNKNOWN
    VERBS[verb](session)
    assert stored(store.path) == UNKNOWN
    assert metadata(store.path).startswith(METADATA[:-1])
    assert json.loads(query(store.path, "SELECT metadata_json FROM chat_sessions")[0][0]) == {"plugin": {"v": 3}}
    assert store.verify() == []


def test_promise_142_a_fork_shows_them_byte_for_byte(session: palaver.Session) -> None:
    shown = session.fork(at=session.messages()[1]["id"]).messages_json()
    assert f'"metadata":{METADATA},"parts":[{",".join(UNKNOWN)}]' in shown
    assert '"mentions":[1.50]' in shown


def test_promise_142_they_survive_a_resume_of_their_own_message(path: str) -> None:
    data = '{"type":"data-future","id":"d","data":{"b":1.10,"a":2},"visibility":"team"}'
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        with session.turn("hello") as turn:
            turn.append([data, {"type": "start", "messageMetadata": json.loads(METADATA)}])
            turn.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}})
            turn.write({"type": "finish"})
    with palaver.open(path) as store, store.sessions.get(session.id).resume(turn.id) as again:
        again.resolve("c", output=1)
        answers(again, "done", tokens=3)
    rows = query(path, 'SELECT data_json FROM chat_parts WHERE message_id = ? ORDER BY "index"', turn.message_id)
    assert rows[0][0] == data
    assert json.loads(metadata(path))["future"] == {"n": 1.1, "k": [{}]}


def test_promise_142_they_survive_in_the_copy_that_keeps_a_late_result(store: palaver.Store) -> None:
    data = '{"type":"data-future","id":"d","data":{"b":1.10,"a":123456789012345678901.5},"visibility":"team"}'
    session = store.sessions.create("a")
    turn = session.turn("hello")
    turn.write(data)
    turn.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}})
    turn.write({"type": "finish"})
    session.commit("moving on")
    with pytest.raises(palaver.TurnSealed) as sealed:
        turn.resolve("c", output=1)
    assert sealed.value.late is not None
    assert data in session.fork(at=sealed.value.late).messages_json()


def test_promise_142_they_survive_adoption(store: palaver.Store) -> None:
    names = "id, agent, model_json, permissions_json, metadata_json, created_at, updated_at"
    permissions, bag = '[{"permission":"*","expires":1.50}]', '{"theirs": {"x" : 1.10}}'
    execute(store.path, f"INSERT INTO chat_sessions ({names}) VALUES ('s', 'o', '{{}}', ?, ?, 1, 1)", permissions, bag)
    execute(store.path, "INSERT INTO chat_messages VALUES ('m', 's', 'assistant', ?, 5, 5)", METADATA)
    for n, data in enumerate(UNKNOWN):
        given = (f"p{n}", "m", "s", n, json.loads(data)["type"], data)
        execute(store.path, "INSERT INTO chat_parts VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, 5, 5)", *given)
    session = store.sessions.get("s")
    assert session.adopt()
    answers(session.turn("hello"), "hi", tokens=2)
    assert stored(store.path) == UNKNOWN
    assert query(store.path, "SELECT permissions_json, metadata_json FROM chat_sessions") == [(permissions, bag)]
    assert ",".join(UNKNOWN) in session.messages_json()
