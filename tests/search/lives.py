"""Random lives of a store that say something: the driver's steps, with words of the corpus, and an index that is
written now and then: a batch, all of it, or from the beginning."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from random import Random
from typing import Any

import pytest

import palaver
from palaver import exports
from palaver.background import jobs
from palaver.base.clock import now_ms
from palaver.core.upkeep import indexing

from ..grafts.fake import Source
from ..postgres.engines import Engine, World
from ..tools import driver
from ..tools.chunks import call, result, text, thought
from ..tools.driver import Life, Step
from . import corpus

TICKS = (0, 1, 7, 40, 1_500, 9_000, 90_000)


def quiet(patch: pytest.MonkeyPatch) -> None:
    """The index is written by the steps alone, a few turns at a time."""
    patch.setattr(jobs.Index, "due", lambda self, now: None)
    patch.setattr(indexing, "_TURNS", 3)


def words(life: Life) -> str:
    return corpus.text(life.dice) or "nothing"


# ---------------------------------------------------------------- talk


def begin(life: Life) -> None:
    life.turns.append(life.session.turn(words(life), model=life.dice.choice([None, "acme/one"])))


def commit(life: Life) -> None:
    parts: list[dict[str, Any]] = [{"type": "text", "text": words(life)}]
    if life.dice.random() < 0.3:
        parts.append({"type": "file", "mediaType": "text/plain", "url": "http://x/f", "filename": words(life)})
    if life.dice.random() < 0.3:
        told = {"state": "output-available", "input": {"path": words(life)}, "output": {"out": words(life)}}
        parts.append({"type": "tool-run", "toolCallId": f"c{life.dice.random()}", **told})
    life.session.commit([words(life), {"role": "assistant", "parts": parts}])


def append(life: Life) -> None:
    name = str(life.dice.randint(0, 3))
    life.turn.append(text(words(life), name=name, ends=life.dice.random() < 0.7, pieces=life.dice.randint(1, 5)))


def think(life: Life) -> None:
    life.turn.append(thought(words(life)))


def use_a_tool(life: Life) -> None:
    name = f"c{life.dice.randint(0, 99)}"
    turn = life.turn
    turn.append([call(name, life.dice.choice(("run", "look")), {"command": words(life), "file": words(life)})])
    if life.dice.random() < 0.5:
        turn.append([result(name, life.dice.choice((words(life), {"out": words(life)})))])


def resolve(life: Life) -> None:
    turn = life.turn
    waiting = [p["toolCallId"] for p in turn.message()["parts"] if p.get("state") == "input-available"]
    given = {"output": {"o": words(life)}} if life.dice.random() < 0.7 else {"error": words(life)}
    turn.resolve(life.dice.choice(waiting or ["c1"]), **given)


def answer_what_waits(life: Life) -> None:
    session = life.session
    for turn in session.waiting():
        parts = [json.loads(part) for message in session.messages_of(turn.id) for part in message.parts]
        for part in parts:
            if part.get("state") == "input-available":
                session.resolve(part["toolCallId"], output=words(life))


def enqueue(life: Life) -> None:
    life.session.enqueue(words(life), id=f"queued {life.dice.randint(0, 3)}")


def compact(life: Life) -> None:
    life.session.compact(words(life))


def compact_in_the_middle(life: Life) -> None:
    turn = life.turn
    turn.append(text(words(life), ends=False, pieces=3))
    life.turns.append(turn.compact(words(life)))


def edit(life: Life) -> None:
    session = life.session
    life.turns.append(session.edit(life.message(session, "user"), words(life)))


def title(life: Life) -> None:
    life.session.title = life.dice.choice([None, words(life)[:200].replace("\n", " ").replace("\t", " ")])


# ---------------------------------------------------------------- others, and the index


def stranger(life: Life) -> None:
    life.strangers += 1
    life.put(life.store.path, life.session.id, f"{words(life)} stranger{life.strangers}", "user")


def index_some(life: Life) -> None:
    for _ in range(life.dice.randint(1, 3)):
        indexing.index_batch(life.store.db)


def index_all(life: Life) -> None:
    life.store.reindex(only_missing=True)


def reindex(life: Life) -> None:
    life.store.reindex()


def begin_the_index_again(life: Life) -> None:
    indexing.begin_again(life.store.db)
    indexing.index_batch(life.store.db)


KEPT = (
    *(driver.wait, driver.finish, driver.seal, driver.resume, driver.claim, driver.cancel, driver.prune, driver.create),
    *(driver.fork, driver.materialise, driver.rewind, driver.undo, driver.redo, driver.regenerate, driver.archive),
    *(driver.delete, driver.adopt),
)
OURS: dict[Step, int] = {
    **dict.fromkeys((commit, append), 7),
    **dict.fromkeys((begin, use_a_tool, index_some, title), 4),
    **dict.fromkeys((think, resolve, answer_what_waits, enqueue, compact, edit, stranger), 3),
    **dict.fromkeys((compact_in_the_middle, index_all, reindex, begin_the_index_again), 1),
}
STEPS: dict[Step, int] = {**{step: driver.STEPS[step] for step in KEPT}, **OURS}


class Words(Source):
    """A source elsewhere that says words of the corpus."""

    dice: Random

    def _text(self) -> str:
        self._count += 1
        return corpus.text(self._chance) or f"nothing {self._count}"


def life_on(engine: Engine, seed: int, world: World | None = None, *, may_close: bool = True) -> Life:
    source = Words(seed)

    def graft(life: Life) -> None:
        for _ in range(life.dice.randint(1, 4)):
            source.step()
        life.store.graft(source.session())

    def wait_a_moment(life: Life) -> None:
        if world is not None:
            world.ms += life.dice.choice(TICKS)

    steps: dict[Step, int] = {**STEPS, graft: 2, wait_a_moment: 8 if world else 0}
    if may_close:
        steps[driver.close] = 1
    life = Life(lambda dice: engine.open(), seed, steps, lambda *given: put(engine, life, *given))
    return life


def put(engine: Engine, life: Life, _: object, session_id: str, said: str, role: str) -> None:
    """Another program adds a message."""
    newest = engine.rows(life.store, f"SELECT max(created_at) FROM chat_messages WHERE session_id = '{session_id}'")
    name, at = sha256(said.encode()).hexdigest()[:26], max(now_ms(), (newest[0][0] or 0) + 1)
    row = (f"msg_{name}", session_id, role, at, at)
    part = json.dumps({"type": "text", "text": said})
    engine.write(life.store, "INSERT INTO chat_messages VALUES (?, ?, ?, '{}', ?, ?)", [row])
    values = (f"prt_{name}", f"msg_{name}", session_id, part, at, at)
    engine.write(life.store, "INSERT INTO chat_parts VALUES (?, ?, ?, 0, 'text', ?, NULL, NULL, ?, ?)", [values])


def moved(store: palaver.Store, other: Callable[[], palaver.Store]) -> palaver.Store:
    """What an export of it is elsewhere."""
    out = BytesIO()
    exports.write(store.db, out, None)
    opened = other()
    exports.read(opened.db, BytesIO(out.getvalue()))
    return opened
