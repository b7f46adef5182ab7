"""What docs/mapping.md says is written by a verb is written by it, to the home that the page names: each is tried."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

import palaver
from palaver.core import facts
from palaver.core.read import summaries
from palaver.core.turn import seal, usage_rows

from . import page, schema, verbs
from .page import PAGE, Row, problems, rows_of
from .trying import Trying, trials_of
from .verbs import COMING, Call, is_there

pytestmark = pytest.mark.xdist_group("mapping")  # they share the scenarios that were played

TEXT = PAGE.read_text("utf-8")
ROWS = {row.key: row for row in rows_of(TEXT)[0]}
STORED = [row for row in ROWS.values() if row.kind in page.STORED]
TRIALS = trials_of(STORED)
SCHEMA = schema.load()


@pytest.fixture(scope="module")
def trying() -> Trying:
    return Trying(SCHEMA)


@pytest.mark.parametrize("verb", TRIALS)
def test_promise_168_a_verb_writes_every_home_that_names_it(verb: str, trying: Trying) -> None:
    assert trying.unwritten(TRIALS[verb]) == []


def test_promise_168_every_row_that_is_stored_is_tried_unless_its_verb_is_on_its_way() -> None:
    tried = {trial.row.key for trials in TRIALS.values() for trial in trials}
    waiting = {row.key for row in STORED if not any(map(is_there, row.writers))}
    assert tried | waiting == {row.key for row in STORED}
    assert all(str(call) in COMING for key in waiting for call in ROWS[key].writers)


def test_the_page_says_how_many_rows_are_tried_and_how(trying: Trying) -> None:
    counted = Counter(row.kind for row in ROWS.values())
    by_hand = sum(map(trying.is_by_hand, STORED))
    expected = [by_hand, len(STORED) - by_hand, *(counted[kind] for kind in page.KINDS[2:]), len(ROWS)]
    said = re.search(r"^\| tried by a scenario .*\n.*\n((?:\| \d+ )+)\|$", TEXT, re.MULTILINE)
    assert said and [int(number) for number in re.findall(r"\d+", said[1])] == expected


# What is on its way comes as the page says it.


@pytest.mark.parametrize("first", ["session.update", "session.parts"])
def test_what_comes_together_comes_whole(first: str) -> None:
    calls = [verbs.parse(name) for name in COMING if (name == "session.parts") == (first == "session.parts")]
    there = {str(call): is_there(call) for call in calls if call}
    assert set(there.values()) == {there[first]}, there


def test_an_argument_is_known_by_its_verb() -> None:
    assert is_there(Call("session", "turn", "role"))
    assert is_there(Call("session.permissions", "add", "pattern"))
    assert not is_there(Call("session", "end", "role"))
    assert not is_there(Call("session", "vanish"))
    assert not is_there(Call("nobody", "turn"))


# Planted holes: the checks above would notice.

END_REASONS = ["002.parameter.end_session.end_reason", "002.enum.end_reason.user_exit"]


def keys_of(found: list[str]) -> list[str]:
    return [problem.partition(": ")[0] for problem in found]


@pytest.mark.parametrize(
    "written",
    [
        "",
        "somebody",
        "session.turn",
        "`session.turn` or so",
        "`turn`",
        "`session.magic`",
        "`session.turn(magic=)`",
        "`session.turn(role=)`, `session.magic`",
        "not yet (ledger)",
    ],
)
def test_a_writer_that_is_none_is_noticed(written: str) -> None:
    key = "004.turns.role"
    line = f"| `{key}` | {ROWS[key].home} | {ROWS[key].written} |"
    assert line in TEXT
    changed = TEXT.replace(line, f"| `{key}` | {ROWS[key].home} | {written} |")
    assert keys_of(problems(changed, SCHEMA)) == [key]


def test_a_writer_of_what_is_not_stored_is_noticed() -> None:
    key = "000.operation.archive"
    changed = TEXT.replace(f"| `{key}` | {ROWS[key].home} | |", f"| `{key}` | {ROWS[key].home} | `session.archive` |")
    assert keys_of(problems(changed, SCHEMA)) == [key]


def test_rows_of_a_table_are_chosen_by_a_column_that_it_has() -> None:
    changed = TEXT.replace("where `namespace` = `slug`", "where `name_space` = `slug`", 1)
    assert keys_of(problems(changed, SCHEMA)) == ["001.sessions.slug"]


@pytest.mark.parametrize(
    "key, written",
    [
        ("000.chat_messages.metadata_json.queued_at", "`session.turn`"),
        ("000.chat_sessions.archived_at", "`session.end`"),
        ("000.chat_sessions.parent_message_id", "`sessions.create`"),
        ("000.enum.event.session opened", "`session.turn(role=)`"),
        ("000.enum.role.assistant", "`session.turn`"),
        ("000.enum.tool_state.input-streaming", "`turn.resolve`"),
        ("000.system_prompts.digest", "`session.turn(role=)`"),
        ("001.messages.data.assistant.tokens.output", "`turn.usage(input=)`"),
        ("001.sessions.slug", "`session.title`"),
        ("001.parts.data.compaction.auto", "`session.compact(overflow=)`"),
        ("002.sessions.end_reason", "`session.archive`"),
        ("002.sessions.estimated_cost_usd", "`session.add_usage(cost_usd=)`"),
        ("003.kind.usage deltas", "`session.compact(model=)`"),
        ("004.threads.persona_id", "`session.turn(role=)`"),
        ("004.compactions.summary_tokens", "`session.compact(tokens_after=)`"),
        ("004.compactions.turns_summarized", "`session.compact(auto=)`"),
        ("004.enum.turn_status.pending", "`session.turn`"),
        ("004.threads.depth", "`turn.fail(code=)`"),
        ("004.table.session_history", "`session.prune`"),
    ],
)
def test_a_wrong_verb_is_noticed(key: str, written: str, trying: Trying) -> None:
    assert unwritten([ROWS[key]._replace(written=written)], trying) == [key]


def test_a_wrong_home_is_noticed(trying: Trying) -> None:
    row = ROWS["004.compactions.summary"]._replace(home="column `compactions.trigger`")
    assert unwritten([row], trying) == ["004.compactions.summary"]


def unwritten(rows: list[Row], trying: Trying) -> list[str]:
    return keys_of([problem for trials in trials_of(rows).values() for problem in trying.unwritten(trials)])


def no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(palaver.Session, "end", lambda session, reason=None: None)


def no_persona(monkeypatch: pytest.MonkeyPatch) -> None:
    where = facts.COLUMNS.index("persona")

    def columns(given: facts.TurnFacts) -> tuple[str | None, ...]:
        all_of_them = facts.columns(given)
        return (*all_of_them[:where], None, *all_of_them[where + 1 :])

    monkeypatch.setattr(seal, "columns", columns)


def no_first_kept_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    real = summaries.columns
    monkeypatch.setattr(summaries, "columns", lambda data: {**real(data), "first_kept_turn_id": None})


def no_usage_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_rows, "add", lambda *given, **more: None)


@pytest.mark.parametrize(
    "stop, verb, lost",
    [
        (no_end, "session.end", ["002.sessions.ended_at", "002.sessions.end_reason", *END_REASONS]),
        (no_persona, "session.turn", ["004.threads.persona_id"]),
        (no_first_kept_turn, "session.compact", ["004.table.compactions", "004.compactions.first_kept_turn_id"]),
        (no_usage_row, "session.add_usage", [trial.row.key for trial in TRIALS["session.add_usage"]]),
    ],
)
def test_a_verb_that_stops_writing_is_noticed(
    stop: Callable[[pytest.MonkeyPatch], None], verb: str, lost: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(monkeypatch)
    assert keys_of(Trying(SCHEMA).unwritten(TRIALS[verb])) == lost
