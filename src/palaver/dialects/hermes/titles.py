"""Titles as Hermes has them: cleaned, at most 100 characters, one session each; "X #2" goes on with "X"."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 100
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # but tab and the ends of lines, which are white space
_UNSEEN = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]")  # of no width, or that turn text
_HALVES = re.compile("[\ud800-\udfff]")
_NUMBERED = re.compile(r"(?P<base>.*?) #(?P<number>\d+)", re.DOTALL)


def sanitized(title: str | None) -> str | None:
    """None: nothing is left of it. ValueError: what is left is too long; nothing is cut off."""
    if not title:
        return None
    seen = _UNSEEN.sub("", _CONTROLS.sub("", _HALVES.sub("\N{REPLACEMENT CHARACTER}", title)))
    cleaned = " ".join(seen.split())
    if len(cleaned) > LONGEST:
        raise ValueError(f"Title too long: {len(cleaned)} characters, and {LONGEST} are the most; shorten it")
    return cleaned or None


def base_of(title: str) -> str:
    found = _NUMBERED.fullmatch(title)
    return found["base"] if found else title


def following(base: str, taken: Iterable[str]) -> str:
    """The next title of a lineage: the plain one is the first."""
    titles = list(taken)
    if not titles:
        return base
    numbers = [int(found["number"]) for title in titles if (found := re.search(r" #(?P<number>\d+)$", title))]
    return f"{base} #{max([1, *numbers]) + 1}"
