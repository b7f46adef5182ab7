"""What is known of a session and of a turn, beside what was said in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from palaver import SessionInfo, TurnInfo
from palaver.model import USAGE_KEYS

from . import sanitize
from .blocks import Labelled
from .format import count, dollars
from .outline import outline
from .screen import Screen
from .wrap import in_lines

PromptText = Callable[[str], str | None]
_DIGEST = 12  # characters by which a system prompt is known
_AROUND = 3  # columns that a model's name leaves in its line: the margin, and a comma
_LEAST = 24  # columns below which it has a line by itself


def model_id(model: object) -> str:
    """A model without its provider, for a list."""
    name = model.get("model_id") if isinstance(model, dict) else None
    return name if isinstance(name, str) else ""


def model_name(model: object) -> str:
    """As people write it: provider/model, and a variant behind it."""
    if not isinstance(model, dict):
        return ""
    name = "/".join(str(model[key]) for key in ("provider_id", "model_id") if model.get(key))
    return f"{name} {model['variant']}" if model.get("variant") else name


def print_session(screen: Screen, info: SessionInfo, turns: list[TurnInfo], *, shown: int) -> None:
    """Under the heading of a session: your own id, which model, what the turns used that are shown (`shown`: how many
    are on the path), and whether somebody is expected."""
    here, all_in_all = _used(turns), _used([info])
    more = f"the session used {', '.join(filter(None, all_in_all))}" if here != all_in_all and any(all_in_all) else ""
    facts = [info.app_id or "", model_name(info.model), count(shown, "turn"), *here, more]
    facts += [f"{info.waiting:,} waiting" if info.waiting else "", f"{info.live:,} live" if info.live else ""]
    facts += [f"ended: {info.end_reason}" if info.end_reason else "ended" if info.ended_at else ""]
    for line in in_lines([screen.sanitized(fact) for fact in facts if fact], screen.width):
        screen.say(screen.paint(line, "dim"))


def _used(told: Sequence[SessionInfo | TurnInfo]) -> list[str]:
    """Another program may have written anything into the columns of a session: what is no number is not told."""
    tokens = sum(number for one in told for number in one.usage.counts() if type(number) is int)
    cost = sum(one.cost_usd for one in told if type(one.cost_usd) in (int, float))
    return [count(tokens, "token") if tokens else "", dollars(cost) if cost else ""]


def ending(turn: TurnInfo) -> str:
    """How a turn ended, if not well; and why."""
    if turn.status == "failed":
        return f"failed: {_error(turn)}" if turn.error else "failed"
    if turn.status == "aborted":
        return f"aborted: {turn.abort_reason}" if turn.abort_reason else "aborted"
    return ""


def print_ending(screen: Screen, turn: TurnInfo) -> None:
    """Below a turn's messages: a half answer does not look like a whole one."""
    how = ending(turn)
    if how:
        screen.whole_line((screen.sanitized(f"--- {how}"), "red"))


# ---------------------------------------------------------------- turns


def turn_blocks(screen: Screen, turn: TurnInfo, prompt: PromptText, *, detail: bool = False) -> Iterator[Labelled]:
    """How it ended, what it used, what was in force. `detail`: tokens by kind, rules, the whole prompt."""
    for label, text in _facts(screen, turn, prompt, detail):
        if text:
            style = "red" if label in ("error:", "aborted:") else "dim"
            yield Labelled(label, screen.sanitized(text, lines=True), style, words="" if style == "red" else "dim")


def _facts(screen: Screen, turn: TurnInfo, prompt: PromptText, detail: bool) -> Iterator[tuple[str, str]]:
    finish = f"finish {turn.finish}" if turn.finish else ""
    told = detail or turn.error or turn.abort_reason or turn.status == "completed"
    status = "" if told else turn.status
    begin = [*filter(None, [status, turn.agent])]
    model = model_name(turn.model) if detail else _short_model(screen, turn.model, begin)
    yield "", ", ".join(filter(None, [*begin, model, *_used([turn]), finish]))
    if detail:
        yield "tokens:", _kinds(turn)
    if turn.error:
        yield "error:", _error(turn)
    yield "aborted:", turn.abort_reason or ""
    yield "trigger:", _one_line(turn.trigger)
    yield "tools:", _tools(turn)
    yield "prompt:", _prompt(turn.system_prompt, prompt, detail)
    if detail:
        yield "granted:", "\n".join(map(_rule, turn.permissions_granted))
    yield "used:", ", ".join(map(str, turn.permissions_used))
    yield "unknown:", _unknown(turn, detail)


def _short_model(screen: Screen, model: object, before: list[str]) -> str:
    """On a terminal no longer than what has room in its line; a pipe gets everything."""
    name = model_name(model)
    if not screen.width:
        return name
    line = screen.width - _AROUND
    room = line - sanitize.width(screen.sanitized("".join(f"{one}, " for one in before)))
    return sanitize.shorten_inside(screen.sanitized(name), room if room >= _LEAST else line, screen.dots)


def _error(turn: TurnInfo) -> str:
    told = (turn.error.code, turn.error.message) if turn.error else ()
    return ": ".join(filter(None, told)) or "of something untold"


def _kinds(turn: TurnInfo) -> str:
    kinds = zip(USAGE_KEYS, turn.usage.counts(), strict=True)
    return ", ".join(f"{number:,} {kind.replace('_', ' ')}" for kind, number in kinds if number)


def _unknown(turn: TurnInfo, detail: bool) -> str:
    """Chunks that made no part: their kinds, or in detail all that they said."""
    if detail:
        return "\n".join(map(outline, turn.unknown_chunks))
    return ", ".join(sorted({str(chunk.get("type")) for chunk in turn.unknown_chunks}))


def _tools(turn: TurnInfo) -> str:
    names = ", ".join(map(str, turn.tools)) if turn.tools else "none" if turn.tools == [] else ""
    return ": ".join(filter(None, (turn.toolset, names)))


def _prompt(digest: str | None, text_of: PromptText, detail: bool) -> str:
    """The beginning of its digest, and what it says."""
    if digest is None:
        return ""
    text = (text_of(digest) or "").strip()
    if detail and "\n" in text:
        return f"{digest[:_DIGEST]}\n{text}"
    first, _, more = text.partition("\n")
    return f"{digest[:_DIGEST]} {first}{' …' if more else ''}"


def _rule(rule: Any) -> str:
    """A permission, a pattern and an action, as `palaver permit` lists them."""
    if not isinstance(rule, dict):
        return outline(rule)
    return " ".join(str(rule[key]) for key in ("action", "permission", "pattern") if rule.get(key)) or outline(rule)


def _one_line(value: dict[str, Any] | None) -> str:
    return ", ".join(outline(value).split("\n")) if value else ""
