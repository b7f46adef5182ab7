"""Reading docs/mapping.md, and everything that can be wrong with it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

from palaver import errors
from palaver.cli.program import COMMANDS

from . import homes, verbs
from .schema import ROOT, Schema
from .seeds import CATEGORIES, SEEDS, all_keys
from .verbs import Call

PAGE = ROOT / "docs" / "mapping.md"
HEADER = "| seed's thing | home in Palaver | written by | note |"
RULE = "|---|---|---|---|"

HOME = re.compile(
    r"(?P<kind>(?:column|table|index|derived|kernel|dialect (?:aisdk|hub|hermes|lash|ledger))\b|not yet \([^)]+\)):? \S"
)
NOT_YET = re.compile(r"\bnot yet(?: \(([^)]+)\))?")
STEP = re.compile(r"\bsteps?\s+\d", re.IGNORECASE)
TICKED = re.compile(r"`([^`]+)`")
DOTTED = re.compile(r"([a-z]\w*)\.(\w+)")
VERB = re.compile(r"(?:store\.(?=sessions\.))?([a-z]\w*)\.(\w+)")
COMMAND = re.compile(r"palaver (\w+)")
POINTER = re.compile(r"`(\w+)\.(\w+)` at `/")
WHERE = re.compile(r" where `(\w+)` = `")
WRITERS = re.compile(r"`[^`]+`(?:, `[^`]+`)*")
KINDS = ("column", "table", "index", "derived", "kernel", "dialect", "not yet")
STORED = ("column", "table")  # what has to be written

CAPABILITIES = {
    "blobs", "checkpoints", "gc and purge", "backup", "lash dialect", "ledger",
    "hub dialect", "server", "cost report", "importers", "sync",
}  # fmt: skip

# Tables, verbs and commands that do not exist yet. A row that names one must say so.
PLANNED = {
    "blobs", "turn_blobs", "receipts", "natives",
    "store.commit", "store.gc", "store.vacuum", "store.backup", "turn.touched",
}  # fmt: skip


class Row(NamedTuple):
    seed: str  # of the section it stands in
    key: str
    home: str
    written: str  # by which verbs
    note: str

    @property
    def kind(self) -> str:
        """The word that its home starts with, a dialect without its name."""
        return next((kind for kind in KINDS if self.home.startswith(kind)), "")

    @property
    def writers(self) -> list[Call]:
        return [call for call in map(verbs.parse, TICKED.findall(self.written)) if call]


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_of(text: str) -> tuple[list[Row], list[str]]:
    """The rows of the seeds' sections, and the lines that are not rows but should be."""
    rows, odd, seed = [], [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            found = re.match(r"## Seed (\d{3}): ", line)
            seed = found[1] if found else ""
        if not seed or not line.startswith("|") or line in (RULE, HEADER):
            continue
        cells = cells_of(line)
        key = TICKED.fullmatch(cells[0])
        if key and len(cells) == 4:
            rows.append(Row(seed, key[1], *cells[1:]))
        else:
            odd.append(line)
    return rows, odd


def counts_of(text: str) -> dict[str, list[int]]:
    """The table of counts at the top of the page: seed → its numbers."""
    lines = re.findall(r"^\| (\d{3}) \w+ ((?:\| \d+ )+)\|$", text, re.MULTILINE)
    return {seed: [int(number) for number in re.findall(r"\d+", numbers)] for seed, numbers in lines}


def problems(text: str, schema: Schema) -> list[str]:
    """Everything unmapped, mapped twice, mapped to nothing, or mapped to what is not there."""
    rows, odd = rows_of(text)
    found = [f"not a row: {line}" for line in odd]
    found += [f"a step by its number: {line}" for line in text.splitlines() if STEP.search(line)]
    found += _coverage(rows)
    for row in rows:
        found += [f"{row.key}: {problem}" for problem in _row_problems(row, schema)]
    counts = counts_of(text)
    for seed, module in SEEDS.items():
        expected = [module.COUNTS[category] for category in CATEGORIES]
        if counts.get(seed) != [*expected, sum(expected)]:
            found.append(f"the table of counts is wrong for seed {seed}")
    return found


def _coverage(rows: list[Row]) -> list[str]:
    wanted = all_keys()
    seen = Counter(row.key for row in rows)
    found = [f"{key}: no row" for key in wanted if key not in seen]
    found += [f"{key}: {times} rows" for key, times in seen.items() if times > 1]
    found += [f"{key}: not a thing of the seeds" for key in seen.keys() - set(wanted)]
    found += [f"{row.key}: in the section of {row.seed}" for row in rows if row.key[:3] != row.seed]
    return found


@cache  # the tests look at many pages that differ in one row
def _row_problems(row: Row, schema: Schema) -> list[str]:
    if not row.home:
        return ["no home"]
    home = HOME.match(row.home)
    if home is None:
        return [f"a home starts with a word of the legend: {row.home!r}"]
    found = []
    if not _holds(home["kind"], row, schema):
        found.append(f"{home['kind']} home that names nothing we have: {row.home!r}")
    for capability in NOT_YET.findall(row.home + " " + row.note):
        if capability and capability not in CAPABILITIES:
            found.append(f"there is no capability {capability!r} on the road ahead")
    for table, column in POINTER.findall(row.home):
        if not homes.holds_json(table, column):
            found.append(f"a place inside {table}.{column}, which holds no JSON")
    found += _writer_problems(row, schema)
    for name in TICKED.findall(row.home + " " + row.note):
        found += _name_problems(name, row, schema)
    return found


def _writer_problems(row: Row, schema: Schema) -> list[str]:
    """Whether it says by which verbs its home is written, and there are such verbs; the tests then try them."""
    if row.kind not in STORED:
        return [f"written by {row.written}, but it has no home of its own"] if row.written else []
    home, where = homes.parse(row.home), WHERE.search(row.home)
    if home and where and not schema.has_column(home.table, where[1]):
        return [f"`{home.table}.{where[1]}` is no column of schema.sql"]
    if not WRITERS.fullmatch(row.written):
        return [f"which verb writes {row.home!r}? not {row.written!r}"]
    calls = [(text, verbs.parse(text)) for text in TICKED.findall(row.written)]
    return [f"`{text}` is no verb" for text, call in calls if call is None or not verbs.is_known(call)]


def _holds(kind: str, row: Row, schema: Schema) -> bool:
    """Does the home name at least one thing of the kind it claims?"""
    names = TICKED.findall(row.home)
    if kind == "column":
        return bool(names) and _is_column(names[0], schema)
    if kind == "table":
        return bool(names) and names[0] in schema.tables
    if kind == "index":
        return bool(names) and names[0] in schema.indexes
    if kind.startswith("not yet"):
        return len(row.home.partition(":")[2].strip()) > 5
    stored = any(_is_column(name, schema) or name in schema.tables for name in names)
    return stored or (kind == "kernel" and any(_is_public(name, schema) for name in names))


def _is_column(name: str, schema: Schema) -> bool:
    dotted = DOTTED.fullmatch(name)
    return dotted is not None and schema.has_column(dotted[1], dotted[2])


def _is_public(name: str, schema: Schema) -> bool:
    dotted, command = DOTTED.match(name), COMMAND.match(name)
    if dotted or command:
        return _is_verb(name) if dotted else bool(command and command[1] in COMMANDS)
    return name == ":memory:" or name in schema.indexes or _error(name) is not None


def _is_verb(name: str) -> bool:
    """A name of the library, whatever follows it: `session.turn(…)`, `store.sessions.list()`, `palaver.base.ids`."""
    found = VERB.match(name)
    return found is not None and verbs.is_known(Call(found[1], found[2]))


def _error(name: str) -> object:
    return getattr(errors, name.partition("(")[0], None) if name[:1].isupper() else None


def _name_problems(name: str, row: Row, schema: Schema) -> list[str]:
    dotted, command = DOTTED.match(name), COMMAND.match(name)
    if (dotted[0] if dotted else name) in PLANNED or (command and command[1] not in COMMANDS):
        says_so = NOT_YET.search(row.home + " " + row.note)
        return [] if says_so else [f"`{name}` is not there yet, which the row does not say"]
    if re.match(r"00\d\.", name):
        keys = all_keys()
        return [] if any(key == name or key.startswith(name + ".") for key in keys) else [f"no key `{name}`"]
    if not dotted:
        return []
    if dotted[1] in verbs.HANDLES:
        return [] if _is_verb(name) else [f"no public name `{name}`"]
    return [] if _is_column(name, schema) else [f"`{name}` is no column of schema.sql"]
