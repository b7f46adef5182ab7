"""docs/cli.md, written from the commands themselves: `python -m palaver.cli.reference` writes it, a test compares."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from .command import Command
from .exits import CODES
from .program import COMMANDS, cli
from .values import OBJECTS

_INTRO = """# The command line

<!-- Written by `python -m palaver.cli.reference` from the commands themselves. -->

`palaver COMMAND --help` says the same, with an example.

**The store** is the file named by `--store`, else by `PALAVER_STORE`, else `palaver.db` in the directory
`PALAVER_HOME`, else `~/.palaver/palaver.db`. A variable that is empty is as good as none; an empty `--store` is
refused. Commands that only look never make a store. A directory that has to be made gets mode 0700. `palaver --store
URL COMMAND` and `palaver COMMAND --store URL` are the same; if both are there, the one behind the command counts.

**On Postgres** the store is a space of a database: `postgresql://user@host/database#acme`, wherever a store is named.
The space may also be given by `--space`, else by `PALAVER_SPACE`; without any it is `default`. Passwords are best
left to `~/.pgpass` or `PGPASSWORD`, which other users of the machine cannot see; none is ever printed, and a `#` or
`@` in one is written `%23` or `%40`. Behind a transaction pooler, set `PALAVER_POOLER=1`. A server that is away is
tried again for half a minute; after three seconds stderr says whom we wait for. [Postgres](postgres.md) has more.

**Looking changes nothing.** `ls`, `show`, `log`, `tree`, `lineage`, `tail`, `context`, `export`, `verify` (without
`--fix`), `sql` and whatever only lists (`queue`, `permit`, `title` and `alias` of a session and nothing more,
`rm --list`, `rm --older-than` without `--yes`) open the store to be read only: they take no lock, recover and adopt
nothing, and work where nothing can be written (another user's store, a read-only file system). Where the store has to
be copied to be read, stderr says so: `palaver: note: …`, or `{"note": …}` with `--json`. What a writer that died left
open is shown as open; the next command that writes seals it. `search` only looks, too, unless so much is not indexed
yet that it cannot be looked through: then it brings the index up to date first, if the store can be written, and says
on stderr if not. [Operations](operations.md) has more.

**A session** is named by its id, by a beginning of it (with or without `ses_`) or an end of it (from four characters
on), by the id your application gave it, by an alias, or by its exact title. `@` is the session that changed last. A
name that fits nothing, or several sessions, is answered with what it could have meant, and exit code 3.

**Which name wins.** `@`, alone or with a place behind it (`@~2`, `@{4}`), is the latest session, whatever anybody is
called. A whole id, ours or your application's, is that session and no other. Then comes a place in a session
(`NAME~2`, if NAME names one), and a message of one (`NAME@MESSAGE`, if it has such a message). Aliases, titles and
pieces of an id are equal: if one name fits two sessions, it is refused with both; only a piece of fewer than four
characters gives way to an alias or a title. A title is meant exactly: `X` is never `X #2`; if only such numbers are
there, the refusal names the newest of them, and nothing is guessed. `alias` and `title` do not take what is always a
place.

**A place** is a turn of a session: `NAME~2` (or `@~2`) is two turns back from its head, `NAME@{4}` (or `@{4}`) is
where its head was at that line of `log`, and `NAME@{4}~2` two turns before that. `show`, `fork`, `rewind` and
`export` (as JSON or Markdown) take one in the place of a session; `--at`, `--to` and `--keep-from` take it without
the name.

**A message** is `NAME@MESSAGE`, as `search` prints it: a session, and the id of a message in it or a clear piece of
that. `show` takes it; `--at` and `--to` take the message without the name.

**Safe to look at.** What is stored may hold anything, so escape sequences, control characters, marks that turn text
around and characters without width are made visible: `␛[2J`, `\\u{202e}` (the joiner between two emoji stays). JSON is
pure ASCII. Only `show --raw`, and `sql --csv` into a file or a pipe, print text as it is. No link is made of what is
stored: one in Markdown shows where it leads.

**On a terminal** text is wrapped at words, long output goes through `PAGER` (else `less`), and answers are drawn:
Markdown, code and diffs in colours. What Markdown would hide stays as it was written. `NO_COLOR` turns colours and
drawing off. **In a pipe** there is plain text and nothing but the answer: hints (`more: --limit 100`) are for people.

**For programs.** Every command has `--json`; its keys are listed below and stay. An error is then one line on stderr:
`{"error": {"kind": …, "message": …, "exit": …}}`. Times are epoch milliseconds.
"""


def page() -> str:
    sections = [_INTRO, "## Exit codes\n", _codes(), *map(_section, COMMANDS), "## Objects in JSON\n", *_objects()]
    return "\n".join(sections).rstrip("\n") + "\n"


def _codes() -> str:
    return _table("code", "meaning", {str(code): meaning for code, meaning in CODES.items()})


def _objects() -> Iterator[str]:
    for name, keys in OBJECTS.items():
        yield f"### {name}\n"
        yield _table("key", "", {f"`{key}`": meaning for key, meaning in keys.items()})


def _section(name: str) -> str:
    context = click.Context(cli, info_name="palaver")
    made = cli.get_command(context, name)
    assert isinstance(made, Command)
    usage = " ".join(made.collect_usage_pieces(click.Context(made, info_name=name, parent=context)))
    lines = [f"## {name}\n", f"    palaver {name} {usage}\n", inspect.cleandoc(made.help or "") + "\n"]
    lines += ["```sh", *made.examples, "```\n"]
    lines += [_table("option", "", dict(map(_option, _options(made))))]
    lines += [_table("`--json`", "", {_key(key): _linked(meaning) for key, meaning in made.keys.items()})]
    return "\n".join(lines)


def _options(made: Command) -> list[click.Option]:
    return [one for one in made.params if isinstance(one, click.Option)]


def _option(option: click.Option) -> tuple[str, str]:
    names = ", ".join(option.opts)
    value = "" if option.is_flag else f" {option.metavar or option.type.name.split()[0].upper()}"
    default = f" Default: {option.default}." if option.show_default else ""
    return f"`{names}{value}`", f"{option.help}{default}"


def _key(key: str) -> str:
    """A key that is indented belongs to the one above it."""
    return f"· `{key.strip()}`" if key.startswith(" ") else f"`{key}`"


def _linked(meaning: str) -> str:
    first = meaning.split(",")[0]
    return meaning.replace(first, f"[{first}](#{first.lower()})", 1) if first in OBJECTS else meaning


def _table(left: str, right: str, rows: dict[str, str]) -> str:
    lines = [f"| {_cell(one)} | {_cell(other)} |\n" for one, other in rows.items()]
    return f"| {left} | {right} |\n|---|---|\n{''.join(lines)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/cli.md")
    path.write_text(page(), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
