"""`palaver show`: a session to read, on a terminal through the pager; or its last answer, what it used, or a message
with those around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import msgspec

from palaver import Session, SessionInfo, Store, StoredMessage, TurnInfo
from palaver.base.exact_json import Raw

from .. import message_names, resolve
from ..command import Call, Count, command, session_argument
from ..exits import UNKNOWN, USAGE, Stop
from ..ui.facts import ending, print_ending, print_session, turn_blocks
from ..ui.format import count, moment, short
from ..ui.pager import paged
from ..ui.render import Renderer
from ..ui.screen import Screen, say_aside
from ..ui.usage import print_usage
from ..ui.words import answer
from ..ui.wrap import in_lines
from ..values import session_json, turn_json

_NARROW = 60  # columns below which the end of the id is enough
_AROUND = 3  # messages before and after the one that was asked for


class _Window(NamedTuple):
    """The messages that are shown, and how many before and after them are not. `at`: the one that was asked for."""

    messages: list[StoredMessage]
    at: str | None = None
    before: int = 0
    after: int = 0


@command(
    "show",
    examples=[
        "palaver show @",
        "palaver show 'Fix the build'~2 --detail",
        "palaver show @ -r > answer.md",
        "palaver show 9fK2xQ@b7TzAm -C 10",
        "palaver show 9fK2xQ --json",
    ],
    keys={
        "session": "Session",
        "turn": "the turn that was asked for (NAME~2), or null for the head and what is open",
        "messages[]": "AI SDK UIMessages: id, role, metadata?, parts; every number as it was stored; with -r, one",
        "message": "the id of the message that was asked for (NAME@MESSAGE), or null",
        "left_out": "how many messages are not shown: before, after; both 0 unless a message was asked for",
        "turns[]": "with --detail or -u the turns that are shown, as Turn; else empty",
    },
)
@session_argument()
@click.option("--detail", is_flag=True, help="Ids, times, facts, turns and what was in force; nothing is cut.")
@click.option("-r", "--response", is_flag=True, help="Only the last answer, as it was written.")
@click.option("-u", "--usage", is_flag=True, help="Only tokens and cost, turn by turn.")
@click.option("-C", "--context", type=Count(0, 10_000), help=f"Messages around SESSION@MESSAGE; {_AROUND} if not said.")
@click.option("--raw", is_flag=True, help="Values as JSON, control characters as they are: they may act on a terminal.")
@click.option("--no-pager", is_flag=True, help="Print at once; otherwise a terminal gets PAGER.")
def show(
    call: Call,
    session: str,
    detail: bool,
    response: bool,
    usage: bool,
    context: int | None,
    raw: bool,
    no_pager: bool,
) -> None:
    """Read a session.

    SESSION~2 shows it as it was two turns before its head; SESSION@MESSAGE, as `palaver search` prints it, that message
    and those around it. What was said stands at the left edge; thoughts and tool calls are indented, their long values
    cut: --detail shows them whole. A terminal gets Markdown, code and diffs in colours, a pipe plain text."""
    if response and usage:
        raise Stop(USAGE, "-r shows only the answer, and -u only what was used; give one of them", "Usage")
    store = call.store(readonly=True)
    target, window = _asked_for(store, session, context, whole=response or usage)
    messages = _last_answer(target, window.messages) if response else window.messages
    turns = _turns(target.session, messages) if detail or usage or not call.json else []
    call.screen.raw = raw
    if call.json:
        call.screen.json(_json(target, window._replace(messages=messages), turns))
    elif response:
        _print_answer(call.screen, messages[-1], turns)
    else:
        with paged(call.screen, wanted=not no_pager) as screen:
            _heading(screen, target, turns, detail=detail)
            if usage:
                print_usage(screen, target.session.info, turns, target.session.usage())
            else:
                _print_window(Renderer(screen, detail=detail), store, target, window, turns)


def _asked_for(store: Store, name: str, context: int | None, *, whole: bool) -> tuple[resolve.Target, _Window]:
    """A session with all its messages, or a message with some around it."""
    found = message_names.find(store, name) if "@" in name else None
    if found is None:
        if context is not None:
            raise Stop(USAGE, "-C is about what is around a message; name one, as in SESSION@MESSAGE", "Usage")
        target = resolve.target(store, name)
        return target, _Window(list(target.session.transcript(target.turn.id if target.turn else None)))
    if whole:
        raise Stop(USAGE, "-r and -u are about a whole session; leave the message out", "Usage")
    around = _AROUND if context is None else context
    first, last = max(0, found.place - around), found.place + around + 1
    messages = found.messages[first:last]
    after = len(found.messages) - first - len(messages)
    return found.target, _Window(messages, found.messages[found.place].id, first, after)


def _json(target: resolve.Target, window: _Window, turns: list[TurnInfo]) -> dict[str, Any]:
    return {
        "session": session_json(target.session),
        "turn": target.turn.id if target.turn else None,
        "messages": [Raw(message.json().encode()) for message in window.messages],
        "message": window.at,
        "left_out": {"before": window.before, "after": window.after},
        "turns": [turn_json(turn) for turn in turns],
    }


def _last_answer(target: resolve.Target, messages: list[StoredMessage]) -> list[StoredMessage]:
    found = [message for message in messages if message.role == "assistant" and answer(message)]
    if not found:
        raise Stop(UNKNOWN, f"session {short(target.session.id)} has no answer yet", "NoAnswer")
    return found[-1:]


def _turns(session: Session, messages: list[StoredMessage]) -> list[TurnInfo]:
    """Those that are shown, in order."""
    known = {turn.id: turn for turn in session.tree()}
    shown = dict.fromkeys(message.turn_id for message in messages)
    return [known[turn_id] for turn_id in shown if turn_id in known]


def _print_answer(screen: Screen, message: StoredMessage, turns: list[TurnInfo]) -> None:
    """As it was written. That it is not whole is said beside it."""
    screen.say(screen.sanitized(answer(message), lines=True))
    for how in filter(None, map(ending, turns)):
        screen.out.flush()
        say_aside(f"this answer may not be whole: its turn is {how}", json=False)


def _heading(screen: Screen, target: resolve.Target, turns: list[TurnInfo], *, detail: bool) -> None:
    info = target.session.info
    title = screen.sanitized(info.title or info.preview or "")
    at = f" at {short(target.turn.id)}" if target.turn else ""
    state = " archived" if info.archived_at else ""
    name = short(info.id) if 0 < screen.width < _NARROW else info.id
    screen.whole_line(
        (f"{screen.sanitized(name)}{at}", "yellow"),
        (f" {screen.sanitized(info.agent)}{state} ", "dim"),
        (title, "bold"),
    )
    for told in _details(target.session, info) if detail else ():
        for line in in_lines([screen.sanitized(one) for one in told], screen.width):
            screen.say(screen.paint(line, "dim"))
    print_session(screen, info, turns, shown=target.turn.depth if target.turn else info.turns)


def _details(session: Session, info: SessionInfo) -> Iterator[list[str]]:
    """What else is known of it: its facts, and when something was first and last done in it."""
    yield [f"{name}={value}" for name, value in sorted(session.facts.items())]
    last = [f"last message {moment(info.last_message_at)}"] if info.last_message_at else []
    yield [f"made {moment(info.created_at)}", *last]


def _print_window(
    renderer: Renderer, store: Store, target: resolve.Target, window: _Window, turns: list[TurnInfo]
) -> None:
    """What is not shown is counted where it would be."""
    whole = "-C shows more" if target.turn else f"palaver show {short(target.session.id)}"
    _print_left_out(renderer.screen, window.before, "before", whole)
    _print(renderer, store, window, {each.id: each for each in turns})
    _print_left_out(renderer.screen, window.after, "after", whole)


def _print_left_out(screen: Screen, number: int, where: str, whole: str) -> None:
    if number:
        screen.say()
        said = f"{screen.dots} {count(number, 'message')} {where} ({screen.sanitized(whole)})"
        screen.whole_line((said, "dim"))


def _print(renderer: Renderer, store: Store, window: _Window, turns: dict[str, TurnInfo]) -> None:
    """Every message. Around those of a turn is told what is known of it: in detail above them, else below them how it
    ended, if not well."""
    last: TurnInfo | None = None
    for message in window.messages:
        turn = turns.get(message.turn_id or "")
        is_new = turn is not None and (last is None or turn.id != last.id)
        if last and not renderer.detail and (turn is None or is_new):
            print_ending(renderer.screen, last)
        renderer.screen.say()
        if turn and is_new and renderer.detail:
            _print_turn(renderer, store, turn)
        last = turn
        renderer.message(message, _told(turn) if turn else {}, pointed=message.id == window.at)
    if last and not renderer.detail:
        print_ending(renderer.screen, last)


def _told(turn: TurnInfo) -> dict[str, Any]:
    """What a turn's lines say that the metadata of its messages says again."""
    usage = msgspec.to_builtins(turn.usage)
    return {"model": turn.model, "usage": usage, "system_prompt_digest": turn.system_prompt}


def _print_turn(renderer: Renderer, store: Store, turn: TurnInfo) -> None:
    """Above a turn's messages, with `--detail`."""
    screen = renderer.screen
    digest = turn.digest.hex()[:12] if turn.digest else "open"
    what = f"turn {short(turn.id)}" if turn.kind == "turn" else f"turn {short(turn.id)} ({turn.kind})"
    screen.whole_line((screen.sanitized(f"--- {what} {turn.status} {digest}"), "dim"))
    renderer.blocks([*turn_blocks(screen, turn, store.system_prompt, detail=True)])
