"""The queue as plain Python: messages that wait, each in a pending turn that stands nowhere yet.

Where the design leaves room, this is what is expected:

* The same id and content again is the same message, whatever became of it; another content is refused.
* What a dead writer had claimed waits again; then `expected` is compared, as for any verb; then one is chosen.
  A cancel, too, sees what waits again.
* A claim that finds nothing is no move: waiting turns and loose rows are left as they are.
* A message takes its place in time when it is claimed, and its place in line when it is sent: it keeps that if it is
  given back. What the failed start was set up with is gone with it.
* A queue goes with its session; `undelete` does not bring it back.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from .model import Refusal
from .model import World as Talk
from .nouns import Session, Ticket, Turn


class Queueing(Talk):
    """The verbs of the queue."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.prompts: dict[str, str] = {}

    def enqueue(self, name: str, message: dict[str, Any], told: Any) -> Ticket:
        """`told`: what the store says; ids and times that it makes up are learned from it."""
        session = self.sessions[name]
        self._refuse_closed(session)
        self._head(session)
        content = {key: value for key, value in message.items() if key != "id"}
        known = session.tickets.get(message.get("id") or told.id)
        if known is not None:
            if known.content != content:
                raise Refusal("QueueConflict")
            self._note(f"sent again: {known.turn.status}")
            return known
        turn = self._turn(session, None, status="pending", id=told.turn_id)
        turn.base, turn.entries = -1, [self._write(session, message)]
        row = turn.entries[0].message
        row.row_id, row.queued_at = row.row_id or (None if "id" in message else told.id), told.queued_at
        turn.ticket = Ticket(told.id, turn, content, told.queued_at)
        session.tickets[told.id] = turn.ticket
        return turn.ticket

    def _refuse_closed(self, session: Session) -> None:
        if session.deleted:
            raise Refusal("SessionDeleted")
        if session.archived:
            raise Refusal("SessionArchived")

    def claim(
        self, name: str, key: str | None, owner: str, expected: int | None = None, prompt: str | None = None
    ) -> Turn | None:
        session = self.sessions[name]
        self._refuse_closed(session)
        self._recover(session)
        if expected is not None:
            self._compare(session, expected)
        ticket = next(iter(session.queue()), None) if key is None else self._named(session, key)
        if ticket is None:
            self._note("nothing to claim")
            return None
        self._ready(session, expected, moving_on=True)
        self._place_in_time(session, ticket)
        if expected is not None:
            self._put_behind(session)
        return self._start(session, ticket, owner, prompt)

    def _named(self, session: Session, key: str) -> Ticket:
        if key not in session.tickets:
            raise Refusal("MessageNotFound")
        ticket = session.tickets[key]
        if ticket.turn.status != "pending":
            raise Refusal("MessageCancelled" if ticket.cancelled else "MessageFired")
        return ticket

    def _place_in_time(self, session: Session, ticket: Ticket) -> None:
        row = ticket.turn.entries[0].message
        self.stamps += 1
        row.stamp, row.queued_at = self.stamps, None
        session.rows.sort(key=lambda row: row.stamp)

    def _start(self, session: Session, ticket: Ticket, owner: str, prompt: str | None) -> Turn:
        turn = ticket.turn
        ticket.claims += 1
        turn.parent, turn.base, turn.status, turn.owner = session.head, session.revision, "streaming", owner
        turn.fold.metadata = {}
        if prompt is not None:
            digest = sha256(prompt.encode()).hexdigest()
            turn.prompt, self.prompts[digest] = prompt, prompt
            turn.fold.metadata["system_prompt_digest"] = digest
        if session.standing():
            self._note("claimed beside an open turn")
        session.open.append(turn)
        return turn

    def cancel(self, name: str, key: str) -> bool:
        session = self.sessions[name]
        self._refuse_closed(session)
        self._recover(session)
        if key not in session.tickets:
            raise Refusal("MessageNotFound")
        ticket = session.tickets[key]
        if ticket.cancelled:
            return False
        if ticket.turn.status != "pending":
            raise Refusal("MessageFired")
        self.entomb(ticket)
        return True
