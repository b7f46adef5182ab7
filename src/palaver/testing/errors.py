"""Bad input: refused with a named error before anything is written; the session reads exactly as before."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import BadValue, NotFound, Session, Store, StoreClosed

from .group import Group
from .helpers import OpenStore, ask, leave_waiting, refused, texts, user
from .values import nested, short

# JSON cannot say these, or we could not read them again.
UNSAYABLE: dict[str, Any] = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "NaN inside": [1, {"x": math.nan}],
    "a number as a key": {1: "x"},
    "an object": {"when": object()},
    "bytes": b"bytes",
    "a set": {1, 2},
    "half a JSON text": palaver.Raw(b"{"),
    "NaN as JSON text": palaver.Raw(b"NaN"),
    "Infinity as JSON text": palaver.Raw(b"[Infinity]"),
    "a number that no double holds": palaver.Raw(b"1e999"),
    "1,001 levels": nested(1_001),
    "5,000 levels": nested(5_000),
    "1,001 levels of JSON text": palaver.Raw(b"[" * 1_001 + b"]" * 1_001),
}
BAD_TEXT = [
    b"",
    b"{",
    b"nonsense",
    b'{"type":"data-x","data":NaN}',
    b'{"type":"data-x","data":-Infinity}',
    b'{"type":"data-x","data":1e999}',
    b'{"type":"data-x","data":' + b"[" * 1_001 + b"]" * 1_001 + b"}",
    b'{"type":"data-x","data":"\xff"}',
]
BAD_COLUMNS = ["nul\x00", "line\nbreak", "tab\t", "bell\x07", "delete\x7f", "half \ud83d"]
BAD_MESSAGES: list[Any] = [
    {"role": "tool", "content": "x"},
    {"role": "User", "content": "x"},
    {"role": None, "content": "x"},
    {"role": "user"},
    {"role": "user", "parts": []},
    {"role": "user", "parts": "text"},
    {"role": "user", "parts": ["text"]},
    {"role": "user", "parts": [{"text": "no type"}]},
    {"role": "user", "parts": [{"type": 7}]},
    {"role": "user", "parts": [{"type": "nul\x00"}]},
    {"role": "assistant", "parts": [{"type": "tool-run", "toolCallId": "c1", "state": "dreaming"}]},
    {"role": "assistant", "parts": [{"type": "tool-run", "state": "input-available"}]},
    {"role": "user", "content": ["x"]},
    {"role": "user", "content": "x", "parts": []},
    {"role": "user", "content": "x", "colour": "red"},
    {"role": "user", "content": "x", "id": "line\nbreak"},
    {"role": "user", "content": "x", "id": 7},
    {"role": "user", "content": "x", "metadata": []},
    {"role": "user", "content": "x", "metadata": "text"},
    {"role": "user", "content": "x", "metadata": {"hidden_at": 1}},
    {"role": "user", "content": "x", "metadata": {"queued_at": None}},
    {"role": "user", "parts": [{"type": "data-compaction", "data": {}}]},
    17,
    [17],
    b"[]",
    b"17",
]


class Errors(Group):
    def test_an_error_says_what_is_not_there(self, store: Store, session: Session) -> None:
        other = store.sessions.create("another")
        ask(other)
        sentences: dict[str, Callable[[], object]] = {
            f"session {session.id} has no alias 'nope'; nothing was taken away": lambda: session.unalias("nope"),
            f"nothing was said in session {session.id} yet: there is no answer to give again": session.regenerate,
            f"session {session.id} did not exist yet at 0; it was made later": lambda: session.at(0),
            f"turn {other.path()[0].id!r} is not a sealed turn of session {session.id}; tree() has those that are": (
                lambda: session.move(other.path()[0].id, expected=0)
            ),
        }
        for sentence, wrong in sentences.items():
            with refused(session, NotFound) as caught:
                wrong()
            assert str(caught.value) == sentence

    def test_the_options_there_are_are_all_named(self, session: Session) -> None:
        with pytest.raises(TypeError, match="there are account, facts, model"):
            session.update(prjct="x")  # type: ignore[call-arg]

    # ------------------------------------------------------------ messages

    @pytest.mark.parametrize("message", BAD_MESSAGES, ids=short)
    def test_a_message_that_cannot_be_kept_is_refused_everywhere(self, session: Session, message: Any) -> None:
        ask(session, user("Hello?", id="q-1"))
        given: Any = message if isinstance(message, bytes | dict | int) else [message]
        for verb in (session.turn, session.commit, lambda m: session.edit("q-1", m)):
            with refused(session, BadValue):
                verb(given)

    def test_the_good_messages_beside_a_bad_one_are_not_kept(self, session: Session) -> None:
        with refused(session, BadValue):
            session.commit([user("good"), {"role": "tool", "content": "bad"}])

    @pytest.mark.parametrize("name", UNSAYABLE)
    def test_a_value_that_json_cannot_say_is_refused_everywhere(self, session: Session, name: str) -> None:
        value = UNSAYABLE[name]
        ask(session)
        turn = session.turn("Go.")
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {}})
        part = {"type": "data-x", "data": value}
        attempts: list[Callable[[], object]] = [
            lambda: session.turn({"parts": [part]}),
            lambda: session.turn(user("x", metadata={"deep": value})),
            lambda: session.turn("x", trigger={"deep": value}),
            lambda: turn.write(part),
            lambda: turn.append([{"type": "start-step"}, part]),
            lambda: turn.write({"type": "finish", "messageMetadata": {"deep": value}}),
            lambda: turn.resolve("c1", output=value),
        ]
        for attempt in attempts:
            with refused(session, BadValue):
                attempt()
        turn.write({"type": "tool-output-available", "toolCallId": "c1", "output": 1})
        turn.seal()
        assert texts(session)[2:] == ["Go.", ""]

    @pytest.mark.parametrize("text", BAD_TEXT, ids=short)
    def test_text_that_is_not_json_is_refused(self, session: Session, text: bytes) -> None:
        turn = session.turn("Go.")
        with refused(session, BadValue):
            turn.write(text)
        with refused(session, BadValue):
            session.commit(b'{"role":"user","parts":[' + text + b"]}")

    # ------------------------------------------------------------ keys that are ours

    @pytest.mark.parametrize("key", ["hidden_at", "queued_at"])
    def test_metadata_keys_of_the_store_are_refused(self, session: Session, key: str) -> None:
        with refused(session, palaver.ReservedKey) as caught:
            session.turn(user("x", metadata={key: 1}))
        assert caught.value.key == key
        turn = session.turn("Go.")
        for kind in ("start", "message-metadata", "finish"):
            with refused(session, palaver.ReservedKey):
                turn.write({"type": kind, "messageMetadata": {key: 1}})

    def test_a_compaction_is_not_written_by_hand(self, session: Session) -> None:
        turn = session.turn("Go.")
        with refused(session, palaver.PalaverError):
            turn.write({"type": "data-compaction", "data": {"summary": "x"}})
        with refused(session, BadValue):
            session.commit({"role": "assistant", "parts": [{"type": "data-compaction", "data": {}}]})

    def test_a_session_does_not_say_when_it_was_deleted(self, store: Store) -> None:
        with pytest.raises(BadValue):
            store.sessions.create(agent="coder", metadata={"deleted_at": 1})
        assert list(store.sessions) == []

    # ------------------------------------------------------------ texts for columns

    @pytest.mark.parametrize("text", BAD_COLUMNS, ids=short)
    def test_a_name_has_no_control_characters(self, store: Store, session: Session, text: str) -> None:
        attempts: list[Callable[[], object]] = [
            lambda: setattr(session, "title", text),
            lambda: session.fork(title=text),
            lambda: session.alias(text),
            lambda: session.alias("x", namespace=text),
            lambda: session.turn("x", agent=text),
        ]
        for attempt in attempts:
            with refused(session, BadValue):
                attempt()
        for field in ("agent", "workspace", "title", "tool_call_id", "id"):
            with pytest.raises(BadValue):
                store.sessions.create(**dict[str, Any]({"agent": "coder", field: text}))
        assert [info.id for info in store.sessions] == [session.id]

    @pytest.mark.parametrize("text", ["nul\x00", "half \ud83d"], ids=short)
    def test_longer_texts_for_columns_have_no_nul_and_no_half_characters(self, session: Session, text: str) -> None:
        turn = ask(session)
        attempts: list[Callable[[], object]] = [
            lambda: session.turn("x", system_prompt=text),
            lambda: session.rewind(to=turn.id, reason=text),
            lambda: session.move(turn.id, expected=1, reason=text),
            lambda: session.alias("x", reason=text),
        ]
        for attempt in attempts:
            with refused(session, BadValue):
                attempt()

    def test_an_agent_has_a_name(self, store: Store) -> None:
        with pytest.raises(BadValue):
            store.sessions.create(agent="")

    @pytest.mark.parametrize("model", [17, {"model_id": "m"}, []], ids=short)
    def test_a_model_is_a_model(self, store: Store, model: Any) -> None:
        with pytest.raises(BadValue):
            store.sessions.create(agent="coder", model=model)
        assert list(store.sessions) == []

    # ------------------------------------------------------------ what is not there

    @pytest.mark.parametrize(
        "name", ["", "nobody", "ses_nobody", "trn_nobody", "x" * 5_000, "nul\x00", "\ud800"], ids=short
    )
    def test_what_is_not_there_is_not_found(self, store: Store, session: Session, name: str) -> None:
        ask(session)
        for search in (store.sessions.get, store.sessions.find):
            with pytest.raises((NotFound, BadValue)) as caught:
                search(name)
            assert isinstance(caught.value, palaver.PalaverError)
        for verb in (session.regenerate, session.rewind, session.resume, lambda n: session.edit(n, "x")):
            with refused(session, palaver.PalaverError) as caught:
                verb(name)
            assert isinstance(caught.value, NotFound | BadValue)

    def test_an_unknown_name_is_in_the_error(self, store: Store) -> None:
        with pytest.raises(palaver.SessionNotFound) as caught:
            store.sessions.get("ses_nobody")
        assert caught.value.wanted == "ses_nobody"
        assert "ses_nobody" in str(caught.value)

    def test_a_place_is_an_id(self, session: Session) -> None:
        ask(session)
        for place in (17, {}, {"id": 7}):
            with refused(session, BadValue):
                session.fork(at=place)  # type: ignore[arg-type]
        with refused(session, BadValue):
            session.rewind(to=None)  # type: ignore[arg-type]

    # ------------------------------------------------------------ the store

    def test_every_error_is_a_palaver_error(self) -> None:
        errors = [getattr(palaver, name) for name in palaver.__all__]
        raised = [e for e in errors if isinstance(e, type) and issubclass(e, Exception)]
        assert len(raised) > 20
        assert all(issubclass(e, palaver.PalaverError) for e in raised)

    def test_an_unknown_option_is_a_type_error(self, open_store: OpenStore) -> None:
        with pytest.raises(TypeError, match="durabilty"):
            open_store(durabilty="full")

    def test_a_closed_store_says_so(self, open_store: OpenStore) -> None:
        store = open_store()
        session = store.sessions.create(agent="coder")
        turn = leave_waiting(session)
        store.close()
        attempts: list[Callable[[], object]] = [
            lambda: store.sessions.create(agent="coder"),
            lambda: store.sessions.get(session.id),
            lambda: store.sessions.list(),
            lambda: store.verify(),
            session.messages,
            session.messages_json,
            session.history,
            session.fork,
            lambda: session.info,
            lambda: session.turn("More."),
            lambda: session.commit("More."),
            lambda: turn.resolve("c1", output=1),
        ]
        for attempt in attempts:
            with pytest.raises(StoreClosed):
                attempt()

    def test_a_store_may_be_closed_twice_and_by_a_block(self, open_store: OpenStore) -> None:
        with open_store() as store:
            store.sessions.create(agent="coder")
        store.close()
        with pytest.raises(StoreClosed):
            store.sessions.list()
