"""docs/cli.md, written from the commands themselves: `python -m palaver.cli.reference` writes it, a test compares."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from . import COMMANDS, cli
from .command import Command
from .exits import CODES

_INTRO = """# The command line

<!-- Written by `python -m palaver.cli.reference` from the commands themselves. -->

`palaver COMMAND --help` says the same, with an example.

**The store** is the file named by `--store`, else by `PALAVER_STORE`, else `palaver.db` in the directory
`PALAVER_HOME`, else `~/.palaver/palaver.db`. Commands that only look never make a store. A directory that has to be made
gets mode 0700.

**A session** is named by its id, by a beginning of it (with or without `ses_`) or an end of it (from four characters
on), by the id your application gave it, by an alias, or by its exact title. `@` is the session that changed last.
`NAME~2` (or `@~2`) is two turns back from its head, where a command takes a place: `show`, `fork`, `rewind`. A name that
fits nothing, or several sessions, is answered with what it could have meant, and exit code 3.

**Safe to look at.** What is stored may hold anything, so escape sequences, control characters, marks that turn text
around and characters without width are made visible: `␛[2J`, `\\u{202e}`. JSON is pure ASCII. Only `show --raw` prints
text as it is. Colours and the pager (`PAGER`, else `less`) are for terminals only; `NO_COLOR` turns colours off.

**For programs.** Every command has `--json`; its keys are listed below and stay. An error is then one line on stderr:
`{"error": {"kind": …, "message": …, "exit": …}}`. Times are epoch milliseconds.
"""


def page() -> str:
    sections = [_INTRO, "## Exit codes\n", _codes(), *(_section(name) for name in COMMANDS)]
    return "\n".join(sections).rstrip("\n") + "\n"


def _codes() -> str:
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in CODES.items())
    return "| code | meaning |\n|---|---|\n" + rows


def _section(name: str) -> str:
    context = click.Context(cli, info_name="palaver")
    made = cli.get_command(context, name)
    assert isinstance(made, Command)
    own = click.Context(made, info_name=name, parent=context)
    usage = " ".join(made.collect_usage_pieces(own))
    lines = [f"## {name}\n", f"    palaver {name} {usage}\n", inspect.cleandoc(made.help or "") + "\n"]
    lines += ["| option | |\n|---|---|", *_options(made, own), ""]
    lines += ["```sh", *made.examples, "```\n"]
    lines += ["`--json`:\n", "| key | |\n|---|---|", *_keys(made), ""]
    return "\n".join(lines)


def _options(made: Command, context: click.Context) -> Iterator[str]:
    for parameter in made.params:
        record = parameter.get_help_record(context)
        if record:
            yield f"| `{_cell(record[0])}` | {_cell(record[1])} |"


def _keys(made: Command) -> Iterator[str]:
    """A key that is indented belongs to the one above it."""
    for key, meaning in made.keys.items():
        name = f"· `{key.strip()}`" if key.startswith(" ") else f"`{key}`"
        yield f"| {name} | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/cli.md")
    path.write_text(page(), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
