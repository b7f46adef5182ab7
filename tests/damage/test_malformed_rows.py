"""One malformed row takes nothing else down: any program may write, and disks rot.

The others are shown, listed and verified, the bad one is named with its row's id, and commits go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import Session, Store, exports

from ..cli.run import Cli
from ..tools.sql import execute, put_message

DEEP = '{"type":"text","text":' + "[" * 1_200 + "]" * 1_200 + "}"
PARTS: dict[str, Any] = {
    "no JSON": '{"type":"text","te',
    "a BLOB": b'{"type":"text","text":"blob"}',
    "not UTF-8": b"\xff\xfe{}",  # as text, see `put_damaged`
    "not UTF-8 inside": b'{"type":"text","text":"\xff"}',
    "a type that is a number": '{"type":5,"text":"x"}',
    "a NUL": '{"type":"text","text":"a\x00b"}',
    "too deep": DEEP,
    "a list": "[1, 2]",
    "no type": '{"text":"x"}',
    "empty": "",
}


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    with palaver.open(path) as opened:
        yield opened


@pytest.fixture
def session(store: Store) -> Session:
    made = store.sessions.create("a", title="Damaged")
    made.commit("one")
    return made


def everything_works(store: Store, session: Session) -> None:
    """Every way to read, and every verb that writes."""
    other = store.sessions.create("b", title="Beside it")
    other.commit("whole")
    assert json.loads(session.messages_json())[0]["parts"] == [{"type": "text", "text": "one"}]
    assert [message.ui() for message in session.transcript()] == session.messages()
    assert session.context() and session.model_messages()
    assert {info.id for info in store.sessions.list(order="created").sessions} == {session.id, other.id}
    assert session.info.agent == "a" and session.path() and session.tree() and session.history() and session.events()
    assert json.loads("".join(exports.inspect(store.db, session.id)))
    assert "".join(exports.markdown(store.db, session.id))
    fork = session.fork(copy=True)
    with session.turn("two", expected=session.revision) as turn:
        turn.write({"type": "text-start", "id": "t"})
        assert turn.model_messages()
    session.commit("three", expected=session.revision)
    with session.regenerate() as turn:
        turn.write({"type": "text-start", "id": "t"})
    session.rewind(to=session.path()[0])
    session.undo()
    session.compact("so far", expected=session.revision)
    assert session.messages()[0]["parts"] == [{"type": "text", "text": "one"}]
    assert fork.messages()[0]["parts"] == [{"type": "text", "text": "one"}]
    store.adopt()
    store.verify(fix=True)
    assert other.messages()[0]["parts"] == [{"type": "text", "text": "whole"}]


def put_damaged(path: str, session_id: str, what: str) -> str:
    message = put_message(path, session_id, f"foreign {what}")
    part = "prt_" + message[4:]
    value = PARTS[what]
    if what.startswith("not UTF-8"):
        execute(path, "UPDATE chat_parts SET data_json = CAST(? AS TEXT) WHERE id = ?", value, part)
    else:
        execute(path, "UPDATE chat_parts SET data_json = ? WHERE id = ?", value, part)
    return part


@pytest.mark.parametrize("what", PARTS)
@pytest.mark.parametrize("when", ["loose", "adopted"])
def test_a_part_that_cannot_be_read_is_shown_as_such(store: Store, session: Session, what: str, when: str) -> None:
    part = put_damaged(store.path, session.id, what)
    if when == "adopted":
        session.adopt()
    shown = session.messages()[1]["parts"]
    assert shown == [{"type": "data-damaged", "data": {"part": part}}]
    assert part not in json.dumps(session.model_messages())
    assert session.context()[-1]["parts"] == [{"type": "text", "text": "one"}]
    everything_works(store, session)
    assert part in {problem.where for problem in store.verify()}


@pytest.mark.parametrize("what", PARTS)
def test_a_part_of_ours_that_rots_is_shown_as_such_and_named(store: Store, session: Session, what: str) -> None:
    session.commit(["fine", {"role": "assistant", "parts": [{"type": "text", "text": "rots"}]}])
    ((part,),) = execute(store.path, "SELECT id FROM chat_parts WHERE data_json LIKE '%rots%'")
    value = PARTS[what]
    cast = "CAST(? AS TEXT)" if what.startswith("not UTF-8") else "?"
    execute(store.path, f"UPDATE chat_parts SET data_json = {cast} WHERE id = ?", value, part)
    assert session.messages()[2]["parts"] == [{"type": "data-damaged", "data": {"part": part}}]
    assert {"altered", "json"} <= {problem.rule for problem in store.verify() if problem.where == part}
    everything_works(store, session)


OTHERS = {
    "metadata that is no JSON": ("UPDATE chat_messages SET metadata_json = 'x' WHERE id = :message", "json"),
    "metadata that is a list": ("UPDATE chat_messages SET metadata_json = '[1]' WHERE id = :message", "json"),
    "metadata that is a BLOB": ("UPDATE chat_messages SET metadata_json = x'ff' WHERE id = :message", "json"),
    "metadata that is not UTF-8": (
        "UPDATE chat_messages SET metadata_json = CAST(x'ff7b7d' AS TEXT) WHERE id = :message",
        "json",
    ),
    "a text as a time": ("UPDATE chat_messages SET created_at = 'yesterday' WHERE id = :message", "time"),
    "a fraction as a time": ("UPDATE chat_messages SET created_at = created_at + 0.5 WHERE id = :message", "time"),
    "a role that is none": ("UPDATE chat_messages SET role = 'tool' WHERE id = :message", None),
    "a role that is a BLOB": ("UPDATE chat_messages SET role = x'ff' WHERE id = :message", None),
    "model that is no JSON": ("UPDATE chat_sessions SET model_json = '{' WHERE id = :session", "json"),
    "model that is a list": ("UPDATE chat_sessions SET model_json = '[]' WHERE id = :session", "json"),
    "a session's metadata that is no JSON": (
        "UPDATE chat_sessions SET metadata_json = 'x' WHERE id = :session",
        "json",
    ),
    "permissions that are no JSON": ("UPDATE chat_sessions SET permissions_json = 'x' WHERE id = :session", "json"),
    "a session's time that is a text": ("UPDATE chat_sessions SET updated_at = 'now' WHERE id = :session", "time"),
    "an event that is no JSON": ("UPDATE events SET data = 'x' WHERE session_id = :session", None),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_row_that_is_not_what_the_contract_says_takes_nothing_else_down(
    store: Store, session: Session, what: str
) -> None:
    statement, rule = OTHERS[what]
    message = put_message(store.path, session.id, "foreign")
    session.turn("one more").abort("so that there are events")
    damaged = statement.replace(":message", f"'{message}'").replace(":session", f"'{session.id}'")
    execute(store.path, damaged)
    everything_works(store, session)
    if rule is not None:
        named = {problem.where.partition(".")[0] for problem in store.verify() if problem.rule == rule}
        assert named & {message, session.id}


@pytest.mark.parametrize("command", ["ls", "show", "log", "tree", "verify", "doctor", "export"])
def test_every_command_works_on_a_store_in_which_everything_is_damaged(
    store: Store, session: Session, tmp_path: Path, command: str
) -> None:
    session.turn("one more").abort("so that there are events")
    for what in PARTS:
        put_damaged(store.path, session.id, what)
    foreign = [put_message(store.path, session.id, f"foreign {number}") for number in range(len(OTHERS))]
    for message, (statement, _) in zip(foreign, OTHERS.values(), strict=True):
        execute(store.path, statement.replace(":message", f"'{message}'").replace(":session", f"'{session.id}'"))
    about = {"ls": (), "verify": (), "doctor": (), "export": ("--format", "markdown", session.id)}
    done = Cli(tmp_path, store.path)(command, *about.get(command, (session.id,)))
    assert "Traceback" not in done.err and done.code in (0, 1), done.err
    assert done.out


def test_a_message_whose_id_is_a_blob_is_named_and_left_alone(store: Store, session: Session) -> None:
    execute(
        store.path,
        "INSERT INTO chat_messages SELECT x'00ff', session_id, role, metadata_json, created_at + 1, updated_at + 1"
        " FROM chat_messages",
    )
    everything_works(store, session)
    assert ("id", "00ff") in {(problem.rule, problem.where) for problem in store.verify()}


@pytest.mark.parametrize("what", ["not UTF-8 inside", "a BLOB", "no JSON"])
def test_one_damaged_session_stops_neither_a_copy_nor_an_export(
    store: Store, session: Session, tmp_path: Path, what: str
) -> None:
    store.sessions.create("b", title="Beside it").commit("whole")
    part = put_damaged(store.path, session.id, what)
    session.adopt()
    done = Cli(tmp_path, store.path)("export", "-o", "all.jsonl")
    assert done.code == 1 and f"left out: session {session.id}: " in done.err and part in done.err
    with palaver.open(str(tmp_path / "copy.db")) as target:
        report = palaver.copy(store, target)
        assert (report.copied, [one.session for one in report.problems]) == (1, [session.id])
    back = Cli(tmp_path, tmp_path / "back.db")("import", "all.jsonl")
    assert "imported 1 session" in back.out


def test_metadata_that_is_a_blob_stops_neither_a_copy_nor_an_export(
    store: Store, session: Session, tmp_path: Path
) -> None:
    execute(store.path, "UPDATE chat_messages SET metadata_json = x'ff'")
    done = Cli(tmp_path, store.path)("export", "-o", "all.jsonl")
    assert done.code == 1 and session.id in done.err and "Traceback" not in done.err


def test_a_text_that_is_not_utf8_is_said_by_sql_and_shown_as_damaged(
    store: Store, session: Session, tmp_path: Path
) -> None:
    put_damaged(store.path, session.id, "not UTF-8 inside")
    done = Cli(tmp_path, store.path)("sql", "select data_json from chat_parts")
    assert "not UTF-8" in done.err and "Traceback" not in done.err
    assert Cli(tmp_path, store.path).json("show", session.id)


@pytest.mark.parametrize("cost", ["9e999", "-77.5", "'many'"])
def test_a_cost_that_is_no_sum_of_money_is_named(store: Store, session: Session, cost: str) -> None:
    execute(store.path, f"UPDATE chat_sessions SET cost_usd = {cost}")
    assert ("cost", session.id) in {(problem.rule, problem.where) for problem in store.verify()}


def test_fix_does_not_forget_what_a_damaged_row_counted(store: Store, session: Session) -> None:
    with session.turn("two") as turn:
        turn.usage(input=10)
    execute(store.path, "UPDATE chat_messages SET metadata_json = '[1' WHERE role = 'assistant'")
    store.verify(fix=True)
    assert session.info.total_tokens == 10


def test_fix_says_nothing_of_a_stamp_that_a_damaged_row_has_no_place_for(store: Store, session: Session) -> None:
    session.commit("two")
    execute(store.path, "UPDATE chat_messages SET metadata_json = x'ff'")
    session.rewind(to=session.path()[0])
    assert {problem.copy for problem in store.verify()} == {False}


def test_a_damaged_chunk_of_a_turn_that_streams_is_named(store: Store, session: Session) -> None:
    turn = session.turn("two")
    turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"}])
    execute(store.path, "UPDATE events SET data = '{' WHERE kind = 'chunk'")
    assert ("events", turn.id) in {(problem.rule, problem.where) for problem in store.verify()}
    assert session.messages()[-2]["parts"] == [{"type": "text", "text": "two"}]


@pytest.mark.parametrize("value", ["x'ff'", "CAST(x'ff' AS TEXT)"])
def test_a_damaged_prompt_is_named(store: Store, session: Session, value: str) -> None:
    session.turn("two", system_prompt="Be brief.").seal()
    execute(store.path, f"UPDATE system_prompts SET body = {value}")
    assert "prompt" in {problem.rule for problem in store.verify()}


def test_a_damaged_reason_in_the_reflog_is_named(store: Store, session: Session) -> None:
    execute(store.path, "UPDATE reflog SET reason = CAST(x'ff' AS TEXT)")
    assert "reflog" in {problem.rule for problem in store.verify()}


def test_facts_that_are_no_json_are_named(store: Store, session: Session) -> None:
    execute(store.path, "UPDATE turns SET facts_json = 'x'")
    turn_id = session.path()[0].id
    assert ("json", f"{turn_id}.facts_json") in {(problem.rule, problem.where) for problem in store.verify()}


def test_a_row_beside_a_turn_whose_metadata_is_damaged_is_put_behind_as_it_is(store: Store, session: Session) -> None:
    session.turn("which?")
    message = put_message(store.path, session.id, "foreign")
    execute(store.path, "UPDATE chat_messages SET metadata_json = CAST(x'ff' AS TEXT) WHERE id = ?", message)
    session.commit("mine", expected=session.revision)
    assert [each["parts"][0].get("text") for each in session.messages()] == ["one", "mine", "foreign"]


# ---------------------------------------------------------------- the tree


def test_turns_that_come_from_themselves_end_every_walk(store: Store, session: Session) -> None:
    session.commit("two")
    execute(store.path, "UPDATE turns SET parent_id = id WHERE depth = 1")
    everything_works(store, session)
    assert any("circle" in problem.what for problem in store.verify())


def test_a_circle_of_two_turns_ends_every_walk(store: Store, session: Session) -> None:
    first, second = session.path()[0].id, session.commit("two").id
    execute(store.path, "UPDATE turns SET parent_id = ? WHERE id = ?", second, first)
    assert len(session.messages()) == 2
    session.commit("three")
    assert len(session.path()) == 3 and len(session.tree()) == 3
    assert any("circle" in problem.what for problem in store.verify())


def test_a_head_that_points_nowhere_goes_back_to_what_its_reflog_knows(store: Store, session: Session) -> None:
    session.commit("two")
    execute(store.path, "UPDATE heads SET turn_id = 'nope' WHERE session_id = ?", session.id)
    assert any(problem.rule == "head" and problem.where == session.id for problem in store.verify(fix=True))
    assert execute(store.path, "SELECT count(*) FROM chat_messages WHERE metadata_json LIKE '%hidden_at%'") == [(0,)]
    assert session.messages() == []
    session.commit("three")
    texts = [message["parts"][0]["text"] for message in session.messages()]
    assert texts == ["one", "two", "three"]
    assert store.verify() == []


def test_who_names_a_revision_is_told_that_the_head_was_mended(store: Store, session: Session) -> None:
    execute(store.path, "UPDATE heads SET turn_id = 'nope' WHERE session_id = ?", session.id)
    with pytest.raises(palaver.HeadConflict):
        session.commit("two", expected=1)
    session.commit("two", expected=session.revision)
    assert len(session.messages()) == 2


# ---------------------------------------------------------------- shapes


def test_a_file_as_the_contracts_own_table_writes_it_reaches_the_model(store: Store, session: Session) -> None:
    message = put_message(store.path, session.id, "look")
    chunk = {"type": "file", "mediaType": "text/plain", "url": "data:text/plain,hi"}
    part = json.dumps({"type": "file", "data": chunk})
    execute(store.path, "UPDATE chat_parts SET type = 'file', data_json = ? WHERE message_id = ?", part, message)
    (told,) = session.model_messages()[-1]["content"]
    assert told == {"type": "file", "mediaType": "text/plain", "data": "data:text/plain,hi"}
    assert session.messages()[-1]["parts"] == [{"type": "file", "data": chunk}]


@pytest.mark.parametrize("part", [{"type": "file"}, {"type": "file", "data": "x"}, {"type": "text"}], ids=str)
def test_a_part_without_what_a_model_needs_is_left_out_of_its_messages(
    store: Store, session: Session, part: dict[str, Any]
) -> None:
    message = put_message(store.path, session.id, "look")
    execute(store.path, "UPDATE chat_parts SET data_json = ? WHERE message_id = ?", json.dumps(part), message)
    assert [each["content"] for each in session.model_messages()] == [[{"type": "text", "text": "one"}]]


def test_a_tool_part_that_the_sdk_would_refuse_is_refused(session: Session) -> None:
    part = {"type": "tool-run", "toolCallId": "c", "state": "output-error", "input": {}}
    with pytest.raises(palaver.BadValue, match="errorText"):
        session.commit({"role": "assistant", "parts": [part]})
    session.commit({"role": "assistant", "parts": [part | {"errorText": "no"}]})
