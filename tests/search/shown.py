"""A tree in a line, for tables: `foo`, `ba*`, `"side by side"`, `=c++(c)` for a literal and its words, `=👍`,
`role:user`, `-x`, `(a b)` for And, `(a | b)` for Or."""

from __future__ import annotations

from palaver.search.tree import And, Field, Node, Not, Or, Query, Term


def shown(query: Query) -> str:
    """The tree, and behind a slash the filters."""
    filters = [f"{'-' if each.negated else ''}{_shown(each.field)}" for each in query.filters]
    return _shown(query.tree) + (f" / {' '.join(filters)}" if filters else "")


def _shown(node: Node | None) -> str:
    match node:
        case None:
            return ""
        case Term():
            return _term(node)
        case Field(name, value):
            return f"{name}:{value}"
        case Not(part):
            return f"-{_shown(part)}"
        case And(parts):
            return f"({' '.join(map(_shown, parts))})"
        case Or(parts):
            return f"({' | '.join(map(_shown, parts))})"


def _term(term: Term) -> str:
    star = "*" if term.last_is_prefix else ""
    words = " ".join(term.words) + star
    if term.literal is not None:
        return f"={term.literal}({words})" if term.words else f"={term.literal}"
    return words if len(term.words) == 1 else f'"{words}"'
