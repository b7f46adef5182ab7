"""A random life of a store: everything that can be done to its sessions, one step after the other; the seed says which.

A judge is a function of the life, called after every so many steps; what it raises is told with all that was done.
Nothing here knows what the store should say: the steps choose among what it shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import palaver

from .chunks import answer, metadata, text, tool
from .sql import put_message
from .stores import kill

LONG = 600  # characters: more than a line of the journal writes out again
SIZES = (5, 40, 250, LONG)
SESSIONS = 8
Open = Callable[[random.Random], palaver.Store]


class Life:
    """One store, some sessions, some open turns."""

    def __init__(
        self, open: Open, seed: int, steps: Mapping[Step, int] | None = None, put: Callable[..., Any] = put_message
    ) -> None:
        self._open, self._steps, self.put = open, STEPS if steps is None else steps, put
        self.seed, self.dice = seed, random.Random(seed)
        self.turns: list[palaver.Turn] = []
        self.strangers = 0
        self.done: list[str] = []
        self.open()
        self.store.sessions.create("coder")

    def open(self) -> None:
        self.store = self._open(self.dice)

    def run(self, steps: int, judge: Judge, every: int = 1) -> None:
        """So many steps, and the judge after each, or after every few."""
        try:
            for number in range(steps):
                self.step()
                if number % every == every - 1:
                    judge(self)
        except BaseException as error:
            error.add_note(f"seed {self.seed}: " + ", ".join(self.done))
            raise

    def step(self) -> None:
        work = self.dice.choices(list(self._steps), weights=list(self._steps.values()))[0]
        self.done.append(work.__name__)
        try:
            work(self)
        except palaver.PalaverError as refused:
            self.done[-1] += f" ({type(refused).__name__})"
        self.turns = [turn for turn in self.turns if turn.status == "streaming"]

    # ------------------------------------------------------------ choosing

    @property
    def session(self) -> palaver.Session:
        found = self.store.sessions.list(archived=self.dice.random() < 0.1, limit=100).sessions
        if not found:
            return self.store.sessions.create("coder")
        return self.store.sessions.get(self.dice.choice(found).id)

    @property
    def room(self) -> bool:
        return len(self.store.sessions.list(archived=True, limit=100).sessions) < SESSIONS

    @property
    def size(self) -> int:
        return self.dice.choice(SIZES)

    @property
    def turn(self) -> palaver.Turn:
        if not self.turns:
            self.turns.append(self.session.turn("begun"))
        return self.dice.choice(self.turns)

    def place(self, session: palaver.Session) -> str:
        found = [turn.id for turn in session.path()] + [message["id"] for message in session.messages()]
        return self.dice.choice(found or ["nowhere"])

    def message(self, session: palaver.Session, role: str) -> str:
        found = [message["id"] for message in session.messages() if message["role"] == role]
        return self.dice.choice(found or ["nowhere"])


Step = Callable[[Life], None]
Judge = Callable[[Life], None]


# ---------------------------------------------------------------- talk


def begin(life: Life) -> None:
    life.turns.append(life.session.turn("q" * life.size, model=life.dice.choice([None, "acme/one"])))


def commit(life: Life) -> None:
    metadata: dict[str, Any] = {"usage": {"input": life.size}} if life.dice.random() < 0.5 else {}
    parts = [{"type": "text", "text": "a" * life.size}]
    life.session.commit(["why?", {"role": "assistant", "metadata": metadata, "parts": parts}])


def write(life: Life) -> None:
    """A piece of an answer, cut off anywhere."""
    chunks, turn = answer(life.size), life.turn
    for chunk in chunks[: life.dice.randint(1, len(chunks))]:
        turn.write(chunk)


def append(life: Life) -> None:
    life.turn.append(text("w" * life.size, pieces=life.dice.randint(1, 5), name=str(life.dice.randint(0, 3))))


def leave_a_text_open(life: Life) -> None:
    life.turn.append(text("w" * life.size, ends=False, pieces=3))


def use_a_tool(life: Life) -> None:
    call = f"c{life.dice.randint(0, 99)}"
    life.turn.append(tool(call, life.size, answered=life.dice.random() < 0.5))


def tell_metadata(life: Life) -> None:
    life.turn.write(metadata(**{f"k{life.dice.randint(0, 9)}": "v" * life.size}))


def count(life: Life) -> None:
    life.turn.usage(input=life.size, output=1, cost_usd=life.dice.choice([None, 0.1, 1]))


def wait(life: Life) -> None:
    life.turn.wait()


def finish(life: Life) -> None:
    life.turn.write({"type": "finish"})


def seal(life: Life) -> None:
    life.turn.seal(life.dice.choice([None, "completed", "failed", "aborted"]))


def resume(life: Life) -> None:
    session = life.session
    for waiting in session.waiting():
        life.turns.append(session.resume(waiting.id))


def resolve(life: Life) -> None:
    """Whatever is unanswered; now and then what is not."""
    turn = life.turn
    open_calls = [p["toolCallId"] for p in turn.message()["parts"] if p.get("state") == "input-available"]
    call = life.dice.choice(open_calls or ["c1"])
    if life.dice.random() < 0.7:
        turn.resolve(call, output={"o": "o" * life.size})
    else:
        turn.resolve(call, error="e" * life.size)


# ---------------------------------------------------------------- what waits, what may be done, what a model sees


def enqueue(life: Life) -> None:
    life.session.enqueue("q" * life.size, id=f"queued {life.dice.randint(0, 3)}")


def claim(life: Life) -> None:
    """And now and then the start fails."""
    turn = life.session.claim()
    if turn is not None:
        life.turns.append(turn)
        if life.dice.random() < 0.3:
            turn.give_back()


def cancel(life: Life) -> None:
    life.session.cancel(f"queued {life.dice.randint(0, 3)}")


def permit(life: Life) -> None:
    life.session.permissions.add("bash", f"git {life.dice.randint(0, 9)}")


def compact(life: Life) -> None:
    life.session.compact("s" * life.size)


def compact_in_the_middle(life: Life) -> None:
    turn = life.turn
    turn.append(answer(life.size))
    turn.append(text("w" * life.size, ends=False, pieces=3))
    life.turns.append(turn.compact("s" * life.size))


def prune(life: Life) -> None:
    life.session.prune(keep=0)


# ---------------------------------------------------------------- branches and lives


def create(life: Life) -> None:
    if life.room:
        life.store.sessions.create("coder", parent=life.dice.choice([None, life.session]), metadata={"k": 1.10})


def fork(life: Life) -> None:
    session = life.session
    if life.room:
        session.fork(at=life.dice.choice([None, life.place(session)]), copy=life.dice.random() < 0.5)


def materialise(life: Life) -> None:
    life.session.materialise()


def rewind(life: Life) -> None:
    session = life.session
    session.rewind(to=life.place(session))


def undo(life: Life) -> None:
    life.session.undo()


def redo(life: Life) -> None:
    life.session.redo()


def regenerate(life: Life) -> None:
    session = life.session
    life.turns.append(session.regenerate(life.dice.choice([None, life.message(session, "assistant")])))


def edit(life: Life) -> None:
    session = life.session
    life.turns.append(session.edit(life.message(session, "user"), "asked otherwise"))


def archive(life: Life) -> None:
    session = life.session
    life.dice.choice([session.archive, session.unarchive])()


def delete(life: Life) -> None:
    session = life.session
    session.delete()
    if life.dice.random() < 0.7:
        session.undelete()


def title(life: Life) -> None:
    life.session.title = life.dice.choice([None, "a title"])


# ---------------------------------------------------------------- others


def stranger(life: Life) -> None:
    """Another program adds a message in a transaction of its own."""
    life.strangers += 1
    role = life.dice.choice(["user", "assistant"])
    life.put(life.store.path, life.session.id, f"stranger {life.strangers}", role)


def adopt(life: Life) -> None:
    life.dice.choice([life.store.adopt, life.session.adopt])()


def close(life: Life) -> None:
    life.store.close()
    life.turns = []
    life.open()


def die(life: Life) -> None:
    kill(life.store)
    life.turns = []
    life.open()


STEPS: dict[Step, int] = {
    **dict.fromkeys((begin, commit, use_a_tool, tell_metadata, seal), 4),
    **dict.fromkeys((write, append), 8),
    **dict.fromkeys((leave_a_text_open, count, wait, finish, resume, resolve, regenerate, edit, fork, rewind), 3),
    **dict.fromkeys((enqueue, claim), 3),
    **dict.fromkeys((cancel, permit, compact, compact_in_the_middle, prune), 2),
    **dict.fromkeys((create, materialise, undo, redo, archive, delete, title, stranger, adopt), 2),
    **dict.fromkeys((close, die), 1),
}
