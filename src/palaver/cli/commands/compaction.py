"""`palaver compact` and `palaver context`: a summary in the place of old turns, and what a model sees then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from .. import resolve
from ..command import Call, Count, command, session_argument
from ..exits import USAGE, Stop
from ..ui.blocks import Block, Reader
from ..ui.format import count, short
from ..ui.render import Renderer
from ..values import session_json


@command(
    "compact",
    examples=[
        "palaver compact @ 'They fixed the deploy.'",
        "palaver compact @ 'So far: the parser.' --keep 2",
        'palaver compact @ "$(cat summary.txt)" --keep-from 7bTq2c',
    ],
    keys={"session": "Session, as it is now", "turn_id": "the turn that holds the summary"},
)
@session_argument()
@click.argument("summary")
@click.option("--keep-from", metavar="TURN", help="The first turn that a model still sees as it was.")
@click.option("--keep", type=Count(0), help="How many of the last turns a model still sees as they were.")
def compact(call: Call, session: str, summary: str, keep_from: str | None, keep: int | None) -> None:
    """Let a summary stand for what was said before.

    Nothing goes: `show` and `tree` still have every turn; only `context` stops at the summary."""
    if keep is not None and keep_from is not None:
        raise Stop(USAGE, "--keep and --keep-from do not go together; give one of them", "Usage")
    _, found = call.session(session)
    where = resolve.turn_or_message(found, keep_from) if keep_from is not None else None
    if keep:
        said = [turn.id for turn in found.path() if turn.kind != "compaction"]
        where = said[-keep:][0] if said else None
    with resolve.saying_what_was_looked_for(found, keep_from):
        turn = found.compact(summary, keep_from=where, trigger="manual")
    call.done({"session": session_json(found), "turn_id": turn.id}, f"compacted {short(found.id)} in turn {turn.id}")


@command(
    "context",
    examples=["palaver context @", "palaver context @ --model --json"],
    keys={"messages": "what a model should see: UIMessages, or model messages with --model"},
)
@session_argument()
@click.option("--model", is_flag=True, help="As the AI SDK's model messages.")
@click.option("--system", help="Another system prompt than the latest.")
def context(call: Call, session: str, model: bool, system: str | None) -> None:
    """Print what a model should see of a session.

    The system prompt, the latest summary, the turns it kept, and what follows; no tool call without a result."""
    _, found = call.session(session, readonly=True)
    messages = found.model_messages(system=system) if model else found.context(system=system)
    if call.json:
        call.screen.json({"messages": messages})
        return
    renderer = Renderer(call.screen)
    for place, message in enumerate(messages):
        if place:
            call.screen.say()
        renderer.role(str(message["role"]))
        renderer.blocks([*_blocks(renderer.reader, message)], drawn=message["role"] != "user")
    call.screen.hint(count(len(messages), "message"))


def _blocks(reader: Reader, message: dict[str, Any]) -> Iterator[Block]:
    """The parts of a UIMessage, or of a model message."""
    content = message.get("content", message.get("parts"))
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        if part.get("type") == "tool-call":
            yield from reader.call(str(part.get("toolName")), part.get("input"))
        elif part.get("type") == "tool-result":
            yield from reader.call(str(part.get("toolName")), {})
            output: Any = part["output"]
            state = "output-error" if output["type"].startswith("error") else "output-available"
            yield from reader.result(state, output["value"], str(output["value"]))
        elif part.get("type") in ("tool-approval-request", "tool-approval-response"):
            yield reader.note(*_approval(part))
        else:
            yield from reader.part(part)


def _approval(part: dict[str, Any]) -> tuple[str, str]:
    if part["type"] == "tool-approval-request":
        return "asks", "may it run?"
    return ("approved", "") if part.get("approved") is True else ("denied", str(part.get("reason") or ""))
