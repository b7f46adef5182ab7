"""`palaver compact` and `palaver context`: a summary in the place of old turns, and what a model sees then."""

from __future__ import annotations

import json
from typing import Any

import click

from palaver.aisdk.parts import is_tool

from .. import resolve
from ..command import Call, command, session_argument
from ..exits import USAGE, Stop
from ..ui.format import count, short
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
@click.option("--keep", type=click.IntRange(0), help="How many of the last turns a model still sees as they were.")
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
    call.done(
        {"session": session_json(found.info), "turn_id": turn.id}, f"compacted {short(found.id)} in turn {turn.id}"
    )


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
    for message in messages:
        call.screen.say(call.screen.sanitized(f"{message['role']}: {_said(message)}", lines=True))
    call.screen.say(count(len(messages), "message"))


def _said(message: dict[str, Any]) -> str:
    """The words, and what else there is: a line each."""
    content = message.get("content", message.get("parts"))
    pieces = [content] if isinstance(content, str) else map(_piece, content or ())
    return "\n  ".join(filter(None, pieces))


def _piece(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if kind == "step-start":
        return ""
    if kind in ("text", "reasoning"):
        return f"{'thinks: ' if kind == 'reasoning' else ''}{part.get('text')}".rstrip()
    if kind == "tool-result":
        return f"-> {_json(part.get('output'))}"
    if kind == "tool-call" or is_tool(kind):
        name = part.get("toolName") or str(kind).removeprefix("tool-")
        result = part.get("output", part.get("errorText"))
        return f"tool {name} {_json(part.get('input'))}" + ("" if result is None else f" -> {_json(result)}")
    return _json(part)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
