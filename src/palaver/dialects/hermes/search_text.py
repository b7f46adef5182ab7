"""What a user of Hermes types into a search, made fit: its own rules first, then as `store.search` reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUOTED = re.compile(r'"[^"]*"')
_SPECIAL = re.compile(r'[+{}():"^]')
_STARS = re.compile(r"\*+")
_LONE_STAR = re.compile(r"(^|\s)\*")
_FIRST = re.compile(r"^(?:AND|OR|NOT)\b\s*", re.IGNORECASE)
_LAST = re.compile(r"\s+(?:AND|OR|NOT)\s*$", re.IGNORECASE)
_JOINED = re.compile(r"\b(\w+(?:[.-]\w+)+)\b")  # chat-send and P2.2 are one thing, not two
_AROUND = re.compile(r"^[-+*^(){}]+|[-^(){}]+$|(?<!\+)\+$")  # C++ stays
_WORDS = re.compile(r'"[^"]*"|[^\s"]+')
_HELD = re.compile(r"\x00(?P<place>\d+)\x00")
_LONGEST = 40  # words of a snippet
_BETWEEN_SPACES = re.compile(r"\S+")
_CUT = re.compile("^…|…$")
_CJK = re.compile("[\u3000-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0002a6df]")


def sanitized(query: str) -> str:
    """Without unmatched quotes, special characters and operators that dangle; joined terms in quotes."""
    phrases = _QUOTED.findall(query)
    places = iter(range(len(phrases)))
    text = _QUOTED.sub(lambda _: f"\x00{next(places)}\x00", query.replace("\x00", " "))
    text = _LONE_STAR.sub(r"\1", _STARS.sub("*", _SPECIAL.sub(" ", text)))
    text = _LAST.sub("", _FIRST.sub("", text.strip()).strip())
    text = _JOINED.sub(r'"\1"', text)
    return _HELD.sub(lambda found: phrases[int(found["place"])], text).strip()


def contains_cjk(text: str) -> bool:
    return _CJK.search(text) is not None


def said(query: str) -> str:
    """Without what `store.search` would take for something else: operators that dangle, brackets and signs around a
    word, a minus before it, a colon in it."""
    found = [_bare(word) for word in _WORDS.findall(query.replace("\x00", " "))]
    text = " ".join(filter(None, found))
    return _LAST.sub("", _FIRST.sub("", text).strip()).strip()


def _bare(word: str) -> str:
    if word.startswith('"'):
        return word if word.strip('" ') else ""
    bare = _AROUND.sub("", word.replace(":", " ")).strip()
    return bare if bare.strip("*") else ""


def marked(snippet: str, marks: Sequence[tuple[int, int]]) -> str:
    """At most forty words of a snippet, with Hermes' marks around what was looked for."""
    start, end = _forty_words(snippet, marks)
    text, at = "", start
    for begin, stop in marks:
        if start <= begin and stop <= end:
            text += f"{snippet[at:begin]}>>>{snippet[begin:stop]}<<<"
            at = stop
    begins, ends = "..." if start else "", "..." if end < len(snippet) else ""
    return begins + _CUT.sub("...", text + snippet[at:end]) + ends


def _forty_words(snippet: str, marks: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """So many words from somewhat before the first mark on."""
    words = [found.span() for found in _BETWEEN_SPACES.finditer(snippet)]
    if len(words) <= _LONGEST:
        return 0, len(snippet)
    begin, _ = marks[0] if marks else (0, 0)
    first = next((place for place, (_, stop) in enumerate(words) if stop > begin), 0)
    chosen = words[max(0, min(first - _LONGEST // 2, len(words) - _LONGEST)) :][:_LONGEST]
    (start, _), (_, end) = chosen[0], chosen[-1]
    return (0 if chosen[0] == words[0] else start), (len(snippet) if chosen[-1] == words[-1] else end)
