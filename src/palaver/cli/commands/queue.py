"""`palaver queue`: what waits its turn in a session; send a message, or take one back."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from palaver import Queued

from ..command import Call, command, session_argument
from ..exits import USAGE, Stop
from ..ui.columns import aligned
from ..ui.format import age, count
from ..ui.screen import say_aside


@command(
    "queue",
    examples=["palaver queue @", "palaver queue @ 'And then run the tests.'", "palaver queue @ --cancel msg-7"],
    keys={
        "queue[]": "what waits now, first come first, with:",
        "  id": "the message's id, as the client knows it",
        "  turn_id": "the pending turn that holds it",
        "  queued_at": "epoch ms",
        "  message": "the message itself",
    },
)
@session_argument()
@click.argument("text", required=False)
@click.option("--id", "message_id", help="The message's id: the same id and text again is the same message.")
@click.option("--cancel", metavar="ID", help="Take a waiting message back.")
def queue(call: Call, session: str, text: str | None, message_id: str | None, cancel: str | None) -> None:
    """List what waits in a session, send a message, or take one back.

    With TEXT a message is sent: it waits until whoever runs the session claims it."""
    if text is not None and cancel is not None:
        raise Stop(USAGE, "send a message or cancel one, not both", "Usage")
    if text is not None and not text.strip():
        raise Stop(USAGE, "an empty message is not sent: say something", "Usage")
    if message_id is not None and text is None:
        raise Stop(USAGE, "--id is for a message that is sent: say what", "Usage")
    _, found = call.session(session, readonly=text is None and cancel is None)
    if text is not None:
        found.enqueue(text, id=message_id)
    elif cancel is not None and not found.cancel(cancel):
        say_aside(f"message {cancel!r} was taken back before", json=call.json)
    queued = found.queue()
    if call.json:
        listed: list[dict[str, Any]] = [msgspec.to_builtins(one) for one in queued]
        call.screen.json({"queue": listed})
        return
    for line in aligned((call.screen.sanitized(one.id), age(one.queued_at), _text_of(call, one)) for one in queued):
        call.screen.say(call.screen.fit(line))
    call.screen.say(f"{count(len(queued), 'message')} waiting" if queued else "nothing waits")


def _text_of(call: Call, one: Queued) -> str:
    texts = [part["text"] for part in one.message["parts"] if part.get("type") == "text"]
    return call.screen.sanitized(" ".join(texts))
