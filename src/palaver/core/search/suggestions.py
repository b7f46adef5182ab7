"""Did you mean …: where nothing was found, words of the index that are one slip away from a word that is not in it.

A slip is a letter too many, too few, another one, or two that changed places. Only what the same search would then find
is suggested, so no word of a document that it may not show comes out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from ...db.engine import Tx
from ...search import tsquery
from ...search.terms import term
from ...search.tree import Node, Term, positive_terms
from ...search.words import runs
from . import records
from .tail import Tail

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_SHORTEST, _LONGEST = 4, 24  # letters of a word that is corrected
_MOST_WORDS = 4  # of a query
_MOST = 8  # suggestions that are tried
_TAIL = 100  # documents that are not indexed yet, whose words are known, too


def suggestion(tx: Tx, tree: Node | None, typed: str, tail: Tail, finds: Callable[[str], bool]) -> str | None:
    """The query with one word corrected, if it finds something."""
    words = [word for each in positive_terms(tree) if (word := _word(each))][:_MOST_WORDS]
    recent = {word for found in islice(tail, _TAIL) for word in runs(found.document.text)} if words else set[str]()
    tried = 0
    for word in words:
        if word in recent or _known(tx, [word]):
            continue
        near = slips(word)
        for better in sorted({*(near & recent), *_known(tx, sorted(near))}):
            corrected = _replaced(typed, word, better)
            if corrected is None or tried == _MOST:
                break
            tried += 1
            if finds(corrected):
                return corrected
    return None


def _word(each: Term) -> str | None:
    """A term that is one plain word."""
    if len(each.words) != 1 or each.literal is not None or each.last_is_prefix:
        return None
    [word] = each.words
    return word if word.isascii() and word.isalpha() and _SHORTEST <= len(word) <= _LONGEST else None


def slips(word: str) -> set[str]:
    return {other for other in _slips(word) if other != word}


def _slips(word: str) -> Iterator[str]:
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield from (before + letter + after for letter in _LETTERS)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in _LETTERS)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def _known(tx: Tx, words: list[str]) -> list[str]:
    """Those that the index has."""
    if tx.words == "fts5":
        return [word for word in words if records.one_with_words.all(tx, match=f'"{word}"')]
    queries = "{" + ",".join(f'"{tsquery.quoted(word)}"' for word in words) + "}"
    found = {row.q for row in records.words_among.all(tx, queries=queries)}
    return [word for word in words if tsquery.quoted(word) in found]


def _replaced(typed: str, word: str, better: str) -> str | None:
    """What was typed, with the word in another spelling; None: it stands there in another form."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    corrected, count = pattern.subn(better, typed, count=1)
    return corrected if count and term(better) is not None else None
