"""A tree as an FTS5 query, over a table with the columns `words` and `pieces` (contentless, tokenize=ascii).

Nothing that was typed reaches FTS5 but words in quotes, and a word has only letters, digits and marks.
"""

from __future__ import annotations

from typing import NamedTuple

from .candidates import candidates
from .tree import And, Field, Node, Not, Or, Term
from .words import TITLED


class Lookup(NamedTuple):
    """Rows that MATCH `match` (None: all rows; FTS5 cannot say Not alone).

    They are never fewer than the documents that match; if not `exact`, `matches` decides about each of them.
    """

    match: str | None
    exact: bool


def lookup(tree: Node | None) -> Lookup:
    """What to ask FTS5 for a tree."""
    found = candidates(tree)
    if found.tree is None:
        return Lookup(None, found.exact)
    sides = _sides(found.tree.parts if isinstance(found.tree, And) else (found.tree,))
    match = _minus(sides)
    return Lookup(match, found.exact and sides.exact and match is not None)


class _Sides(NamedTuple):
    wanted: str | None
    unwanted: str | None
    exact: bool


class _Said(NamedTuple):
    text: str | None  # None: FTS5 cannot say it
    exact: bool


def _sides(parts: tuple[Node, ...]) -> _Sides:
    """What all must have, and what none may have; FTS5 has no Not of its own, only one that takes away."""
    wanted = [_say(part) for part in parts if not isinstance(part, Not)]
    unwanted = [_say(part.part) for part in parts if isinstance(part, Not)]
    return _Sides(
        " AND ".join(said.text for said in wanted if said.text) or None,
        " OR ".join(said.text for said in unwanted if said.text and said.exact) or None,
        all(said.exact for said in wanted + unwanted),
    )


def _minus(sides: _Sides) -> str | None:
    """Nothing is taken away for what a title says: who sees a document under another name does not see its title."""
    if not sides.wanted or not sides.unwanted:
        return sides.wanted
    return f'({sides.wanted}) NOT (({sides.unwanted}) NOT pieces : "{TITLED}")'


def _say(node: Node) -> _Said:
    match node:
        case Term():
            return _Said(_term(node), True)
        case And(parts):
            sides = _sides(parts)
            text = _minus(sides)
            return _Said(f"({text})", sides.exact) if text else _Said(None, False)
        case Or(parts):
            said = [_say(part) for part in parts]
            texts = [each.text for each in said if each.text]
            whole = len(texts) == len(said)
            return _Said(f"({' OR '.join(texts)})" if whole else None, whole and all(each.exact for each in said))
        case Not() | Field():
            return _Said(None, False)


def _term(term: Term) -> str:
    """One word is looked for in both columns, if nothing but the word was meant."""
    column = "" if len(term.words) == 1 and term.literal is None else "words : "
    return f'{column}"{" ".join(term.words)}"{" *" if term.last_is_prefix else ""}'
