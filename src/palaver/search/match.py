"""Does a text match? By looking at the text alone: what an index is measured against, and what answers for rows that
are not indexed yet and for candidates of which the index does not know everything.

Words are looked for among the text's runs, each between two spaces, so a whole word, the beginning of one, words side
by side and characters of an unspaced script are all one search for a string. A literal is looked for in the folded
text, at the borders of words where it begins or ends with one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from .characters import fold_text, is_word
from .tree import And, Field, Node, Not, Or, Term
from .words import pieces, runs

__all__ = ["Text", "fold_text", "literal_places", "matches"]


class Text:
    """A document's text in the forms that terms are looked for in, each made when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> str:
        return fold_text(self.text)

    @cached_property
    def stream(self) -> str:
        return f" {' '.join(runs(self.text))} "

    @cached_property
    def pieces(self) -> str:
        return f" {' '.join(pieces(self.text))} "


def matches(node: Node | None, text: Text | str, has: Callable[[Field], bool] | None = None) -> bool:
    """Whether a document matches a tree; `has` says whether it has a field, for trees with fields inside."""
    return _matches(node, text if isinstance(text, Text) else Text(text), has)


def _matches(node: Node | None, text: Text, has: Callable[[Field], bool] | None) -> bool:
    match node:
        case None:
            return True
        case Term():
            return _has_term(node, text)
        case And(parts):
            return all(_matches(part, text, has) for part in parts)
        case Or(parts):
            return any(_matches(part, text, has) for part in parts)
        case Not(part):
            return not _matches(part, text, has)
        case Field():
            if has is None:
                raise TypeError(f"the query asks for {node.name}: inside; say with `has` whether the document has it")
            return has(node)


def _has_term(term: Term, text: Text) -> bool:
    if term.literal is not None:
        return next(literal_places(term, text.folded), None) is not None
    return term.needle in text.stream or (len(term.words) == 1 and term.needle in text.pieces)


def literal_places(term: Term, folded: str) -> Iterator[int]:
    """Where the literal stands in a folded text, not inside of a longer word."""
    literal = term.literal or ""
    begins, ends = is_word(literal, 0), is_word(literal, len(literal) - 1) and not term.last_is_prefix
    at = folded.find(literal)
    while at >= 0:
        end = at + len(literal)
        if not (begins and is_word(folded, at - 1)) and not (ends and is_word(folded, end)):
            yield at
        at = folded.find(literal, at + 1)
