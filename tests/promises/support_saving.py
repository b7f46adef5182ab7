"""Real processes that write a store and are killed, and plain SQL to look at what they left.

A child reports every call on its standard output: a line `do` before it, a line `done` when it returned. What was done
is what a client may rely on; the one thing that was only begun may or may not be in the store.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ..tools.puppet import Puppet
from ..tools.sql import query

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 120.0
Chunk = dict[str, Any]
Part = dict[str, Any]


# ---------------------------------------------------------------- plain SQL


def part_rows(path: str | Path, message_id: str) -> list[Part]:
    found = query(path, 'SELECT data_json FROM chat_parts WHERE message_id = ? ORDER BY "index"', message_id)
    return [json.loads(row[0]) for row in found]


# ---------------------------------------------------------------- processes


class Child(Puppet):
    """A process that runs one of the jobs of support_saving_child, and everything it has said."""

    def __init__(self, job: str, path: str | Path, **options: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        super().__init__("tests.promises.support_saving_child", job, path=str(path), **options)

    def _value(self, line: str) -> Any:
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def read_done(self, count: int) -> None:
        """Wait until so many calls have returned."""
        while count:
            count -= "done" in self.hear()

    def kill(self) -> list[dict[str, Any]]:
        """kill -9, now; everything it said until then."""
        super().kill()
        return self.lines


# ---------------------------------------------------------------- what was said to have been written


class Told:
    """One turn as the writer reported it. `doing`: the call that had begun and not returned."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.chunks: list[Chunk] = []
        self.doing: list[Chunk] = []
        self.id: str | None = None
        self.sealed = False
        self.sealing = False

    @property
    def possible(self) -> list[list[Chunk]]:
        """The sequences of chunks that may be in the store: all that was acknowledged, or the one call more."""
        return [self.chunks, self.chunks + self.doing] if self.doing else [self.chunks]


def told(lines: list[dict[str, Any]]) -> list[Told]:
    turns: list[Told] = []
    for line in lines:
        verb = line.get("do") or line.get("done")
        if verb == "begin" and "do" in line:
            turns.append(Told(line["said"]))
        elif verb == "begin":
            turns[-1].id = line["turn"]
        elif verb == "append" and "do" in line:
            turns[-1].doing = line["chunks"]
        elif verb == "append":
            turns[-1].chunks += turns[-1].doing
            turns[-1].doing = []
        elif verb == "seal":
            turns[-1].sealing, turns[-1].sealed = True, "done" in line
    return turns


def shown(chunks: list[Chunk]) -> list[Part]:
    """The parts that these chunks make, for the few kinds that the writers use; written apart from the product."""
    parts: list[Part] = []
    named: dict[str, Part] = {}
    for chunk in chunks:
        _SHOW.get(chunk["type"], lambda chunk, parts, named: None)(chunk, parts, named)
    return parts


def _new(name: str | None, part: Part, parts: list[Part], named: dict[str, Part]) -> None:
    parts.append(part)
    if name is not None:
        named[name] = part


def _tool(c: Chunk, named: dict[str, Part], **fields: Any) -> None:
    part = named[c["toolCallId"]]
    part.pop("rawInput", None)
    part |= fields


def _grow(part: Part, key: str, text: str) -> None:
    part[key] = part.get(key, "") + text


_SHOW: dict[str, Any] = {
    "start-step": lambda c, p, n: _new(None, {"type": "step-start"}, p, n),
    "text-start": lambda c, p, n: _new(c["id"], {"type": "text", "text": "", "state": "streaming"}, p, n),
    "text-delta": lambda c, p, n: _grow(n[c["id"]], "text", c["delta"]),
    "text-end": lambda c, p, n: n[c["id"]].update(state="done"),
    "tool-input-start": lambda c, p, n: _new(
        c["toolCallId"],
        {"type": f"tool-{c['toolName']}", "toolCallId": c["toolCallId"], "state": "input-streaming"},
        p,
        n,
    ),
    "tool-input-delta": lambda c, p, n: _grow(n[c["toolCallId"]], "rawInput", c["inputTextDelta"]),
    "tool-input-available": lambda c, p, n: _tool(c, n, state="input-available", input=c["input"]),
    "tool-output-available": lambda c, p, n: _tool(c, n, state="output-available", output=c["output"]),
    "tool-output-error": lambda c, p, n: _tool(c, n, state="output-error", errorText=c["errorText"]),
    "data-note": lambda c, p, n: _new(None, dict(c), p, n),
}


def closed(parts: list[Part]) -> list[Part]:
    """The same after the writer died: texts are done, tool calls without a result are interrupted."""
    final = ("output-available", "output-error", "output-denied")
    result = []
    for part in parts:
        if part.get("state") == "streaming":
            part = part | {"state": "done"}
        elif part["type"].startswith("tool-") and part["state"] not in final:
            part = part | {"state": "output-error", "errorText": "interrupted"}
        result.append(part)
    return result


def comparable(parts: list[Part]) -> list[Part]:
    """Input that was read from half a JSON text is left out: its text is there as rawInput."""
    return [{k: v for k, v in part.items() if k != "input" or "rawInput" not in part} for part in parts]


def last_usage(chunks: list[Chunk]) -> dict[str, int]:
    found = [c["messageMetadata"]["usage"] for c in chunks if "usage" in c.get("messageMetadata", {})]
    return found[-1] if found else {}


# ---------------------------------------------------------------- what a kill leaves


class Wreck:
    """A store whose writer was killed, and what the writer had said."""

    def __init__(self, folder: Path, lines: list[dict[str, Any]]) -> None:
        self.folder = folder
        self.lines = lines
        self.turns = told(lines)

    @property
    def path(self) -> str:
        return str(self.folder / "talks.db")

    @property
    def session_id(self) -> str:
        return next(line["session"] for line in self.lines if line.get("done") == "create")

    def copy(self, to: Path) -> Wreck:
        """To be opened, without touching this one."""
        target = to / self.folder.name
        shutil.copytree(self.folder, target, ignore=shutil.ignore_patterns("*-shm"))
        return Wreck(target, self.lines)


def wreck(folder: Path, calls: int, seed: int, **options: Any) -> Wreck:
    """Kill a chattering writer some time after its n-th call returned."""
    folder.mkdir()
    with Child("chatter", folder / "talks.db", seed=seed, **options) as child:
        child.read_done(calls)
        return Wreck(folder, child.kill())
