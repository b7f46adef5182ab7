"""A random walk over everything that can be done to a store that keeps everything. The seed says which one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import palaver
from tests.model.bench import kill

from ..tools.sql import writing
from .support import TABLES, answer, dump, foreign_message, full, replays, text, tool
from .verbs import LONG, another_store, carry

SIZES = (5, 40, 250, LONG)
SESSIONS = 8
SPOILERS = (
    "DELETE FROM {table} WHERE rowid % {n} = 0",
    "UPDATE {table} SET updated_at = updated_at + {n} WHERE rowid % 2",
    "DELETE FROM {table}",
)


class Walk:
    """One store, some sessions, some open turns."""

    def __init__(self, path: str, seed: int) -> None:
        self.path = path
        self.random = random.Random(seed)
        self.store = self._open()
        self.turns: list[palaver.Turn] = []
        self.strangers = 0
        self.done: list[str] = []
        self.store.sessions.create("coder")

    def _open(self) -> palaver.Store:
        policy = self.random.choice(["chunk", "chunk", "chunk", "step", "turn"])
        buffer = self.random.choice([0, 1e9])
        return full(self.path, save_on=policy, save_buffer_ms=None if policy == "turn" else buffer)

    def step(self) -> None:
        work = self.random.choices(list(STEPS), weights=list(STEPS.values()))[0]
        self.done.append(work.__name__)
        try:
            work(self)
        except palaver.PalaverError as refused:
            self.done[-1] += f" ({type(refused).__name__})"
        self.turns = [turn for turn in self.turns if turn.status == "streaming"]

    def check(self) -> None:
        assert replays(self.store) == [], self.done

    def end(self) -> None:
        """Proved, then damaged, and made again."""
        self.check()
        assert self.store.verify() == [], self.done
        before = dump(self.path)
        with writing(self.path) as db:
            for table in TABLES:
                sql = self.random.choice(SPOILERS).format(table=table, n=self.random.randint(2, 5))
                db.execute(f"{sql} {'AND' if 'WHERE' in sql else 'WHERE'} id NOT LIKE '%stranger%'")
        assert self.store.rebuild() != []
        assert dump(self.path) == before, self.done
        self.store.close()

    # ------------------------------------------------------------ choosing

    @property
    def session(self) -> palaver.Session:
        found = self.store.sessions.list(archived=self.random.random() < 0.1, limit=100).sessions
        if not found:
            return self.store.sessions.create("coder")
        return self.store.sessions.get(self.random.choice(found).id)

    @property
    def room(self) -> bool:
        return len(self.store.sessions.list(archived=True, limit=100).sessions) < SESSIONS

    @property
    def size(self) -> int:
        return self.random.choice(SIZES)

    @property
    def turn(self) -> palaver.Turn:
        if not self.turns:
            self.turns.append(self.session.turn("begun"))
        return self.random.choice(self.turns)

    def place(self, session: palaver.Session) -> str:
        found = [turn.id for turn in session.path()] + [message["id"] for message in session.messages()]
        return self.random.choice(found or ["nowhere"])


# ---------------------------------------------------------------- talk


def begin(walk: Walk) -> None:
    walk.turns.append(walk.session.turn("q" * walk.size, model=walk.random.choice([None, "acme/one"])))


def commit(walk: Walk) -> None:
    metadata: dict[str, Any] = {"usage": {"input": walk.size}} if walk.random.random() < 0.5 else {}
    parts = [{"type": "text", "text": "a" * walk.size}]
    walk.session.commit(["why?", {"role": "assistant", "metadata": metadata, "parts": parts}])


def write(walk: Walk) -> None:
    """A piece of an answer, cut off anywhere."""
    chunks, turn = list(answer(walk.size)), walk.turn
    for chunk in chunks[: walk.random.randint(1, len(chunks))]:
        turn.write(chunk)


def append(walk: Walk) -> None:
    walk.turn.append(text("w" * walk.size, pieces=walk.random.randint(1, 5), name=str(walk.random.randint(0, 3))))


def leave_a_text_open(walk: Walk) -> None:
    walk.turn.append(list(text("w" * walk.size))[:-1])


def use_a_tool(walk: Walk) -> None:
    call = f"c{walk.random.randint(0, 99)}"
    walk.turn.append(tool(call, walk.size, answered=walk.random.random() < 0.5))


def tell_metadata(walk: Walk) -> None:
    chunk = {"type": "message-metadata", "messageMetadata": {f"k{walk.random.randint(0, 9)}": "v" * walk.size}}
    walk.turn.write(chunk)


def count(walk: Walk) -> None:
    walk.turn.usage(input=walk.size, output=1, cost_usd=walk.random.choice([None, 0.1, 1]))


def wait(walk: Walk) -> None:
    walk.turn.wait()


def finish(walk: Walk) -> None:
    walk.turn.write({"type": "finish"})


def seal(walk: Walk) -> None:
    walk.turn.seal(walk.random.choice([None, "completed", "failed", "aborted"]))


def resume(walk: Walk) -> None:
    session = walk.session
    for waiting in session.waiting():
        walk.turns.append(session.resume(waiting.id))


def resolve(walk: Walk) -> None:
    """Whatever is unanswered; now and then what is not."""
    turn = walk.turn
    open_calls = [p["toolCallId"] for p in turn.message()["parts"] if p.get("state") == "input-available"]
    call = walk.random.choice(open_calls or ["c1"])
    if walk.random.random() < 0.7:
        turn.resolve(call, output={"o": "o" * walk.size})
    else:
        turn.resolve(call, error="e" * walk.size)


# ---------------------------------------------------------------- what waits, what may be done, what a model sees


def enqueue(walk: Walk) -> None:
    walk.session.enqueue("q" * walk.size, id=f"queued {walk.random.randint(0, 3)}")


def claim(walk: Walk) -> None:
    """And now and then the start fails."""
    turn = walk.session.claim()
    if turn is not None:
        walk.turns.append(turn)
        if walk.random.random() < 0.3:
            turn.give_back()


def cancel(walk: Walk) -> None:
    walk.session.cancel(f"queued {walk.random.randint(0, 3)}")


def permit(walk: Walk) -> None:
    walk.session.permissions.add("bash", f"git {walk.random.randint(0, 9)}")


def compact(walk: Walk) -> None:
    walk.session.compact("s" * walk.size)


def compact_in_the_middle(walk: Walk) -> None:
    turn = walk.turn
    turn.append(answer(walk.size))
    turn.append(list(text("w" * walk.size))[:-1])
    walk.turns.append(turn.compact("s" * walk.size))


def prune(walk: Walk) -> None:
    walk.session.prune(keep=0)


# ---------------------------------------------------------------- branches and lives


def create(walk: Walk) -> None:
    if walk.room:
        walk.store.sessions.create("coder", parent=walk.random.choice([None, walk.session]), metadata={"k": 1.10})


def fork(walk: Walk) -> None:
    session = walk.session
    if walk.room:
        session.fork(at=walk.random.choice([None, walk.place(session)]), copy=walk.random.random() < 0.5)


def materialise(walk: Walk) -> None:
    walk.session.materialise()


def rewind(walk: Walk) -> None:
    session = walk.session
    session.rewind(to=walk.place(session))


def undo(walk: Walk) -> None:
    walk.session.undo()


def redo(walk: Walk) -> None:
    walk.session.redo()


def regenerate(walk: Walk) -> None:
    walk.turns.append(walk.session.regenerate())


def edit(walk: Walk) -> None:
    session = walk.session
    asked = [message["id"] for message in session.messages() if message["role"] == "user"]
    walk.turns.append(session.edit(walk.random.choice(asked or ["nowhere"]), "asked otherwise"))


def archive(walk: Walk) -> None:
    session = walk.session
    walk.random.choice([session.archive, session.unarchive])()


def delete(walk: Walk) -> None:
    session = walk.session
    session.delete()
    if walk.random.random() < 0.7:
        session.undelete()


def title(walk: Walk) -> None:
    walk.session.title = walk.random.choice([None, "a title"])


# ---------------------------------------------------------------- others


def stranger(walk: Walk) -> None:
    walk.strangers += 1
    foreign_message(walk.path, walk.session.id, f"stranger {walk.strangers}", walk.random.choice(["user", "assistant"]))


def adopt(walk: Walk) -> None:
    walk.random.choice([walk.store.adopt, walk.session.adopt])()


def take_entries(walk: Walk) -> None:
    if walk.room:
        with another_store(walk.random.choice(["full", "live"])) as (other, _, fork_of_it):
            carry(other, walk.store, *walk.random.choice([[], [fork_of_it]]))
            carry(other, walk.store)


def close(walk: Walk) -> None:
    walk.store.close()
    walk.turns, walk.store = [], walk._open()


def die(walk: Walk) -> None:
    kill(walk.store)
    walk.turns, walk.store = [], walk._open()


STEPS: dict[Callable[[Walk], None], int] = {
    **dict.fromkeys((begin, commit, use_a_tool, tell_metadata, seal), 4),
    **dict.fromkeys((write, append), 8),
    **dict.fromkeys((leave_a_text_open, count, wait, finish, resume, resolve, regenerate, edit, fork, rewind), 3),
    **dict.fromkeys((enqueue, claim), 3),
    **dict.fromkeys((cancel, permit, compact, compact_in_the_middle, prune), 2),
    **dict.fromkeys((create, materialise, undo, redo, archive, delete, title, stranger, adopt, take_entries), 2),
    **dict.fromkeys((close, die), 1),
}
