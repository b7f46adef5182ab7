"""The same life on three engines: memory, a file and Postgres tell the same at every step, and end with the same rows.

PALAVER_SEED names the first seed of a run; the seed of a run that failed is in its message.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import palaver
from palaver.base.clock import now_ms
from palaver.db.postgres import dialect
from palaver.db.queries import Query

from .engines import Engine, File, Memory, Postgres, same_world
from .server import Given
from .shared import Shared
from .steps import VERBS, Player, Step

SEED = 20_250_101
RUNS, LEAST, LONG, STEPS = 30, 6, 300, 50
SOONEST = [SEED + number for number in (109, 114, 83, 42, 74, 18)]  # these few together come across everything
REFUSED = """
HeadConflict TurnSealed TurnWaiting TurnNotFound MessageNotFound SessionNotFound SessionArchived SessionDeleted ChunkGap
ChunkError AliasTaken BadValue Refused NothingToUndo UsageConflict QueueConflict MessageCancelled MessageFired NotOnPath
"""
_numbers = itertools.count()


class Difference(AssertionError):
    pass


class Played:
    """A run on one engine."""

    def __init__(self, engine: Engine, seed: int, steps: int) -> None:
        self.name = engine.name
        with same_world(seed) as world, engine.open() as store:
            player = Player(engine, store, world, seed)
            self.steps: list[Step] = player.play(steps)
            self.picture = player.picture()
            self.problems = store.verify()
            self.reached = player.reached


@pytest.fixture(scope="module")
def database(server: Shared | Given) -> Iterator[str]:
    made = server.create_database()
    yield made
    server.drop_database(made)


def first_seed(usual: int) -> int:
    return int(os.environ.get("PALAVER_SEED", usual))


def run(database: str, folder: Path, seed: int, steps: int = STEPS) -> Counter[str]:
    """One life on each engine; a Difference where they part. What was reached."""
    number = next(_numbers)
    engines = (Memory(), File(folder / f"{number}.db"), Postgres(database, f"run-{number}"))
    memory, file, postgres = (play(engine, seed, steps) for engine in engines)
    compare(memory, file, seed)
    compare(file, postgres, seed)
    assert file.problems == [], f"seed {seed}: {file.problems}"
    return file.reached


def play(engine: Engine, seed: int, steps: int) -> Played:
    try:
        return Played(engine, seed, steps)
    except palaver.PalaverError as error:  # not a step that was refused: the store broke down
        raise Difference(f"seed {seed} (PALAVER_SEED={seed} repeats it first), {engine.name}: {error!r}") from error


def compare(one: Played, other: Played, seed: int) -> None:
    where = f"seed {seed} (PALAVER_SEED={seed} repeats it first), {one.name} and {other.name}"
    for number, (here, there) in enumerate(zip(one.steps, other.steps, strict=True)):
        for part in Step._fields:
            told(f"{where}, step {number} ({here.verb}), {part}", getattr(here, part), getattr(there, part))
    assert one.picture.keys() == other.picture.keys(), where
    for name, seen in one.picture.items():
        told(f"{where}, in the end: {name}", seen, other.picture[name])


def told(where: str, here: str, there: str) -> None:
    if here == there:
        return
    at = next((n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there)))
    begin = max(0, at - 200)
    raise Difference(f"{where}, from character {at}:\n  {here[begin : at + 300]}\n  {there[begin : at + 300]}")


# ---------------------------------------------------------------- the runs


def test_three_engines_tell_the_same_at_every_step_and_end_with_the_same_rows(database: str, tmp_path: Path) -> None:
    seed, reached = first_seed(SEED), Counter[str]()
    is_usual = "PALAVER_SEED" not in os.environ  # another seed may come across less
    for number, each in enumerate([*(SOONEST if is_usual else []), *range(seed, seed + RUNS)]):
        if number < LEAST or missed(reached):
            reached += run(database, tmp_path, each)
    assert not is_usual or missed(reached) == []


def missed(reached: Counter[str]) -> list[str]:
    """Verbs that were never carried out, and refusals that never came: the runs say nothing about them."""
    wanted = [verb.__name__.strip("_") for verb in VERBS] + [f"refused: {name}" for name in REFUSED.split()]
    return [name for name in wanted if not reached[name]]


@pytest.mark.long
def test_three_engines_tell_the_same_for_much_longer(database: str, tmp_path: Path) -> None:
    seed = first_seed(time.time_ns() % 2**32)
    print(f"differential: {LONG} runs from seed {seed}")
    for number in range(LONG):
        run(database, tmp_path, seed + number)


# ---------------------------------------------------------------- what the runs found


def test_a_session_that_begins_without_words_gets_a_preview_later() -> None:
    with palaver.open(":memory:") as store:
        session = store.sessions.create()
        session.turn().seal()
        session.commit("hello")
        assert (session.info.preview, store.verify()) == ("hello", [])


def test_a_refused_verb_forgets_no_row_of_another_program(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create()
        turn = session.turn("May I?")
        turn.append([{"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}}])
        turn.write({"type": "finish"})
        File(Path(path)).write(
            store,
            "INSERT INTO chat_messages VALUES ('theirs', ?, 'user', '{}', ?, ?)",
            [(session.id, now_ms() + 1, now_ms() + 1)],
        )
        with pytest.raises(palaver.Refused):
            session.edit(session.messages()[1]["id"], "not the user's")
        session.resume(turn.id).seal()
        session.commit("afterwards")
        assert [message["id"] for message in session.messages()][2] == "theirs"


# ---------------------------------------------------------------- planted

Rewrite = Callable[[str, str], str]


def the_clock_drags_backwards(name: str, text: str) -> str:
    return text.replace("greatest(", "least(")


def a_head_stays_where_it_was(name: str, text: str) -> str:
    return text.replace("turn_id = $1", "turn_id = coalesce(turn_id, $1)") if name == "move_head" else text


def a_list_is_the_wrong_way_round(name: str, text: str) -> str:
    return text.replace(" DESC", " ASC") if name.startswith("list_") else text


def a_reader_sees_an_event_twice(name: str, text: str) -> str:
    return text.replace("seq > ", "seq >= ") if name == "events_after" else text


def a_path_is_read_from_its_end(name: str, text: str) -> str:
    return text.replace("ORDER BY path.depth", "ORDER BY path.depth DESC")


def a_stale_revision_is_taken(name: str, text: str) -> str:
    return text.replace("revision = coalesce($", "revision >= 0 * coalesce($") if name == "advance_head" else text


def an_alias_goes_to_whoever_asks_last(name: str, text: str) -> str:
    return text.replace("DO NOTHING", "DO UPDATE SET session_id = $3") if name == "insert_alias" else text


PLANTED: list[Rewrite] = [
    the_clock_drags_backwards,
    a_head_stays_where_it_was,
    a_list_is_the_wrong_way_round,
    a_reader_sees_an_event_twice,
    a_path_is_read_from_its_end,
    a_stale_revision_is_taken,
    an_alias_goes_to_whoever_asks_last,
]


@pytest.mark.parametrize(
    "rewrite",
    [pytest.param(rewrite, marks=[pytest.mark.long] if place > 0 else []) for place, rewrite in enumerate(PLANTED)],
    ids=lambda rewrite: rewrite.__name__,
)
def test_a_bug_in_one_engine_is_noticed(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewrite: Rewrite
) -> None:
    translate, changed = dialect.translate, set[str]()

    def planted(query: Query) -> dialect.Statement:
        statement = translate(query)
        text = rewrite(query.name, statement.text)
        if text != statement.text:
            changed.add(query.name)
        return statement._replace(text=text)

    monkeypatch.setattr(dialect, "translate", planted)
    with pytest.raises(Difference):
        for number in range(RUNS):
            run(database, tmp_path, SEED + number)
    assert changed, "nothing was planted"


def test_a_run_that_fails_says_its_seed() -> None:
    one, other = Played.__new__(Played), Played.__new__(Played)
    for played, name, text in ((one, "file", "same, then a"), (other, "postgres", "same, then b")):
        played.name, played.steps, played.picture = name, [Step("commit", text, "")], {}
    with pytest.raises(Difference, match=r"PALAVER_SEED=7 .* file and postgres, step 0 \(commit\), told"):
        compare(one, other, 7)
