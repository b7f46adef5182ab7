"""Every promise about saving, for every save policy (rows 47 to 63): `chunk`, `step` and `turn` differ in what a crash
may take, and in nothing else.

Writers are real processes. They die by SIGKILL right after the call that a promise is about.
"""

from __future__ import annotations

import json
import random
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import palaver

from ..tools.chunks import delta
from ..tools.planting import broken_by
from ..tools.sql import one, query
from ..tools.waiting import until
from .support_policies import ENDS, POLICIES, RemoteTurn, Writer, kept, possible, stored_chunks
from .support_power import Cut, Op, cuts, load
from .support_saving import Child, Chunk, Wreck, closed, comparable, last_usage, part_rows, shown, wreck
from .test_promises_upserts import TABLE

EACH_POLICY = pytest.mark.parametrize("save_on", POLICIES)
HELD = pytest.mark.parametrize("save_on", ["step", "turn"])
ANSWERS = "SELECT count(*) FROM chat_messages WHERE role = 'assistant'"


STEP = [{"type": "start-step"}, {"type": "text-start", "id": "t"}, delta("hi")]
NEXT_STEP = [{"type": "start-step"}, {"type": "text-start", "id": "t"}]
START_CALL = {"type": "tool-input-start", "toolCallId": "c", "toolName": "run"}
CALL = {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"a": 1}}
RESULT = {"type": "tool-output-available", "toolCallId": "c", "output": 2}
STEP_ENDS, ENDS_ALL = {"type": "finish-step"}, {"type": "finish"}


# ---------------------------------------------------------------- before the model, and the first row


@EACH_POLICY
@broken_by("user_message_is_kept_in_memory")
def test_promise_047_what_the_user_said_is_on_disk_before_the_model_is_called(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on) as puppet:
        turn = puppet.begin("what now, naïve 漢字?")
        puppet.kill()
    said = "SELECT p.data_json ->> 'text' FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id"
    assert query(path, f"{said} WHERE m.role = 'user'") == [("what now, naïve 漢字?",)]
    with palaver.open(path) as store:
        assert [m["role"] for m in store.sessions.get(turn.session_id).messages()] == ["user"]


@EACH_POLICY
@broken_by("assistant_row_is_made_at_begin")
def test_promise_048_the_assistant_row_is_made_with_the_first_chunk_that_is_saved(path: str, save_on: str) -> None:
    with palaver.open(path, save_on=save_on) as store:
        turn = store.sessions.create("a").turn("hello")
        assert one(path, ANSWERS) == 0
        turn.append(STEP)
        assert one(path, ANSWERS) == (1 if save_on == "chunk" else 0)
        turn.append([STEP_ENDS])
        assert one(path, ANSWERS) == (0 if save_on == "turn" else 1)
        turn.append([ENDS_ALL])
        assert one(path, ANSWERS) == 1


@broken_by("chunks_are_held_by_default")
def test_promise_049_the_default_policy_is_chunk(path: str) -> None:
    with Writer(path) as puppet:
        turn = puppet.begin()
        for count, chunk in enumerate(STEP, 1):
            assert turn.append([chunk]) == [count, count]
        puppet.kill()
    assert stored_chunks(path, turn.id) == STEP


# ---------------------------------------------------------------- rows


@EACH_POLICY
@broken_by("every_update_makes_a_row")
def test_promise_050_a_part_grows_on_one_row_through_every_flush(path: str, save_on: str) -> None:
    rows = 'SELECT id, "index" FROM chat_parts WHERE type <> \'text\' OR "index" > 0 ORDER BY "index"'
    with palaver.open(path, save_on=save_on) as store:
        turn = store.sessions.create("a").turn("hello")
        seen = []
        for chunks in ([*STEP, CALL], [delta(" there")], [RESULT], [delta("!"), STEP_ENDS]):
            turn.append(chunks)
            turn.flush()
            seen.append(query(path, rows))
        assert len(seen[0]) == 3 and all(found == seen[0] for found in seen)
        assert one(path, "SELECT data_json ->> 'text' FROM chat_parts WHERE \"index\" = 1") == "hi there!"


@HELD
@broken_by("flushes_write_no_parts")
def test_promise_051_a_flush_leaves_the_rows_that_the_table_says(path: str, save_on: str) -> None:
    with palaver.open(path, save_on=save_on) as store:
        for name, (chunks, expected) in TABLE.items():
            turn = store.sessions.create("a").turn("hello")
            turn.append(chunks)
            is_saved = any(chunk["type"] in ENDS[save_on] for chunk in chunks)
            assert turn.stored == (len(chunks) if is_saved else 0), name
            turn.flush()
            assert turn.message_id is not None
            assert part_rows(path, turn.message_id) == expected, name


@EACH_POLICY
@broken_by("flushes_write_no_parts")
def test_promise_052_results_and_failures_are_on_their_rows_when_they_are_saved(path: str, save_on: str) -> None:
    failed = {**CALL, "toolCallId": "bad"}
    failure = {"type": "tool-output-error", "toolCallId": "bad", "errorText": "no such file"}
    with Writer(path, save_on=save_on) as puppet:
        turn = puppet.begin()
        turn.append([CALL, failed, RESULT, failure, STEP_ENDS, ENDS_ALL])
        puppet.kill()
    states = (
        "SELECT tool_state, data_json ->> 'output', data_json ->> 'errorText' FROM chat_parts WHERE tool_call_id = ?"
    )
    assert query(path, states, "c") == [("output-available", 2, None)]
    assert query(path, states, "bad") == [("output-error", None, "no such file")]


def aborted_by_call(session: palaver.Session) -> None:
    turn = session.turn("hello")
    turn.append([*STEP, CALL])
    turn.abort("the user pressed stop")


def aborted_by_chunk(session: palaver.Session) -> None:
    with session.turn("hello") as turn:
        turn.append([*STEP, CALL, {"type": "abort"}])


def aborted_by_exception(session: palaver.Session) -> None:
    with pytest.raises(KeyboardInterrupt), session.turn("hello") as turn:
        turn.append([*STEP, CALL])
        raise KeyboardInterrupt


@HELD
@pytest.mark.parametrize("abort", [aborted_by_call, aborted_by_chunk, aborted_by_exception])
@broken_by("seals_forget_what_is_held")
def test_promise_053_abort_finalizes_what_was_held_back_too(path: str, save_on: str, abort: Any) -> None:
    with palaver.open(path, save_on=save_on) as store:
        session = store.sessions.create("a")
        abort(session)
        assert query(path, "SELECT status, owner, sealed_at > 0, length(digest) FROM turns") == [
            ("aborted", None, 1, 32)
        ]
        _, text, tool = part_rows(path, session.messages()[1]["id"])
        assert text == {"type": "text", "text": "hi", "state": "done"}
        assert (tool["state"], tool["errorText"]) == ("output-error", "interrupted")
        assert store.verify() == []


# ---------------------------------------------------------------- usage

USED = {"input": 11, "output": 7, "reasoning": 5, "cache_read": 3, "cache_write": 2}


def used(count: int) -> list[Chunk]:
    return [
        {"type": "message-metadata", "messageMetadata": {"usage": {"input": count, "output": 2 * count}}},
        STEP_ENDS,
    ]


@EACH_POLICY
@broken_by("usage_is_kept_until_the_seal")
def test_promise_054_rollups_follow_each_step_as_soon_as_the_policy_saves_it(path: str, save_on: str) -> None:
    sums = []
    with Writer(path, save_on=save_on) as puppet:
        turn = puppet.begin()
        for chunks in ([*STEP, *used(5)], used(9), [ENDS_ALL]):
            turn.append(chunks)
            sums.append(query(path, "SELECT prompt_tokens, completion_tokens, total_tokens FROM chat_sessions")[0])
        puppet.kill()
    first, second = ((0, 0, 0), (0, 0, 0)) if save_on == "turn" else ((5, 10, 15), (9, 18, 27))
    assert sums == [first, second, (9, 18, 27)]
    assert query(path, "SELECT input_tokens, output_tokens FROM turns") == [(9, 18)]
    message = "SELECT metadata_json -> 'usage' FROM chat_messages WHERE role = 'assistant'"
    assert json.loads(one(path, message)) == {"input": 9, "output": 18}
    step = one(path, "SELECT max(at) FROM events WHERE data ->> 'type' = 'finish-step'")
    assert one(path, "SELECT updated_at FROM chat_sessions") >= step


EMITTED = {"type": "message-metadata", "messageMetadata": {"usage": USED}}


@EACH_POLICY
@broken_by("usage_is_kept_until_the_seal")
def test_promise_057_usage_has_a_home_as_soon_as_it_is_saved_or_told(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on) as puppet:
        by_stream, by_call = puppet.begin(), puppet.begin()
        by_stream.append([*STEP, EMITTED, ENDS_ALL if save_on == "turn" else STEP_ENDS])
        by_call.append(STEP)
        by_call.call("usage", **USED)
        puppet.kill()
    counted = "prompt_tokens, completion_tokens, reasoning_tokens, cache_read, cache_write, total_tokens"
    assert query(path, f"SELECT {counted} FROM chat_sessions") == [(11, 7, 5, 3, 2, 28)] * 2
    homes = query(path, "SELECT metadata_json -> 'usage' FROM chat_messages WHERE role = 'assistant'")
    assert [json.loads(usage) for (usage,) in homes] == [USED, USED]
    with palaver.open(path) as store:
        assert store.verify() == []


# ---------------------------------------------------------------- what another client sees

TALK = [[*STEP], [delta(" there")], [STEP_ENDS], NEXT_STEP, [delta(", you")], [STEP_ENDS], [ENDS_ALL]]
SEEN = {  # the text that another process reads after each of these calls
    "chunk": ["hi", "hi there", "hi there", "hi there", "hi there, you", "hi there, you", "hi there, you"],
    "step": [None, None, "hi there", "hi there", "hi there", "hi there, you", "hi there, you"],
    "turn": [None, None, None, None, None, None, "hi there, you"],
}


def text_of(messages: list[dict[str, Any]]) -> str | None:
    texts = [part["text"] for message in messages[1:] for part in message["parts"] if part["type"] == "text"]
    return "".join(texts) if texts else None


@EACH_POLICY
@broken_by("readers_trust_the_part_row", "steps_are_kept_until_the_answer_ends", "answers_are_kept_until_the_seal")
def test_promise_056_another_process_reads_each_piece_when_it_is_saved_and_not_before(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on) as puppet, palaver.open(path) as client:
        turn = puppet.begin()
        session, seen = client.sessions.get(turn.session_id), []
        for chunks in TALK:
            turn.append(chunks)
            seen.append(text_of(session.messages()))
    assert seen == SEEN[save_on]


ROW = "SELECT data_json ->> 'text' FROM chat_parts WHERE type = 'text' AND \"index\" = 1"  # the user's has place 0


@HELD
@broken_by("flushes_write_no_parts")
def test_promise_056_a_reader_of_a_running_writer_sees_whole_flushes_and_never_less_than_before(
    path: str, save_on: str
) -> None:
    options = {"save_on": save_on, "save_buffer_size": 200}
    with Child("pour", path, pause=0.0, **options) as writer, palaver.open(path) as client:
        writer.read_done(1)
        (session,) = [client.sessions.get(info.id) for info in client.sessions]
        before, pieces = 0, "".join(f"piece {n} 漢字\n" for n in range(100_000))
        for _ in range(40):
            writer.read_done(5)
            text = text_of(session.messages()) or ""
            rows = query(path, ROW)
            assert pieces.startswith(text) and len(text) >= before
            assert all(pieces.startswith(row) for (row,) in rows)
            before = len(text)
        assert before > 0 and rows


@EACH_POLICY
@broken_by("last_chunk_is_not_folded", "dead_turns_are_set_aside")
def test_promise_055_a_crashed_run_reads_back_as_another_client_saw_it(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on) as puppet:
        turn = puppet.begin()
        turn.append([*STEP, CALL, RESULT])
        turn.append([STEP_ENDS])
        turn.append([*NEXT_STEP, delta(" – 漢字 \U0001f4a9 and mo")])
        with palaver.open(path) as client:
            seen = client.sessions.get(turn.session_id).messages()
        puppet.kill()
    with palaver.open(path) as store:
        left = store.sessions.get(turn.session_id).messages()
    assert [{**m, "parts": closed(m["parts"])} for m in seen] == left
    assert text_of(left) == {"chunk": "hi – 漢字 \U0001f4a9 and mo", "step": "hi", "turn": None}[save_on]


# ---------------------------------------------------------------- the loss, exactly

CALLS: list[list[Chunk]] = [
    NEXT_STEP,
    [delta("one")],
    [{"type": "text-end", "id": "t"}, START_CALL, CALL, RESULT],
    [STEP_ENDS],
    NEXT_STEP,
    [delta("two")],
    [STEP_ENDS],
    [ENDS_ALL],
]
STORED = {  # how many chunks are in the file when the writer dies after none, one, two … of these calls
    "chunk": [0, 2, 3, 7, 8, 10, 11, 12, 13],
    "step": [0, 0, 0, 0, 8, 8, 8, 12, 13],
    "turn": [0, 0, 0, 0, 0, 0, 0, 0, 13],
}


def streams_cut_after_each_call(puppet: Writer) -> list[RemoteTurn]:
    """One turn per place in the stream at which it stops; all of them die with the process."""
    turns = [puppet.begin() for _ in range(len(CALLS) + 1)]
    for calls, turn in enumerate(turns):
        for chunks in CALLS[:calls]:
            turn.append(chunks)
    return turns


@EACH_POLICY
@broken_by(
    "chunks_are_held_by_default",
    "steps_are_kept_until_the_answer_ends",
    "answers_are_kept_until_the_seal",
    "flushes_lose_the_last_chunk",
)
def test_promise_058_a_crash_takes_nothing_or_the_step_or_the_turn_under_way_and_no_more(
    path: str, save_on: str
) -> None:
    with Writer(path, save_on=save_on) as puppet:
        turns = streams_cut_after_each_call(puppet)
        puppet.kill()
    whole = [chunk for chunks in CALLS for chunk in chunks]
    assert [stored_chunks(path, turn.id) for turn in turns] == [whole[:count] for count in STORED[save_on]]
    with palaver.open(path) as store:
        for turn, count in zip(turns, STORED[save_on], strict=True):
            messages = store.sessions.get(turn.session_id).messages()
            assert [m["parts"] for m in messages[1:]] == ([closed(shown(whole[:count]))] if count else [])
        assert store.verify() == []


@pytest.fixture(scope="module", params=POLICIES)
def policy_wrecks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Wreck]]:
    return request.param, wrecks(request.param, 2, tmp_path_factory.mktemp("wrecks"))


def wrecks(save_on: str, count: int, folder: Path) -> list[Wreck]:
    """Stores whose writer was killed at random moments."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    return [
        wreck(folder / str(n), chance.randint(30, 150), chance.getrandbits(32), save_on=save_on) for n in range(count)
    ]


def check_the_loss(save_on: str, left: Wreck) -> None:
    for turn in left.turns:
        if turn.id is not None and not turn.sealing:
            assert stored_chunks(left.path, turn.id) in possible(save_on, turn)
        elif turn.sealed:
            response = one(left.path, "SELECT response_id FROM turns WHERE id = ?", turn.id)
            assert comparable(part_rows(left.path, response)) == comparable(shown(turn.chunks))


@broken_by("flushes_lose_the_last_chunk")
def test_promise_058_random_kills_take_no_more_than_the_policy_says(policy_wrecks: tuple[str, list[Wreck]]) -> None:
    save_on, left = policy_wrecks
    for each in left:
        check_the_loss(save_on, each)


@pytest.mark.long
@EACH_POLICY
def test_promise_058_of_sixty_random_kills_none_takes_more(save_on: str, tmp_path: Path) -> None:
    for each in wrecks(save_on, 60, tmp_path):
        check_the_loss(save_on, each)


def test_promise_054_the_sums_are_those_of_the_saved_messages_after_random_kills(
    policy_wrecks: tuple[str, list[Wreck]],
) -> None:
    save_on, left = policy_wrecks
    for each in left:
        rollup = one(each.path, "SELECT completion_tokens FROM chat_sessions")
        assert rollup == one(each.path, "SELECT coalesce(sum(output_tokens), 0) FROM turns")
        sealed = sum(last_usage(turn.chunks).get("output", 0) for turn in each.turns[:-1])
        last = [last_usage(chunks).get("output", 0) for chunks in possible(save_on, each.turns[-1])]
        assert rollup in [sealed + count for count in last]


# ---------------------------------------------------------------- the buffers


class Clock:
    """A clock that stands until it is turned."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        for module in ("save_policy", "pending_chunks", "chunk_writer"):
            patch.setattr(f"palaver.streaming.{module}.monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@HELD
@broken_by("nothing_is_too_old")
def test_promise_059_what_is_held_back_is_never_older_than_save_buffer_ms(
    path: str, save_on: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(palaver.Turn, "_flush_old", lambda turn: None)  # only the writes
    with palaver.open(path, save_on=save_on, save_buffer_ms=125) as store:
        turn = store.sessions.create("a").turn("hello")
        stored = []
        for after in (0.0, 0.0625, 0.03125, 0.03125, 0.0625, 0.25, 0.0):
            clock.now += after
            turn.write({"type": "start-step"})
            stored.append(turn.stored)
    assert stored == [0, 0, 0, 4, 4, 6, 6]


@HELD
@broken_by("nothing_is_too_large")
def test_promise_059_what_is_held_back_is_never_larger_than_save_buffer_size(path: str, save_on: str) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance, given, held = random.Random(seed), list[int](), list[int]()
    with palaver.open(path, save_on=save_on, save_buffer_size=2_000) as store:
        turn = store.sessions.create("a").turn("hello")
        turn.append(STEP)
        turn.flush()
        stored = turn.stored
        for _ in range(200):
            chunk = json.dumps(delta(chance.choice("x漢\U0001f4a9") * chance.randint(0, 300)), ensure_ascii=False)
            turn.write(chunk)
            given.append(len(chunk.encode()))
            held.append(sum(given[turn.stored - stored :]))
    assert 0 < max(held) <= 2_000 and len(set(held)) > 1


@broken_by("nothing_is_too_large", "flushes_lose_the_last_chunk")
def test_promise_059_a_crash_takes_no_more_than_save_buffer_size(path: str) -> None:
    with Writer(path, save_on="turn", save_buffer_size=500) as puppet:
        turn = puppet.begin()
        chunks = [*STEP, *(delta(f"piece {n} " * 10) for n in range(30))]
        for chunk in chunks:
            turn.append([chunk])
        puppet.kill()
    stored = stored_chunks(path, turn.id)
    assert stored == chunks[: len(stored)]
    assert 0 < sum(len(json.dumps(chunk)) for chunk in chunks[len(stored) :]) <= 500 + 30 * 4  # dumps adds blanks


@HELD
@broken_by("nothing_is_too_old", "flushes_lose_the_last_chunk")
def test_promise_059_a_crash_takes_no_more_than_the_last_save_buffer_ms(path: str, save_on: str) -> None:
    with Child("pour", path, save_on=save_on, save_buffer_ms=40, pause=0.003) as writer:
        writer.read_done(80)
        begun, *written = writer.kill()
    pieces = [json.loads(json.dumps(chunk)) for chunk in stored_chunks(path, begun["turn"])][2:]
    assert pieces == [delta(f"piece {n} 漢字\n") for n in range(len(pieces))]
    assert pieces, "nothing was saved at all"
    lost = written[len(pieces) :]
    assert not lost or lost[-1]["before"] - lost[0]["after"] < 0.040


@HELD
@broken_by("nothing_is_flushed_by_the_clock")
def test_promise_059_a_stream_that_stalls_is_saved_when_the_time_is_over(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on, save_buffer_ms=50) as puppet:
        turn = puppet.begin()
        turn.append([*STEP, CALL])  # and then nothing comes for a long time
        until(lambda: len(stored_chunks(path, turn.id)) == 4, "a stalled stream is saved")
        puppet.kill()
    assert stored_chunks(path, turn.id) == [*STEP, CALL]


@HELD
@broken_by("nothing_is_flushed_by_the_clock")
def test_promise_059_every_stream_that_stalls_is_saved_again_and_again(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on, save_buffer_ms=30) as puppet:
        turns = [puppet.begin() for _ in range(3)]
        for rounds in range(1, 4):
            for turn in turns:
                turn.append([{"type": "start-step"}])
            for turn in turns:
                until(lambda turn=turn, n=rounds: len(stored_chunks(path, turn.id)) == n, "it is saved")  # type: ignore[misc]


SAVING_CALLS: dict[str, dict[str, Any]] = {
    "flush": {},
    "usage": USED,
    "wait": {},
    "resolve": {"tool_call_id": "c", "output": 2},
    "seal": {},
    "abort": {},
}


@HELD
@broken_by("nothing_but_the_policy_saves")
def test_promise_058_what_these_calls_return_from_is_on_disk_with_all_before_it(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on, trim_after=1e9) as puppet:
        turns = {verb: puppet.begin() for verb in SAVING_CALLS}
        for verb, given in SAVING_CALLS.items():
            assert turns[verb].append([*STEP, CALL])[1] == 0
            turns[verb].call(verb, **given)
        puppet.kill()
    assert {verb: stored_chunks(path, turn.id) for verb, turn in turns.items()} == {
        verb: [*STEP, CALL] for verb in SAVING_CALLS
    }


# ---------------------------------------------------------------- the page


def test_promise_060_the_page_says_what_step_and_turn_lose() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    assert "save_on" in page and "lost with the process" in page
    rows = {line.split("|")[1].strip().split()[0]: line for line in page.splitlines() if line.startswith("| `")}
    assert "nothing" in rows["`chunk`"]
    assert "step under way" in rows["`step`"]
    assert "answer under way" in rows["`turn`"] and "nothing to recover" in rows["`turn`"]


# ---------------------------------------------------------------- power cuts


@lru_cache
def log_of(save_on: str) -> list[Op]:
    """A short life of a store, once."""
    with TemporaryDirectory() as folder:
        path, options = Path(folder), {"save_on": save_on}
        with Child("power_of_a_policy", path / "talks.db", log=str(path / "log"), options=options, turns=4) as child:
            child.finish()
        return load(path / "log")


def cut(folder: Path, save_on: str, count: int) -> list[Cut]:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    return cuts(log_of(save_on), count, seed, folder)


COUNTS = pytest.mark.parametrize("count", [25, pytest.param(400, marks=pytest.mark.long)])


@COUNTS
@HELD
@broken_by("nothing_is_synced")
def test_promise_061_a_power_cut_leaves_a_prefix_of_the_flushes(tmp_path: Path, save_on: str, count: int) -> None:
    verdicts = [one.judge() for one in cut(tmp_path, save_on, count)]
    assert {verdict for verdict, _ in verdicts} == {"ok"}
    assert min(state for _, state in verdicts) >= 0, "a store holds something that was never its whole content"


@COUNTS
@HELD
@broken_by("boundaries_are_not_synced")
def test_promise_062_a_step_or_a_turn_that_was_saved_survives_a_power_cut(
    tmp_path: Path, save_on: str, count: int
) -> None:
    made = cut(tmp_path, save_on, count)
    assert any(one.boundary > 0 for one in made)
    assert [one.path for one in made if one.judge()[1] < one.boundary] == []


# ---------------------------------------------------------------- tools

STATES = "SELECT tool_call_id, tool_state, data_json ->> 'errorText' FROM chat_parts WHERE tool_call_id IS NOT NULL"


@EACH_POLICY
@broken_by("open_tools_stay_open", "nothing_is_recovered")
def test_promise_063_a_saved_call_of_a_dead_writer_is_interrupted(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on) as puppet:
        turn = puppet.begin()
        turn.append([*STEP, CALL, STEP_ENDS])
        turn.call("flush")
        turn.append([{"type": "start-step"}, {**CALL, "toolCallId": "lost"}])
        palaver.open(path).close()
        assert ("c", "input-available", None) in query(path, STATES)
        puppet.kill()
    palaver.open(path).close()
    interrupted = [("c", "output-error", "interrupted"), ("lost", "output-error", "interrupted")]
    assert query(path, STATES) == (interrupted if save_on == "chunk" else interrupted[:1])


@EACH_POLICY
@broken_by("nothing_but_the_policy_saves")
def test_promise_063_a_turn_that_waits_for_a_tool_outlives_its_writer_whole(path: str, save_on: str) -> None:
    with Writer(path, save_on=save_on) as puppet:
        told, ended = puppet.begin(), puppet.begin()
        told.append([*STEP, CALL])
        told.call("wait")
        assert ended.append([*STEP, CALL, ENDS_ALL])[1] == 5
        puppet.kill()
    palaver.open(path).close()
    assert query(path, "SELECT status, owner FROM turns") == [("waiting", None)] * 2
    assert query(path, STATES) == [("c", "input-available", None)] * 2
    with palaver.open(path, save_on=save_on) as store:
        for turn in (told, ended):
            session = store.sessions.get(turn.session_id)
            with session.resume(turn.id) as resumed:
                resumed.resolve("c", output=2)
            assert session.messages()[1]["parts"][1:] == [
                {"type": "text", "text": "hi", "state": "streaming"},
                {"type": "tool-run", "toolCallId": "c", "state": "output-available", "input": {"a": 1}, "output": 2},
            ]
        assert store.verify() == []


def test_promise_058_the_table_of_what_is_kept_says_the_same_as_the_one_by_hand() -> None:
    whole = [chunk for chunks in CALLS for chunk in chunks]
    for save_on in POLICIES:
        acknowledged = [[c for chunks in CALLS[:calls] for c in chunks] for calls in range(len(CALLS) + 1)]
        assert [len(kept(save_on, chunks)) for chunks in acknowledged] == STORED[save_on]
        assert kept(save_on, whole) == whole
