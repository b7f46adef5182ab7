"""What is looked for, as a tree of frozen values: And, Or and Not over terms and fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand side by side. One word without a literal is also looked for among a text's pieces.

    `C++` is the word c and the literal `c++`; `"side by side"` three words without a literal; an emoji a literal alone.
    """

    words: tuple[str, ...]  # of the index
    last_is_prefix: bool = False
    needle: str = ""  # among the text's runs, each between spaces; open at an end where more may follow
    literal: str | None = None  # what the folded text must have at this place, where words are not all


@dataclass(frozen=True, slots=True)
class Field:
    """A fact of a document. `before` and `after` have a time in ms, the others what was typed."""

    name: str
    value: str | int


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Node


Node = Term | Field | And | Or | Not


@dataclass(frozen=True, slots=True)
class Filter:
    """A field that the whole query asks for, or excludes."""

    field: Field
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What was typed: a tree (None: nothing is looked for), and apart from it what every document must be.

    `cut`: it was longer than a query may be, and only its beginning is here.
    """

    tree: Node | None
    filters: tuple[Filter, ...] = ()
    cut: bool = False


def positive_terms(node: Node | None) -> Iterator[Term]:
    """The terms that speak for a document, each once."""
    return iter(dict.fromkeys(_positive(node, True)))


def _positive(node: Node | None, wanted: bool) -> Iterator[Term]:
    if isinstance(node, Term) and wanted:
        yield node
    elif isinstance(node, Not):
        yield from _positive(node.part, not wanted)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from _positive(part, wanted)


def has_not(node: Node | None) -> bool:
    return isinstance(node, Not) or (isinstance(node, And | Or) and any(map(has_not, node.parts)))


def without_not(node: Node | None) -> Node | None:
    """What must be there at least: all that a query excludes is left out of it."""
    if isinstance(node, Not):
        return None
    if not isinstance(node, And | Or):
        return node
    parts = [part for each in node.parts if (part := without_not(each)) is not None]
    if isinstance(node, Or) and len(parts) < len(node.parts):  # what is excluded there may be anything
        return None
    return type(node)(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)
