"""A small reducer of our own for the chunks that the machine sends: what the response must look like.

It knows the chunk kinds of `options` and no others; every chunk it offers fits the stream so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FINAL = ("output-available", "output-error", "output-denied")
Chunk = dict[str, Any]


@dataclass
class Fold:
    """The response while it streams."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)  # open text and reasoning: chunk id -> part
    tools: dict[str, tuple[int, int]] = field(default_factory=dict)  # call id -> part, step
    step: int = 0
    chunks: int = 0
    ended_as: str = "completed"

    def unresolved(self) -> list[str]:
        return [call for call, (index, _) in self.tools.items() if self.parts[index]["state"] not in FINAL]

    def state_of(self, call: str) -> str:
        return str(self.parts[self.tools[call][0]]["state"])

    # ------------------------------------------------------------ one chunk

    def apply(self, chunk: Chunk) -> None:
        self.chunks += 1
        merge(self.metadata, chunk.get("messageMetadata") or {})
        kind = chunk["type"]
        if kind in ("text-start", "reasoning-start"):
            self._open_text(kind.split("-")[0], chunk["id"])
        elif kind in ("text-delta", "reasoning-delta"):
            self.parts[self.texts[chunk["id"]]]["text"] += chunk["delta"]
        elif kind in ("text-end", "reasoning-end"):
            self.parts[self.texts.pop(chunk["id"])]["state"] = "done"
        elif kind == "start-step":
            self.parts.append({"type": "step-start"})
            self.step += 1
        elif kind == "finish-step":
            self.texts.clear()
        elif kind.startswith("data-"):
            self._data(chunk)
        elif kind.startswith("tool-"):
            self._tool(chunk)
        elif kind in ("abort", "error"):
            self.ended_as = "aborted" if kind == "abort" else "failed"

    def _open_text(self, kind: str, name: str) -> None:
        self.texts[name] = len(self.parts)
        named = {"id": name} if kind == "reasoning" else {}
        self.parts.append({"type": kind, **named, "text": "", "state": "streaming"})

    def _data(self, chunk: Chunk) -> None:
        if chunk.get("transient"):
            return
        for part in self.parts:
            if part["type"] == chunk["type"] and part.get("id") == chunk["id"]:
                part["data"] = chunk["data"]
                return
        self.parts.append(dict(chunk))

    def _tool(self, chunk: Chunk) -> None:
        call = chunk["toolCallId"]
        if call not in self.tools:
            self.tools[call] = (len(self.parts), self.step)
            self.parts.append({"type": "tool-run", "toolCallId": call, "state": "input-streaming"})
        part = self.parts[self.tools[call][0]]
        kind = chunk["type"]
        if kind == "tool-input-delta":
            part |= {"input": {"q": 1}, "rawInput": chunk["inputTextDelta"]}
        elif kind == "tool-input-available":
            part.pop("rawInput", None)
            part |= {"state": "input-available", "input": chunk["input"]}
        elif kind == "tool-approval-request":
            part |= {"state": "approval-requested", "approval": {"id": chunk["approvalId"]}}
        elif kind == "tool-output-available":
            self.put_output(call, chunk["output"])
        elif kind == "tool-output-error":
            self.put_error(call, chunk["errorText"])

    # ------------------------------------------------------------ from outside

    def put_output(self, call: str, output: Any) -> None:
        part = self.parts[self.tools[call][0]]
        part.pop("rawInput", None)
        part.pop("errorText", None)
        part |= {"state": "output-available", "output": output}

    def put_error(self, call: str, text: str) -> None:
        part = self.parts[self.tools[call][0]]
        part.pop("output", None)
        part |= {"state": "output-error", "errorText": text}

    def answer(self, call: str, approved: bool, reason: str | None) -> None:
        part = self.parts[self.tools[call][0]]
        part["approval"] = part["approval"] | {"approved": approved} | ({"reason": reason} if reason else {})
        part["state"] = "approval-responded"

    def is_denied(self, call: str) -> bool:
        part = self.parts[self.tools[call][0]]
        return part["state"] == "approval-responded" and not part["approval"]["approved"]

    def close(self, status: str) -> None:
        """The seal: no tool stays open; texts are ended unless the turn was completed."""
        for call in self.unresolved():
            part = self.parts[self.tools[call][0]]
            if self.is_denied(call):
                part["state"] = "output-denied"
                continue
            self.put_error(call, "interrupted")
            if not part.get("approval", {}).get("approved"):
                part.pop("approval", None)
        if status != "completed":
            for part in self.parts:
                if part["type"] in ("text", "reasoning"):
                    part["state"] = "done"


def merge(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Objects are merged key by key, everything else is replaced."""
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            merge(old[key], value)
        else:
            old[key] = dict(value) if isinstance(value, dict) else value


def options(fold: Fold, new: str, may_count: bool) -> list[Chunk]:
    """Every chunk that fits now; `new` names what it opens. `may_count`: usage may come in the metadata."""
    if fold.chunks == 0:
        return [
            {"type": "start", "messageId": f"a-{new}"},
            {"type": "start"},
            {"type": "start", "messageId": f"msg_{new:0>26}", "messageMetadata": {"m": new}},
            {"type": "start-step"},
            {"type": "text-start", "id": f"t-{new}"},
        ]
    found: list[Chunk] = [
        {"type": "text-start", "id": f"t-{new}"},
        {"type": "reasoning-start", "id": f"r-{new}"},
        {"type": "tool-input-start", "toolCallId": f"c-{new}", "toolName": "run"},
        {"type": "tool-input-available", "toolCallId": f"c-{new}", "toolName": "run", "input": {"q": new}},
        {"type": "start-step"},
        {"type": "finish-step"},
        {"type": "data-note", "id": "n", "data": {"new": new}},
        {"type": "data-note", "id": "n", "data": 1, "transient": True},
        {"type": "message-metadata", "messageMetadata": {"k": new}},
        {"type": "finish", "finishReason": "stop", "messageMetadata": {"f": new}},
        {"type": "abort"},
        {"type": "error", "errorText": "no"},
    ]
    if may_count:
        found.append({"type": "message-metadata", "messageMetadata": {"usage": {"input": 7, "output": 2}}})
    for name in fold.texts:
        kind = "text" if name.startswith("t-") else "reasoning"
        found += [{"type": f"{kind}-delta", "id": name, "delta": f"<{new}>"}] * 2
        found.append({"type": f"{kind}-end", "id": name})
    for call in fold.unresolved():
        found += _tool_options(fold, call, new)
    return found


def _tool_options(fold: Fold, call: str, new: str) -> list[Chunk]:
    index, step = fold.tools[call]
    state = fold.state_of(call)
    named = {"toolCallId": call}
    if state == "input-streaming":
        if step != fold.step:
            return []
        delta = {"type": "tool-input-delta", **named, "inputTextDelta": '{"q":1}'}
        whole = {"type": "tool-input-available", **named, "toolName": "run", "input": {"q": new}}
        return [whole] if "rawInput" in fold.parts[index] else [delta, whole]
    results: list[Chunk] = [
        {"type": "tool-output-available", **named, "output": {"out": new}},
        {"type": "tool-output-error", **named, "errorText": f"failed {new}"},
    ]
    if state == "input-available":
        return [*results, {"type": "tool-approval-request", **named, "approvalId": f"p-{new}"}]
    return results if state == "approval-responded" else []
