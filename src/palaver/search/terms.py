"""From what was typed to a term: the words to look up, and the literal, where there is more to it than words."""

from __future__ import annotations

from .characters import fold, is_unspaced, one_space, runs_of
from .tree import Term
from .words import cut, pairs


def term(typed: str, *, prefix: bool = False) -> Term | None:
    """None: there is nothing in it, like white space or characters that nobody sees."""
    folded = one_space(fold(typed)).strip()
    if not folded:
        return None
    runs = runs_of(folded)
    literal = None if folded == " ".join(runs) else folded  # words and spaces only: they say it all
    if not runs:
        return Term((), literal=literal)
    shown = [cut(run) for run in runs]
    prefix = prefix and folded.endswith(runs[-1])
    words = [word for run in shown[:-1] for word in _whole(run)]
    if not is_unspaced(runs[-1]):
        return Term((*words, shown[-1]), prefix, _needle(shown, is_open=prefix), literal)
    last = pairs(runs[-1]) or [runs[-1]]
    return Term((*words, *last), len(runs[-1]) == 1, _needle(shown, is_open=True), literal)


def _whole(run: str) -> list[str]:
    """The words of a run after which something comes: its last character must be the last."""
    return [*pairs(run), run[-1]] if is_unspaced(run) else [run]


def _needle(runs: list[str], *, is_open: bool) -> str:
    return ("" if is_unspaced(runs[0]) else " ") + " ".join(runs) + ("" if is_open else " ")
