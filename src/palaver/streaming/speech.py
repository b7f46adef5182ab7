"""Speech: what an agent says of its turn in words (`turn.text`, `turn.tool` …), written as chunks.

What was said since the last boundary is remembered: a server that crashes may lose that much of what it acknowledged,
and whoever speaks in words has no chunks to send again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..aisdk import chunks, composing
from ..aisdk.chunks import Item
from ..aisdk.folding import Fold, denied
from ..errors import ChunkGap, Refused
from .recorder import Recorder

Saying = Callable[..., list[composing.Chunk]]  # the fold, and what is said → the chunks that say it


class Speech:
    """For the owner of a turn, one call at a time."""

    def __init__(self, recorder: Recorder, *, is_unended: bool = False) -> None:
        self._recorder = recorder
        self.is_unended = is_unended  # something was said in words: leaving the turn's block says that it is over
        self._first = 0  # the place of the first chunk that is remembered
        self._items: list[Item] = []

    def say(self, saying: Saying, *given: Any) -> None:
        """All or none. How the message stands is looked at now: the caller has locked the turn."""
        try:
            self._say(saying, *given)
        except ChunkGap as gap:
            self._recorder.append(self._since(gap), at=gap.stored)
            self._say(saying, *given)
        self.is_unended = True

    def answer(self, call_id: str, chunk: composing.Chunk) -> None:
        """The answer to a call, once. By itself it is no speech that leaving the block would end."""
        before = self.is_unended
        self.say(_answer, call_id, chunk)
        self.is_unended = before

    def end(self) -> None:
        """Where a tool has no result no `finish` is written: the turn would wait for it, and a seal by hand closes it
        as interrupted."""
        self.say(composing.stop if self._recorder.state.fold.unresolved() else composing.finish)

    def _say(self, saying: Saying, *given: Any) -> None:
        recorder = self._recorder
        recorder.refresh()
        recorder.refuse_ended()
        items, at = [chunks.parse(chunk) for chunk in saying(recorder.state.fold, *given)], recorder.chunks
        recorder.append(items, None)
        self._remember(items, at, is_safe=recorder.is_boundary(items) and not recorder.holds_back)

    def _remember(self, items: list[Item], at: int, *, is_safe: bool) -> None:
        """Chunks that were taken at a place. Those that were written by hand in between are somebody else's to keep."""
        if is_safe or at != self._first + len(self._items):
            self._first, self._items = at, []
        if is_safe:
            self._first += len(items)
        else:
            self._items += items

    def _since(self, gap: ChunkGap) -> list[Item]:
        """What a crash took, to be sent again; raises the gap if that is more than was said."""
        kept = self._items[gap.stored - self._first :] if gap.stored >= self._first else []
        if gap.stored + len(kept) < gap.at or not kept or not all(text for _, text in kept):
            raise gap
        return kept


def _answer(fold: Fold, call_id: str, chunk: composing.Chunk) -> list[composing.Chunk]:
    if not fold.is_unresolved(call_id):
        raise Refused(f"tool call {call_id} has its answer, or was never made; a call is answered once")
    if chunk["type"] == "tool-output-available" and fold.is_denied(call_id):
        raise Refused(denied(call_id))
    return [chunk]
