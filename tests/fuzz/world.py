"""A small store with a handle of every kind: sessions that are new, long, forked, queued, archived, deleted, of another
store, of a store that was closed; turns that are open, waiting, sealed, lost. And what must still work in it."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import palaver
from palaver import Session, Store, Turn, exports

CALL = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "look", "input": {"a": 1}}
ANSWER = [
    {"type": "text-start", "id": "t"},
    {"type": "text-delta", "id": "t", "delta": "Hello."},
    {"type": "text-end", "id": "t"},
]
BEGUN = [
    {"type": "start", "messageMetadata": {"p": {"q": 1}}},
    {"type": "start-step"},
    *({"type": f"{kind}-start", "id": name} for kind in ("text", "reasoning") for name in ("t", "u")),
    *({"type": "tool-input-start", "toolCallId": name, "toolName": "look"} for name in ("c1", "u")),
]
EXCHANGE = ["Hello?", {"role": "assistant", "parts": [{"type": "text", "text": "Hello."}]}]
MANY = 12  # handles of one kind that are kept


class World:
    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        self.path = str(folder / "talks.db")
        self.options: dict[str, Any] = {"durability": "normal", "recover_every": rng.choice((None, 0.05))}
        self.options |= {"save_on": rng.choice(("chunk", "chunk", "step", "turn")), "trim_after": rng.choice((0, 5.0))}
        self.store = palaver.open(self.path, events=rng.choice((None, None, "full")), **self.options)
        self.other = palaver.open(str(folder / "other.db"), durability="normal")
        self.sessions: list[Session] = []
        self.turns: list[Turn] = []
        self.dead: list[Any] = []  # handles of a store that was closed
        self._populate()

    def _populate(self) -> None:
        create = self.store.sessions.create
        plain, gone, kept = create("coder", title="Plain", id="app-1"), create("a"), create("b", workspace="w")
        for _ in range(2):
            plain.commit(EXCHANGE)
        kept.commit(EXCHANGE)
        gone.commit(EXCHANGE)
        plain.alias("main")
        plain.permissions.add("bash", "git *")
        self.sessions = [plain, plain, plain, kept, gone, plain.fork(), create("new")]
        self.turns = [self.begin(plain), self._sealed(kept)]
        self._queue(plain, kept)
        self._wait(create("waiter"))
        kept.archive()
        gone.delete()
        self._strangers()

    def begin(self, session: Session) -> Turn:
        turn = session.turn("Go on.")
        turn.append(self.rng.choice(([], ANSWER[:2], [CALL], BEGUN, BEGUN)))
        return turn

    def _sealed(self, session: Session) -> Turn:
        with session.turn("And then?") as turn:
            turn.append(ANSWER)
        return turn

    def _queue(self, *sessions: Session) -> None:
        for session in sessions:
            session.enqueue("Later.", id="q1")

    def _wait(self, session: Session) -> None:
        turn = session.turn("May I?")
        turn.append([CALL, {"type": "tool-approval-request", "approvalId": "may-1", "toolCallId": "c1"}])
        turn.wait()
        self.sessions.append(session)
        self.turns.append(turn)

    def _strangers(self) -> None:
        """Of another store, of one that was closed, of nobody."""
        self.sessions.append(self.other.sessions.create("other"))
        with palaver.open(str(self.folder / "closed.db"), durability="normal") as closed:
            session = closed.sessions.create("late")
            turn = session.turn("Too late?")
        self.dead = [closed, closed.sessions, session, turn, session.permissions]
        self.sessions.append(session)
        self.turns.append(turn)

    # ------------------------------------------------------------ handles

    def session(self, rng: random.Random) -> Session:
        return self.sessions[rng.randrange(7)] if rng.random() < 0.8 else rng.choice(self.sessions)

    def turn(self, rng: random.Random) -> Turn:
        """Mostly one that is open; one is begun where none is left."""
        if rng.random() < 0.3:
            return rng.choice(self.turns)
        live = [turn for turn in self.turns if turn._state.status == "streaming" and turn not in self.dead]
        if not live:
            live = [self.begin(self.store.sessions.create("again"))]
            self.keep(live[0])
        return rng.choice(live)

    def keep(self, found: Any) -> None:
        """What a call gave is a handle for the next ones."""
        kept: list[Any] | None = (
            self.turns if isinstance(found, Turn) else self.sessions if isinstance(found, Session) else None
        )
        if kept is not None:
            kept.append(found)
            if len(kept) > 10 + MANY:
                kept.pop(10)

    def ids(self) -> list[str]:
        """Names that mean something here: sessions, turns, messages, aliases."""
        known = [session.id for session in self.sessions] + [turn.id for turn in self.turns]
        for session in self.sessions[:2]:
            known += [message["id"] for message in session.messages()[-3:]]
        return [*known, "main", "app-1", "q1"]

    def close(self) -> None:
        self.other.close()
        self.store.close()


# ---------------------------------------------------------------- what must still work


def opens(path: str) -> None:
    """After each call: the file can be opened by somebody else, its newest session read."""
    with palaver.open(path, durability="normal", recover_every=None) as store:
        for info in store.sessions.list(limit=1).sessions:
            store.sessions.get(info.id).messages()


def holds(path: str) -> None:
    """After each batch: nothing is wrong in it, and everything can be read, and taken elsewhere."""
    with palaver.open(path, durability="normal", recover_every=None) as store:
        problems = store.verify()
        assert problems == [], problems
        _read_all(store)
        _carry(store)


def _read_all(store: Store) -> None:
    listed = store.sessions.list(archived=True, limit=1_000).sessions
    assert len(listed) >= len(list(store.sessions)) > 0
    for info in listed:
        session = store.sessions.get(info.id, deleted=True)
        session.history(), session.tree(), session.path(), session.events(), session.queue(), session.permissions.list()
        session.context(), session.model_messages(), session.aliases()
        "".join(exports.markdown(store.db, info.id))
        "".join(exports.inspect(store.db, info.id))


def _go_on(store: Store) -> None:
    """Nothing that was kept keeps a session from going on: what is queued is begun, and something new is said."""
    for info in store.sessions:
        session = store.sessions.get(info.id)
        while (turn := session.claim()) is not None:
            turn.seal()
        session.turn("Still there?").seal()


def _carry(store: Store) -> None:
    out = io.BytesIO()
    exports.write(store.db, out)
    out.seek(0)
    with palaver.open(":memory:") as elsewhere:
        refused: list[Any] = []
        exports.read(elsewhere.db, out, on_refused=refused.append)
        assert refused == [], refused
        _go_on(elsewhere)
        problems = elsewhere.verify()
        assert problems == [], problems
