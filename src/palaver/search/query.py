"""What a person types, read into a tree. Every string is a query; only a wrong time is refused.

    word word            both            "side by side"       as it stands, white space aside
    a OR b               either          wor*  "side by si"*  what begins so
    NOT a   -a           not             ( )                  a group
    role: agent: source: model: tool: file: workspace: project: session:  before: after:  is:error has:file

AND binds closer than OR; operators are in capitals. A field that the whole query asks for is among `filters`; inside a
group or beside an OR it is a leaf of the tree, which the engine answers for each candidate.

Anything else is a term, with its separators: `C++`, `src/main.py`, `foo(bar)`, `--help`, `https://…`, `no_field:x`. So
* a parenthesis is one at the beginning of a term, or where it closes such a one;
* a dash excludes at the beginning of a term (but `--x`, `->` and `-=` are terms);
* a quote without a partner is nothing, and so are an operator with nothing to work on and a lone dash; a query of
  operators alone is one of words.

Limits: 256 terms and fields, 4,096 characters of a term (the rest is left out, `Query.cut`); parentheses deeper than 32
are read as if they were not there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .characters import runs_of
from .terms import term
from .times import parse_time
from .tree import And, Field, Filter, Node, Not, Or, Query

MOST_TERMS = 256
MOST_CHARACTERS = 4_096
DEEPEST = 32
FIELDS = ("role", "agent", "source", "model", "tool", "file", "workspace", "project", "before", "after", "session")
FLAGS = {("is", "error"), ("has", "file")}

_QUOTES = '"“”„'
_SPACE = re.compile(r"\s*")
_OPERATOR = re.compile(rf"(?P<operator>AND|OR|NOT)(?=[\s(){_QUOTES}]|\Z)|(?P<dash>-)(?:(?=[^\s=>|)-])|(?=\s|\Z))")
_FIELD = re.compile(rf"(?P<name>{'|'.join(FIELDS)}|is|has):", re.IGNORECASE)
_PHRASE = re.compile(rf"[{_QUOTES}](?P<words>[^{_QUOTES}]*)[{_QUOTES}](?P<star>\*?)")
_EDGE = re.compile(r"[()\s]")


def parse(typed: str, *, now: int) -> Query:
    """The query that a person typed; `now` (ms) is what `7d` counts from."""
    reader = _Reader(typed, now)
    reader.run()
    return _with_filters(reader.finish() or _only_operators(typed), reader.cut)


def _only_operators(typed: str) -> Node | None:
    """Where there is nothing for them to work on, they are words."""
    words = typed.split()[:MOST_TERMS]
    if not all(word in ("AND", "OR", "NOT") for word in words):
        return None
    return _join(And, [found for word in words if (found := term(word))])


def _with_filters(tree: Node | None, cut: bool) -> Query:
    parts = tree.parts if isinstance(tree, And) else [tree] if tree else []
    filters = [found for part in parts if (found := _filter(part))]
    rest = [part for part in parts if not _filter(part)]
    return Query(_join(And, rest), tuple(filters), cut)


def _filter(node: Node) -> Filter | None:
    negated = isinstance(node, Not)
    inner = node.part if isinstance(node, Not) else node
    return Filter(inner, negated) if isinstance(inner, Field) else None


def _join(kind: type[And] | type[Or], parts: list[Node]) -> Node | None:
    """One part is itself; parts of the same kind are taken in."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]
    return kind(tuple(flat)) if len(flat) > 1 else flat[0] if flat else None


@dataclass
class _Group:
    """What stands between two parentheses: rows of parts that are joined by OR."""

    is_negated: bool = False  # the group itself
    negates: bool = False  # what comes next
    rows: list[list[Node]] = field(default_factory=lambda: [[]])

    def add(self, node: Node | None) -> None:
        if node is not None:
            self.rows[-1].append(_negated(node) if self.negates else node)
        self.negates = False

    def finish(self) -> Node | None:
        rows = [row for parts in self.rows if (row := _join(And, parts))]
        whole = _join(Or, rows)
        return _negated(whole) if whole and self.is_negated else whole


def _negated(node: Node) -> Node:
    return node.part if isinstance(node, Not) else Not(node)


class _Reader:
    """One pass over what was typed."""

    def __init__(self, typed: str, now: int) -> None:
        self.cut = False
        self._typed = typed
        self._now = now
        self._at = 0
        self._terms = 0
        self._groups = [_Group()]
        self._ignored = 0  # parentheses that are open and too deep

    def run(self) -> None:
        self._skip_space()
        while self._at < len(self._typed):
            if self._terms == MOST_TERMS:
                self.cut = True
                return
            self._step()
            self._skip_space()

    def finish(self) -> Node | None:
        while len(self._groups) > 1:
            self._close()
        return self._groups[0].finish()

    def _skip_space(self) -> None:
        space = _SPACE.match(self._typed, self._at)
        self._at = space.end() if space else self._at

    def _step(self) -> None:
        character = self._typed[self._at]
        if character == "(":
            self._at += 1
            self._open()
        elif character == ")" and self._is_in_group():
            self._at += 1
            self._close()
        elif character in _QUOTES:
            self._phrase()
        elif not self._operator() and not self._field():
            self._add(*_plain(self._chunk()[: MOST_CHARACTERS + 1]))

    # ------------------------------------------------------------ groups and operators

    def _is_in_group(self) -> bool:
        return len(self._groups) > 1 or self._ignored > 0

    def _open(self) -> None:
        if len(self._groups) > DEEPEST:
            self._ignored += 1
            return
        outer = self._groups[-1]
        self._groups.append(_Group(is_negated=outer.negates))
        outer.negates = False

    def _close(self) -> None:
        if self._ignored:
            self._ignored -= 1
            return
        group = self._groups.pop()
        self._groups[-1].add(group.finish())

    def _operator(self) -> bool:
        found = _OPERATOR.match(self._typed, self._at)
        if found is None:
            return False
        self._at = found.end()
        group = self._groups[-1]
        if found["dash"] and self._typed[self._at : self._at + 1].isspace():
            return True
        negates = bool(found["dash"]) or found["operator"] == "NOT"
        group.negates = negates and not group.negates
        if found["operator"] == "OR" and group.rows[-1]:
            group.rows.append([])
        return True

    # ------------------------------------------------------------ terms

    def _add(self, typed: str, is_prefix: bool) -> None:
        is_cut = len(typed) > MOST_CHARACTERS
        self._count(term(typed[:MOST_CHARACTERS], prefix=is_prefix or is_cut))
        self.cut = self.cut or is_cut

    def _count(self, node: Node | None) -> None:
        self._groups[-1].add(node)
        self._terms += node is not None

    def _phrase(self) -> None:
        phrase = _PHRASE.match(self._typed, self._at)
        if phrase is None:
            self._at += 1  # without a partner
            return
        self._at = phrase.end()
        self._add(phrase["words"], bool(phrase["star"]))

    def _field(self) -> bool:
        name = _FIELD.match(self._typed, self._at)
        if name is None:
            return False
        start, self._at = self._at, name.end()
        found = _field_of(name["name"].lower(), self._value(), self._now)
        if found is None:
            self._at = start  # a term like any other
            return False
        self._count(found)
        return True

    def _value(self) -> str | None:
        """None: nothing follows the colon."""
        quoted = _PHRASE.match(self._typed, self._at)
        if quoted:
            self._at = quoted.end()
            return quoted["words"]
        return self._chunk().strip(_QUOTES) or None

    def _chunk(self) -> str:
        """Up to white space, or to a parenthesis that closes a group around it."""
        start, depth = self._at, 0
        for edge in _EDGE.finditer(self._typed, start):
            if edge[0] == "(":
                depth += 1
            elif edge[0] == ")" and depth:
                depth -= 1
            elif edge[0] != ")" or self._is_in_group():
                self._at = edge.start()
                break
        else:
            self._at = len(self._typed)
        return self._typed[start : self._at]


def _field_of(name: str, value: str | None, now: int) -> Field | None:
    if value is None:
        return None
    if name in ("before", "after"):
        return Field(name, parse_time(name, value, now=now))
    if name in FIELDS:
        return Field(name, value)
    return Field(name, value.lower()) if (name, value.lower()) in FLAGS else None


def _plain(chunk: str) -> tuple[str, bool]:
    """A term without a quote or parentheses that are left over at its end; whether what begins so is meant."""
    if sum(map(chunk.count, _QUOTES)) % 2:
        chunk = chunk.rstrip(_QUOTES)
    while chunk.endswith(")") and chunk.count(")") > chunk.count("(") and _has_word(chunk):
        chunk = chunk[:-1]
    is_prefix = chunk.endswith("*") and (_has_word(chunk[-2:-1]) or (chunk[-2:-1] not in "*" and _has_word(chunk)))
    return (chunk[:-1] if is_prefix else chunk), is_prefix


def _has_word(text: str) -> bool:
    return bool(runs_of(text))
