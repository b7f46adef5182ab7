"""Queries made by chance as trees, each written as a person would type it, and answered from the text alone.

What was typed is never parsed here: the tree comes first, and each term is decided by `naive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from . import corpus, naive
from .expected import Doc, Everything, Session, tool_name

Holds = Callable[[Doc, Session], bool]  # of a document under the name of a session
SAFE = {"the", "cat", "error", "naive", "foo", "bar", "2024", "user", "name", "日本", "入門Python", "한국", "été"}


class Asked(NamedTuple):
    typed: str
    holds: Holds
    only: set[str] | None = None  # the sessions that it names


TRIES = 4


def asked(random: Random, life: Everything, **flags: bool) -> Asked:
    """Mostly something that one of the documents has; and now and then anything."""
    seen = list(life.seen(**flags)) if random.random() < 0.75 else []
    if not seen:
        return drawn(random, life)
    doc, names = random.choice(seen)
    near = life._replace(docs=[doc])  # words are taken from it
    for _ in range(TRIES):
        one = drawn(random, near)
        if all(is_found(one, doc, life.sessions[name]) for name in names):
            return one
    return words_of(random, doc) or drawn(random, life)


def is_found(one: Asked, doc: Doc, session: Session) -> bool:
    return (one.only is None or session.id in one.only) and one.holds(doc, session)


def words_of(random: Random, doc: Doc) -> Asked | None:
    typed = piece(random, doc.text)
    return (typed and Asked(f'"{typed}"', lambda doc, _: naive.matches(typed, doc.text))) or None


def drawn(random: Random, life: Everything) -> Asked:
    """Up to three parts, and now and then the name of a session."""
    parts = [part(random, life, 2) for _ in range(random.choice((1, 1, 2, 2, 3)))]
    typed = random.choice((" ", "  ", " AND ")).join(each.typed for each in parts)
    only = None
    if life.sessions and random.random() < 0.15:
        name = random.choice(sorted(life.sessions))
        typed, only = random.choice((f"session:{name} {typed}", f"{typed} session:{name}")), {name}
    return Asked(typed, lambda doc, session: all(each.holds(doc, session) for each in parts), only)


def part(random: Random, life: Everything, depth: int) -> Asked:
    kind = random.randrange(10)
    if kind == 0 and depth:
        return either(random, life, depth - 1)
    if kind == 1 and depth:
        return negated(random, part(random, life, depth - 1))
    if kind == 2:
        return field(random, life)
    return term(random, life)


def either(random: Random, life: Everything, depth: int) -> Asked:
    one, other, third = (part(random, life, depth) for _ in range(3))
    typed = f"({one.typed} OR {other.typed} {third.typed})"
    return Asked(typed, lambda doc, s: one.holds(doc, s) or (other.holds(doc, s) and third.holds(doc, s)))


def negated(random: Random, inner: Asked) -> Asked:
    if inner.typed.startswith(("-", "NOT ")):
        return inner
    return Asked(random.choice(("-", "NOT ")) + inner.typed, lambda doc, session: not inner.holds(doc, session))


def term(random: Random, life: Everything) -> Asked:
    typed, prefix = corpus.term(random)
    if life.docs and random.random() < 0.5:
        typed, prefix = piece(random, random.choice(life.docs).text) or typed, False
    shown = typed if typed in SAFE else f'"{typed}"'
    return Asked(shown + "*" * prefix, lambda doc, _: naive.matches(typed, doc.text, prefix=prefix))


def piece(random: Random, text: str) -> str | None:
    """Words that stand side by side in a text: something is found by them."""
    words = text.replace('"', " ").split()
    at = random.randrange(len(words))
    found = " ".join(words[at : at + random.choice((1, 1, 2, 3))])
    return found if naive.fold(found) else None


def field(random: Random, life: Everything) -> Asked:
    return random.choice(FIELDS)(random, life)


def role(random: Random, _: Everything) -> Asked:
    name = random.choice(("user", "assistant", "tool", "Tool"))
    return Asked(f"role:{name}", lambda doc, _: doc.role == name.lower())


def agent(random: Random, _: Everything) -> Asked:
    name = random.choice(("coder", "fake", "CODER"))
    return Asked(f"agent:{name}", lambda _, session: session.agent == name.lower())


def tool(random: Random, _: Everything) -> Asked:
    name = random.choice(("run", "RUN", "look", "ru"))
    return Asked(f"tool:{name}", lambda doc, _: name.lower() in map(tool_name, doc.parts))


def file(random: Random, _: Everything) -> Asked:
    return Asked("has:file", lambda doc, _: any(each["type"] == "file" for each in doc.parts))


def time(random: Random, life: Everything) -> Asked:
    at = random.choice(life.docs).at if life.docs else 1_700_000_000_000
    if random.random() < 0.5:
        return Asked(f"before:{at}", lambda doc, _: doc.at < at)
    return Asked(f"after:{at}", lambda doc, _: doc.at >= at)


def error(random: Random, _: Everything) -> Asked:
    return Asked("is:error", lambda doc, session: failed(doc, session))


def failed(doc: Doc, session: Session) -> bool:
    if doc.role == "tool":
        return doc.parts[0]["state"] in ("output-error", "output-denied")
    return doc.role == "assistant" and (doc.seen_by.get(session.id) in doc.failed if doc.seen_by else bool(doc.failed))


FIELDS = (role, agent, tool, file, time, error)


def answers(ask: Asked, life: Everything, *, archived: bool, hidden: bool) -> Iterator[tuple[Doc, set[bool]]]:
    """Each document that may be found, and whether it is, under each of its names."""
    for doc, names in life.seen(archived=archived, hidden=hidden, only=ask.only):
        yield doc, {ask.holds(doc, life.sessions[name]) for name in names}
