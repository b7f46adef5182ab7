"""The suite finds what it is there to find: each planted break makes a test fail that passes without the break."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

import palaver
from palaver import Session, Turn
from palaver.core.read import transcript
from palaver.core.turn import seal
from palaver.core.verbs import moves
from palaver.streaming.recorder import Recorder
from palaver.testing import Conformance

Break = Callable[[pytest.MonkeyPatch], None]
FAILED = (AssertionError, pytest.fail.Exception)


def strays_are_visible(patch: pytest.MonkeyPatch) -> None:
    read = transcript.read

    def with_strays(tx: Any, session_id: str) -> Any:
        found = read(tx, session_id)
        for _, data in tx.all(transcript.Q.stray_events, session=session_id):
            found += transcript.read_path(tx, json.loads(data)["turn"])[-2:]
        return found

    patch.setattr(transcript, "read", with_strays)
    patch.setattr(transcript, "read_ui", lambda tx, session_id: transcript.as_ui(with_strays(tx, session_id)))


def sums_fall_on_rewind(patch: pytest.MonkeyPatch) -> None:
    info = Session.info.fget
    assert info is not None

    def of_the_path(session: Session) -> palaver.SessionInfo:
        usage = sum((turn.usage for turn in session.path()), palaver.Usage())
        return msgspec.structs.replace(info(session), usage=usage, total_tokens=usage.total)

    patch.setattr(Session, "info", property(of_the_path))


def undo_stops_at_begin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(moves._Log, "before", lambda log, at: log.state(at - 1) if at > 0 else None)


def append_ignores_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Recorder, "_stored", lambda recorder, items, at: 0)


def batches_are_kept_in_part(patch: pytest.MonkeyPatch) -> None:
    append = Turn.append

    def one_by_one(turn: Turn, given: Any, *, at: int | None = None) -> None:
        for place, chunk in enumerate(given):
            append(turn, [chunk], at=None if at is None else at + place)

    patch.setattr(Turn, "append", one_by_one)


def tools_stay_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(seal, "close_parts", lambda *given, **named: None)


def expected_is_not_compared(patch: pytest.MonkeyPatch) -> None:
    commit = Session.commit
    patch.setattr(
        Session, "commit", lambda session, messages, expected=None, **setup: commit(session, messages, **setup)
    )


def json_is_written_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "messages_json", lambda session: json.dumps(session.messages(), separators=(",", ":")))


PLANTED: list[tuple[Break, str, dict[str, Any]]] = [
    (strays_are_visible, "test_a_stray_is_beside_the_path_and_a_fork_rescues_it", {}),
    (strays_are_visible, "test_the_transcript_reads_as_before_when_a_turn_loses", {}),
    (sums_fall_on_rewind, "test_sums_never_fall_when_the_head_moves", {}),
    (undo_stops_at_begin, "test_undo_of_a_regeneration_brings_the_old_answer_back_in_one_step", {}),
    (append_ignores_at, "test_chunks_that_are_stored_already_are_not_doubled", {}),
    (append_ignores_at, "test_only_the_new_chunks_of_an_overlapping_batch_are_added", {}),
    (batches_are_kept_in_part, "test_a_batch_is_kept_whole_or_not_at_all", {"place": 1}),
    (tools_stay_open, "test_abort_closes_tools_as_interrupted_and_texts_as_done", {}),
    (expected_is_not_compared, "test_a_commit_that_loses_leaves_nothing_at_all", {}),
    (expected_is_not_compared, "test_one_of_many_commits_on_a_revision_wins", {}),
    (json_is_written_again, "test_a_message_given_as_json_keeps_the_bytes_of_its_parts", {"text": '{"price":1.10}'}),
]


@pytest.fixture
def session() -> Iterator[Session]:
    with palaver.open(":memory:") as store:
        yield store.sessions.create(agent="coder")


@pytest.mark.parametrize(("plant", "name", "given"), PLANTED, ids=[f"{p.__name__}-{n}" for p, n, _ in PLANTED])
def test_a_planted_break_is_found(
    session: Session, monkeypatch: pytest.MonkeyPatch, plant: Break, name: str, given: dict[str, Any]
) -> None:
    test = getattr(Conformance(), name)
    test(session=session.fork(), **given)
    plant(monkeypatch)
    with pytest.raises(FAILED):
        test(session=session.fork(), **given)
