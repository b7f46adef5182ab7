"""`palaver approve` and `palaver deny`: a person answers what a waiting turn asks for.

The turn goes on waiting then: not for us, but for its agent, which finds the answer when it takes the turn up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import click

from palaver import BadValue, ChunkError, Session
from palaver.aisdk.parts import is_tool
from palaver.base import exact_json

from .. import resolve
from ..command import Call, CallName, command, session_argument
from ..exits import CONFLICT, UNKNOWN, Stop
from ..ui.format import count, short

KEYS = {
    "session": "its id",
    "answered": "the call that was answered; null if it was not clear which one",
    "waiting[]": "calls that still wait for an answer, with:",
    "  turn_id": "the turn that waits",
    "  call_id": "the tool call",
    "  approval_id": "the request, as its agent knows it, or null",
    "  tool": "which tool",
    "  input": "what the tool would be given, or null",
}
ASKED, ANSWERED = "approval-requested", "approval-responded"


class Asked(NamedTuple):
    """A tool call, and what it would do."""

    turn_id: str
    call_id: str
    approval_id: str | None
    tool: str
    input: Any
    state: str

    def value(self) -> dict[str, Any]:
        return {key: value for key, value in self._asdict().items() if key != "state"}

    def __str__(self) -> str:
        return f"{self.call_id}  {self.tool}  {exact_json.dump(self.input)}"


@command("approve", examples=["palaver approve @", "palaver approve 9fK2xQ call_7Hq"], keys=KEYS)
@session_argument()
@click.argument("tool_call", metavar="[CALL]", required=False, type=CallName())
def approve(call: Call, session: str, tool_call: str | None) -> None:
    """Allow what a waiting turn asks for.

    Without CALL: the only call that waits; if several do, they are listed and none is answered. CALL is its id, or a
    clear end of it. The turn goes on waiting, for its agent, which goes on from there."""
    _answer(call, session, tool_call, approved=True)


@command(
    "deny", examples=["palaver deny @", "palaver deny 9fK2xQ call_7Hq --reason 'Not on the live server.'"], keys=KEYS
)
@session_argument()
@click.argument("tool_call", metavar="[CALL]", required=False, type=CallName())
@click.option("--reason", help="Why; the agent is told.")
def deny(call: Call, session: str, tool_call: str | None, reason: str | None) -> None:
    """Refuse what a waiting turn asks for.

    Without CALL: the only call that waits; if several do, they are listed and none is answered. CALL is its id, or a
    clear end of it. The turn goes on waiting, for its agent, which is told."""
    _answer(call, session, tool_call, approved=False, reason=reason)


def _answer(call: Call, name: str, wanted: str | None, *, approved: bool, reason: str | None = None) -> None:
    _, found = call.session(name)
    waiting = asked(found)
    if wanted is None and len(waiting) > 1:
        _list(call, found, waiting)
    one = _only(found, waiting) if wanted is None else _named(found, waiting, wanted)
    _resolve(found, one, approved, reason)
    left = [each for each in asked(found) if each.call_id != one.call_id]
    said = f"{'approved' if approved else 'denied'} {one.tool} ({one.call_id}) in {short(found.id)}"
    more = f"; {count(len(left), 'call')} still to answer" if left else ""
    value = {"session": found.id, "answered": one.value(), "waiting": [each.value() for each in left]}
    call.done(value, f"{said}; its agent goes on from there{more}")


def _resolve(session: Session, one: Asked, approved: bool, reason: str | None) -> None:
    """Whatever happens, the turn waits again: what nobody writes and does not wait would be closed."""
    turn = session.resume(one.turn_id)
    try:
        turn.resolve(one.call_id, approved=approved, reason=reason)
    except ChunkError:  # somebody else was a moment faster
        raise Stop(CONFLICT, f"call {one.call_id} was answered already", "Answered") from None
    finally:
        turn.wait()


# ---------------------------------------------------------------- which call


def asked(session: Session) -> list[Asked]:
    """Every call that waits for an approval."""
    return [one for turn in session.waiting() for one in _calls(session, turn.id) if one.state == ASKED]


def _calls(session: Session, turn_id: str) -> Iterator[Asked]:
    for message in session.messages_of(turn_id):
        yield from filter(None, (_call(turn_id, part) for part in message.parts))


def _call(turn_id: str, text: str) -> Asked | None:
    """A part as the tool call that it is; None if it is none."""
    try:
        part, raw = exact_json.parse(text), exact_json.open_object(text.encode())
    except BadValue:
        return None
    if not isinstance(part, dict) or not is_tool(part.get("type")) or not isinstance(part.get("toolCallId"), str):
        return None
    approval = part.get("approval")
    approval_id = approval.get("id") if isinstance(approval, dict) else None
    tool = str(part.get("toolName") or part["type"].removeprefix("tool-"))
    return Asked(turn_id, part["toolCallId"], approval_id, tool, raw.get("input"), str(part.get("state")))


def _list(call: Call, session: Session, waiting: list[Asked]) -> NoReturn:
    if call.json:
        call.screen.json({"session": session.id, "answered": None, "waiting": [one.value() for one in waiting]})
    for one in () if call.json else waiting:
        call.screen.say(call.screen.fit(call.screen.sanitized(str(one))))
    call.screen.out.flush()
    said = f"{count(len(waiting), 'call')} of session {short(session.id)} wait for an answer; say which"
    raise Stop(UNKNOWN, said, "AmbiguousName")


def _only(session: Session, waiting: list[Asked]) -> Asked:
    if not waiting:
        raise Stop(CONFLICT, f"nothing in session {short(session.id)} waits for an approval", "NothingWaits")
    return waiting[0]


def _named(session: Session, waiting: list[Asked], name: str) -> Asked:
    exact = [one for one in waiting if name in (one.call_id, one.approval_id)]
    found = exact or [one for one in waiting if resolve.fits(one.call_id, name)]
    if len(found) > 1:
        listed = ", ".join(f"{one.call_id} ({one.tool})" for one in found[:5])
        raise Stop(UNKNOWN, f"{name!r} names more than one call: {listed}", "AmbiguousName")
    return found[0] if found else _explain(session, waiting, name)


def _explain(session: Session, waiting: list[Asked], name: str) -> NoReturn:
    """Why a call cannot be answered: it is over, it was answered, it asks for something else, or there is none."""
    for turn in reversed(session.tree()):
        for one in _calls(session, turn.id):
            if name in (one.call_id, one.approval_id):
                raise Stop(CONFLICT, f"call {one.call_id} ({one.tool}) {_state(turn.status, one.state)}", "NotAsked")
    there = f"these do: {', '.join(f'{one.call_id} ({one.tool})' for one in waiting[:5])}" if waiting else "none does"
    said = f"no call {name!r} of session {short(session.id)} waits for an answer; {there}"
    raise Stop(UNKNOWN, said, "CallNotFound")


def _state(turn: str, call: str) -> str:
    if turn not in ("waiting", "streaming"):
        return f"is over: its turn is sealed ({turn})"
    if call == ANSWERED:
        return "was answered already; it waits for its agent"
    if turn == "streaming" and call == ASKED:
        return "asks, but its turn is still being written; try again when it waits"
    return f"does not ask for an approval; it is {call}"
