"""A walk over a store: verbs chosen at random, and beside it a model, in plain lists, of what every session shows.

Every turn is a question and an answer with texts of their own, so that a transcript is a list of texts.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import palaver

from ..tools.talk import texts


def answers(turn: palaver.Turn, text: str, tokens: int = 0) -> None:
    """Stream one text, tell its usage and seal."""
    turn.append(
        [{"type": "start-step"}, {"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": text}]
    )
    turn.append([{"type": "text-end", "id": "t"}, {"type": "finish-step"}])
    if tokens:
        turn.usage(input=tokens, output=tokens * 2, reasoning=1, cache_read=tokens * 3, cache_write=2)
    turn.seal()


class Walk:
    """Sessions, and what each of them must show."""

    def __init__(self, store: palaver.Store, seed: int | None = None) -> None:
        seed = random.SystemRandom().getrandbits(32) if seed is None else seed
        print(f"seed {seed}")
        self.store = store
        self.chance = random.Random(seed)
        self.shows: dict[str, list[str]] = {}
        self.parents: dict[str, str] = {}
        self.archived: set[str] = set()
        self.deleted: set[str] = set()
        self.moves: dict[str, int] = {}
        self._count = 0
        self.create()
        self.say(self.session(self.live()[0]))

    def run(self, steps: int, check: Callable[[], None]) -> None:
        """So many verbs, and the check after each."""
        self._begin(check)
        verbs = [self.say, self.say, self.commit, self.fork, self.rewind, self.regenerate, self.edit, self.race]
        verbs += [self.archive, self.delete, self.spawn, self.undo]
        for _ in range(steps):
            verb = self.chance.choice([*verbs, self.create, self.revive])
            if verb in (self.create, self.revive):
                verb()  # type: ignore[call-arg]
            elif self.live():
                verb(self.session(self.chance.choice(self.live())))
            check()

    def _begin(self, check: Callable[[], None]) -> None:
        """Every verb once, on the first session."""
        first = self.session(self.live()[0])
        for verb in (self.commit, self.say, self.fork, self.rewind, self.undo, self.regenerate, self.edit, self.race):
            verb(first)
            check()
        for verb in (self.spawn, self.fork, self.delete, lambda _: self.revive(), self.archive):
            verb(first)
            check()

    def session(self, session_id: str) -> palaver.Session:
        return self.store.sessions.get(session_id)

    def live(self) -> list[str]:
        return [s for s in self.shows if s not in self.archived and s not in self.deleted]

    def agree(self) -> None:
        """Every session that is there shows what the model says."""
        for session_id, shown in self.shows.items():
            if session_id not in self.deleted:
                assert texts(self.session(session_id)) == shown

    # ------------------------------------------------------------ verbs

    def create(self) -> None:
        self._add(self.store.sessions.create("walker"), [])

    def spawn(self, session: palaver.Session) -> None:
        self._add(self.store.sessions.create("helper", parent=session), [], session)

    def say(self, session: palaver.Session) -> None:
        answers(session.turn(self._text()), self._text(), self.chance.randint(0, 9))
        self.shows[session.id] += [f"text {self._count - 1}", f"text {self._count}"]
        self.moves[session.id] += 1

    def commit(self, session: palaver.Session) -> None:
        usage = {"usage": {"input": self.chance.randint(1, 9), "output": 4}}
        question, answer = self._text(), self._text()
        session.commit(
            [{"role": "user", "content": question}, {"role": "assistant", "content": answer, "metadata": usage}]
        )
        self.shows[session.id] += [question, answer]
        self.moves[session.id] += 1

    def fork(self, session: palaver.Session) -> None:
        place = self._place(session)
        made = session.fork(at=session.messages()[place]["id"]) if place is not None else session.fork()
        self._add(made, self.shows[session.id][: len(self.shows[session.id]) if place is None else place + 1], session)

    def rewind(self, session: palaver.Session) -> None:
        place = self._place(session)
        if place is not None:
            session.rewind(to=session.messages()[place]["id"])
            del self.shows[session.id][place + 1 :]
            self.moves[session.id] += 1

    def undo(self, session: palaver.Session) -> None:
        """A rewind and its undo: nothing changes but the reflog."""
        place = self._place(session)
        if place is not None:
            session.rewind(to=session.messages()[place]["id"])
            session.undo()
            self.moves[session.id] += 2

    def regenerate(self, session: palaver.Session) -> None:
        roles = [message["role"] for message in session.messages()]
        if "assistant" in roles:
            answers(session.regenerate(), self._text())
            kept = len(roles) - (roles[-1] == "assistant")  # a question without an answer gets one
            self.shows[session.id][kept:] = [f"text {self._count}"]
            self.moves[session.id] += 2

    def edit(self, session: palaver.Session) -> None:
        asked = [n for n, message in enumerate(session.messages()) if message["role"] == "user"]
        if asked:
            place = self.chance.choice(asked)
            answers(session.edit(session.messages()[place]["id"], self._text()), self._text())
            self.shows[session.id][place:] = [f"text {self._count - 1}", f"text {self._count}"]
            self.moves[session.id] += 2

    def race(self, session: palaver.Session) -> None:
        """Two turns at once: the first to seal lands, the other is kept aside."""
        winner, loser = session.turn(self._text()), session.turn("lost")
        answers(winner, self._text())
        try:
            answers(loser, "lost, too", 5)
        except palaver.HeadConflict:
            self.shows[session.id] += [f"text {self._count - 1}", f"text {self._count}"]
            self.moves[session.id] += 1

    def archive(self, session: palaver.Session) -> None:
        session.archive()
        self.archived.add(session.id)

    def delete(self, session: palaver.Session) -> None:
        session.delete()
        self.deleted.add(session.id)
        self.moves[session.id] += 1

    def revive(self) -> None:
        """Bring back what was archived or deleted."""
        for session_id in sorted(self.archived):
            self.session(session_id).unarchive()
        for session_id in sorted(self.deleted):
            self.store.sessions.get(session_id, deleted=True).undelete()
            self.moves[session_id] += 1
        self.archived.clear()
        self.deleted.clear()

    # ------------------------------------------------------------ small things

    def _add(self, session: palaver.Session, shown: list[str], parent: palaver.Session | None = None) -> None:
        self.shows[session.id] = list(shown)
        self.moves[session.id] = 0
        if parent is not None:
            self.parents[session.id] = parent.id

    def _text(self) -> str:
        self._count += 1
        return f"text {self._count}"

    def _place(self, session: palaver.Session) -> Any:
        shown = self.shows[session.id]
        return self.chance.randrange(len(shown)) if shown else None
