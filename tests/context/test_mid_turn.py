"""Compacting a turn that runs: sealed at its last finished step, then the summary, then the turn that goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import palaver

from ..tools.chunks import result, step, text
from ..tools.sql import query
from ..tools.talk import feed
from .support import START, Chunk, call, details, kinds, outputs, said, talk, talks, walked, words

FIRST: list[Chunk] = [{"type": "start"}, *step(*text("first"))]
HALF: list[Chunk] = [{"type": "start-step"}, *text("second", "u", ends=False)]


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create("coder")


def go_on(turn: palaver.Turn, more: str = " half") -> None:
    turn.write({"type": "text-delta", "id": "u", "delta": more})
    feed(turn, [{"type": "text-end", "id": "u"}, {"type": "finish-step"}]).seal()


def test_a_turn_at_the_end_of_a_step_goes_on_behind_its_summary(
    store: palaver.Store, session: palaver.Session, path: str
) -> None:
    one = talk(session, "1")
    turn = feed(session.turn("long"), FIRST)
    then = turn.compact("so far", keep_from=turn.id)
    assert (turn.status, then.status, then.chunks) == ("completed", "streaming", 0)
    assert words(then.context()) == ["system: so far", "user: long", "assistant: first"]
    feed(then, step(*text("second"))).seal()
    assert kinds(session) == ["turn", "turn", "compaction", "turn"]
    made = session.path()[2].id
    assert walked(path, session) == [one, turn.id, made, then.id]
    assert words(session.messages()) == [
        *said(1),
        "user: long",
        "assistant: first",
        "assistant: data-compaction",
        "assistant: second",
    ]
    assert words(session.context()) == ["system: so far", "user: long", "assistant: first", "assistant: second"]
    assert store.verify() == []


def test_the_chunks_of_an_unfinished_step_go_on_in_the_next_turn(
    store: palaver.Store, session: palaver.Session
) -> None:
    talk(session, "1")
    turn = feed(session.turn("long"), FIRST + HALF)
    then = turn.compact("so far", keep_from=turn.id)
    assert then.chunks == len(HALF)
    assert words([then.message()]) == ["assistant: second"]
    assert words(session.messages())[-1] == "assistant: second"
    go_on(then)
    assert words(session.context()) == ["system: so far", "user: long", "assistant: first", "assistant: second half"]
    assert store.verify() == []


def test_a_call_that_waits_for_its_result_goes_on_in_the_next_turn(
    store: palaver.Store, session: palaver.Session
) -> None:
    talk(session, "1")
    turn = feed(session.turn("long"), [{"type": "start"}, *step(call("c1"), result("c1", 1))])
    feed(turn, [{"type": "start-step"}, call("c2")])
    then = turn.compact("so far", keep_from=turn.id)
    feed(then, [result("c2", 2), {"type": "finish-step"}]).seal()
    assert outputs(session.context()) == [1, 2]
    assert "interrupted" not in session.messages_json()
    assert store.verify() == []


def test_results_of_the_unfinished_step_are_not_listed_twice(
    store: palaver.Store, session: palaver.Session, path: str
) -> None:
    talk(session, "1")
    turn = feed(session.turn("long"), [{"type": "start"}, *step(call("c1"), result("c1", 1))])
    feed(turn, [{"type": "start-step"}, call("c2"), result("c2", 2), call("c3")])
    then = turn.compact("so far", keep_from=turn.id)
    feed(then, [result("c3", 3), {"type": "finish-step"}]).seal()
    assert outputs(session.messages()) == [1, 2, 3]
    rows = "SELECT tool_call_id FROM chat_parts WHERE tool_call_id IS NOT NULL ORDER BY tool_call_id"
    assert query(path, rows) == [("c1",), ("c2",), ("c3",)]
    lines = "SELECT turn_id, count(*) FROM turn_entries WHERE kind = 'result' GROUP BY turn_id"
    assert sorted(query(path, lines)) == sorted([(turn.id, 1), (then.id, 2)])
    assert store.verify() == []


def test_a_turn_may_be_compacted_again_and_again(store: palaver.Store, session: palaver.Session) -> None:
    turn = feed(session.turn("long"), [{"type": "start"}, *step(*text("step 0"))])
    for number in range(1, 4):
        turn = feed(turn.compact(f"up to {number}"), step(*text(f"step {number}")))
    turn.seal()
    assert kinds(session) == ["turn"] + ["compaction", "turn"] * 3
    assert words(session.context()) == ["system: up to 3", "assistant: step 3"]
    assert details(session)["turns_summarized"] == 3
    assert store.verify() == []


def test_without_keep_from_the_question_is_summarised_too(session: palaver.Session) -> None:
    talk(session, "1")
    then = feed(session.turn("long"), FIRST + HALF).compact("all")
    assert words(then.context()) == ["system: all", "assistant: second"]


def test_keep_from_takes_what_a_session_takes(session: palaver.Session) -> None:
    talks(session, 1, 2)
    then = feed(session.turn("long"), FIRST).compact("of 1", keep_from=session.path()[1])
    assert words(then.context()) == ["system: of 1", *said(2), "user: long", "assistant: first"]


# ---------------------------------------------------------------- refused, and the turn goes on


def refused(session: palaver.Session, turn: palaver.Turn, kind: type[Exception], work: Callable[[], Any]) -> None:
    before = (session.messages_json(), session.revision, turn.chunks, [e.seq for e in session.events(0)])
    with pytest.raises(kind):
        work()
    assert (session.messages_json(), session.revision, turn.chunks, [e.seq for e in session.events(0)]) == before
    assert turn.status == "streaming"


def test_a_turn_without_a_finished_step_cannot_be_compacted(store: palaver.Store, session: palaver.Session) -> None:
    talk(session, "1")
    turn = session.turn("long")
    refused(session, turn, palaver.Refused, lambda: turn.compact("s"))
    feed(turn, [*START, *text("first")])
    refused(session, turn, palaver.Refused, lambda: turn.compact("s"))
    turn.write({"type": "finish-step"})
    turn.compact("s").seal()
    assert kinds(session) == ["turn", "turn", "compaction", "turn"]
    assert store.verify() == []


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"summary": ""}, palaver.BadValue),
        ({"summary": "s", "keep_from": "trn_nowhere"}, palaver.TurnNotFound),
        ({"summary": "s", "tokens_before": -1}, palaver.BadValue),
    ],
)
def test_what_is_wrong_is_refused_and_the_turn_goes_on(
    store: palaver.Store, session: palaver.Session, given: dict[str, Any], kind: type[Exception]
) -> None:
    turn = feed(session.turn("long"), FIRST + HALF)
    refused(session, turn, kind, lambda: turn.compact(**given))
    go_on(turn)
    assert words(session.messages()) == ["user: long", "assistant: first second half"]
    assert store.verify() == []


def test_a_turn_off_the_path_cannot_be_kept(store: palaver.Store, session: palaver.Session) -> None:
    aside = talk(session, "1")
    session.undo()
    turn = feed(session.turn("long"), FIRST + HALF)
    refused(session, turn, palaver.NotOnPath, lambda: turn.compact("s", keep_from=aside))
    go_on(turn)
    assert store.verify() == []


def test_not_everything_can_be_kept(session: palaver.Session) -> None:
    turn = feed(session.turn("long"), FIRST)
    with pytest.raises(palaver.BadValue, match="everything would be kept"):
        turn.compact("s", keep_from=turn.id)
    assert (turn.status, kinds(session)) == ("streaming", [])


def test_an_answer_within_the_running_step_is_waited_for(store: palaver.Store, session: palaver.Session) -> None:
    turn = feed(session.turn("long"), [{"type": "start"}, *step(call("c1"))])
    turn.resolve("c1", output=1)
    refused(session, turn, palaver.Refused, lambda: turn.compact("s"))
    feed(turn, step(*text("then")))
    turn.compact("s").seal()
    assert outputs(session.messages()) == [1]
    assert store.verify() == []


def test_a_result_behind_the_last_step_is_waited_for(store: palaver.Store, session: palaver.Session) -> None:
    turn = feed(session.turn("long"), [{"type": "start"}, *step(call("c1")), result("c1", 1)])
    refused(session, turn, palaver.Refused, lambda: turn.compact("s"))
    feed(turn, step(*text("then")))
    turn.compact("s").seal()
    assert outputs(session.messages()) == [1]
    assert store.verify() == []


def test_a_turn_that_waits_or_is_sealed_cannot_be_compacted(session: palaver.Session) -> None:
    waits = feed(session.turn("long"), [{"type": "start"}, *step(call("c1")), {"type": "finish"}])
    with pytest.raises(palaver.TurnWaiting):
        waits.compact("s")
    waits.abort()
    with pytest.raises(palaver.TurnSealed):
        waits.compact("s")


def test_whoever_lost_the_head_is_told_so_and_nothing_changes(store: palaver.Store, session: palaver.Session) -> None:
    turn, faster = feed(session.turn("long"), FIRST + HALF), session.turn("fast")
    feed(faster, FIRST).seal()
    before = (session.messages_json(), session.revision, session.history())
    with pytest.raises(palaver.HeadConflict):
        turn.compact("s")
    assert (session.messages_json(), session.revision, session.history()) == before
    turn.write({"type": "text-delta", "id": "u", "delta": " half"})
    with pytest.raises(palaver.HeadConflict):
        turn.seal()
    stray = session.transcript(turn.id)[-1].ui()
    assert words([stray]) == ["assistant: first second half"]
    assert store.verify() == []


def test_the_sealed_turn_takes_no_more_chunks(session: palaver.Session) -> None:
    turn = feed(session.turn("long"), FIRST)
    then = turn.compact("s")
    with pytest.raises(palaver.TurnSealed):
        turn.write({"type": "start-step"})
    with pytest.raises(palaver.TurnSealed):
        turn.compact("s")
    then.seal()


# ---------------------------------------------------------------- numbers


def test_a_follower_misses_nothing(session: palaver.Session) -> None:
    """Whatever number it has come to, what comes after the compaction has higher ones."""
    turn = feed(session.turn("long"), FIRST + HALF)
    seen = list(session.events(0))
    then = turn.compact("s")
    news = list(session.events(seen[-1].seq))
    chunks = [event.data for event in news if event.kind == "chunk"]
    assert [event.kind for event in news if event.kind != "chunk"] == ["seal", "compact", "begin"]
    assert chunks == HALF
    assert news[-1].kind == "chunk" and {e.turn for e in news if e.kind == "chunk"} == {news[2].seq}
    go_on(then)
    numbers = [event.seq for event in (*seen, *session.events(seen[-1].seq))]
    assert numbers == sorted(set(numbers))


def test_at_counts_the_chunks_of_the_turn_that_goes_on(store: palaver.Store, session: palaver.Session) -> None:
    then = feed(session.turn("long"), FIRST + HALF).compact("s")
    then.append([*HALF, {"type": "text-delta", "id": "u", "delta": " half"}], at=0)
    assert then.chunks == len(HALF) + 1
    with pytest.raises(palaver.ChunkGap):
        then.write({"type": "text-end", "id": "u"}, at=9)
    then.write({"type": "text-end", "id": "u"}, at=len(HALF) + 1)
    then.seal()
    assert words(session.messages())[-1] == "assistant: second half"
    assert store.verify() == []


def test_usage_is_counted_once_and_where_it_was_told(store: palaver.Store, session: palaver.Session) -> None:
    turn = feed(session.turn("long"), FIRST)
    turn.usage(input=100, output=10)
    feed(turn, HALF)
    then = turn.compact("s", summarization_input_tokens=7, summarization_output_tokens=3)
    then.usage(input=20, output=2)
    go_on(then)
    assert [t.usage.total for t in session.path()] == [110, 10, 22]
    assert session.info.usage == palaver.Usage(input=127, output=15)
    assert session.info.total_tokens == session.path()[-1].thread_tokens == 142
    assert [m.get("metadata", {}).get("usage", {}).get("input") for m in session.messages()] == [None, 100, 7, 20]
    assert store.verify() == []


def told(inputs: int) -> Chunk:
    return {"type": "message-metadata", "messageMetadata": {"usage": {"input": inputs, "output": 1}}}


def test_usage_that_streams_in_moves_on_with_its_step(store: palaver.Store, session: palaver.Session) -> None:
    feed(session.turn("long"), [*FIRST, *HALF, told(3)]).compact("s").seal()
    assert [turn.usage.total for turn in session.path()] == [0, 0, 4]
    assert session.info.total_tokens == 4
    assert store.verify() == []


def test_usage_that_streamed_into_the_finished_step_stays_there(store: palaver.Store, session: palaver.Session) -> None:
    turn = feed(session.turn("long"), [*START, *text("first"), told(2), {"type": "finish-step"}])
    feed(turn, [*HALF, told(5)]).compact("s").seal()
    assert [turn.usage.total for turn in session.path()] == [3, 0, 6]
    assert session.info.total_tokens == 9
    assert store.verify() == []


def test_a_claimed_and_a_resumed_turn_may_be_compacted(store: palaver.Store, session: palaver.Session) -> None:
    session.enqueue("queued")
    turn = session.claim()
    assert turn is not None
    feed(feed(turn, FIRST).compact("s"), [*START, call("c1"), {"type": "finish-step"}, {"type": "finish"}])
    (waits,) = session.waiting()
    resumed = session.resume(waits.id)
    resumed.resolve("c1", output=1)
    feed(resumed, step(*text("then"))).compact("t").seal()
    assert kinds(session) == ["turn", "compaction", "turn", "compaction", "turn"]
    assert (session.queue(), outputs(session.messages())) == ([], [1])
    assert store.verify() == []


def test_left_by_an_exception_the_turn_that_goes_on_is_aborted(store: palaver.Store, session: palaver.Session) -> None:
    then = feed(session.turn("long"), FIRST).compact("s")
    with pytest.raises(RuntimeError), then:
        raise RuntimeError("the model is down")
    assert [turn.status for turn in session.path()] == ["completed", "completed", "aborted"]
    assert store.verify() == []


def test_the_turn_that_goes_on_is_set_up_as_the_one_before(session: palaver.Session) -> None:
    model = {"provider_id": "acme", "model_id": "large"}
    turn = feed(session.turn("long", model=model, agent="plan", system_prompt="Be kind."), FIRST)
    then = turn.compact("s", keep_from=None, model="small")
    feed(then, step(*text("second"))).seal()
    answer = session.messages()[-1]["metadata"]
    assert (answer["model"], answer["agent"]) == (model, "plan")
    assert words(session.context()) == ["system: Be kind.", "system: s", "assistant: second"]
    assert session.info.model == model


# ---------------------------------------------------------------- however it is saved


@pytest.mark.parametrize("save_on", ["chunk", "step", "turn"])
def test_however_chunks_are_saved_it_reads_the_same(path: str, save_on: str) -> None:
    with palaver.open(path, durability="normal", save_on=save_on) as store:
        session = store.sessions.create("coder")
        turn = feed(session.turn("long"), FIRST + HALF)
        then = turn.compact("so far")
        assert then.chunks == len(HALF)
        go_on(then)
        assert words(session.messages()) == [
            "user: long",
            "assistant: first",
            "assistant: data-compaction",
            "assistant: second half",
        ]
        assert store.verify() == []
    with palaver.open(path) as store:
        assert words(store.sessions.get(session.id).context()) == ["system: so far", "assistant: second half"]


@pytest.mark.parametrize("size", [1, 5000])
def test_where_everything_is_kept_the_rows_can_be_made_again(path: str, size: int) -> None:
    with palaver.open(path, durability="normal", events="full", save_buffer_ms=0) as store:
        session = store.sessions.create("coder")
        talks(session, 1, 2, tool=True)
        session.prune(keep=1)
        session.compact("s" * size, keep_from=session.path()[1])
        assert store.rebuild(fix=False) == []
        turn = feed(session.turn("long"), [{"type": "start"}, *step(call("c9"), result("c9", "o" * size))])
        feed(turn, [{"type": "start-step"}, call("c8"), *text("x" * size, "u", ends=False)])
        assert store.rebuild(fix=False) == []
        then = turn.compact("t" * size)
        assert store.rebuild(fix=False) == []
        feed(then, [result("c8", "p" * size)])
        go_on(then, "y" * size)
        assert store.rebuild(fix=False) == []
        assert store.verify() == []


def test_where_everything_is_kept_no_chunk_is_lost(path: str) -> None:
    """The chunks of the unfinished step are in the record under the turn that goes on."""
    with palaver.open(path, durability="normal", events="full") as store:
        session = store.sessions.create("coder")
        then = feed(session.turn("long"), FIRST + HALF).compact("s")
        then.seal()
        kept = [event.data for event in session.events(0) if event.kind == "chunk"]
        assert [chunk for chunk in kept if chunk in HALF][-len(HALF) :] == HALF
        assert kept[: len(FIRST)] == FIRST
