"""What schema-sharded Postgres (Citus) refuses, or does otherwise than plain Postgres, as rules over SQL text.

One text serves SQLite, plain Postgres and Citus, so it stays inside what all of them take. A rule looks at a statement
without its comments and without what stands in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Check = Callable[[str], bool]

_COMMENT = re.compile(r"--[^\n]*")
_STRING = re.compile(r"'[^']*'")
_IMMUTABLE = (
    "abs cast coalesce count exists greatest group_concat least length lower max min nullif octet_length only_text"
)
_IMMUTABLE += " rtrim string_agg substr sum unnest"
# Words that stand before a bracket and are no functions.
_WORDS = "all and any as by check conflict distinct from in index into join key not on or over references select set"
_WORDS += " table then union unique values when where with recursive else returning using gin fts5"
_STAMPS = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "current_user", "user")
OUR_TABLES = ("chat_sessions", "chat_messages", "chat_parts")


class Finding(NamedTuple):
    rule: str
    where: str
    text: str


def bare(statement: str) -> str:
    """One line, comments and quoted text gone, in lower case."""
    text = _STRING.sub("''", _COMMENT.sub(" ", statement))
    return " ".join(text.split()).lower()


def has(*patterns: str) -> Check:
    found = [re.compile(pattern) for pattern in patterns]
    return lambda text: any(each.search(text) for each in found)


def calls_a_function_that_is_not_immutable(text: str) -> bool:
    """Time, ids and randomness are bound. Only functions that are known to be immutable are allowed at all."""
    called = set(re.findall(r"\b([a-z_][a-z0-9_]*)\s*\(", _without_names(text)))
    stamps = set(_STAMPS) & set(re.findall(r"[a-z_]+", text))
    return bool(called - set(_IMMUTABLE.split()) - set(_WORDS.split())) or bool(stamps)


def _without_names(text: str) -> str:
    """What stands before a list of columns is a table, an index, or a query with a name."""
    table = r"create (?:unique )?index \w+ on|insert into|create table|references"
    text = re.sub(r"\), \w+ ?\((?=[^()]*\) as)", "), (", text)
    return re.sub(rf"\b({table}|with recursive|with|as) \w+ ?\(", r"\1 (", text)


def names_another_schema(text: str) -> bool:
    """A table behind FROM, JOIN, INTO, UPDATE, ON, TABLE or REFERENCES with a dot in its name."""
    return bool(re.search(r'\b(from|join|into|update|table|references|view|index \w+ on) "?\w+"?\."?\w', text))


def has_several_statements(text: str) -> bool:
    return ";" in text.rstrip("; ")


RULES: dict[str, Check] = {
    "one statement each": has_several_statements,
    "no triggers": has(
        r"\b(create|drop|alter) (or replace )?(constraint )?trigger\b",
        r"\bcreate (or replace )?(function|procedure|rule)\b",
        r"\bdo \$",
    ),
    "no MERGE": has(r"\bmerge into\b"),
    "no CYCLE or SEARCH": has(r"\)\s*cycle\b", r"\)\s*search (depth|breadth) first\b"),
    "no subquery in VALUES": has(r"\bvalues\s*\((?:[^()]|\([^()]*\))*\(\s*select\b"),
    "no recursion before INSERT": has(r"^with recursive\b.*\b(insert into|update|delete from)\b"),
    "only immutable functions": calls_a_function_that_is_not_immutable,
    "no advisory locks": has(r"advisory"),
    "no other schema": names_another_schema,
    "no path of its own": has(r"\bsearch_path\b", r"\bset (local|session)\b"),
    "no inheritance": has(r"\binherits\b", r"\bcreate table \w+ of\b", r"\bcreate schema\b"),
    "nothing in public": has(r"\bpublic\b"),
    "no sequences": has(r"\b(big)?serial\b", r"\bnextval\b"),  # an identity was tried, and works
}


def findings(where: str, statement: str) -> Iterator[Finding]:
    text = bare(statement)
    yield from (Finding(rule, where, text) for rule, breaks in RULES.items() if breaks(text))
