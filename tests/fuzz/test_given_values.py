"""Values that came out as an exception of Python or of a driver, or were taken and meant something else: each is
refused where it is given, by a BadValue that names it, and nothing is changed."""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import BadRule, BadValue, Raw, Session, Store, aio, exports, permissions, recording

from .values import Level, cyclic, nested

START = {"type": "text-start", "id": "t"}
CALL = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "look", "input": {}}
ASK = {"type": "tool-approval-request", "approvalId": "may-1", "toolCallId": "c1"}
TOO_LARGE = 2**63


@pytest.fixture
def store() -> Iterator[Store]:
    with palaver.open(":memory:") as opened:
        yield opened


@pytest.fixture
def session(store: Store) -> Session:
    session = store.sessions.create("coder")
    session.commit(["Hello?", {"role": "assistant", "content": "Hello."}])
    return session


@pytest.fixture
def turn(session: Session) -> Iterator[palaver.Turn]:
    turn = session.turn("Go on.")
    yield turn
    turn._state.facts.pop("abort_reason", None)  # of a test that failed: the store must close
    if turn.status == "streaming":
        turn.abort()


@pytest.mark.parametrize("when", ["yesterday", "7", True, 1.5, None, TOO_LARGE, math.nan], ids=ascii)
def test_at_yesterday_is_not_now(session: Session, when: Any) -> None:
    with pytest.raises(BadValue, match="a time is a datetime, or epoch milliseconds"):
        session.at(when)


@pytest.mark.parametrize("when", [datetime.min, datetime.max], ids=["first day", "last day"])
def test_a_time_of_no_year_that_the_machine_knows_is_refused(session: Session, when: datetime) -> None:
    try:
        session.at(when)
    except (BadValue, palaver.SessionNotFound):  # where the machine knows the year, nothing was there then
        pass
    with pytest.raises(palaver.SessionNotFound):
        session.at(datetime(1, 1, 1, tzinfo=UTC))


REVISIONS = ["7", "1", True, 1.0, -TOO_LARGE, TOO_LARGE, [1]]
VERBS: dict[str, Callable[[Session, Any], object]] = {
    "turn": lambda session, expected: session.turn("And?", expected=expected),
    "commit": lambda session, expected: session.commit("And?", expected=expected),
    "regenerate": lambda session, expected: session.regenerate(expected=expected),
    "edit": lambda session, expected: session.edit(session.messages()[0]["id"], "No.", expected=expected),
    "claim": lambda session, expected: session.claim(expected=expected),
    "compact": lambda session, expected: session.compact("Hello was said.", expected=expected),
    "rewind": lambda session, expected: session.rewind(session.path()[0], expected=expected),
    "undo": lambda session, expected: session.undo(expected=expected),
    "redo": lambda session, expected: session.redo(expected=expected),
    "move": lambda session, expected: session.move(session.path()[0], expected=expected),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("expected", REVISIONS, ids=ascii)
def test_a_revision_that_is_no_whole_number_is_neither_equal_nor_a_race(
    session: Session, verb: str, expected: Any
) -> None:
    before = session.history()
    with pytest.raises(BadValue, match="expected is the revision you read"):
        VERBS[verb](session, expected)
    assert session.history() == before


@pytest.mark.parametrize("after", ["0", -1, TOO_LARGE, True, 0.0, None], ids=ascii)
def test_events_after_something_that_is_no_number_of_an_event(session: Session, after: Any) -> None:
    with pytest.raises(BadValue, match="after is a whole number"):
        session.events(after=after)


@pytest.mark.parametrize("limit", ["10", -1, 0, TOO_LARGE, None, 10.0], ids=ascii)
def test_a_limit_of_events_that_is_no_limit(session: Session, limit: Any) -> None:
    with pytest.raises(BadValue, match="limit is a whole number from 1"):
        session.events(limit=limit)


@pytest.mark.parametrize("given", [{"after": "0"}, {"after": TOO_LARGE}, {"timeout": "soon"}, {"timeout": math.inf}])
def test_following_is_refused_when_it_is_asked_for_not_when_it_is_gone_through(
    session: Session, given: dict[str, Any]
) -> None:
    with pytest.raises(BadValue, match=f"{next(iter(given))}.* is a "):
        session.follow(**given)


@pytest.mark.parametrize("limit", ["50", 0, 10_001, TOO_LARGE, True], ids=ascii)
def test_a_page_of_so_many_sessions_is_refused(store: Store, limit: Any) -> None:
    with pytest.raises(BadValue, match="limit is a whole number from 1 to 10,000"):
        store.sessions.list(limit=limit)


LOOKED_UP: dict[str, Callable[[Store, Session, Any], object]] = {
    "get": lambda store, session, name: store.sessions.get(name),
    "find": lambda store, session, name: store.sessions.find(name),
    "find in a namespace": lambda store, session, name: store.sessions.find("main", namespace=name or 5),
    "match": lambda store, session, name: store.sessions.match(name),
    "list of an agent": lambda store, session, name: store.sessions.list(agent=name or 5),
    "list of a workspace": lambda store, session, name: store.sessions.list(workspace=name or 5),
    "list of a parent": lambda store, session, name: store.sessions.list(parent=name or 5),
    "list after a cursor": lambda store, session, name: store.sessions.list(after=name or 5),
    "create under a parent": lambda store, session, name: store.sessions.create(parent=name or 5),
    "transcript of a turn": lambda store, session, name: session.transcript(name or 5),
    "snapshot of a turn": lambda store, session, name: session.snapshot(name or 5),
    "messages of a turn": lambda store, session, name: session.messages_of(name),
    "resume": lambda store, session, name: session.resume(name),
    "cancel": lambda store, session, name: session.cancel(name),
    "claim": lambda store, session, name: session.claim(name or 5),
    "regenerate": lambda store, session, name: session.regenerate(name or 5),
    "edit": lambda store, session, name: session.edit(name or 5, "No."),
    "alias": lambda store, session, name: session.alias(name),
    "alias in a namespace": lambda store, session, name: session.alias("n", namespace=name),
    "alias of a turn": lambda store, session, name: session.alias("n", turn=name or 5),
    "unalias": lambda store, session, name: session.unalias(name),
    "rebuild": lambda store, session, name: store.rebuild(name or 5),
    "system_prompt": lambda store, session, name: store.system_prompt(name),
    "find_foreign_id": lambda store, session, name: store.find_foreign_id("hub", name),
    "put_foreign_id": lambda store, session, name: store.put_foreign_id("hub", "f", name),
    "inspect": lambda store, session, name: list(exports.inspect(store.db, name)),
    "markdown": lambda store, session, name: list(exports.markdown(store.db, name)),
    "Session": lambda store, session, name: Session(store, name),
}


@pytest.mark.parametrize("verb", LOOKED_UP)
@pytest.mark.parametrize("name", [None, 5, TOO_LARGE, b"main", ["main"], 1.5], ids=ascii)
def test_a_name_that_is_no_text_is_said_to_be_none(store: Store, session: Session, verb: str, name: Any) -> None:
    with pytest.raises(BadValue, match=r" is text, not "):
        LOOKED_UP[verb](store, session, name)


# ---------------------------------------------------------------- a turn


@pytest.mark.parametrize("reason", [object(), 5, ["x"], math.nan])
def test_a_turn_aborted_for_a_reason_that_cannot_be_kept_can_still_be_ended(turn: palaver.Turn, reason: Any) -> None:
    with pytest.raises(BadValue, match="reason is text"):
        turn.abort(reason)
    turn.seal()
    assert turn.status == "completed"


@pytest.mark.parametrize("at", ["0", True, 0.0, TOO_LARGE, [0]], ids=ascii)
def test_a_place_in_the_stream_that_is_no_whole_number(turn: palaver.Turn, at: Any) -> None:
    with pytest.raises(BadValue, match="at is a whole number"):
        turn.write(START, at=at)
    assert turn.chunks == 0


@pytest.mark.parametrize("chunks", [5, None, "text", ...], ids=ascii)
def test_chunks_that_are_no_list_of_them(turn: palaver.Turn, chunks: Any) -> None:
    with pytest.raises(BadValue, match="chunks is a list of them"):
        turn.append(chunks)


@pytest.mark.parametrize(
    "given", [{"approved": "no"}, {"approved": 1}, {"error": 5}, {"approved": True, "reason": 5}], ids=ascii
)
def test_an_approval_is_granted_by_true_and_by_nothing_else(turn: palaver.Turn, given: dict[str, Any]) -> None:
    turn.append([CALL, ASK])
    with pytest.raises(BadValue, match=r"approved is True or False|error is text|reason is text"):
        turn.resolve("c1", **given)
    assert turn.message()["parts"][0]["state"] == "approval-requested"


def test_a_result_for_a_call_whose_name_is_no_text(turn: palaver.Turn) -> None:
    with pytest.raises(BadValue, match="tool_call_id is text, not list"):
        turn.resolve(["c1"], output=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", [5, ["x"], {"id": 5}, object()], ids=["number", "list", "dict", "object"])
def test_a_running_turn_that_is_compacted_from_no_place_goes_on(turn: palaver.Turn, place: Any) -> None:
    with pytest.raises(BadValue, match="a place is the id of a turn or a message"):
        turn.compact("Hello was said.", keep_from=place)
    turn.write(START)


@pytest.mark.parametrize("status", [5, ["completed"], nested(5_000)], ids=["number", "list", "deep"])
def test_a_turn_does_not_end_as_something_that_is_no_word(turn: palaver.Turn, status: Any) -> None:
    with pytest.raises(BadValue, match="a turn ends as completed, failed or aborted"):
        turn.seal(status)


@pytest.mark.parametrize("system", [5, ["Be brief."], b"Be brief."], ids=ascii)
def test_a_system_prompt_that_is_no_text(session: Session, turn: palaver.Turn, system: Any) -> None:
    for who in (session, turn):
        with pytest.raises(BadValue, match="system is text"):
            who.model_messages(system=system)


# ---------------------------------------------------------------- what is said


MESSAGES: dict[str, Any] = {
    "keys of two types": {"role": "user", "content": "x", 1: 2, "y": 3},
    "bytes that are no text": {"role": "user", "parts": [b"\xff"]},
    "raw that is no text": {"role": "user", "parts": [Raw(b"\xff")]},
    "raw metadata that is no text": {"role": "user", "content": "x", "metadata": Raw(b"\xff")},
    "a role too deep to quote": {"role": nested(5_000), "content": "x"},
    "a list that holds itself": {"role": "user", "content": "x", "metadata": {"x": cyclic()}},
    "a list that holds itself twice": {"role": "user", "content": "x", "metadata": {"x": cyclic(times=2)}},
    "an object that holds itself twice": {"role": "user", "content": "x", "metadata": {"x": cyclic(of=dict, times=2)}},
}


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_that_cannot_be_kept_is_refused(session: Session, message: str) -> None:
    before = session.messages()
    with pytest.raises(BadValue):
        session.commit([MESSAGES[message]])
    assert session.messages() == before


@pytest.mark.parametrize(
    "given", [{"tools": 5}, {"tools": "look"}, {"permissions": 5}, {"permissions": "x"}], ids=ascii
)
def test_tools_and_permissions_that_are_no_lists(session: Session, given: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match="is a list of them"):
        session.turn("And?", **given)


def test_raw_metadata_of_a_session_is_kept_and_its_keys_are_looked_at(store: Store) -> None:
    assert store.sessions.create(metadata=Raw(b'{"n":1.10}')).info.metadata == {"n": 1.1}  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="'deleted_at' belongs to the store"):
        store.sessions.create(metadata=Raw(b'{"deleted_at":1}'))  # type: ignore[arg-type]


@pytest.mark.parametrize("message", [5, "m", {"id": "m"}, {"id": 5, "role": "assistant", "parts": []}], ids=ascii)
def test_a_fold_goes_on_with_a_message_and_with_nothing_else(message: Any) -> None:
    with pytest.raises(BadValue):
        palaver.fold([START], message)


@pytest.mark.parametrize("part", [5, {}, {"type": 5}, {"type": "tool-x"}, {"type": "dynamic-tool"}], ids=ascii)
def test_a_fold_goes_on_with_parts_that_it_can_read(part: Any) -> None:
    with pytest.raises(BadValue):
        palaver.fold([START], {"id": "m", "role": "assistant", "parts": [part]})


def test_a_fold_of_no_chunks_at_all() -> None:
    with pytest.raises(BadValue, match="chunks is a list of them"):
        palaver.fold(5)  # type: ignore[arg-type]


# ---------------------------------------------------------------- permissions


def test_taking_away_the_rules_of_nothing_does_not_take_away_all(session: Session) -> None:
    session.permissions.add("bash", "git *")
    with pytest.raises(BadValue, match="permission is text"):
        session.permissions.remove(None)  # type: ignore[arg-type]
    assert len(session.permissions.list()) == 1


@pytest.mark.parametrize("rules", [5, [5], [{}], [{"permission": "x"}], "rules"], ids=ascii)
def test_rules_that_are_none_answer_nothing(session: Session, rules: Any) -> None:
    with pytest.raises(BadValue):
        permissions.evaluate("bash", rules)
    with pytest.raises(BadValue):
        session.permissions.evaluate("bash", manifest=rules)


@pytest.mark.parametrize("given", [{"path": 5}, {"host": b"x"}], ids=ascii)
def test_a_path_or_a_host_that_is_no_text(session: Session, given: dict[str, Any]) -> None:
    session.permissions.add("bash", "x*")
    with pytest.raises(BadValue, match="is text"):
        session.permissions.evaluate("bash", **given)


def test_a_rule_with_an_unknown_action_is_no_rule() -> None:
    rule = {"permission": "bash", "pattern": "*", "action": "perhaps", "source": "session"}
    with pytest.raises(BadRule, match="is not a rule"):
        permissions.evaluate("bash", [rule])


# ---------------------------------------------------------------- opening, and what spans sessions


@pytest.mark.parametrize("url", [5, None, ["x"], object(), 1.5], ids=["number", "none", "list", "object", "float"])
def test_a_store_is_opened_by_a_path(url: Any) -> None:
    with pytest.raises(BadValue, match="a store is opened by a path"):
        palaver.open(url)


@pytest.mark.parametrize("place", [":memory:", "file"])
@pytest.mark.parametrize("durability", ["fast", None, 5, ["full"]], ids=ascii)
def test_a_durability_that_there_is_not(tmp_path: Path, place: str, durability: Any) -> None:
    with pytest.raises(BadValue, match="durability is boundary, full or normal"):
        palaver.open(place if place == ":memory:" else str(tmp_path / "x.db"), durability=durability)


@pytest.mark.parametrize("name", ["timeout", "trim_after", "recover_every", "save_buffer_ms", "save_buffer_size"])
@pytest.mark.parametrize("value", [1e308, math.inf, 10**400, "5", math.nan, -1, True], ids=lambda v: f"{v!s:.8}")
def test_an_option_that_no_clock_could_count_is_refused_when_the_store_is_opened(name: str, value: Any) -> None:
    with pytest.raises(BadValue, match=f"{name} is a number from"):
        palaver.open(":memory:", **{name: value})


@pytest.mark.parametrize("save_on", [["chunk"], None, 5, {}], ids=ascii)
def test_a_save_policy_that_there_is_not(save_on: Any) -> None:
    with pytest.raises(BadValue, match="save_on is chunk, step or turn"):
        palaver.open(":memory:", save_on=save_on)


@pytest.mark.parametrize("older_than", ["5", -1, math.inf, 1e308, [5], True], ids=ascii)
def test_chunks_older_than_no_time_are_not_trimmed(store: Store, older_than: Any) -> None:
    with pytest.raises(BadValue, match="older_than is a number"):
        store.trim(older_than)


@pytest.mark.parametrize(
    "given", [{"source": 5}, {"target": None}, {"sessions": 5}, {"sessions": [5]}, {"progress": 5}]
)
def test_a_copy_is_from_a_store_to_a_store(store: Store, session: Session, given: dict[str, Any]) -> None:
    with palaver.open(":memory:") as other, pytest.raises(BadValue):
        palaver.copy(**{"source": store, "target": other, **given})


def test_an_export_goes_into_a_file_of_bytes_and_comes_out_of_a_store(store: Store, session: Session) -> None:
    with pytest.raises(BadValue, match="out is a file of bytes: open it with mode wb"):
        exports.write(store.db, io.StringIO())  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="source is a file of bytes: open it with mode rb"):
        exports.read(store.db, io.StringIO())  # type: ignore[arg-type]
    with pytest.raises(BadValue, match=r"store\.db"):
        exports.write(store, io.BytesIO())  # type: ignore[arg-type]
    for sessions in (5, [5], session.id):
        with pytest.raises(BadValue):
            exports.write(store.db, io.BytesIO(), sessions=sessions)  # type: ignore[arg-type]


def test_a_stream_that_is_none_is_said_to_be_none(session: Session) -> None:
    recorded = recording.record(session, "And?", 5)  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="stream is a list of them"):
        recorded.wait()
    assert recorded.turn.status == "aborted"
    with pytest.raises(BadValue, match="recorded in a Session"):
        recording.record(5, "And?", [START])  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", ["soon", math.inf, -1, [1]], ids=ascii)
def test_a_recording_is_waited_for_in_seconds(session: Session, timeout: Any) -> None:
    recorded = recording.record(session, "And?", [START])
    with pytest.raises(BadValue, match="timeout"):
        recorded.wait(timeout)
    assert recorded.wait()


# ---------------------------------------------------------------- asyncio


def test_a_verb_takes_an_argument_called_name_in_asyncio_too() -> None:
    async def talk() -> list[tuple[str, str]]:
        async with await aio.open(":memory:") as store:
            session = await store.sessions.create(agent="a")
            await session.alias(name="main")
            assert (await store.sessions.find(name="main")).id == session.id
            found: list[tuple[str, str]] = await session.aliases()
            return found

    assert asyncio.run(talk()) == [("alias", "main")]


@pytest.mark.parametrize("name", ["id", "titel", "messages", 5])
def test_what_cannot_be_set_is_not_set_on_the_handle(name: Any) -> None:
    async def talk() -> None:
        async with await aio.open(":memory:") as store:
            session = await store.sessions.create()
            with pytest.raises(BadValue):
                await session.set(name, "x")
            assert (await session.info).id == session.id

    asyncio.run(talk())


def test_an_async_recording_is_of_an_async_stream_in_an_async_session(session: Session) -> None:
    async def talk() -> None:
        async with await aio.open(":memory:") as store:
            here = await store.sessions.create()
            with pytest.raises(BadValue, match="stream is an async iterator"):
                await aio.record(here, "And?", [START])  # type: ignore[arg-type]
            with pytest.raises(BadValue, match="a session of an aio store"):
                await aio.record(session, "And?", [START])  # type: ignore[arg-type]
            with pytest.raises(BadValue, match="after is a whole number"):
                await here.follow(after="0")
            assert await here.messages() == []

    asyncio.run(talk())


def test_a_wait_of_thirty_years_can_be_begun(tmp_path: Path) -> None:
    """The longest that is taken is one that locks, threads and clocks take."""
    with palaver.open(str(tmp_path / "x.db"), timeout=1e9, trim_after=1e9, recover_every=1e9) as store:
        with store.sessions.create().turn("Hello?") as turn:
            turn.write(START)
        assert store.trim(1e9) == 0


class Name(str):
    """As libraries make them (numpy's, a template engine's)."""


class Count(int):
    pass


def test_text_and_numbers_of_a_type_of_their_own_are_kept_as_text_and_numbers(session: Session) -> None:
    session.commit({"role": "user", "content": "x", "metadata": {"who": Name("me"), "n": [Count(3)]}})
    assert session.messages()[-1]["metadata"] == {"who": "me", "n": [3]}
    with session.turn("And?", model=Name("p/m"), agent=Name("coder")) as turn:
        turn.write({"type": "data-x", "data": {"n": Count(7)}})
        turn.write(Name('{"type": "text-start", "id": "t"}'))
        assert turn.message()["parts"][0]["data"] == {"n": 7}


def test_text_of_a_type_of_its_own_is_kept_in_a_store_that_keeps_everything() -> None:
    with palaver.open(":memory:", events="full") as store:
        session = store.sessions.create(Name("coder"), workspace=Name("w"), source=Name("s"), persona=Name("p"))
        session.commit({"role": "user", "content": Name("x")}, model=Name("p/m"))
        session.title = Name("A talk")
        assert (session.info.agent, session.info.workspace, session.title) == ("coder", "w", "A talk")
        assert store.rebuild() == []


def test_a_number_of_more_digits_than_python_writes_is_refused(session: Session, turn: palaver.Turn) -> None:
    for given in (10**5_000, [10**5_000], {"n": 10**5_000}):
        with pytest.raises(BadValue, match="cannot be written as JSON"):
            session.enqueue({"role": "user", "content": "x", "metadata": {"n": given}})
        with pytest.raises(BadValue, match="cannot be written as JSON"):
            turn.write({"type": "data-x", "data": given})
    turn.write({"type": "data-x", "data": 10**400})
    assert turn.message()["parts"][0]["data"] == 10**400


@pytest.mark.parametrize("given", [str, Level.HIGH], ids=["a class", "an enum's member"])
def test_what_only_its_class_can_be_gone_through_is_no_list(session: Session, given: Any) -> None:
    with pytest.raises(BadValue, match="is a list of them"):
        session.turn("And?", tools=given)


# ---------------------------------------------------------------- what a later statement would choke on


def test_a_rule_too_deep_to_be_kept_with_a_turn_does_not_keep_turns_from_beginning(session: Session) -> None:
    with pytest.raises(BadValue, match="nested deeper than 1,000 levels"):
        session.permissions.add("bash", note=nested(998))
    session.permissions.add("bash", note=nested(997))
    session.commit("Again.")
    session.turn("And again.").seal()


@pytest.mark.parametrize("depth", range(994, 1_000))
def test_a_message_that_could_never_be_claimed_is_not_queued(session: Session, depth: int) -> None:
    model = {"provider_id": "p", "model_id": "m", "variant": nested(depth)}
    for given in ({"trigger": {"source": "webhook", "headers": nested(depth, of=dict)}}, {"model": model}):
        try:
            session.enqueue("Later.", **given)
        except BadValue:
            assert session.queue() == []
        else:
            turn = session.claim()
            assert turn is not None
            turn.seal()
    session.enqueue("Last.")
    assert session.claim() is not None


@pytest.mark.parametrize("depth", [996, 997, 998, 999])
def test_a_chunk_that_was_taken_can_be_read_again_while_its_turn_runs(turn: palaver.Turn, depth: int) -> None:
    turn.write({"type": "data-x", "data": nested(depth)})
    turn.write(CALL | {"input": nested(depth)})
    assert [part["type"] for part in turn.message()["parts"]] == ["data-x", "tool-look"]
    assert turn.context()[-1]["parts"][-1]["state"] == "output-error"
    assert turn.model_messages()


def test_input_that_streams_in_deeper_than_anything_can_be_read(session: Session, turn: palaver.Turn) -> None:
    turn.append([{"type": "tool-input-start", "toolCallId": "c1", "toolName": "look"}])
    for _ in range(4):
        try:
            turn.write({"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": "[" * 600})
        except palaver.PalaverError:
            break
    turn.message()
    turn.seal()
    assert session.messages()[-1]["parts"]


def test_json_text_with_a_number_of_too_many_digits_is_refused_or_comes_back(session: Session) -> None:
    for digits in (400, 5_000):
        try:
            session.commit(b'{"role":"user","content":"x","metadata":{"n":' + b"1" * digits + b"}}")
        except BadValue:
            pass
        assert session.messages() and session.messages_json() and list(exports.markdown(session._store.db, session.id))
