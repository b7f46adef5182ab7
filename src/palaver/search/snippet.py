"""The part of a text that shows best why it was found, and where in it the terms are.

Marks are offsets into the snippet, so nothing that stands in a text can be taken for one. The best part has most of the
terms in it; of equals, the first. Of each term so many places are looked at that a text of any size takes little time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate, islice
from typing import NamedTuple

from .characters import heaps_of_marks, is_unspaced, is_word, run_spans
from .match import literal_places
from .origins import Origins
from .tree import Node, Term, positive_terms
from .words import cut, runs_by_piece

SIZE = 200  # characters, about
MOST_PLACES = 100_000  # that are looked at, for all terms
_WORD_CUT = 30  # characters that are given up at most, so that a word is not cut
_SPACES = re.compile(r"\s+")


class Snippet(NamedTuple):
    text: str
    marks: list[tuple[int, int]]


class _Place(NamedTuple):
    """In the folded text."""

    start: int
    end: int
    term: int


def snippet(tree: Node | None, text: str, *, size: int = SIZE) -> Snippet:
    """About `size` characters of a text around what was looked for, on one line, and the places of it."""
    reading = _Reading(text)
    places = reading.places(list(positive_terms(tree)))
    folded, place = reading.origins.folded, reading.origins.place
    start, end = _cut_out(folded, _best(places, size), size)
    shown = (each for each in places if each.start < end and each.end > start)
    marks = _merged(place(max(start, each.start), min(end, each.end)) for each in shown)
    line, marks = _line(reading.origins.text, place(start, end) if start < end else (0, 0), marks)
    before, after = "…" if folded[:start].strip() else "", "…" if folded[end:].strip() else ""
    return Snippet(before + line + after, [(first + len(before), last + len(before)) for first, last in marks])


# ---------------------------------------------------------------- where the terms are


class _Reading:
    """A text, and where its runs are: in the folded text, and in a row, each between two spaces."""

    def __init__(self, text: str) -> None:
        self.origins = Origins(text)
        self._text = text

    @cached_property
    def _runs_by_piece(self) -> dict[str, set[str]]:
        return runs_by_piece(self._text)

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        return run_spans(self.origins.folded)

    @cached_property
    def _texts(self) -> list[str]:
        folded = self.origins.folded
        return [cut(folded[start:end]) for start, end in self._runs]

    @cached_property
    def _stream(self) -> str:
        return f" {' '.join(self._texts)} "

    @cached_property
    def _starts(self) -> list[int]:
        """Of each run, in the row."""
        return [*accumulate(self._texts, lambda at, run: at + len(run) + 1, initial=1)]

    def places(self, terms: list[Term]) -> list[_Place]:
        most = MOST_PLACES // max(1, len(terms))
        return sorted(_Place(*span, at) for at, term in enumerate(terms) for span in islice(self._find(term), most))

    def _find(self, term: Term) -> Iterator[tuple[int, int]]:
        if term.literal is not None:
            yield from self._find_literal(term, term.literal)
            return
        yield from self._find_runs(term.needle)
        for run in self._with_piece(term) if len(term.words) == 1 else ():
            yield from self._find_runs(f" {run} ")

    def _find_literal(self, term: Term, literal: str) -> Iterator[tuple[int, int]]:
        folded = self.origins.folded
        for start in literal_places(term, folded):
            end = start + len(literal)
            while term.last_is_prefix and is_word(folded, end):
                end += 1
            yield start, end

    def _find_runs(self, needle: str) -> Iterator[tuple[int, int]]:
        at = self._stream.find(needle)
        while at >= 0:
            yield self._place(at + needle.startswith(" "), at + len(needle) - needle.endswith(" "))
            at = self._stream.find(needle, at + 1)

    def _place(self, start: int, end: int) -> tuple[int, int]:
        """From the row of runs to the folded text. A word is shown whole, also if only its beginning was looked for."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        (first_start, _), (last_start, last_end) = self._runs[first], self._runs[last]
        is_part = is_unspaced(self._stream[self._starts[last]])
        ends_at = last_start + end - self._starts[last] if is_part else last_end
        return first_start + start - self._starts[first], ends_at

    def _with_piece(self, term: Term) -> set[str]:
        [word] = term.words
        if not term.last_is_prefix:
            return self._runs_by_piece.get(word, set())
        return {run for piece, runs in self._runs_by_piece.items() if piece.startswith(word) for run in runs}


# ---------------------------------------------------------------- which part is shown


def _best(places: list[_Place], size: int) -> tuple[int, int] | None:
    """The first stretch that has most of the terms in it."""
    best, most, left = None, 0, 0
    inside: dict[int, int] = {}  # how often a term is between left and the place
    for place in places:
        inside[place.term] = inside.get(place.term, 0) + 1
        while place.end - places[left].start > size and places[left] is not place:
            _take_away(inside, places[left].term)
            left += 1
        if len(inside) > most:
            best, most = (places[left].start, place.end), len(inside)
    return best


def _take_away(counts: dict[int, int], key: int) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _cut_out(folded: str, best: tuple[int, int] | None, size: int) -> tuple[int, int]:
    """The best stretch with what is around it, at borders of words where they are near."""
    indent = len(folded) - len(folded.lstrip())
    first, last = best or (indent, indent)
    last = min(last, first + size)
    end = min(len(folded), max(0, first - (size - last + first) // 2) + size)
    start = max(0, end - size)
    return (
        _first_border(folded, range(start, min(first, start + _WORD_CUT) + 1), offset=0),
        _first_border(folded, range(end, max(last, end - _WORD_CUT) - 1, -1), offset=-1),
    )


def _first_border(folded: str, places: range, *, offset: int) -> int:
    """The first of these that splits no word and has no space at its inner side; the first of all if there is none."""
    fine = (at for at in places if folded[at + offset : at + offset + 1] != " " and not _splits(folded, at))
    return next(fine, places[0])


def _splits(folded: str, at: int) -> bool:
    return is_word(folded, at - 1) and is_word(folded, at)


def _merged(marks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(marks):
        first, last = merged[-1] if merged else (start, start)
        if start < last:
            merged[-1] = first, max(end, last)
        else:
            merged.append((start, end))
    return merged


def _line(text: str, part: tuple[int, int], marks: list[tuple[int, int]]) -> Snippet:
    """A part of a text on one line, with the marks where they are then."""
    line, moved, (at, part_end) = "", [], part
    for start, end in marks:
        line += _plain(text[at:start])
        marked = _plain(text[start:end])
        moved.append((len(line), len(line) + len(marked)))
        line += marked
        at = end
    return Snippet(line + _plain(text[at:part_end]), moved)


def _plain(text: str) -> str:
    """White space as one space, and no more than a few marks on a character."""
    text = _SPACES.sub(" ", text)
    return text if text.isascii() else heaps_of_marks().sub(r"\1", text)
