"""What an index can answer of a tree.

The index knows words and their order, not separators, not fields. So a tree is made weaker until it can be looked up:
the documents found are **never fewer** than those that match. If it had to be weakened, `exact` is False and `matches`
must decide about each of them.

A Not is kept only over what is exact: of what may be too many, too many would be taken away.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from .tree import And, Field, Node, Not, Or, Term

LONGEST_PHRASE = 32  # words; the slices of Postgres overlap by as many


class Candidates(NamedTuple):
    """Terms without literals, And, Or, Not. `tree` None: every document."""

    tree: Node | None
    exact: bool


def candidates(node: Node | None) -> Candidates:
    """The tree to look up, and whether that is the answer."""
    match node:
        case None:
            return Candidates(None, True)
        case Term():
            return _term(node)
        case Field():
            return Candidates(None, False)
        case Not(part):
            inner = candidates(part)
            return Candidates(Not(inner.tree), True) if inner.tree and inner.exact else Candidates(None, False)
        case And(parts):
            found = [candidates(part) for part in parts]
            kept = tuple(each.tree for each in found if each.tree)
            tree = And(kept) if len(kept) > 1 else kept[0] if kept else None
            return Candidates(tree, all(each.exact for each in found))
        case Or(parts):
            found = [candidates(part) for part in parts]
            trees = tuple(each.tree for each in found if each.tree)
            if len(trees) < len(found):
                return Candidates(None, False)
            return Candidates(Or(trees), all(each.exact for each in found))


def _term(term: Term) -> Candidates:
    if not term.words:
        return Candidates(None, False)
    if len(term.words) > LONGEST_PHRASE:
        return Candidates(replace(term, words=term.words[:LONGEST_PHRASE], last_is_prefix=False), False)
    return Candidates(term, term.literal is None)
