"""The stream: every chunk is kept and readable when its write returns, once, in its place, whole batches or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import ChunkError, ChunkGap, Session, Store

from .group import Group
from .helpers import answer, refused, say, texts, tool_part

OPENING: list[dict[str, Any]] = [{"type": "start"}, {"type": "start-step"}, {"type": "text-start", "id": "t"}]


def delta(text: str, chunk_id: str = "t") -> dict[str, Any]:
    return {"type": "text-delta", "id": chunk_id, "delta": text}


class Stream(Group):
    # ------------------------------------------------------------ writing and reading

    def test_every_chunk_is_readable_when_its_write_returns(self, session: Session) -> None:
        turn = session.turn("Count.")
        turn.append(OPENING)
        for n in range(50):
            turn.write(delta(f"{n} "))
            assert texts(session)[1] == "".join(f"{k} " for k in range(n + 1))

    def test_the_answer_is_the_fold_of_its_chunks(self, session: Session) -> None:
        chunks = answer("A fine day.")
        with session.turn("How is it?") as turn:
            turn.append(chunks)
            assert turn.message()["parts"] == palaver.fold(chunks)["parts"]
        assert session.messages()[1]["parts"] == [
            {"type": "step-start"},
            {"type": "text", "text": "A fine day.", "state": "done"},
        ]

    def test_chunks_may_be_dicts_or_json_text(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.write('{"type":"text-start","id":"t"}')
        turn.write(b'{"type":"text-delta","id":"t","delta":"one "}')
        turn.write(delta("two"))
        assert texts(session)[1] == "one two"

    def test_every_chunk_is_an_event_in_its_order(self, session: Session) -> None:
        chunks = answer("A fine day.")
        with session.turn("How is it?") as turn:
            turn.append(chunks)
        seen = session.events()
        assert [e.data for e in seen if e.kind == "chunk"] == chunks
        assert [e.kind for e in seen if e.kind != "chunk"] == ["create", "begin", "seal"]

    def test_events_are_read_page_by_page(self, session: Session) -> None:
        say(session.turn("Hello?"), "one two three four")
        pages, after = [], 0
        while page := session.events(after=after, limit=3):
            assert len(page) <= 3
            pages += page
            after = page[-1].seq
        assert pages == session.events()

    def test_the_id_in_start_is_what_the_client_sees(self, session: Session) -> None:
        say(session.turn("Hello?"), message_id="answer-1")
        assert session.messages()[1]["id"] == "answer-1"

    def test_metadata_of_the_stream_is_merged_into_the_message(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.write({"type": "start", "messageMetadata": {"a": {"x": 1}}})
            turn.write({"type": "message-metadata", "messageMetadata": {"a": {"y": 2}}})
            assert session.messages()[1]["metadata"] == {"a": {"x": 1, "y": 2}}
            turn.write({"type": "finish", "messageMetadata": {"b": 3}})
        assert session.messages()[1]["metadata"] == {"a": {"x": 1, "y": 2}, "b": 3}

    def test_a_tool_call_progresses_on_one_part(self, session: Session) -> None:
        turn = session.turn("Run it.")
        seen = []
        chunks: list[dict[str, Any]] = [
            {"type": "tool-input-start", "toolCallId": "c1", "toolName": "run"},
            {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"cmd":"l'},
            {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": 's"}'},
            {"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {"cmd": "ls"}},
            {"type": "tool-output-available", "toolCallId": "c1", "output": ["a"]},
        ]
        for chunk in chunks:
            turn.write(chunk)
            [part] = session.messages()[1]["parts"]
            seen.append((part["state"], part.get("input"), part.get("output")))
        assert seen == [
            ("input-streaming", None, None),
            ("input-streaming", {"cmd": "l"}, None),
            ("input-streaming", {"cmd": "ls"}, None),
            ("input-available", {"cmd": "ls"}, None),
            ("output-available", {"cmd": "ls"}, ["a"]),
        ]

    def test_a_failed_tool_keeps_its_error(self, session: Session) -> None:
        turn = session.turn("Run it.")
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {}})
        turn.write({"type": "tool-output-error", "toolCallId": "c1", "errorText": "exit 1"})
        assert (tool_part(session)["state"], tool_part(session)["errorText"]) == ("output-error", "exit 1")

    def test_a_repeated_call_id_names_the_part_of_its_step(self, session: Session) -> None:
        with session.turn("Run it twice.") as turn:
            for output in ("first", "second"):
                turn.write({"type": "start-step"})
                turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {}})
                turn.write({"type": "tool-output-available", "toolCallId": "c1", "output": output})
                turn.write({"type": "finish-step"})
        outputs = [part["output"] for part in session.messages()[1]["parts"] if part["type"] == "tool-run"]
        assert outputs == ["first", "second"]

    def test_a_data_part_is_updated_by_its_id(self, session: Session) -> None:
        turn = session.turn("Go.")
        turn.write({"type": "data-progress", "id": "p", "data": 10})
        turn.write({"type": "data-progress", "id": "p", "data": 90})
        turn.write({"type": "data-progress", "id": "q", "data": 1})
        assert session.messages()[1]["parts"] == [
            {"type": "data-progress", "id": "p", "data": 90},
            {"type": "data-progress", "id": "q", "data": 1},
        ]

    def test_chunks_of_unknown_kinds_are_kept_when_the_others_are_trimmed(self, store: Store, session: Session) -> None:
        frames = [{"type": "media-frame", "n": n, "data": {"z": 1, "a": [n, 1.50]}} for n in (1, 2)]
        with session.turn("show me") as turn:
            turn.write(frames[0])
            turn.text("here")
            turn.write(frames[1])
        assert store.trim(older_than=0) > 0
        assert session.path()[-1].unknown_chunks == frames
        assert [part["type"] for part in session.messages()[-1]["parts"]] == ["step-start", "text"]

    @pytest.mark.parametrize(
        "kind", ["text_delta", "textDelta", "content_block_delta", "message_start", "response.output_text.delta"]
    )
    def test_a_chunk_of_another_stream_is_refused(self, session: Session, kind: str) -> None:
        turn = session.turn("Hello?")
        with refused(session, ChunkError) as caught:
            turn.write({"type": kind, "id": "t", "delta": "hi"})
        assert kind in str(caught.value)
        with refused(session, ChunkError):
            turn.append([{"type": "start-step"}, {"type": kind, "id": "t", "delta": "hi"}])
        turn.seal()
        assert texts(session) == ["Hello?"]

    def test_a_turn_that_waited_keeps_the_unknown_chunks_of_before_and_after(self, session: Session) -> None:
        with session.turn("go") as turn:
            turn.write({"type": "media-frame", "n": 1})
            turn.tool("run", {})
        session.resolve(turn.calls()[0].id, output="done")
        with session.resume(turn.id) as resumed:
            resumed.write({"type": "media-frame", "n": 2})
            resumed.text("thanks")
        assert [chunk["n"] for chunk in session.path()[-1].unknown_chunks] == [1, 2]

    def test_transient_and_unknown_chunks_leave_no_part_but_are_counted(self, session: Session) -> None:
        turn = session.turn("Go.")
        turn.write({"type": "data-spinner", "data": 1, "transient": True})
        turn.write({"type": "from-the-future", "x": [1]})
        assert (session.messages()[1]["parts"], turn.chunks) == ([], 2)

    def test_a_late_tool_output_finds_its_part_after_many_others(self, session: Session) -> None:
        turn = session.turn("Run it.")
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {}})
        turn.append([{"type": "data-row", "id": str(n), "data": n} for n in range(2_000)])
        turn.write({"type": "tool-output-available", "toolCallId": "c1", "output": "late"})
        turn.seal()
        parts = session.messages()[1]["parts"]
        assert (len(parts), parts[0]["output"], parts[2_000]["data"]) == (2_001, "late", 1_999)

    def test_a_late_tool_output_finds_its_part_after_the_store_was_opened_again(
        self, store: Store, reopen: Callable[[Store], Store]
    ) -> None:
        session = store.sessions.create(agent="coder")
        turn = session.turn("Run it.")
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {}})
        turn.append([{"type": "data-row", "id": str(n), "data": n} for n in range(100)])
        turn.wait()
        session = reopen(store).sessions.get(session.id)
        with session.resume(turn.id) as resumed:
            resumed.write({"type": "tool-output-available", "toolCallId": "c1", "output": "late"})
        parts = session.messages()[1]["parts"]
        assert (resumed.status, parts[0]["output"], len(parts)) == ("completed", "late", 101)

    # ------------------------------------------------------------ at=

    def test_chunks_that_are_stored_already_are_not_doubled(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.append([*OPENING, delta("Hel")], at=0)
        turn.append([*OPENING, delta("Hel")], at=0)
        turn.write(delta("Hel"), at=3)
        assert (turn.chunks, texts(session)[1]) == (4, "Hel")

    def test_only_the_new_chunks_of_an_overlapping_batch_are_added(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.append([*OPENING, delta("Hel")], at=0)
        turn.append([delta("Hel"), delta("lo")], at=3)
        assert (turn.chunks, texts(session)[1]) == (5, "Hello")

    def test_transient_chunks_count_for_at(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.write({"type": "data-spinner", "data": 1, "transient": True})
        turn.append(OPENING, at=1)
        turn.write({"type": "data-spinner", "data": 1, "transient": True}, at=0)
        assert turn.chunks == 4

    @pytest.mark.parametrize("at", [5, 400, -1])
    def test_a_place_beyond_the_stored_chunks_is_refused(self, session: Session, at: int) -> None:
        turn = session.turn("Hello?")
        turn.append([*OPENING, delta("Hel")])
        with refused(session, ChunkGap) as caught:
            turn.write(delta("lo"), at=at)
        assert (caught.value.turn_id, caught.value.at, caught.value.stored) == (turn.id, at, 4)
        turn.write(delta("lo"), at=4)
        assert texts(session)[1] == "Hello"

    @pytest.mark.parametrize("other", [delta("HEL"), {"type": "start-step"}], ids=["text", "kind"])
    def test_another_chunk_in_a_stored_place_is_refused(self, session: Session, other: dict[str, Any]) -> None:
        turn = session.turn("Hello?")
        turn.append([*OPENING, delta("Hel")])
        with refused(session, ChunkGap) as caught:
            turn.append([other, delta("lo")], at=3)
        assert (caught.value.at, caught.value.stored, turn.chunks) == (3, 4, 4)

    def test_one_and_true_are_not_the_same_chunk(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.write({"type": "data-flag", "data": 1})
        with refused(session, ChunkGap):
            turn.write({"type": "data-flag", "data": True}, at=0)

    # ------------------------------------------------------------ what does not fit

    @pytest.mark.parametrize(
        "bad",
        [
            delta("x", "nobody"),
            {"type": "text-end", "id": "nobody"},
            {"type": "tool-input-delta", "toolCallId": "nobody", "inputTextDelta": "{"},
            {"type": "tool-output-available", "toolCallId": "nobody", "output": 1},
            {"type": "text-delta", "id": "t"},
            {"type": "text-start", "id": 7},
            {"type": 7},
            {"no": "type"},
            b"[1]",
            17,
        ],
        ids=str,
    )
    def test_a_chunk_that_does_not_fit_leaves_the_turn_as_it_was(self, session: Session, bad: Any) -> None:
        turn = session.turn("Hello?")
        turn.append([*OPENING, delta("Hel")])
        with refused(session, ChunkError):
            turn.write(bad)
        assert turn.chunks == 4
        turn.write(delta("lo"), at=4)
        turn.seal()
        assert texts(session) == ["Hello?", "Hello"]

    def test_a_chunk_error_says_where_and_what_there_was(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.append([*OPENING, delta("Hel")])
        with pytest.raises(ChunkError) as caught:
            turn.write(delta("x", "nobody"))
        assert (caught.value.chunk_type, caught.value.chunk_id) == ("text-delta", "nobody")
        assert caught.value.message["parts"][1]["text"] == "Hel"

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_a_batch_is_kept_whole_or_not_at_all(self, session: Session, place: int) -> None:
        turn = session.turn("Hello?")
        turn.append(OPENING)
        batch = [delta("Hel"), delta("lo")]
        batch.insert(place, delta("x", "nobody"))
        with refused(session, ChunkError):
            turn.append(batch)
        turn.append([delta("Hel"), delta("lo")], at=3)
        assert (turn.chunks, texts(session)[1]) == (5, "Hello")

    def test_a_first_batch_that_is_refused_makes_no_message(self, session: Session) -> None:
        turn = session.turn("Hello?")
        with refused(session, ChunkError):
            turn.append([*OPENING, delta("x", "nobody")])
        assert (turn.chunks, turn.message_id) == (0, None)
        say(turn, "Hi.")
        turn.seal()
        assert texts(session) == ["Hello?", "Hi."]

    def test_a_refused_batch_does_not_disturb_an_open_text(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.append([*OPENING, delta("Hel")])
        with pytest.raises(ChunkError):
            turn.append([{"type": "text-end", "id": "t"}, delta("x", "nobody")])
        turn.write(delta("lo"))
        assert session.messages()[1]["parts"][1] == {"type": "text", "text": "Hello", "state": "streaming"}

    def test_an_empty_batch_changes_nothing(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.append([])
        assert (turn.chunks, turn.message_id) == (0, None)
