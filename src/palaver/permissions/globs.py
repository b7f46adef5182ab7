"""Globs over commands, paths and hosts, in time that grows with the length of the text and the pattern, never faster.

`*` any run of characters (in a path: of one name; in a host: of one label), `**` any run at all, `?` one character,
`[abc]`, `[a-z]`, `[!a]` one of a set. There is no backtracking into an earlier `*`: the leftmost place where a piece
fits is always good enough, so each piece is looked for once. A piece between two stars in which something is wild is
looked for with a word of bits, one for each of its characters; so that this stays cheap, it may have 1,000.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ..errors import BadRule

_WIDEST = 1_000
_CACHED = 4_096  # characters: longer patterns are not kept
_WILD = re.compile(r"[*?\[]")


def match_argv(pattern: str, argv: Sequence[str] | str) -> bool:
    """A command: its words joined by spaces. `git *` fits `git push`, and `git` alone."""
    text = argv if isinstance(argv, str) else " ".join(argv)
    text, pattern = _normal(text), _normal(pattern)
    return _match(pattern, text) or (pattern.endswith(" *") and _match(pattern[:-2], text))


def match_path(pattern: str, path: str) -> bool:
    """A path, after `..` and `.` are gone: what is climbed out of is not inside. A trailing slash means nothing."""
    if pattern in ("*", "**"):
        return True
    wanted, names = _names(_normal(pattern), wild=True), _names(_normal(path))
    climbs = _climbs(names)
    if wanted[:1] != ["**"] and climbs != _climbs(wanted):
        return False
    skipped = 0 if wanted[:1] == ["**"] else climbs
    return _match_names(wanted[skipped:], names[skipped:])


def match_host(pattern: str, host: str) -> bool:
    """A host name, whatever its case; `*.example.org` fits one label more, `**.example.org` any number."""
    if pattern in ("*", "**"):
        return True
    labels = _normal(host).lower().rstrip(".").split(".")
    return all(labels) and _match_names(_normal(pattern).lower().rstrip(".").split("."), labels)


def literal_length(pattern: str) -> int:
    """How specific a pattern is: its characters that mean themselves."""
    return sum(len(token) == 1 for piece in _pieces(pattern) for token in piece.tokens)


def check(pattern: str) -> None:
    """Refuse a pattern that could not be looked for in good time."""
    for piece in _pieces(pattern)[1:-1]:
        piece.refuse_wide()
    for separator in "/.":
        for run in _runs(pattern.split(separator))[1:-1]:
            _refuse_long(run)


def _normal(text: str) -> str:
    if text.isascii():
        return text
    import unicodedata  # its tables are large, and mostly there is nothing to look up

    return unicodedata.normalize("NFC", text)


# ---------------------------------------------------------------- a path's names


def _names(path: str, *, wild: bool = False) -> list[str]:
    """`/` for the root, then the names; `.` and empty ones are nothing, `..` takes back the literal name before it."""
    names = ["/"] if path.startswith("/") else []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == ".." and names and names[-1] != ".." and not (wild and _WILD.search(names[-1])):
            if names[-1] != "/":
                names.pop()
        else:
            names.append(name)
    return names


def _climbs(names: list[str]) -> int:
    """How many levels up it begins."""
    count = 0
    while count < len(names) and names[count] == "..":
        count += 1
    return count


def _match_names(pattern: list[str], names: list[str]) -> bool:
    """`**` stands for any names; between two of them a run of single patterns is looked for, leftmost first."""
    runs = _runs(pattern)
    if len(runs) == 1:
        return len(runs[0]) == len(names) and _fit_at(runs[0], names, 0)
    first, *middle, last = runs
    end = len(names) - len(last)
    if len(first) > end or not _fit_at(first, names, 0) or not _fit_at(last, names, end):
        return False
    at = len(first)
    for run in middle:
        at = _find_run(run, names, at, end)
        if at < 0:
            return False
    return True


def _runs(pattern: list[str]) -> list[list[str]]:
    runs: list[list[str]] = [[]]
    for name in pattern:
        if name == "**":
            runs.append([])
        else:
            runs[-1].append(name)
    return [runs[0], *(run for run in runs[1:-1] if run), runs[-1]] if len(runs) > 1 else runs


def _fit_at(run: list[str], names: list[str], at: int) -> bool:
    return all(_match_name(pattern, names[at + place]) for place, pattern in enumerate(run))


def _match_name(pattern: str, name: str) -> bool:
    """The root and a step up are no names: only they themselves fit."""
    return pattern == name if name in ("/", "..") else _match(pattern, name)


def _refuse_long(run: list[str]) -> None:
    if len(run) > _WIDEST or sum(bool(_WILD.search(name)) for name in run) > 100:
        raise BadRule("a pattern may have 1,000 names between two `**`, 100 of them wild; make it shorter")


def _find_run(run: list[str], names: list[str], start: int, end: int) -> int:
    """One past the leftmost place of a run; -1 if there is none. Bit i: the run fits so far, up to its name i."""
    _refuse_long(run)
    literal: dict[str, int] = {}
    wild = [(1 << place, name) for place, name in enumerate(run) if _WILD.search(name)]
    for place, name in enumerate(run):
        literal[name] = literal.get(name, 0) | (1 << place)
    state, goal = 0, 1 << (len(run) - 1)
    for at in range(start, end):
        mask = literal.get(names[at], 0)
        for bit, pattern in wild:
            if _match_name(pattern, names[at]):
                mask |= bit
        state = ((state << 1) | 1) & mask
        if state & goal:
            return at + 1
    return -1


# ---------------------------------------------------------------- one text


def _match(pattern: str, text: str) -> bool:
    """One text against one pattern, in which every run of `*` is any characters."""
    pieces = _pieces(pattern)
    if len(pieces) == 1:
        return pieces[0].width == len(text) and pieces[0].fits(text, 0)
    first, *middle, last = pieces
    end = len(text) - last.width
    if first.width > end or not first.fits(text, 0) or not last.fits(text, end):
        return False
    at = first.width
    for piece in middle:
        found = piece.find(text, at, end)
        if found < 0:
            return False
        at = found + piece.width
    return True


class _Set:
    """One character out of several: `[abc]`, `[a-z]`, `[!a]`."""

    def __init__(self, token: str) -> None:
        inside = token[1:-1]
        self._wanted = not inside.startswith(("!", "^"))
        inside = inside if self._wanted else inside[1:]
        self._ranges, self._single, at = [], set[str](), 0
        while at < len(inside):
            if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
                self._ranges.append((inside[at], inside[at + 2]))
                at += 3
            else:
                self._single.add(inside[at])
                at += 1

    def has(self, character: str) -> bool:
        found = character in self._single or any(low <= character <= high for low, high in self._ranges)
        return found == self._wanted


class _Piece:
    """A run of a pattern without `*`: of a fixed width."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = ["?any" if token == "?" else token for token in tokens]
        self.width = len(tokens)
        self.literal = "".join(tokens) if all(len(t) == 1 and t != "?" for t in tokens) else None
        self._sets = {token: _Set(token) for token in set(tokens) if len(token) > 1}
        self._bits: dict[str, int] = {}  # token -> its places

    def fits(self, text: str, at: int) -> bool:
        if self.literal is not None:
            return text.startswith(self.literal, at)
        return all(self._is(token, text[at + place]) for place, token in enumerate(self.tokens))

    def _is(self, token: str, character: str) -> bool:
        if len(token) == 1:
            return token == character
        return token == "?any" or self._sets[token].has(character)

    def refuse_wide(self) -> None:
        if self.literal is None and self.width > _WIDEST:
            raise BadRule("a pattern may have 1,000 characters between two stars where some are wild; make it shorter")

    def find(self, text: str, start: int, end: int) -> int:
        """The leftmost place, wholly inside; -1 if there is none."""
        if self.literal is not None:
            return text.find(self.literal, start, end)
        self.refuse_wide()
        masks: dict[str, int] = {}
        state, goal = 0, 1 << (self.width - 1)
        for at in range(start, end):
            mask = masks.get(text[at])
            if mask is None:
                mask = masks[text[at]] = self._mask(text[at])
            state = ((state << 1) | 1) & mask
            if state & goal:
                return at - self.width + 1
        return -1

    def _mask(self, character: str) -> int:
        """Bit i: the character fits token i."""
        if not self._bits:
            for place, token in enumerate(self.tokens):
                self._bits[token] = self._bits.get(token, 0) | (1 << place)
        mask = self._bits.get(character, 0) | self._bits.get("?any", 0)
        for token, several in self._sets.items():
            if several.has(character):
                mask |= self._bits[token]
        return mask


def _pieces(pattern: str) -> tuple[_Piece, ...]:
    return _kept_pieces(pattern) if len(pattern) <= _CACHED else _cut(pattern)


def _cut(pattern: str) -> tuple[_Piece, ...]:
    """What lies between the stars; a star inside a set is none."""
    sources: list[list[str]] = [[]]
    at, last_close = 0, pattern.rfind("]")
    while at < len(pattern):
        if pattern[at] == "*":
            at = _past_stars(pattern, at)
            sources.append([])
            continue
        end = _set_end(pattern, at) if pattern[at] == "[" and at < last_close else at + 1
        sources[-1].append(pattern[at:end])
        at = end
    kept = [sources[0], *(s for s in sources[1:-1] if s), sources[-1]] if len(sources) > 1 else sources
    return tuple(_Piece(source) for source in kept)


_kept_pieces = lru_cache(maxsize=512)(_cut)


def _past_stars(pattern: str, at: int) -> int:
    while at < len(pattern) and pattern[at] == "*":
        at += 1
    return at


def _set_end(text: str, at: int) -> int:
    """One past the closing bracket; a bracket that is never closed means itself."""
    start = at + 2 if text[at + 1 : at + 2] in ("!", "^") else at + 1
    close = text.find("]", start + 1)
    return close + 1 if close >= 0 else at + 1
