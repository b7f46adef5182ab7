"""What a process said about its own work, and what must follow from it. Standard library only.

Every call on the store is announced by one line before it, and answered by one line after it returned. A line is one
`write` on an O_APPEND descriptor, so a kill cannot tear it: a call without an answer was in flight. What was answered
is what a client was told; it must be in the store for ever. What was in flight may be there, whole, or not at all.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

FINAL = ("output-available", "output-error", "output-denied")
COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write")


# ---------------------------------------------------------------- writing it


class Log:
    """The side of the worker. Each thread is a worker of its own."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._numbers = itertools.count()

    def mark(self, name: str) -> None:
        self._line({"mark": name})

    def call(
        self,
        verb: str,
        work: Callable[[], Any],
        answer: Callable[[Any], dict[str, Any]] = lambda _: {},
        refused: type[BaseException] | tuple[type[BaseException], ...] = (),
        **facts: Any,
    ) -> Any:
        """Announce, do, acknowledge. A refusal that may happen is acknowledged too, and is the result."""
        key = {"by": f"{os.getpid()}/{threading.get_ident()}", "n": next(self._numbers)}
        self._line({**key, "do": verb, **facts})
        try:
            result = work()
        except refused as error:
            late = getattr(error, "late", None) or getattr(error, "stray", None)
            self._line({**key, "no": type(error).__name__, "kept": late})
            return error
        self._line({**key, "ok": answer(result)})
        return result

    def _line(self, value: dict[str, Any]) -> None:
        """On a line of its own, even after one that somebody was killed in."""
        os.write(self._fd, b"\n" + json.dumps(value).encode() + b"\n")


# ---------------------------------------------------------------- reading it


@dataclass
class Call:
    """One call: `ok` is its answer, `no` its refusal; neither: it was in flight when its process died."""

    verb: str
    facts: dict[str, Any]
    ok: dict[str, Any] | None = None
    no: str | None = None
    kept: str | None = None

    @property
    def in_flight(self) -> bool:
        return self.ok is None and self.no is None


@dataclass
class TurnStory:
    """What was done to one turn, in order."""

    id: str
    session: str
    said: str | None
    calls: list[Call] = field(default_factory=list)

    def endings(self) -> Iterator[list[Call]]:
        """Every way it may have gone: with and without each call that was in flight."""
        unsure = [call for call in self.calls if call.in_flight]
        for kept in itertools.product((False, True), repeat=len(unsure)):
            gone = [id(call) for call, keep in zip(unsure, kept, strict=True) if not keep]
            yield [call for call in self.calls if call.no is None and id(call) not in gone]

    def shown(self) -> list[dict[str, Any]]:
        """The chunks that a client was sent: those whose write had returned."""
        return [chunk for call in self.calls if call.verb == "write" and call.ok is not None for chunk in chunks(call)]

    def was_refused(self) -> bool:
        return any(call.no == "HeadConflict" for call in self.calls)


def chunks(call: Call) -> list[dict[str, Any]]:
    return list(call.facts["chunks"])


class History:
    def __init__(self, path: str) -> None:
        self.calls: list[Call] = []
        self.marks = 0
        open_calls: dict[tuple[str, int], Call] = {}
        for line in _lines(path):
            if "mark" in line:
                self.marks += 1
                continue
            key = (line.pop("by"), line.pop("n"))
            if "do" in line:
                call = open_calls[key] = Call(line.pop("do"), line)
                self.calls.append(call)
            else:
                call = open_calls[key]
                call.ok, call.no, call.kept = line.get("ok"), line.get("no"), line.get("kept")

    def acknowledged(self, *verbs: str) -> list[Call]:
        return [call for call in self.calls if call.ok is not None and call.verb in verbs]

    def turns(self) -> dict[str, TurnStory]:
        """Turns that a client knows the id of, with everything done to them since."""
        found: dict[str, TurnStory] = {}
        for call in self.calls:
            if call.verb in ("begin", "regenerate", "edit") and call.ok is not None:
                turn = call.ok["turn"]
                found[turn] = TurnStory(turn, call.facts["session"], call.facts.get("said"))
            elif "turn" in call.facts:
                found[call.facts["turn"]].calls.append(call)
        return found

    def said(self, *, sure: bool) -> list[str]:
        """What the user said; `sure`: and was told that it is kept. A call that was refused kept nothing."""
        calls = [call for call in self.calls if call.facts.get("said") is not None and call.no is None]
        return [call.facts["said"] for call in calls if call.ok is not None or not sure]


def _lines(path: str) -> Iterator[dict[str, Any]]:
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        for line in file:
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError:  # its process was killed in the middle of it: nobody was told
                    continue


# ---------------------------------------------------------------- what parts must follow


def parts_of(calls: list[Call]) -> list[dict[str, Any]]:
    """The parts that some chunks and answers make: a fold of its own, for the kinds the workloads send."""
    parts: list[dict[str, Any]] = []
    for call in calls:
        if call.verb == "write":
            for chunk in chunks(call):
                _apply(parts, chunk)
        elif call.verb == "resolve":
            _resolve(parts, call.facts)
    return parts


def parts_of_chunks(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return parts_of([Call("write", {"chunks": stored})])


def closed(parts: list[dict[str, Any]], status: str) -> list[dict[str, Any]]:
    """The same parts as a seal leaves them: no tool is open, and a text that was cut off says that it is done."""
    return [_closed(dict(part), status) for part in parts]


def _closed(part: dict[str, Any], status: str) -> dict[str, Any]:
    if part["kind"] == "tool" and part["state"] == "approval-responded" and not part["approval"]["approved"]:
        part["state"] = "output-denied"
    elif part["kind"] == "tool" and part["state"] not in FINAL:
        part |= {"state": "output-error", "error": "interrupted"}
        if not (part["approval"] or {}).get("approved"):
            part["approval"] = None
    elif part.get("state") == "streaming" and status != "completed":
        part["state"] = "done"
    return part


def brief(part: dict[str, Any]) -> dict[str, Any]:
    """A stored part in the same terms."""
    kind = part["type"]
    if kind in ("text", "reasoning"):
        return {"kind": kind, "text": part["text"], "state": part["state"]}
    if not kind.startswith("tool-"):
        return {"kind": kind}
    return {
        "kind": "tool",
        "name": kind.removeprefix("tool-"),
        "call": part["toolCallId"],
        "state": part["state"],
        "raw": part.get("rawInput"),
        "input": None if "rawInput" in part else part.get("input"),
        "output": part.get("output"),
        "error": part.get("errorText"),
        "approval": part.get("approval"),
    }


def _apply(parts: list[dict[str, Any]], chunk: dict[str, Any]) -> None:
    kind = chunk["type"]
    name, _, step = kind.rpartition("-")
    if kind == "start-step":
        parts.append({"kind": "step-start"})
    elif name in ("text", "reasoning"):
        _apply_text(parts, name, step, chunk)
    elif kind == "tool-input-start":
        parts.append(_new_tool(chunk, state="input-streaming"))
    elif kind == "tool-input-delta":
        part = _tool(parts, chunk["toolCallId"])
        part["raw"] = (part["raw"] or "") + chunk["inputTextDelta"]
    elif kind.startswith("tool-"):
        _apply_tool(parts, kind, chunk)


def _apply_text(parts: list[dict[str, Any]], name: str, step: str, chunk: dict[str, Any]) -> None:
    if step == "start":
        parts.append({"kind": name, "text": "", "state": "streaming"})
        return
    part = next(p for p in reversed(parts) if p["kind"] == name)
    if step == "delta":
        part["text"] += chunk["delta"]
    else:
        part["state"] = "done"


def _apply_tool(parts: list[dict[str, Any]], kind: str, chunk: dict[str, Any]) -> None:
    if kind == "tool-input-available":
        if not any(p.get("call") == chunk["toolCallId"] for p in parts):
            parts.append(_new_tool(chunk, state=""))
        _tool(parts, chunk["toolCallId"]).update(state="input-available", input=chunk["input"], raw=None)
        return
    part = _tool(parts, chunk["toolCallId"])
    if kind == "tool-approval-request":
        part.update(state="approval-requested", approval={"id": chunk["approvalId"]})
    elif kind == "tool-output-available":
        part.update(state="output-available", output=chunk["output"])
    elif kind == "tool-output-error":
        part.update(state="output-error", error=chunk["errorText"])


def _resolve(parts: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    part = _tool(parts, facts["call"])
    if "output" in facts:
        part.update(state="output-available", output=facts["output"])
    elif "error" in facts:
        part.update(state="output-error", error=facts["error"])
    else:
        part.update(state="approval-responded", approval=part["approval"] | {"approved": facts["approved"]})


def _new_tool(chunk: dict[str, Any], *, state: str) -> dict[str, Any]:
    empty = {"raw": None, "input": None, "output": None, "error": None, "approval": None}
    return {"kind": "tool", "name": chunk["toolName"], "call": chunk["toolCallId"], "state": state, **empty}


def _tool(parts: list[dict[str, Any]], call_id: str) -> dict[str, Any]:
    return next(p for p in reversed(parts) if p.get("call") == call_id)
