"""Does a text have what was typed? Once more, in the plainest way: character by character, by their names.

Shares nothing with the product, knows no index and no query language: one term at a time, with quotes and a star gone.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from unicodedata import category, name, normalize

UNSPACED = (
    *("CJK ", "IDEOGRAPHIC ", "HIRAGANA ", "KATAKANA", "COMBINING KATAKANA", "HANGUL ", "THAI ", "LAO ", "KHMER "),
    "MYANMAR ",
)
PLAIN = {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "’": "'", "‘": "'", "“": '"', "”": '"', "‐": "-"}


@lru_cache(maxsize=10_000)
def kind(character: str) -> str:
    if category(character)[0] not in "LN" and not is_mark(character):
        return ""
    return "unspaced" if name(character, "").startswith(UNSPACED) else "word"


def is_accented(character: str) -> bool:
    return name(character, "").startswith(("LATIN ", "GREEK "))


def seen(text: str) -> str:
    return "".join(c for c in text if category(c) != "Cf" and not name(c, "").startswith("VARIATION SELECTOR"))


def is_mark(character: str) -> bool:
    return category(character) in ("Mn", "Mc")


@lru_cache(maxsize=10_000)
def fold(text: str) -> str:
    folded = ""
    for character in normalize("NFKD", seen(text)):
        if is_mark(character) and kind(character) == "word":
            letter = folded.rstrip("".join(filter(is_mark, folded)))[-1:]
            if not letter or is_accented(letter) or kind(letter) != "word":
                continue
        folded += character
    folded = "".join(PLAIN.get(each, each) for each in folded.casefold())
    return " ".join(normalize("NFKC", folded).split())


@lru_cache(maxsize=10_000)
def runs(folded: str) -> list[str]:
    """What counts of each."""
    return [run if kind(run[0]) == "unspaced" else run[:64] for run in whole_runs(folded)]


def whole_runs(folded: str) -> list[str]:
    found: list[str] = []
    before = ""
    for character in folded:
        now = kind(character)
        if now and now == before:
            found[-1] += character
        elif now:
            found.append(character)
        before = now
    return found


@lru_cache(maxsize=10_000)
def pieces(text: str) -> set[str]:
    found: set[str] = set()
    for run in runs_as_written(text):
        cuts = [at for at in range(1, len(run)) if is_cut(run, at)]
        if any(is_border(run, at) for at in cuts):
            ends = [0, *cuts, len(run)]
            found |= {fold(run[start:end]) for start, end in pairwise(ends)}
    return found


def runs_as_written(text: str) -> list[str]:
    spaced = "".join(each if kind(each) == "word" else " " for each in normalize("NFKC", seen(text)))
    return [run[:64] for run in spaced.split()]


def is_cut(run: str, at: int) -> bool:
    return run[at - 1].isdigit() != run[at].isdigit() or is_border(run, at)


def is_border(run: str, at: int) -> bool:
    """A capital after a small letter, digits between them aside; or the last of a row of capitals, before a small one.
    A letter that has no capital is a small one."""
    before = run[:at].rstrip("0123456789")[-1:]
    after_small = run[at].isupper() and before != "" and not before.isupper()
    following = run[at + 1 : at + 2]
    is_before_small = following != "" and not following.isupper() and not following.isdigit()
    ends_a_row = run[at - 1 : at + 1].isupper() and run[at].isupper() and is_before_small
    return after_small or (run[at - 1].isupper() and ends_a_row)


def matches(typed: str, text: str, *, prefix: bool = False) -> bool:
    wanted, folded = fold(typed), fold(text)
    if wanted.split() != whole_runs(wanted):
        return has_literal(folded, wanted, prefix)
    words = runs(wanted)
    if has_words(runs(folded), words, prefix):
        return True
    return len(words) == 1 and any(
        piece == words[0] or (prefix and piece.startswith(words[0])) for piece in pieces(text)
    )


def has_literal(folded: str, literal: str, prefix: bool) -> bool:
    for at in range(len(folded)):
        end = at + len(literal)
        if not folded.startswith(literal, at):
            continue
        if kind(literal[0]) == "word" and at and kind(folded[at - 1]) == "word":
            continue
        if kind(literal[-1]) == "word" and not prefix and end < len(folded) and kind(folded[end]) == "word":
            continue
        return True
    return False


def has_words(found: list[str], words: list[str], prefix: bool) -> bool:
    return any(side_by_side(found[at : at + len(words)], words, prefix) for at in range(len(found)))


def side_by_side(found: list[str], words: list[str], prefix: bool) -> bool:
    """Of an unspaced run a part is enough: at the beginning its end, at the end its beginning."""
    if len(found) < len(words) or found[1:-1] != words[1:-1]:
        return False
    first_is_open = kind(words[0][0]) == "unspaced"
    last_is_open = kind(words[-1][0]) == "unspaced" or prefix
    if len(words) == 1:
        [run], [word] = found, words
        if first_is_open:
            return word in run
        return run.startswith(word) if prefix else run == word
    begins = found[0].endswith(words[0]) if first_is_open else found[0] == words[0]
    ends = found[-1].startswith(words[-1]) if last_is_open else found[-1] == words[-1]
    return begins and ends
