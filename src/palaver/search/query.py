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
* an operator with nothing to work on is a word: `hello AND` asks for hello and for and, `OR` for or; but a lone dash is
  nothing, and so is a quote without a partner: what follows it are words.

Limits: 256 terms and fields, 4,096 characters of a term (the rest is left out, `Query.cut`); parentheses deeper than 32
are read as if they were not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from itertools import zip_longest

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
    return _with_filters(reader.finish(), reader.cut)


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


class _Operator(Enum):
    AND = "AND"
    OR = "OR"
    NOT = "NOT"
    DASH = ""  # a NOT that is never a word
    NOTHING = None  # where something to work on should be: `()`, `""`

    def word(self) -> list[Node]:
        found = term(self.value) if self.value else None
        return [found] if found else []


_Item = Node | _Operator


class _Group:
    """What stands between two parentheses, in its order."""

    def __init__(self) -> None:
        self.items: list[_Item] = []

    def add(self, node: Node | None) -> None:
        self.items.append(_Operator.NOTHING if node is None else node)

    def finish(self) -> Node | None:
        if all(isinstance(item, _Operator) for item in self.items):
            return _join(And, _once(word for item in self.items for word in item.word()))  # type: ignore[union-attr]
        rows = [row for parts in _rows(_with_negations(self.items)) if (row := _join(And, parts))]
        return _join(Or, rows)


def _with_negations(items: list[_Item]) -> list[_Item]:
    """Each NOT joined with what follows it, or a word."""
    found: list[_Item] = []
    for item in reversed(items):
        if item not in (_Operator.NOT, _Operator.DASH):
            found.append(item)
        elif found and not isinstance(found[-1], _Operator):
            found[-1] = _negated(found[-1])
        elif isinstance(item, _Operator):
            found += item.word()
    return found[::-1]


def _rows(items: list[_Item]) -> list[list[Node]]:
    """Parts that all must hold, in rows of which one must. AND and OR work between two parts, else they are words."""
    rows: list[list[Node]] = [[]]
    works_on = False  # what stands before
    for item, following in zip_longest(items, items[1:], fillvalue=_Operator.NOTHING):
        if not isinstance(item, _Operator):
            rows[-1].append(item)
        elif not works_on or isinstance(following, _Operator):
            rows[-1] = _once([*rows[-1], *item.word()])
        elif item is _Operator.OR:
            rows.append([])
        works_on = item is not _Operator.NOTHING
    return rows


def _once(nodes: Iterable[Node]) -> list[Node]:
    return list(dict.fromkeys(nodes))


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
        self._groups.append(_Group())

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
        is_lone_dash = found["dash"] and not self._typed[self._at : self._at + 1].strip()
        if not is_lone_dash:
            self._groups[-1].items.append(_Operator(found["operator"] or ""))
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
