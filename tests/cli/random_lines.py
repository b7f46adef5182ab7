"""Command lines made up at random: any command, any of its options, with good, strange and hostile values, on stores
that are whole, broken, foreign or not there. `python -m tests.cli.random_lines SEED CALLS` says all that is found.

A world is a folder with stores and files, and the lines that are run in it, one after the other. Whatever is typed, a
command ends with a documented code, never with a traceback; what it prints with --json is JSON; and a store that was
whole is whole afterwards.
"""

from __future__ import annotations

import itertools
import json
import random
import shlex
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

import palaver
from palaver.cli.exits import CODES
from palaver.cli.program import COMMANDS, cli

from ..fuzz import values
from . import talks
from .inside import TookTooLong
from .run import Cli, Done
from .test_wording import NAMES_A_CALL

LINES_OF_A_WORLD = 50
LONGEST = 60.0  # seconds that a command may take: a bound, not a measure
NOT_RUN = {"demo"}  # it has no arguments, and takes a second
NEVER_GIVEN = {"follow"}  # it ends with Ctrl-C
MAY_FIND_PROBLEMS = {"verify", "doctor", "rebuild", "copy", "space", "export", "import", "permit", "search"}
TEXTS = [text for text in (str(make()) for make in values.TEXTS) if "\0" not in text]  # no argument has a NUL
ARGUMENTS = [
    text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") for text in TEXTS if text.isascii()
]
ARGUMENTS += ["Grüße", "\udcff", "😀", "\u202eevil", "e\u0301"]
NUMBERS = ["0", "1", "2", "5", "-1", "x", "", "1.5", "99999999999999999999", " 3"]
NAMES = [
    *("@", "ticket-7", "the-build", "Fix the build", "@~1", "@~", "@{1}", "ticket-7@{2}~1", "@{99}", "Fix teh build"),
    *(
        "nobody",
        "ses_",
        "Careful",
        "waits",
        "Gone",
        "",
        "~2",
        "@~99",
        "@{0}",
        "@@",
        "@x",
        "ticket-7@msg_",
        "waits@m1",
        "nobody@m1",
    ),
]
PLACES = ["~1", "@{1}", "@{2}~1", "nope", "trn_x", "", "~99"]
FILES = ["out.jsonl", "talks.jsonl", "cut.jsonl", "altered.jsonl", "notes.txt", "empty", "other.json"]
FILES += ["", "nowhere/x", ".", "/dev/null", "-"]
STORES = ["talks.db", "hostile.db", "odd.db", "odd.db", "damaged.db", "notes.txt", "foreign.db", "nowhere.db"]
STORES += [".", "", ":memory:", "mysql://x/y", "full.db"]
QUERIES = [
    "SELECT 1",
    "SELECT * FROM heads",
    "DELETE FROM heads",
    "nonsense",
    "",
    ".tables",
    "SELECT 1;\nSELECT 2;",
    ";",
]
SEARCHES = [
    *("linker", "green OR red", '"the build"', "-the", "(", "role:tool", "after:7d", "before:x", "session:@", "li*"),
    *("is:error", "\x1b", "linkr", "answer"),
]
KNOWN: dict[str, list[str]] = {
    **dict.fromkeys(("session", "sessions", "parent"), NAMES),
    **dict.fromkeys(("at", "to", "keep_from"), PLACES),
    **dict.fromkeys(("limit", "last", "keep", "expected", "context", "max_tokens"), NUMBERS),
    **dict.fromkeys(("output", "file"), FILES),
    **dict.fromkeys(("source", "target", "store"), STORES),
    "query": QUERIES,
    "shape": ["jsonl", "json", "markdown", "html"],
    "shell": ["bash", "zsh", "fish", "tcsh"],
    "action": ["ls", "create", "drop", "copy", "migrate", "eat"],
    "words": ["talks.db", "acme", "postgresql://127.0.0.1:1", "Not A Name", *SEARCHES],
    "tool_call": ["c1", "c2", "c3", "may-c1", "c"],
    "permission": ["bash", "write", "*"],
    "pattern": ["git *", "*", "/etc/**"],
    "space": ["acme", ""],
    "older_than": ["1s", "90d", "2w", "0d", "", "x", "999999w"],
}


class Failure(Exception):
    """What this is there to find."""


class Line(NamedTuple):
    args: tuple[str, ...]
    stdin: bytes

    def __str__(self) -> str:
        words = (word if len(word) < 100 else word[:20] + "…" for word in map(shlex.quote, self.args))
        return "palaver " + " ".join(words) + (f" < {self.stdin!r:.80}" if self.stdin else "")


# ---------------------------------------------------------------- making a line up


def make(rng: random.Random, names: list[str]) -> Line:
    command = rng.choice([name for name in COMMANDS if name not in NOT_RUN])
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    as_json = rng.random() < 0.4
    words: list[str] = []
    for each in found.params:
        words += _words(rng, each, names)
    if rng.random() < 0.05:  # something is missing, or there is too much of it
        words = words[:-1] if words and rng.random() < 0.5 and not as_json else [*words, *_some(rng, ARGUMENTS)]
    if rng.random() < 0.02:
        command = rng.choice([command[:-1], command.upper(), *ARGUMENTS])
    before = ["--store", rng.choice(STORES)] if rng.random() < 0.15 else []
    asked = ["--json"] if as_json else ["--help"] if rng.random() < 0.02 else []
    stdin = rng.choice(QUERIES).encode() if rng.random() < 0.5 else rng.choice([b"", b"\xff\x00", b"y\n", b"{}\n"])
    return Line((*before, command, *asked, *words), stdin)


def _words(rng: random.Random, each: click.Parameter, names: list[str]) -> list[str]:
    """What is typed for an argument or an option."""
    if each.name in (*NEVER_GIVEN, "json", "help") or each.name is None:
        return []
    known = names if each.name in ("session", "sessions", "parent") else KNOWN.get(each.name, ARGUMENTS)
    if isinstance(each, click.Argument):
        most = 3 if each.nargs == -1 else 1
        least = 1 if each.required and rng.random() < 0.97 else 0
        return [_value(rng, known) for _ in range(rng.randint(least, most))]
    if rng.random() > (0.06 if each.name in ("store", "space") else 0.2):
        return []
    return [each.opts[-1]] if each.is_flag else [each.opts[-1], _value(rng, known)]  # type: ignore[attr-defined]


def _value(rng: random.Random, known: list[str]) -> str:
    value = rng.choice(known) if rng.random() < 0.85 else rng.choice(ARGUMENTS)
    return "@" if value in ("--json", "--help") else value


def _some(rng: random.Random, known: list[str]) -> list[str]:
    return [rng.choice(known) for _ in range(rng.randint(1, 2))]


# ---------------------------------------------------------------- where it is run


def furnish(home: Path) -> None:
    """Stores of every kind, and files: made once, and copied for each world."""
    talks.small(home / "talks.db")
    with palaver.open(home / "talks.db") as store:
        _add_more(store)
    palaver.open(home / "full.db", events="full").close()
    talks.hostile(home / "hostile.db")
    shutil.copy(home / "talks.db", home / "odd.db")
    _deface(home / "odd.db")
    (home / "damaged.db").write_bytes((home / "talks.db").read_bytes()[:2048] + b"\xff" * 9000)
    (home / "notes.txt").write_text("my notes, which are longer than nothing\n" * 40)
    (home / "empty").write_bytes(b"")
    (home / "other.json").write_text('[{"title": "x", "mapping": {}, "create_time": 1}]')
    with sqlite3.connect(home / "foreign.db") as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    Cli(home, home / "talks.db").ok("export", "-o", "talks.jsonl")
    lines = (home / "talks.jsonl").read_bytes().splitlines(keepends=True)
    (home / "cut.jsonl").write_bytes(b"".join(lines[: len(lines) // 2])[:-9])
    (home / "altered.jsonl").write_bytes(b"".join(lines).replace(b"Green", b"Blue!").replace(b'"user"', b'"nobody"'))


def _deface(path: Path) -> None:
    """What another program may leave in rows that it is allowed to write."""
    odd = [
        "not json",
        "[1]",
        "7",
        "null",
        '{"type":5}',
        '{"type":"text"}',
        '{"type":"tool-x","state":[]}',
        "",
        "\x1b[2J",
    ]
    columns = {
        "chat_sessions": ("model_json", "permissions_json", "metadata_json", "created_at", "agent"),
        "chat_messages": ("role", "metadata_json", "created_at"),
        "chat_parts": ("type", "data_json", "tool_call_id", "updated_at"),
        "heads": ("title", "preview", "relation"),
        "turns": ("kind", "facts_json"),
    }
    connection = sqlite3.connect(path)
    with connection:
        for table, names in columns.items():
            keys = [
                key
                for (key,) in connection.execute(f"SELECT {'session_id' if table == 'heads' else 'id'} FROM {table}")
            ]
            for place, (key, name) in enumerate(itertools.product(keys, names)):
                if place % 3 == 0:
                    where = "session_id" if table == "heads" else "id"
                    connection.execute(f"UPDATE {table} SET {name} = ? WHERE {where} = ?", (odd[place % len(odd)], key))
    connection.close()


def _add_more(store: palaver.Store) -> None:
    """Sessions that wait, are queued for, archived and deleted."""
    careful = store.sessions.create("coder", title="Careful", id="waits")
    with careful.turn("Clean up.") as turn:
        for name in ("c1", "c2"):
            turn.write({"type": "tool-input-available", "toolCallId": name, "toolName": "bash", "input": {"run": "rm"}})
            turn.write({"type": "tool-approval-request", "approvalId": f"may-{name}", "toolCallId": name})
        turn.wait()
    careful.enqueue("Later.", id="m1")
    store.sessions.create(title="Shelved").archive()
    store.sessions.create(title="Gone").delete()


def names_in(store: palaver.Store) -> list[str]:
    """What sessions may be called, their ids too."""
    ids = [info.id for info in store.sessions.list(archived=True)]
    said = [hit for words in ("linker", "green OR red") for hit in store.search(words, hidden=True)]
    messages = [f"{hit.session_id[-6:]}@{hit.message_id[-6:]}" for hit in said]
    return [*NAMES, *NAMES, *ids, *(one[-6:] for one in ids), *messages]


# ---------------------------------------------------------------- running it


def check(line: Line, done: Done) -> None:
    if done.code not in CODES or "Traceback" in done.err:
        raise Failure(f"{line}\n  ended with {done.code}: {done.err[-600:]}")
    if done.code == 1 and not MAY_FIND_PROBLEMS & set(line.args):
        raise Failure(f"{line}\n  ended with 1, which is not its to end with: {done.err}")
    if "--json" in line.args:
        _check_json(line, done)
    elif done.code not in (0, 1) and not (done.err.startswith("palaver: ") or "doctor" in line.args):
        raise Failure(f"{line}\n  ended with {done.code} and said {done.err!r}")
    told = NAMES_A_CALL.search(done.err)
    if told and not any(told[0] in given for given in line.args):
        raise Failure(f"{line}\n  speaks of a call: {done.err}")


def _check_json(line: Line, done: Done) -> None:
    """Every line is JSON in ASCII; of an error, it says which."""
    said = [(text, "out") for text in done.out.splitlines()] + [(text, "err") for text in done.err.splitlines()]
    for text, stream in said:
        try:
            value = json.loads(text, parse_constant=lambda word: _refuse(word))
        except ValueError as error:
            raise Failure(f"{line}\n  printed on std{stream} {text[:300]!r}: {error}") from None
        if not text.isascii() or (stream == "err" and not {"error", "note"} & set(value)):
            raise Failure(f"{line}\n  printed on std{stream} {text[:300]!r}")
    if done.code not in (0, 1) and '"error"' not in done.err and "doctor" not in line.args:  # its findings say it
        raise Failure(f"{line}\n  ended with {done.code}, and said nothing of an error")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def run_world(
    seed: str, lines: int, home: Path, store: str | None = None, say: Callable[[Line], None] | None = None
) -> None:
    """`store`: an address of another one than the file in the folder."""
    rng = random.Random(seed)
    runner = Cli(home, store or home / "talks.db")
    with _opened(runner) as opened:
        names = names_in(opened)
    for _ in range(lines):
        line = make(rng, names)
        if say:
            say(line)
        try:
            done = runner(*line.args, stdin=line.stdin, timeout=LONGEST)
        except (TookTooLong, UnicodeDecodeError) as error:
            raise Failure(f"{line}\n  {type(error).__name__}: {error}") from None
        check(line, done)
    with _opened(runner) as opened:
        problems = opened.verify()
    if problems:
        raise Failure(f"world {seed} is not whole any more: {problems}")


def _opened(runner: Cli) -> palaver.Store:
    url, _, space = runner.env["PALAVER_STORE"].partition("#")
    return palaver.open(url, space or None)


def run(seed: int, calls: int, furnished: Path, store: Callable[[], str] | None = None) -> int:
    """From world to world; how many lines were run."""
    done = 0
    while done < calls:
        with tempfile.TemporaryDirectory(dir=furnished.parent) as folder:
            home = Path(shutil.copytree(furnished, Path(folder) / "home"))
            lines = min(LINES_OF_A_WORLD, calls - done)
            run_world(f"{seed}/{done}", lines, home, store() if store else None)
        done += lines
    return done


def _survey(seed: int, calls: int) -> dict[str, Any]:
    """All that is found, by its last line."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        furnished = Path(folder) / "furnished"
        furnished.mkdir()
        furnish(furnished)
        for number in range(calls // LINES_OF_A_WORLD):
            try:
                run(seed + number, LINES_OF_A_WORLD, furnished)
            except Failure as failure:
                found.setdefault(str(failure).splitlines()[-1][-160:], f"{seed + number}: {failure}")
    return found


if __name__ == "__main__":
    for _where in _survey(int(sys.argv[1]), int(sys.argv[2])).values():
        print(_where, "\n")
