"""A person at the command line is told of commands and options, never of Python calls."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import PalaverError, errors
from palaver.cli.wording import worded

from .run import Cli

SOURCE = Path(palaver.__file__).parent
NAMES_A_CALL = re.compile(
    r"\b[a-z_.]+\([^)]*\)|\b[a-z_]+=(True|False|None|…|n\b|'|\")|`(timeout|space|create|readonly)`|keep_from"
)
FUNCTIONS = {name for name, made in vars(errors).items() if isinstance(made, type) and issubclass(made, PalaverError)}
FUNCTIONS |= {"cls", "__init__", "Refusal", "Rejected", "NotAnExport"}
# Said to a program that streams, records or builds values itself: no command does so.
ONLY_A_PROGRAM = {
    *("aio.py", "awaited/handles.py", "aisdk/chunks.py", "aisdk/folding.py", "base/arguments.py", "recording.py"),
    *("core/turn/message_input.py", "core/turn/options.py", "core/turn/triggers.py", "core/settle/landing.py"),
    *("streaming/recorder.py", "streaming/changes.py", "tool_call.py", "aisdk/composing.py"),
    *("core/verbs/unanswered.py", "dialects/hermes/session_db.py"),
}
OF_A_PROGRAM = (
    "turn.usage()",  # UsageConflict
    "call turn.usage(…)",  # commit(status="waiting")
    "before fork()",  # StoreClosed
    "at={}",  # ChunkGap
    "open() has no option",
    "rewind() takes a message back",  # edit
    "give it to enqueue()",  # claim
    "see check_rule()",  # of rules that a host gives
    "such as media_type='image/png'",  # a file that an agent writes
    "ask for hex(column) instead",  # SQL
)


def sentences(path: Path) -> Iterator[str]:
    """The texts that a file gives to its errors."""

    def visit(node: ast.AST, told: bool) -> Iterator[str]:
        text = _text(node)
        if told and text is not None:
            yield text
            return
        called = getattr(node, "func", None)
        name = getattr(called, "id", getattr(called, "attr", ""))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, told or isinstance(node, ast.Raise) or name in FUNCTIONS)

    yield from visit(ast.parse(path.read_text()), False)


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(piece.value) if isinstance(piece, ast.Constant) else "{}" for piece in node.values)
    return None


def names_a_call(text: str) -> bool:
    said = worded(text.replace("at={})", "at='x')").replace('"{}"', '"full"').replace("{} writes", "rewind writes"))
    return bool(NAMES_A_CALL.search(said)) and not any(known in said for known in OF_A_PROGRAM)


def test_no_error_of_the_library_names_a_call_at_the_command_line() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        if not where.startswith("testing/") and where not in ONLY_A_PROGRAM:
            found += [f"{where}: {text}" for text in sentences(path) if names_a_call(text)]
    assert found == [], "give these the words of the command line: cli/wording.py"


def test_a_sentence_that_names_a_call_would_be_found(tmp_path: Path) -> None:
    told = ["raise BadValue(f'{x} is open; close() it first')", "lost = NotFound(1, 'open it with create=True')"]
    (tmp_path / "one.py").write_text("\n".join(told))
    assert [names_a_call(text) for text in sentences(tmp_path / "one.py")] == [True, True]
    assert not names_a_call("session {} was deleted; undelete() brings it back")


def every_error(root: type[PalaverError] = PalaverError) -> Iterator[type[PalaverError]]:
    for made in root.__subclasses__():
        if made.__module__ == "palaver.errors":
            yield made
            yield from every_error(made)


def example(made: type[PalaverError]) -> PalaverError:
    """One of its kind, with everything it can be told."""
    own = next((kind for kind in made.__mro__ if "__init__" in vars(kind)), made)
    if own.__module__ != "palaver.errors":
        return made("something went wrong")
    given: dict[str, Any] = {}
    for name, each in list(inspect.signature(made.__init__).parameters.items())[1:]:
        kind = str(each.annotation)
        given[name] = 3 if "int" in kind or "float" in kind else False if kind == "bool" else "x"
    return made(**given)


@pytest.mark.parametrize("made", sorted(every_error(), key=lambda made: made.__name__), ids=lambda made: made.__name__)
def test_an_error_of_every_kind_speaks_of_commands(made: type[PalaverError]) -> None:
    said = worded(str(example(made)))
    assert said and (not NAMES_A_CALL.search(said) or any(known.replace("{}", "3") in said for known in OF_A_PROGRAM))


def test_commands_that_go_wrong_speak_of_commands(cli: Cli) -> None:
    stray = next(turn for turn in cli.json("tree", "ticket-7")["turns"] if turn["mark"] == "stray")["id"]
    cli.ok("archive", cli.json("fork", "ticket-7", "--title", "Shelved")["session"]["id"])
    expected = {
        ("fork", "ticket-7", "--at", "nope"): "neither a turn nor a message",
        ("rewind", "ticket-7", "--to", stray): "`palaver fork --at` reaches other branches",
        ("queue", "ticket-7", "--cancel", "m9"): "`palaver queue` lists what waits",
        ("undo", "Shelved"): "`palaver archive --undo` brings it back",
        ("show", "nobody", "-s", "nowhere.db"): "name another with --store",
        ("ls", "--space", "acme"): "leave --space out",
        ("ls", "--after", "nonsense"): "is not a cursor",
        ("undo", "ticket-7", "--expected", "1"): "another writer was first",
        ("rebuild",): "keeps no journal",
        ("compact", "ticket-7", "x", "--keep", "9"): "name a later turn with --keep-from",
        ("compact", "ticket-7", " "): "a summary is text that says something\n",
        ("alias", "ticket-7", "x", "--remove"): "`palaver alias",
    }
    for words, wanted in expected.items():
        done = cli(*words)
        assert wanted in done.err and not NAMES_A_CALL.search(done.err), done.err


def test_a_file_that_cannot_be_read_is_named_without_numbers_of_the_system(cli: Cli) -> None:
    (cli.home / "folder").mkdir()
    for words in (("import", "folder"), ("import", "nowhere.jsonl"), ("export", "-o", "nowhere/x.jsonl")):
        said = cli.refused(*words, code=2)
        assert "Errno" not in said and words[-1] in said
