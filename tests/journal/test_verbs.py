"""After every kind of verb the journal, carried out again, gives the three tables row for row."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

import palaver
from palaver.base import clock, exact_json
from palaver.core.upkeep import journal
from palaver.db.queries import Q

from ..tools.chunks import answer
from ..tools.sql import query
from .support import TABLES, ask_a_tool, full, is_gapless, replays
from .verbs import LONG, VERBS, on_a_session


@pytest.mark.parametrize("name", VERBS)
def test_promise_148_after_every_verb_the_journal_gives_the_tables(name: str, kept: palaver.Store) -> None:
    on_a_session(kept, VERBS[name])
    assert replays(kept) == []


def test_promise_148_after_all_of_them_too_and_after_the_next_opening(life: Path) -> None:
    with palaver.open(life) as store:
        assert replays(store) == []
        assert store.verify() == []


@pytest.mark.parametrize("size", [10, LONG])
@pytest.mark.parametrize("save_buffer_ms", [0, 1e9])
def test_promise_148_in_the_middle_of_a_stream_the_journal_gives_the_tables(
    size: int, save_buffer_ms: float, path: str
) -> None:
    with full(path, save_buffer_ms=save_buffer_ms) as store:
        turn = store.sessions.create("coder").turn("go")
        for chunk in answer(size):
            turn.write(chunk)
            assert replays(store) == [], chunk


@pytest.mark.parametrize("save_on", ["step", "turn"])
def test_promise_148_what_a_save_policy_holds_back_is_journaled_when_it_is_written(save_on: str, path: str) -> None:
    with full(path, save_on=save_on, save_buffer_ms=None, save_buffer_size=2 * LONG) as store:
        session = store.sessions.create("coder")
        with session.turn("go") as turn:
            for chunk in [*answer(LONG), *answer(10)]:
                turn.write(chunk)
                assert replays(store) == [], chunk
        ask_a_tool(session, LONG)
        assert replays(store) == []


def test_promise_148_a_clock_that_goes_back_goes_back_in_the_replay_too(
    kept: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = (number + number * 37 % 101 for number in itertools.count())  # up and down, up in the end
    monkeypatch.setattr(clock, "_now_ns", lambda: (1_800_000_000 + next(seconds)) * 10**9)
    session = kept.sessions.create("coder")
    turn = session.turn("go")
    for number, chunk in enumerate(answer()):
        turn.write(chunk)
        turn.write({"type": "message-metadata", "messageMetadata": {"n": number}})
        turn.write({"type": "message-metadata", "messageMetadata": {"n": -number}})
        assert replays(kept) == []
    turn.seal()
    session.rewind(to=session.messages()[0]["id"])
    assert replays(kept) == []


def test_promise_148_a_verb_that_is_refused_leaves_no_line(kept: palaver.Store) -> None:
    session = kept.sessions.create("coder")
    session.commit("hello")
    before = query(kept.path, "SELECT * FROM journal")
    for refused in (lambda: session.commit("no", expected=7), lambda: session.rewind(to="trn_nowhere"), session.redo):
        with pytest.raises(palaver.PalaverError):
            refused()
    assert query(kept.path, "SELECT * FROM journal") == before
    assert replays(kept) == []


def test_promise_148_the_journal_is_keyed_by_session_and_number_without_gaps(lived: str) -> None:
    keys = [row[1] for row in query(lived, "PRAGMA table_info(journal)") if row[5]]
    assert keys == ["session_id", "seq"]
    assert is_gapless(lived)
    sessions = query(lived, "SELECT count(*) FROM chat_sessions WHERE id LIKE 'ses\\_%' ESCAPE '\\'")
    assert query(lived, "SELECT count(DISTINCT session_id) FROM journal") == sessions


def test_promise_148_the_first_line_of_every_session_makes_it(lived: str) -> None:
    first = query(lived, "SELECT DISTINCT statement FROM journal WHERE seq = 1 ORDER BY 1")
    assert first == [("import_session",), ("insert_session",)]


WRITES = re.compile(rf"(INSERT INTO|UPDATE|DELETE FROM) ({'|'.join(TABLES)})\b")


def test_promise_148_no_statement_that_writes_the_three_tables_is_left_out() -> None:
    writing = {query.name for query in Q if WRITES.search(query.text)}
    restoring = {name for name in writing if name.startswith("restore_")}
    assert writing - restoring == set(journal.LOGGED)
    assert len(restoring) == 3


def test_promise_148_every_event_is_kept(lived: str) -> None:
    chunks, floors = "SELECT * FROM events WHERE kind = 'chunk'", "SELECT session_id, events_floor FROM heads"
    before = query(lived, chunks), query(lived, floors)
    with palaver.open(lived, trim_after=0) as store:
        assert store.trim(0) == 0
    assert (query(lived, chunks), query(lived, floors)) == before
    assert len(before[0]) > 1000


ENDS = ("completed", "aborted")


@pytest.mark.parametrize(
    ("form", "ends"),
    [
        (dict, "completed"),
        (bytes, "aborted"),
        *(pytest.param(*given, marks=pytest.mark.long) for given in itertools.product((dict, str, bytes), ENDS)),
    ],
)
def test_promise_148_parts_too_large_to_be_held_are_journaled_from_their_rows(
    ends: str, form: type, kept: palaver.Store
) -> None:
    large = "an output that is long " * (exact_json.LARGE // 20)
    chunks: list[dict[str, object]] = [
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"text": large}},
        {"type": "tool-output-available", "toolCallId": "c", "output": large},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": large},
    ]
    turn = kept.sessions.create("coder").turn("go")
    for chunk in chunks:
        text = json.dumps(chunk)
        turn.write(chunk if form is dict else text if form is str else text.encode())
        assert replays(kept) == []
    turn.seal(ends)  # the open text is closed, and so its row written once more
    assert replays(kept) == [] and kept.verify() == []
    [answer] = [message for message in kept.sessions.get(turn.session_id).messages() if message["role"] == "assistant"]
    assert [part.get("output") or part.get("text") for part in answer["parts"]] == [large, large]
