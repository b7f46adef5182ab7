"""Rules of the queue: messages that are sent, claimed, taken back, and given back."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

import palaver

from .bench import PICK, is_open, text
from .nouns import Session, Ticket, Turn
from .trouble import Trouble


class Oops(Exception):
    """What goes wrong between a claim and its first chunk."""


def has_sent(bench: Trouble) -> bool:
    """Some session that takes writes had something in its queue."""
    return bench.choose(1, lambda session: session.tickets) is not None


def has_queue(bench: Trouble) -> bool:
    return bench.choose(1, Session.queue) is not None


def _asked(key: str, words: str | None = None) -> dict[str, Any]:
    return {"role": "user", "parts": [text(words or f"later {key}")], "id": key}


class Queued(Trouble):
    # ------------------------------------------------------------ sending

    @precondition(is_open)
    @rule(pick=PICK, shape=st.integers(0, 3))
    def enqueue(self, pick: int, shape: int) -> None:
        session = self.choose(pick)
        assert session is not None
        new = self.new()
        message: dict[str, Any] = {"role": "user", "parts": [text(f"later {new}")]}
        if shape:
            message["id"] = f"q-{new}" if shape < 3 else f"msg_{new:0>26}"
        self._send(session, message, apart=shape == 1)
        self.note("enqueue beside an open turn" if session.open else "enqueue")

    def _send(self, session: Session, message: dict[str, Any], *, apart: bool) -> None:
        """`apart`: the id is given beside the message, not in it."""
        here, content = self.session(session.id, self.count), {k: v for k, v in message.items() if k != "id"}
        given, name = (content, message["id"]) if apart else (message, None)
        told, ticket = self.both(
            lambda: here.enqueue(given, id=name),
            lambda told: self.world.enqueue(session.id, message, told),
        )
        if ticket is not None:
            said = next(entry for entry in ticket.turn.entries if entry.shown_id() == ticket.id).ui()
            shown = (told.id, told.turn_id, told.queued_at, told.message)
            assert shown == (ticket.id, ticket.turn.id, ticket.queued_at, said), f"{shown}: {said}"

    @precondition(has_sent)
    @rule(pick=PICK, which=PICK, apart=st.booleans(), other=st.booleans())
    def enqueue_again(self, pick: int, which: int, apart: bool, other: bool) -> None:
        """The same message is the same place in line; another one under its id is refused. Nothing changes."""
        session, ticket = self._sent(pick, which)
        parts = [text("something else")] if other else ticket.content["parts"]
        self._send(session, {"role": "user", "parts": parts, "id": ticket.id}, apart=apart)
        self.note("enqueue with another content" if other else "enqueue again")

    def _sent(self, pick: int, which: int) -> tuple[Session, Ticket]:
        session = self.choose(pick or 1, lambda session: session.tickets)
        if session is None or not session.tickets:  # one that does not fit was offered
            session = self.choose(1, lambda session: session.tickets)
        assert session is not None
        return session, list(session.tickets.values())[which % len(session.tickets)]

    # ------------------------------------------------------------ claiming

    @precondition(is_open)
    @rule(pick=PICK, by=PICK, prompted=st.booleans(), current=st.booleans())
    def claim(self, pick: int, by: int, prompted: bool, current: bool) -> None:
        """The first in line, if there is one."""
        session = self.choose(pick, Session.queue) or self.choose(pick)
        assert session is not None
        turn = self._claim(session, None, by, prompted=prompted, current=current)
        self.note("claim" if turn else "claim nothing")

    def _claim(
        self, session: Session, key: str | None, by: int, *, prompted: bool = False, current: bool = False
    ) -> Turn | None:
        owner, _ = self.writer(by)
        prompt = f"prompt {self.new()}" if prompted else None
        name, expected = session.id, session.revision if current else None
        handle, turn = self.both(
            lambda: self.session(name, by).claim(key, expected, system_prompt=prompt),
            lambda _: self.world.claim(name, key, owner, expected, prompt),
        )
        if turn is None:
            assert handle is None or isinstance(handle, palaver.PalaverError)
            if isinstance(handle, palaver.HeadConflict) and current:  # told of others, once
                return self._claim(self.world.sessions[name], key, by, prompted=prompted, current=True)
            return None
        assert handle.id == turn.id
        self.handles[turn.key] = handle
        return self.world.turns[turn.key]

    @precondition(has_sent)
    @rule(pick=PICK, which=PICK, by=PICK)
    def claim_by_id(self, pick: int, which: int, by: int) -> None:
        """Whatever became of it: waiting, fired, cancelled."""
        session, ticket = self._sent(pick, which)
        name, waits = ticket.id, ticket.turn.status == "pending"
        turn = self._claim(session, "nobody" if which % 10 == 9 else name, by)
        self.note("claim by id" if turn and waits else "claim by id: refused")

    def _claim_stale(self, session: Session, ahead: int) -> None:
        """With a revision that is not the session's: it waits on."""
        wrong = session.revision + ahead
        error, _ = self.both(
            lambda: self.session(session.id).claim(expected=wrong),
            lambda _: self.world.claim(session.id, None, "", wrong),
        )
        assert (error.expected, error.actual) == (wrong, self.world.sessions[session.id].revision)
        self.note("claim with a stale revision")

    @precondition(is_open)
    @rule(pick=PICK, by=PICK, taken_back=st.booleans(), ahead=st.sampled_from([-1, 1_000]), beside=st.booleans())
    def a_line(self, pick: int, by: int, taken_back: bool, ahead: int, beside: bool) -> None:
        """Two wait; one is taken back, or goes first because it is named; both are asked for again."""
        name = self.choose(pick).id  # type: ignore[union-attr]
        keys = [f"q-{self.new()}", f"q-{self.new()}"]
        for key in [*keys, *keys]:
            self._send(self.world.sessions[name], _asked(key), apart=False)
        self._claim_stale(self.world.sessions[name], ahead)
        if taken_back:
            self._cancel(name, keys[1])
        if beside:
            self._begin_in(self.world.sessions[name], by)
            self._write_foreign(self.world.sessions[name], ["user"])
        claimed = [self._claim(self.world.sessions[name], key, by) for key in (keys[1], keys[0])]
        self._ask_after(name, keys, by)
        if beside and claimed[-1] is not None:  # it takes in what another program wrote before it was claimed
            self._seal(self.world.turns[claimed[-1].key], "completed")
            self._ask_after(name, keys, by)
        self.note("a line beside others" if beside else "a line")

    def _ask_after(self, name: str, keys: list[str], by: int) -> None:
        """What was fired or taken back stays so."""
        for key in keys:
            self._cancel(name, key)
            self._claim(self.world.sessions[name], key, by)
            self._send(self.world.sessions[name], _asked(key), apart=False)
        self._send(self.world.sessions[name], _asked(keys[0], "something else"), apart=False)

    # ------------------------------------------------------------ starts that fail

    @precondition(has_queue)
    @rule(pick=PICK, by=PICK, times=st.integers(1, 3))
    def failed_start(self, pick: int, by: int, times: int) -> None:
        """Claimed, and left by an exception before any chunk; again and again, until it is over."""
        for time in range(times):
            session = self.choose(pick or 1, Session.queue)
            turn = self._claim(session, None, by, prompted=time == 0) if session else None
            if turn is None:
                return
            self._leave(turn)
        self.note("failed start")

    @precondition(lambda self: self._claimed())
    @rule(pick=PICK)
    def leave_by_an_exception(self, pick: int) -> None:
        """Wherever it stands: with chunks or without, waiting or not."""
        found = self._claimed()
        self._leave(found[pick % len(found)])
        self.note("left by an exception")

    def _claimed(self) -> list[Turn]:
        every = [turn for session in self.world.sessions.values() for turn in session.open]
        return [turn for turn in every if turn.ticket and turn.key in self.handles]

    def _leave(self, turn: Turn) -> None:
        handle = self.handles[turn.key]
        try:
            with handle:
                raise Oops
        except Oops:
            self.world.leave(turn)
        assert handle.status == ("aborted" if turn.status == "pending" else turn.status)
        if turn.status == "pending":  # the next claim brings another handle
            self.outdated.append((turn.key, self.handles.pop(turn.key)))

    @precondition(has_queue)
    @rule(pick=PICK, by=PICK)
    def claimed_by_one_who_dies(self, pick: int, by: int) -> None:
        """Before any chunk. The other writer finds out with a later verb."""
        if len(self.writers) < 2:
            self.open_writer()
        session = self.choose(pick or 1, Session.queue)
        turn = self._claim(session, None, by) if session else None
        if turn is not None and turn.owner is not None:
            self._dies(turn.owner)
            self.note("claimed by one who dies")

    # ------------------------------------------------------------ taking back

    @precondition(has_sent)
    @rule(pick=PICK, which=PICK, twice=st.booleans())
    def cancel(self, pick: int, which: int, twice: bool) -> None:
        session, ticket = self._sent(pick, which)
        name, key = session.id, ticket.id if which % 10 != 9 else "nobody"
        for _ in range(1 + twice):
            self._cancel(name, key)

    def _cancel(self, name: str, key: str) -> None:
        told, expected = self.both(
            lambda: self.session(name).cancel(key),
            lambda _: self.world.cancel(name, key),
        )
        if expected is not None:
            assert told is expected
            self.note("cancel" if told else "cancel what was cancelled")
