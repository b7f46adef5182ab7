"""A document's words as tsvectors. One alone would lose words: it keeps 255 positions of a word, positions up to
16,383, and 1 MB.

So a document is cut into slices that stay far below. Neighbours overlap by 32 words: a phrase of as many is whole in
one of them. Pieces have no order and no phrases; they are dealt out over the same slices, and more if they do not fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from .candidates import LONGEST_PHRASE
from .tsquery import quoted

MOST_POSITIONS = 8_000
MOST_OF_ONE_WORD = 200
MOST_BYTES = 256 * 1024  # of words, and of pieces: 512 KB together
_PER_WORD = 8  # bytes that Postgres adds to a word: its entry, its position


def slices(words: Sequence[str], pieces: Sequence[str] = ()) -> Iterator[str]:
    """The tsvectors of a document, as text (`%s::tsvector`): words with the weight A, pieces with B."""
    of_words = (
        " ".join(f"{quoted(word)}:{at}A" for at, word in enumerate(words[start:end], start=1))
        for start, end in _cuts(words, LONGEST_PHRASE)
    )
    of_pieces = (" ".join(f"{quoted(piece)}:1B" for piece in pieces[start:end]) for start, end in _cuts(pieces, 0))
    for parts in zip_longest(of_words, of_pieces, fillvalue=""):
        yield " ".join(filter(None, parts))


def _cuts(words: Sequence[str], overlap: int) -> Iterator[tuple[int, int]]:
    start = end = 0
    while end < len(words):
        end = _end(words, start)
        yield start, end
        start = end - overlap


def _end(words: Sequence[str], start: int) -> int:
    """How far a slice goes that starts here."""
    if len(words) - start <= MOST_OF_ONE_WORD:
        return len(words)  # words are short: so few are within every limit
    counts: Counter[str] = Counter()
    size = 0
    for at in range(start, min(start + MOST_POSITIONS, len(words))):
        counts[words[at]] += 1
        size += len(words[at].encode()) + _PER_WORD
        if counts[words[at]] > MOST_OF_ONE_WORD or size > MOST_BYTES:
            return at
    return min(start + MOST_POSITIONS, len(words))
