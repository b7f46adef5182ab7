"""Summaries, and what a model should see, as plain Python.

Where the design leaves room, this is what is expected:

* Loose rows are turns of their own before a summary is put behind them, also beside an open turn.
* Summaries are not counted among the turns that a prune keeps.
* An output that is pruned is pruned for every session that shares its row.
* The system prompt is that of the latest answer, also where a summary stands for that answer; a turn that was begun
  under one has it before its first chunk.
"""

from __future__ import annotations

import copy
from typing import Any

from .fold import FINAL
from .model import Refusal
from .nouns import Counts, Entry, Session, Summary, Turn
from .queueing import Queueing

Shown = dict[str, Any]


class World(Queueing):
    """All verbs, and the context."""

    def compact(
        self, name: str, text: str, keep_from: Turn | None, usage: Counts | None, expected: int | None = None
    ) -> Turn:
        session = self.sessions[name]
        self._ready(session, expected, moving_on=True)
        if session.loose() and expected is None:
            self._make_turns_of(session, session.loose())
            self._note("adopted for a summary")
        summary = self._summary(session, text, keep_from)
        told = {} if usage is None else {"usage": {"input": usage[0], "output": usage[1]}}
        turn = self._turn(session, session.head, kind="compaction", status="completed", summary=summary)
        turn.entries = [self._write(session, {"role": "assistant", "metadata": told, "parts": []})]
        if expected is not None:
            self._put_behind(session)
        if usage is not None:
            self._count(turn, usage)
        if session.standing():
            self._note("compact beside an open turn")
        self._move(session, turn, "compact")
        return turn

    def _summary(self, session: Session, text: str, keep_from: Turn | None) -> Summary:
        path = session.path()
        if keep_from is not None and keep_from not in path:
            raise Refusal("NotOnPath" if path else "BadValue")
        gone = path if keep_from is None else path[: path.index(keep_from)]
        if not gone:
            raise Refusal("BadValue")
        return Summary(text, gone[-1], keep_from, sum(turn.kind != "compaction" for turn in gone))

    def prune(self, name: str, keep: int) -> int:
        session = self.sessions[name]
        self._ready(session)
        path, count = [turn for turn in session.path() if turn.summary is None], 0
        for turn in path[: max(0, len(path) - keep)]:
            for entry in turn.entries:
                row = entry.message
                found = {i for i, part in enumerate(row.parts) if part.get("state") == "output-available"}
                count += len(found - row.pruned)
                row.pruned |= found
        return count

    # ------------------------------------------------------------ what a model should see

    def context(self, name: str) -> list[Shown]:
        session = self.sessions[name]
        if session.deleted:
            return []
        return self._seen(session.path(), [Entry(row) for row in session.loose()])

    def context_of(self, turn: Turn) -> list[Shown]:
        """For the turn itself: what is before it, and what it has."""
        return self._seen(turn.parent.path() if turn.parent else [], turn.entries, turn.prompt)

    def _seen(self, path: list[Turn], rest: list[Entry], prompt: str | None = None) -> list[Shown]:
        everything = [entry for turn in path for entry in turn.entries] + rest
        prompt = prompt or self._prompt(everything)
        seen = [] if prompt is None else [_system("system", prompt)]
        last = next((turn for turn in reversed(path) if turn.summary is not None), None)
        if last is not None and last.summary is not None:
            path = self._kept(path, last, last.summary.first_kept)
            seen.append(_system(last.entries[0].shown_id(), last.summary.text))
        entries = [entry for turn in path if turn.summary is None for entry in turn.entries] + rest
        return seen + [shown for shown in map(self._presentable, entries) if shown["parts"]]

    def _kept(self, path: list[Turn], last: Turn, first: Turn | None) -> list[Turn]:
        if first is None or first not in path:
            self._note("context: a summary of everything")
            return path[path.index(last) :]
        self._note("context: kept turns")
        return path[path.index(first) :]

    def _prompt(self, entries: list[Entry]) -> str | None:
        digests = [e.message.metadata.get("system_prompt_digest") for e in entries if e.message.role == "assistant"]
        found = [digest for digest in digests if digest is not None]
        return self.prompts[found[-1]] if found else None

    def _presentable(self, entry: Entry) -> Shown:
        shown = copy.deepcopy(entry.ui())
        for place in entry.message.pruned:
            shown["parts"][place]["output"] = "[output pruned]"
            self._note("context: a pruned output")
        if any(_is_open(part) for part in shown["parts"]):
            _close(shown["parts"])
            self._note("context: an open tool is closed")
        for part in shown["parts"]:
            _settle(part)
        return shown


def _system(name: str | None, text: str) -> Shown:
    return {"id": name, "role": "system", "parts": [{"type": "text", "text": text}]}


def _is_open(part: Shown) -> bool:
    return part["type"].startswith("tool-") and part["state"] not in FINAL


def _close(parts: list[Shown]) -> None:
    for part in parts:
        if _is_open(part) and part["state"] == "approval-responded" and not part["approval"]["approved"]:
            part["state"] = "output-denied"
        elif _is_open(part):
            part |= {"state": "output-error", "errorText": "interrupted"}
        elif part.get("state") == "streaming":
            part["state"] = "done"


def _settle(part: Shown) -> None:
    """The SDK refuses a result beside an approval that was not granted."""
    if part.get("state") == "output-available":
        part.setdefault("input", {})
    if part.get("state") in ("output-available", "output-error") and not part.get("approval", {}).get("approved"):
        part.pop("approval", None)


def named_part(summary: Summary, usage: Counts | None) -> Shown:
    """The part that a compaction's message holds, once every turn has its id."""
    data: dict[str, Any] = {
        "summary": summary.text,
        "summarized_through_turn_id": summary.through.id,
        "turns_summarized": summary.turns,
        "compaction_type": "summary",
    }
    if summary.first_kept is not None:
        data["first_kept_turn_id"] = summary.first_kept.id
    if usage is not None:
        data |= {"summarization_input_tokens": usage[0], "summarization_output_tokens": usage[1]}
    return {"type": "data-compaction", "data": data}
