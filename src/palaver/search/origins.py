"""Where a place of a folded text is in the text as it was written: folding changes lengths (ﬁ → fi, e + ´ → e).

A text is folded in blocks that do not touch each other, so that only the blocks one asks about are looked at character
by character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from .characters import begins_afresh, clusters, fold, is_unspaced, one_space, run_spans, without_data_urls
from .words import cut

_BLOCK = 250  # characters
_SPACES_OR_ONE = re.compile(r"\s+|\S")


class Span(NamedTuple):
    """A word and its place in the text as it was written."""

    word: str
    start: int
    end: int


def spans(text: str) -> Iterator[Span]:
    """The words of `words.segment`, each with its place."""
    origins = Origins(text)
    for start, end in run_spans(origins.folded):
        run = origins.folded[start:end]
        if not is_unspaced(run):
            yield Span(cut(run), *origins.place(start, end))
            continue
        for at in range(start, end):
            yield Span(run[at - start :][:2], *origins.place(at, min(at + 2, end)))


class Origins:
    """A text, folded as by `fold_text`, and the way back."""

    def __init__(self, text: str) -> None:
        self.text = without_data_urls(text, same_length=True)
        self._blocks = list(_blocks(self.text))
        self._walks: dict[int, Sequence[int]] = {}

    @cached_property
    def folded(self) -> str:
        return "".join(self._folded_blocks)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """What characters of the text the folded ones from start to end come from."""
        first, _ = self._origin(start)
        _, last = self._origin(max(start, end - 1))
        return first, last

    def start(self, at: int) -> int:
        """Where in the text a folded character begins; its end for the end."""
        if at >= len(self.folded):
            return len(self.text)
        first, _ = self._origin(at)
        return first

    @cached_property
    def _folded_blocks(self) -> list[str]:
        return [one_space(fold(self.text[start:end])) for start, end in self._blocks]

    @cached_property
    def _folded_starts(self) -> list[int]:
        starts, at = [], 0
        for block in self._folded_blocks:
            starts.append(at)
            at += len(block)
        return starts

    def _origin(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._folded_starts, at) - 1
        start, end = self._blocks[number]
        walk = self._walks.get(number)
        if walk is None:
            walk = self._walks[number] = _walk(self.text[start:end], self._folded_blocks[number])
        inside = at - self._folded_starts[number]
        return start + walk[inside], start + walk[bisect_right(walk, walk[inside], inside)]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Cuts where nothing on the right can become one with what is on the left."""
    start = 0
    while start < len(text):
        end = min(start + _BLOCK, len(text))
        while end < len(text) and not _begins_afresh(text[end]):
            end += 1
        yield start, end
        start = end


@lru_cache(maxsize=4_096)
def _begins_afresh(character: str) -> bool:
    return begins_afresh(character) and not fold(character)[:1].isspace()


def _walk(block: str, folded: str) -> Sequence[int]:
    """For each folded character, where that begins which it comes from; and the end."""
    if len(block) == len(folded) and (block.isascii() or all(map(_stays_one, set(block)))):
        return range(len(block) + 1)
    if not block.isascii():
        return [*_walk_clusters(block), len(block)]
    return [*(found.start() for found in _SPACES_OR_ONE.finditer(block)), len(block)]


def _walk_clusters(block: str) -> Iterator[int]:
    after_space = False
    for cluster in clusters().finditer(block):
        folded = _fold_cluster(cluster[0])
        if after_space and folded[:1] == " ":
            folded = folded[1:]
        yield from (cluster.start() for _ in folded)
        after_space = folded[-1:] == " " if folded else after_space


@lru_cache(maxsize=16_384)
def _stays_one(character: str) -> bool:
    """It becomes one character, and nothing before it changes that."""
    return begins_afresh(character) and len(fold(character)) == 1


@lru_cache(maxsize=4_096)
def _fold_cluster(cluster: str) -> str:
    return one_space(fold(cluster))
