"""A tree on Postgres: a tsquery for each of its terms, and sets of documents put together from their answers.

A document is several rows there (`slices`), so And and Not cannot be left to a tsquery: two words of one document may
be in two slices. A phrase is in one slice, as they overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .tree import And, Field, Node, Not, Or, Term
from .words import TITLED


class Found(NamedTuple):
    """Documents by their numbers; inverted: all but these."""

    numbers: frozenset[int]
    inverted: bool = False


def tsquery(term: Term) -> str:
    """What to ask of a tsvector whose words have the weight A and whose pieces have B: `%s::tsquery`."""
    weight = "" if len(term.words) == 1 and term.literal is None else "A"
    last = len(term.words) - 1
    marks = [("*" if term.last_is_prefix and at == last else "") + weight for at in range(last + 1)]
    return " <-> ".join(
        quoted(word) + (f":{mark}" if mark else "") for word, mark in zip(term.words, marks, strict=True)
    )


def quoted(word: str) -> str:
    """A word as it stands in the text of a tsquery or a tsvector."""
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def combine(tree: Node | None, look_up: Callable[[str], frozenset[int]]) -> Found:
    """The documents of a tree that `candidates` gave; `look_up` answers one tsquery with numbers of documents."""
    match tree:
        case None:
            return Found(frozenset(), inverted=True)
        case Term():
            return Found(look_up(tsquery(tree)))
        case Not(part):
            return _not(combine(part, look_up), look_up)
        case And(parts):
            return _all([combine(part, look_up) for part in parts])
        case Or(parts):
            none_of = _all([_inverse(combine(part, look_up)) for part in parts])
            return _inverse(none_of)
        case Field():
            raise TypeError("a field is not looked up here; give what `candidates` made of the tree")


def _not(found: Found, look_up: Callable[[str], frozenset[int]]) -> Found:
    """All others, and those with a title: who sees one under another name does not see what its title says."""
    titled = look_up(quoted(TITLED))
    return Found(found.numbers | titled) if found.inverted else Found(found.numbers - titled, inverted=True)


def _inverse(found: Found) -> Found:
    return Found(found.numbers, not found.inverted)


def _all(found: list[Found]) -> Found:
    """The documents that are in every one of these."""
    inside = [each.numbers for each in found if not each.inverted]
    outside = frozenset().union(*(each.numbers for each in found if each.inverted))
    return Found(frozenset.intersection(*inside) - outside) if inside else Found(outside, inverted=True)
