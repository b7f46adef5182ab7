"""Every command is documented: help with an example, the page, the exit codes, and the keys of its JSON."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import palaver
from palaver.cli.command import Command
from palaver.cli.exits import CODES
from palaver.cli.program import COMMANDS, cli
from palaver.cli.reference import page
from palaver.cli.values import OBJECTS

from .run import Cli

PAGE = Path(__file__).parent.parent.parent / "docs" / "cli.md"
RUNS = {
    "ls": ["ls"],
    "show": ["show", "@"],
    "search": ["search", "linker"],
    "tree": ["tree", "@"],
    "lineage": ["lineage", "@"],
    "log": ["log", "@"],
    "fork": ["fork", "@"],
    "rewind": ["rewind", "@~1"],
    "undo": ["undo", "ticket-7"],
    "redo": ["redo", "ticket-7"],
    "end": ["end", "ticket-7", "done"],
    "reopen": ["reopen", "ticket-7"],
    "adopt": ["adopt"],
    "materialise": ["materialise", "ticket-7"],
    "title": ["title", "ticket-7"],
    "alias": ["alias", "ticket-7"],
    "queue": ["queue", "ticket-7", "And then?"],
    "permit": ["permit", "ticket-7", "bash", "git *"],
    "compact": ["compact", "ticket-7", "So far, so good."],
    "context": ["context", "ticket-7"],
    "archive": ["archive", "@"],
    "rm": ["rm", "@"],
    "verify": ["verify"],
    "rebuild": ["rebuild", "--check", "--store", "full.db"],
    "reindex": ["reindex"],
    "copy": ["copy", "talks.db", "copied.db"],
    "export": ["export", "-o", "out.jsonl"],
    "import": ["import", "in.jsonl", "--store", "new.db"],
    "doctor": ["doctor"],
    "sql": ["sql", "SELECT 1"],
    "demo": ["demo"],
    "completion": ["completion", "zsh"],
}


def command(name: str) -> Command:
    found = cli.get_command(click.Context(cli), name)
    assert isinstance(found, Command)
    return found


def test_the_page_is_what_the_commands_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m palaver.cli.reference`"


def test_a_change_to_a_command_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command("ls"), "examples", ["palaver ls --other"])
    assert PAGE.read_text(encoding="utf-8") != page()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_json_and_a_summary(name: str) -> None:
    found = command(name)
    text = found.get_help(click.Context(found, info_name=name, help_option_names=["-h", "--help"]))
    assert re.search(r"Examples?:\n +\S*.*palaver " + name, text), text
    assert "--json" in text
    assert ("--store" in text) is (name not in ("demo", "completion", "copy", "space"))
    assert found.help and found.help.startswith(COMMANDS[name][1])
    assert all(option.help for option in found.params if isinstance(option, click.Option))
    assert found.keys


def test_help_lists_every_command_and_every_exit_code(bare: Cli) -> None:
    text = bare.ok("--help")
    assert bare.ok() == text
    assert [name for name in COMMANDS if not re.search(rf"^  {name} +\S", text, re.MULTILINE)] == []
    assert [code for code in CODES if not re.search(rf"^  {code} +\S", text, re.MULTILINE)] == []
    assert bare.ok("ls", "-h") == bare.ok("ls", "--help")
    assert re.fullmatch(r"palaver \d+\.\d+\.\d+\n", bare.ok("--version"))


def test_a_wrong_command_line_is_one_sentence_with_a_hint(bare: Cli) -> None:
    assert "`palaver --help` shows how" in bare.refused("lss", code=2)
    assert "`palaver show --help` shows how" in bare.refused("show", code=2)
    assert "--limit" in bare.refused("ls", "--limit", "0", code=2)
    assert "--nope" in bare.refused("ls", "--nope", code=2)
    assert "\x1b" not in bare.refused("\x1b[2J", code=2)


def documented(name: str) -> tuple[set[str], set[str]]:
    """The keys at the top, and those inside its list or object."""
    top, inside = set(), set()
    for key, meaning in command(name).keys.items():
        (inside if key.startswith(" ") else top).add(key.strip().removesuffix("[]"))
        inside |= set(OBJECTS.get(meaning.split(",")[0], ()))
    return top, inside


@pytest.fixture(scope="module")
def answers(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every command prints with --json, each on the same store in turn."""
    home = tmp_path_factory.mktemp("answers")
    shutil.copy(filled, home / "talks.db")
    runner = Cli(home, home / "talks.db")
    runner.ok("export", "-o", "in.jsonl", "--format", "jsonl")
    palaver.open(home / "full.db", events="full").close()
    found = {}
    for name, args in RUNS.items():
        done = runner(*args, "--json")
        assert done.code == 0, (name, done.err)
        found[name] = done.json()
    return found


@pytest.mark.parametrize("name", sorted(RUNS))
def test_json_has_exactly_the_documented_keys(answers: dict[str, Any], name: str) -> None:
    top, inside = documented(name)
    answer = answers[name]
    assert set(answer) == top
    for value in answer.values():
        several = value if isinstance(value, list) else [value]
        objects = [one for one in several if isinstance(one, dict)]
        if inside and name != "show":
            assert all(set(one) == inside for one in objects)


def test_every_other_command_is_run_for_its_json() -> None:
    """tail's lines are looked at in test_tail.py, answers to a waiting turn in test_approvals.py, and space needs a
    server: test_postgres.py."""
    assert set(RUNS) == set(COMMANDS) - {"tail", "approve", "deny", "stop", "space"}


def test_an_error_is_json_too_when_json_was_asked_for(cli: Cli) -> None:
    done = cli("show", "no such session", "--json")
    assert (done.code, done.out) == (3, "")
    error = json.loads(done.err)["error"]
    assert (error["kind"], error["exit"]) == ("SessionNotFound", 3)
    assert json.loads(cli("ls", "--nope", "--json").err)["error"]["kind"] == "Usage"


def loaded(cli: Cli, *args: str) -> set[str]:
    """The modules that a command needs."""
    code = (
        "import sys; from palaver.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, *args], env=cli.env, capture_output=True, text=True, timeout=60)
    return set(run.stderr.split())


def test_a_plain_ls_loads_the_list_and_nothing_else(cli: Cli) -> None:
    assert not loaded(cli, "ls", "--all") & {"click", "msgspec", "json", "palaver.store", "palaver.cli.program", "rich"}


def test_a_plain_search_loads_what_it_takes_to_look(cli: Cli) -> None:
    found = loaded(cli, "search", "linker", "--newest")
    assert "palaver.core.search.finding" in found
    assert not found & {
        "click",
        "palaver.store",
        "palaver.session",
        "palaver.cli.program",
        "rich",
        "subprocess",
        "json",
    }


def test_a_command_loads_no_other_command(cli: Cli) -> None:
    found = loaded(cli, "ls", "--json")
    assert {name for name in COMMANDS if f"palaver.cli.commands.{name}" in found} == {"ls"}
    assert not found & {"rich", "subprocess", "asyncio", "readline", "palaver.exports", "palaver.cli.demo_story"}
