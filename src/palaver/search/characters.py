"""What a character is to a search, and the form in which two texts are compared.

Three kinds: of a **word** (letters, digits, and the marks that follow them), of an **unspaced** script (Han, kana,
Hangul, Thai, Lao, Khmer, Burmese: letters, digits and marks alike), and everything else, which separates.

`fold` makes a text comparable: NFKC, case-folded, without the accents of Latin and Greek letters (a stroke through a
letter is one, and so is the dot of an i), with plain quotes and hyphens for those of printers, without characters that
nobody sees (zero-width, soft hyphens, variation selectors), and without marks that follow no letter. Kinds are meant of
folded text.

What is known of a character comes from Python's own tables, and is kept when it was first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from unicodedata import category, normalize

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai, Lao, Burmese, Khmer
    r"\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdf"  # Hangul
    r"\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"  # kana
    r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_LATIN_OR_GREEK = r"a-zA-Z\xaa-\u02af\u0370-\u03ff\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f"
_UNSEEN = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_PLAIN = str.maketrans("ıłøđħŧ‘’‛“”„‟‐", 'ilodht\'\'\'""""-')
_MARKS = ("Mn", "Mc")
_OFTEN = 0x20000  # code points below are worth keeping

# Where marks are, and what joins Hangul and kana of full or half width.
_WITH_MARKS = [*range(0x300, 0x1E00), *range(0x20D0, 0x3100), *range(0xA66F, 0xAC00), *range(0xFB1E, 0xFE30)]
_WITH_MARKS_BEYOND = range(0x101FD, 0x1E950)
_BEYOND = r"[\U000101fd-\U0001e94f]"
_HANGUL_OR_HALF_WIDTH = [*range(0x1160, 0x1200), *range(0x3131, 0x318F), *range(0xD7B0, 0xD7FC), *range(0xFF9E, 0xFFDD)]
_VOWEL_OR_FINAL = re.compile(r"[\u1160-\u11ff\ud7b0-\ud7fb]")

_UNSEEN_ONE = re.compile(f"[{_UNSEEN}]")
_RUN = re.compile(f"[{_UNSPACED}]+|[^ {_UNSPACED}]+")  # in a separated text
_UNSPACED_ONE = re.compile(f"[{_UNSPACED}]")
_ACCENTED = re.compile(f"[{_LATIN_OR_GREEK}]")
_SPACES = re.compile(r"\s{2,}|[^\S ]")
_DATA_URL = re.compile(
    r"\bdata:(?=[\w;])(?:[\w.+-]{1,64}/[\w.+*-]{1,64})?(?:;[\w.+-]{1,64}(?:=[\w.+-]{0,64})?){0,8},[\w+/=%.~!*,;:@&$?#-]*",
    re.ASCII,
)


class _Table(dict[int, str]):
    """What becomes of each character, for `str.translate`, filled as they come."""

    def __init__(self, make: Callable[[str], str]) -> None:
        self._make = make

    def __missing__(self, code: int) -> str:
        made = self._make(chr(code))
        if code < _OFTEN:
            self[code] = made
        return made


# ---------------------------------------------------------------- kinds


def runs_of(text: str) -> list[str]:
    """The words and unspaced runs of a text, folded."""
    if text.isascii():
        return text.translate(_separated).lower().split()
    if _may_join().search(text):
        return _split(fold(text).translate(_separated))
    return _split(text.translate(_folded_separated))


def cased_runs_of(text: str) -> list[str]:
    """The same as they were written, but for NFKC."""
    if _may_join().search(text):
        text = normalize("NFKC", _UNSEEN_ONE.sub("", text))
    return _split(text.translate(_cased_separated))


def run_spans(folded: str) -> list[tuple[int, int]]:
    """Where they are in a folded text."""
    return [run.span() for run in _RUN.finditer(folded.translate(_separated))]


def _split(separated: str) -> list[str]:
    return _RUN.findall(separated) if _UNSPACED_ONE.search(separated) else separated.split()


def is_unspaced(run: str) -> bool:
    return not run.isascii() and _UNSPACED_ONE.match(run) is not None


def is_word(folded: str, at: int) -> bool:
    """Whether at this place of a folded text there is a character of a word."""
    if not 0 <= at < len(folded):
        return False
    return _separated[ord(folded[at])] != " " and not is_unspaced(folded[at])


def _separate(character: str) -> str:
    kept = character.isalnum() or category(character) in _MARKS
    return character if kept else " "


_separated = _Table(_separate)
_folded_separated = _Table(lambda character: _folded[ord(character)].translate(_separated))
_cased_separated = _Table(lambda character: normalize("NFKC", character).translate(_separated))


# ---------------------------------------------------------------- folding


def fold(text: str) -> str:
    """The form in which texts are compared."""
    if text.isascii():
        return text.lower()
    if not _may_join().search(text):
        return text.translate(_folded)  # each character by itself: NFKC looks at nothing else then
    text = normalize("NFKC", _UNSEEN_ONE.sub("", text))
    return normalize("NFC", _dropped().sub("", text.translate(_folded)))  # again: what was between may be gone


def fold_text(text: str) -> str:
    """A text as literals are looked for in it: folded, without data: URLs, white space as one space."""
    return one_space(fold(without_data_urls(text)))


def one_space(text: str) -> str:
    return _SPACES.sub(" ", text)


def without_data_urls(text: str, *, same_length: bool = False) -> str:
    """They are not searched. A space stands for each, or as many as it had characters."""
    if "data:" not in text:
        return text
    return _DATA_URL.sub(lambda url: " " * (len(url[0]) if same_length else 1), text)


def _fold_character(character: str) -> str:
    if category(character) in _MARKS:
        return character
    folded, before = character, ""
    while folded != before:
        before = folded
        plain = _dropped().sub("", "".join(map(_without_accents, normalize("NFKC", folded))))
        folded = normalize("NFKC", plain.casefold().translate(_PLAIN))
    return folded


def _without_accents(character: str) -> str:
    letter = normalize("NFD", character)[0]
    return letter if _ACCENTED.match(letter) else character


_folded: _Table = _Table(_fold_character)


# ---------------------------------------------------------------- characters that become one


@cache
def clusters() -> re.Pattern[str]:
    """A character, and what may become one with it."""
    beyond = _ranges(filter(_is_mark, _WITH_MARKS_BEYOND))  # a long list: only gone through where it may help
    return re.compile(f"(?s:.)(?:[{_joining()}]|(?={_BEYOND})[{beyond}])*")


def begins_afresh(character: str) -> bool:
    """Nothing before it changes what it is folded to."""
    return character.isascii() or clusters().fullmatch("a" + character) is None


@cache
def heaps_of_marks() -> re.Pattern[str]:
    """More of them than anybody puts on a character; the first few are the group."""
    return re.compile(f"([{_joining()}]{{16}})[{_joining()}]+")


@cache
def _may_join() -> re.Pattern[str]:
    """One that may become one with what is before it; rather too many than a long list."""
    return re.compile(f"[{_joining()}]|{_BEYOND}")


@cache
def _dropped() -> re.Pattern[str]:
    """Accents, and marks that follow no letter."""
    marks = _ranges(code for code in _WITH_MARKS if _is_mark(code) and not is_unspaced(chr(code)))
    return re.compile(f"(?=[{marks}])(?:(?<=[{_LATIN_OR_GREEK}])|(?<![^\\W_{_UNSPACED}])(?<![{marks}]))[{marks}]+")


@cache
def _joining() -> str:
    marks = _ranges(filter(_is_mark, _WITH_MARKS))
    return marks + _ranges(code for code in _HANGUL_OR_HALF_WIDTH if _joins(chr(code))) + _UNSEEN


def _is_mark(code: int) -> bool:
    return category(chr(code)) in _MARKS


def _joins(character: str) -> bool:
    """Of these, vowels and finals join the Hangul before them, voicing marks the kana."""
    first = normalize("NFKD", character)[0]
    return _VOWEL_OR_FINAL.match(first) is not None or _is_mark(ord(first))


def _ranges(codes: Iterable[int]) -> str:
    """The inside of a character class, from code points in order."""
    found: list[tuple[int, int]] = []
    for code in codes:
        first, last = found[-1] if found else (code, code)
        if code == last + 1:
            found[-1] = first, code
        else:
            found.append((code, code))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)
