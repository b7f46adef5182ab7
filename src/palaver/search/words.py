"""A text as words, for an index: one segmentation for both engines, so that they find the same.

A **run** is a word, or a stretch of an unspaced script, folded. A word counts with its first 64 characters. Of an
unspaced run every two neighbours are a word of the index, and its last character is one: `日本語` → 日本 本語 語.
Whoever looks for n characters of it looks for the n - 1 pairs side by side; for one, for a word that begins with it.

A **piece** is a part of a word in which a capital follows a small letter, or ends a row of capitals: `getUserName` →
get user name, `HTTPServer2` → http server 2. Digits are pieces only of such words (`sha256`, `utf8` and `a3f9` are one
word), so that identifiers are found by their parts and hexadecimal numbers do not fill the index. In `foo_bar` the
underscore separates, so foo and bar are words already. Pieces are of the whole text: each is there once, and not if it
is a word, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from operator import add
from typing import NamedTuple

from .characters import cased_runs_of, fold, is_unspaced, runs_of, without_data_urls

LONGEST = 64  # characters of a word that count

_BORDER = re.compile(r"[a-z][0-9]*[A-Z]|[A-Z]{2}[a-z]")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


TITLED = "\ue000"  # among the pieces of a document with a title in it: no text and no query has it as a word


class Segments(NamedTuple):
    """What is indexed of a text. The position of a word is its place in the list; pieces have none."""

    words: list[str]
    pieces: list[str]


def segment(text: str) -> Segments:
    """The words of a text in their order, and its pieces."""
    words = expand(runs(text))
    return Segments(words, pieces(text, words))


def runs(text: str) -> list[str]:
    """Words and unspaced runs, in their order."""
    found = runs_of(without_data_urls(text))
    if max(map(len, found), default=0) > LONGEST:
        found = [cut(run) for run in found]
    return found


def cut(run: str) -> str:
    """What counts of a run: 64 characters of a word, all of an unspaced one."""
    return run if len(run) <= LONGEST or is_unspaced(run) else run[:LONGEST]


def expand(found: list[str]) -> list[str]:
    """The words of the index: unspaced runs become pairs and their last character."""
    if all(map(str.isascii, found)):
        return found
    words: list[str] = []
    for run in found:
        if is_unspaced(run):
            words += pairs(run)
            words.append(run[-1])
        else:
            words.append(run)
    return words


def pairs(run: str) -> list[str]:
    return [*map(add, run, run[1:])]


# ---------------------------------------------------------------- pieces


def pieces(text: str, words: Iterable[str] = ()) -> list[str]:
    """The pieces of a text that are not among its words."""
    found = {piece: None for run in _cased_runs(text) for piece in pieces_of(run)}
    known = set(words) if found else ()
    return [piece for piece in found if piece not in known]


def runs_by_piece(text: str) -> dict[str, set[str]]:
    """Which runs have a piece."""
    found: dict[str, set[str]] = {}
    for run in _cased_runs(text):
        for piece in pieces_of(run):
            found.setdefault(piece, set()).add(cut(fold(run)))
    return found


def _cased_runs(text: str) -> Iterable[str]:
    """Each run that may have pieces, once, as it was written."""
    text = without_data_urls(text)
    if not _BORDER.search(text) if text.isascii() else text == text.lower():
        return ()
    return (run for run in dict.fromkeys(cased_runs_of(text)) if not run.islower())


@lru_cache(maxsize=16_384)
def pieces_of(run: str) -> tuple[str, ...]:
    """The pieces of one run, as it was written."""
    run = run[:LONGEST]
    shape = run if run.isascii() else "".join(map(_shape, run))
    if not _BORDER.search(shape):
        return ()
    found = (fold(run[piece.start() : piece.end()]) for piece in _PIECE.finditer(shape))
    return tuple(piece for piece in found if piece)


def _shape(character: str) -> str:
    return "A" if character.isupper() else "0" if character.isdecimal() else "a"
