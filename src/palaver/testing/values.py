"""Values: what was handed over as JSON comes back byte for byte, what was handed over as Python comes back equal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import Raw, Session, Store

from .group import Group
from .helpers import OpenStore, answer, ask, leave_waiting, refused, say, texts, user

SEED = 20_240_611

# JSON texts that a parser would like to improve.
VERBATIM = [
    '{"b":1,"a":2}',
    '{"price":1.10}',
    '{"n":1e5}',
    '{"n":-0.0}',
    '{"big":123456789012345678901234567890}',
    '{"tiny":0.1000000000000000055511151231257827}',
    '{"nul":"a\\u0000b"}',
    '{"half":"\\ud83d"}',
    '{"half":"\\ud83d","price":1.10}',
    '{"escaped":"\\u00e9\\/","plain":"é/"}',
    '{ "space" : [ 1 , 2 ] }',
    '{"":{"":[]}}',
    '{"line":"\\u2028\u2028"}',
]
# Python values that must come back equal, in type and in order.
EQUAL: list[Any] = [
    {"b": 1, "a": [None, True, False, 0, 0.0, -1.5, ""]},
    2**63,
    -(2**80),
    1e300,
    5e-324,
    "a\x00b",
    "\ud83d",
    "\udc00 middle \ud800",
    {"\ud800": {"\x00": 1}},
    "😀 é ",
    [[[[]]], {}],
]
UNFIT = ["a\x00b", "\udc00x"]  # texts that JSON has and that a column of an engine does not
STATES = ["input-streaming", "input-available", "output-available", "output-error", "output-denied"]


def same(one: Any, two: Any) -> bool:
    """Equal in value, type and order of keys: 1, 1.0 and True are three things."""
    return repr(one) == repr(two)


def nested(levels: int) -> Any:
    """Lists in lists, so many levels deep."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def depth_of(value: Any) -> int:
    """How many containers deep a value is; comparing such values needs more stack than there is."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return depth


def short(value: object) -> str:
    """A name for a test."""
    return ascii(value)[:40]


def random_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(10 if depth < 4 else 7)
    if kind < 3:
        return "".join(chr(rng.choice((0, 34, 92, 65, 233, 0x2028, 0xD83D, 0x1F600))) for _ in range(rng.randrange(6)))
    if kind < 7:
        return rng.choice([None, True, False, 0, -1, 2**70, 1.1, 1e-9, rng.random(), rng.randrange(10**6)])
    if kind < 8:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {str(random_value(rng, 9)): random_value(rng, depth + 1) for _ in range(rng.randrange(4))}


def random_part(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["text", "reasoning", "file", "tool-run", "dynamic-tool", "data-x", "source-url", "from-2031"])
    part = {"type": kind, "text": random_value(rng, 9), "data": random_value(rng), "extra": random_value(rng)}
    if "tool" in kind:
        part |= {"toolCallId": str(random_value(rng, 9)), "state": rng.choice(STATES), "input": random_value(rng)}
        part |= {"errorText": str(random_value(rng, 9))} if part["state"] == "output-error" else {}
    return part


def joined(value: Any) -> Any:
    """As JSON has it: two halves of a character side by side are the character."""
    return json.loads(json.dumps(value))


class Values(Group):
    def test_an_empty_text_is_no_message(self, session: Session) -> None:
        ask(session, "one")
        said = session.messages()[0]["id"]
        for given in (session.turn, session.commit, session.enqueue, lambda text: session.edit(said, text)):
            with refused(session, palaver.BadValue):
                given("")
        with refused(session, palaver.BadValue):
            session.commit(["two", ""])
        assert session.commit(None).status == "completed"
        assert texts(session)[0] == "one" and len(session.path()) == 2

    # ------------------------------------------------------------ JSON text keeps its bytes

    @pytest.mark.parametrize("text", VERBATIM)
    def test_a_message_given_as_json_keeps_the_bytes_of_its_parts(self, session: Session, text: str) -> None:
        part = f'{{"type":"data-x","data":{text}}}'
        session.commit(f'{{"role":"user","metadata":{text},"parts":[{part}]}}'.encode())
        assert f'"metadata":{text},"parts":[{part}]' in session.messages_json()
        assert same(session.messages()[0]["parts"][0]["data"], json.loads(text))

    @pytest.mark.parametrize("text", VERBATIM)
    def test_raw_values_keep_their_bytes(self, session: Session, text: str) -> None:
        session.commit({"role": "user", "parts": [{"type": "data-x", "data": Raw(text.encode())}]})
        session.commit({"role": "user", "parts": [Raw(f'{{"type":"data-x","data":{text}}}'.encode())]})
        assert session.messages_json().count(f'{{"type":"data-x","data":{text}}}') == 2

    @pytest.mark.parametrize("text", VERBATIM)
    def test_chunks_given_as_json_keep_the_bytes_of_their_payloads(self, session: Session, text: str) -> None:
        turn = session.turn("Go.")
        turn.write(f'{{"type":"data-x","data":{text}}}')
        turn.write(f'{{"type":"tool-input-available","toolCallId":"c1","toolName":"run","input":{text}}}'.encode())
        turn.write({"type": "tool-output-available", "toolCallId": "c1", "output": Raw(text.encode())})
        for _ in range(2):
            found = session.messages_json()
            assert all(f'"{key}":{text}' in found for key in ("data", "input", "output"))
            if turn.status == "streaming":
                turn.seal()

    @pytest.mark.parametrize("text", VERBATIM)
    def test_an_output_from_outside_keeps_its_bytes(self, session: Session, text: str) -> None:
        turn = leave_waiting(session)
        turn.resolve("c1", output=Raw(text.encode()))
        session.resume(turn.id).seal()
        assert f'"output":{text}' in session.messages_json()

    def test_metadata_keeps_its_bytes_when_the_store_adds_usage(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.write('{"type":"start","messageMetadata":{"b":1.10,"a":2}}')
            turn.usage(input=1)
        assert '"metadata":{"b":1.10,"a":2,"usage":{"input":1,' in session.messages_json()

    # ------------------------------------------------------------ Python values come back equal

    @pytest.mark.parametrize("value", EQUAL, ids=short)
    def test_python_values_come_back_as_they_were(self, session: Session, value: Any) -> None:
        with session.turn({"parts": [{"type": "data-x", "data": value}], "metadata": {"v": value}}) as turn:
            turn.write({"type": "data-x", "data": value})
        question, answered = session.messages()
        for found in (question["parts"][0]["data"], question["metadata"]["v"], answered["parts"][0]["data"]):
            assert same(found, value)
        assert json.loads(session.messages_json()) == session.messages()

    def test_ten_thousand_generated_parts_come_back_as_they_were(self, session: Session) -> None:
        print(f"seed {SEED}")
        rng = random.Random(SEED)
        parts = [random_part(rng) for _ in range(10_000)]
        session.commit([{"role": "user", "parts": parts[at : at + 500]} for at in range(0, 10_000, 500)])
        found = [part for message in session.messages() for part in message["parts"]]
        assert len(found) == 10_000
        for given, got in zip(parts, found, strict=True):
            assert same(got, joined(given)), ascii(given)

    def test_the_store_keeps_nothing_of_the_callers_objects(self, session: Session) -> None:
        data = {"list": [1]}
        turn = session.turn({"parts": [{"type": "data-x", "data": data}]})
        turn.write({"type": "data-x", "data": data})
        data["list"].append(2)
        session.messages()[0]["parts"].clear()
        assert [m["parts"] for m in session.messages()] == [[{"type": "data-x", "data": {"list": [1]}}]] * 2

    # ------------------------------------------------------------ texts

    def test_a_character_cut_in_two_by_the_stream_is_whole_again(self, session: Session) -> None:
        with session.turn("Smile.") as turn:
            turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}])
            turn.write({"type": "text-delta", "id": "t", "delta": "a\ud83d"})
            assert texts(session)[1] == "a\ud83d"
            turn.write(b'{"type":"text-delta","id":"t","delta":"\\ude00b"}')
            turn.write({"type": "text-end", "id": "t"})
        assert texts(session)[1] == "a😀b"
        assert "😀" in json.loads(session.messages_json())[1]["parts"][0]["text"]

    @pytest.mark.parametrize("text", [" ", "\x00", "\r\n", "\ud800", "‮rtl", "é" * 100_000], ids=short)
    def test_any_text_may_be_said(self, session: Session, text: str) -> None:
        with session.turn(text) as turn:
            turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": text}])
        assert texts(session) == [text, text]

    # ------------------------------------------------------------ what we do not know

    def test_unknown_parts_and_unknown_keys_are_kept(self, session: Session) -> None:
        parts = [
            {"type": "hologram", "rays": [1, 2]},
            {"type": "text", "text": "Hi.", "mood": {"x": 1}},
            {"type": "tool-run", "toolCallId": "c1", "state": "input-available", "input": 1, "newKey": None},
        ]
        session.commit({"role": "user", "parts": parts})
        assert session.messages()[0]["parts"] == parts

    def test_unknown_keys_of_a_data_chunk_are_kept(self, session: Session) -> None:
        say(turn := session.turn("Go."))
        turn.write({"type": "data-x", "id": "1", "data": 1, "newKey": [2]})
        assert session.messages()[1]["parts"][-1] == {"type": "data-x", "id": "1", "data": 1, "newKey": [2]}

    # ------------------------------------------------------------ depth

    def test_a_part_may_be_a_thousand_levels_deep(self, session: Session) -> None:
        part = {"type": "data-x", "data": nested(999)}
        with session.turn({"parts": [part]}) as turn:
            turn.write(part)
            assert [depth_of(m["parts"][0]) for m in session.messages()] == [1_000, 1_000]
        assert [depth_of(m["parts"][0]) for m in session.messages()] == [1_000, 1_000]
        assert session.messages_json().count("[" * 999 + "]" * 999) == 2

    @pytest.mark.parametrize("levels", [999, 1_000, 1_001, 5_000])
    def test_whatever_is_accepted_can_be_read(self, session: Session, levels: int) -> None:
        text = "[" * levels + "]" * levels
        deep = Raw(text.encode())
        turn = session.turn("Go.")
        attempts: list[Callable[[], None]] = [
            lambda: turn.write({"type": "data-x", "data": deep}),
            lambda: turn.write({"type": "data-x", "data": {"wrapped": deep}}),
            lambda: turn.write({"type": "tool-input-start", "toolCallId": "c1", "toolName": "run"}),
            lambda: turn.write({"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": text}),
            lambda: turn.write({"type": "message-metadata", "messageMetadata": {"deep": deep}}),
            lambda: turn.resolve("c1", output=deep),
            lambda: turn.seal(),
        ]
        for attempt in attempts:
            try:
                attempt()
            except palaver.PalaverError:
                pass
            assert texts(session)[0] == "Go."
            assert session.events()[0].kind == "create"
        assert turn.status == "completed"

    # ------------------------------------------------------------ what no column holds

    @pytest.mark.parametrize("reason", UNFIT, ids=short)
    def test_a_turn_ends_whatever_its_stream_calls_the_end(self, session: Session, reason: str) -> None:
        with session.turn("Go.") as turn:
            turn.append([*answer("Gone.")[:-1], {"type": "finish", "finishReason": reason}])
        assert (session.path()[0].status, session.path()[0].finish) == ("completed", reason)

    @pytest.mark.parametrize("model", UNFIT, ids=short)
    def test_a_session_goes_on_whatever_its_model_is_called(self, store: Store, model: str) -> None:
        for session in (store.sessions.create("coder", model=model), store.sessions.create("coder")):
            session.update(model=model)
            with session.turn("Go.", model=model) as turn:
                turn.usage(input=1, model=model)
            session.add_usage({"input": 1}, model=model)
            assert session.commit("And?").model == session.info.model == {"provider_id": "", "model_id": model}

    @pytest.mark.parametrize("save_on", ["chunk", "step", "turn"])
    @pytest.mark.parametrize("name", UNFIT, ids=short)
    def test_a_name_that_cannot_be_kept_is_refused_when_it_comes(
        self, open_store: OpenStore, name: str, save_on: str
    ) -> None:
        """Not later, when what was held back with it could not be written either."""
        store = open_store(save_on=save_on)
        session = store.sessions.create("coder")
        with session.turn("Go.") as turn:
            turn.append(answer("Going.")[:-1])
            for chunk in (
                {"type": f"data-{name}", "data": 1},
                {"type": "tool-input-start", "toolCallId": "c1", "toolName": name},
                {"type": "start", "messageId": name},
            ):
                with pytest.raises(palaver.BadValue):
                    turn.write(chunk)
                with pytest.raises(palaver.BadValue):
                    turn.append([*answer("Nothing of it.")[:-1], chunk])
            turn.append(answer("Gone."))
        call = {"type": f"tool-{name}", "toolCallId": "c1", "state": "input-available", "input": {}}
        with pytest.raises(palaver.BadValue):
            session.commit(["And?", {"role": "assistant", "parts": [call]}], status="waiting")
        assert texts(session) == ["Go.", "Going.Gone."]
        assert store.verify() == []

    def test_a_dynamic_tool_may_have_any_name(self, session: Session) -> None:
        with session.turn("Go.") as turn:
            call = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "a\x00b", "dynamic": True}
            turn.append([{**call, "input": {}}, {"type": "tool-output-available", "toolCallId": "c1", "output": 1}])
        assert session.messages()[1]["parts"][0]["toolName"] == "a\x00b"

    @pytest.mark.parametrize("save_on", ["chunk", "step", "turn"])
    def test_what_would_be_kept_too_deep_is_refused_when_it_comes(self, open_store: OpenStore, save_on: str) -> None:
        """An unknown chunk is kept among the facts of its turn, a descriptor inside the approval of its part."""
        store = open_store(save_on=save_on)
        session = store.sessions.create("coder")
        asked = {"type": "tool-approval-request", "toolCallId": "c1", "approvalId": "may-1"}
        with session.turn("Go.") as turn:
            turn.append([{"type": "tool-input-start", "toolCallId": "c1", "toolName": "run"}])
            for chunk, field, most in (({"type": "from-2031"}, "x", 997), (asked, "approvalDescriptor", 998)):
                with pytest.raises(palaver.BadValue):
                    turn.write({**chunk, field: nested(most + 1)})
                turn.write({**chunk, field: nested(most)})
            turn.abort()
        assert session.path()[0].status == "aborted"
        assert store.verify() == []

    # ------------------------------------------------------------ after the store was closed

    def test_everything_reads_the_same_after_the_store_was_opened_again(
        self, store: Store, reopen: Callable[[Store], Store]
    ) -> None:
        session = store.sessions.create(agent="coder", metadata={"v": EQUAL})
        session.commit([{"role": "user", "parts": [{"type": "data-x", "data": value} for value in EQUAL]}])
        with session.turn(user("More?", id="q-2")) as turn:
            turn.append(answer("More."))
            turn.usage(input=1)
        before = (session.messages_json(), repr(session.messages()), session.info, session.history(), session.path())
        session = reopen(store).sessions.get(session.id)
        after = (session.messages_json(), repr(session.messages()), session.info, session.history(), session.path())
        assert after == before
