"""The command line. Commands are loaded when they are called, so that `palaver` starts fast.

Commands return nothing, or an exit code. Every way to end is turned into its code here, in `main`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from palaver.errors import PalaverError

from .exits import CODES, INTERRUPTED, PIPE, STORE, Stop, code_of
from .screen import Screen, as_json, prepare_streams

# name: (where it is, what it does), in the order of the help.
COMMANDS = {
    "ls": ("ls:ls", "List sessions, newest first."),
    "show": ("show:show", "Read a session."),
    "tail": ("tail:tail", "Read the end of a session, and follow what is being written."),
    "tree": ("tree:tree", "Draw the tree of a session's turns."),
    "log": ("log:log", "List every move of a session's head, newest first."),
    "fork": ("moves:fork", "Make a new session that shares everything up to a turn or a message."),
    "rewind": ("moves:rewind", "Go back to a turn or a message; nothing is lost."),
    "undo": ("moves:undo", "Take back the last move of a session's head."),
    "redo": ("moves:redo", "Take back an undo."),
    "archive": ("shelf:archive", "Make sessions read-only and take them off the list."),
    "rm": ("shelf:rm", "Delete sessions; forks keep what they share."),
    "adopt": ("rows:adopt", "Make turns of rows that another program wrote."),
    "materialise": ("rows:materialise", "Write a fork's shared messages as rows of its own."),
    "verify": ("verify:verify", "Prove that nothing was altered."),
    "export": ("carry:export", "Write sessions to a file that import reads."),
    "import": ("carry:import_", "Read an export into the store."),
    "doctor": ("doctor:doctor", "Look at the store and its surroundings, and say what to do."),
    "sql": ("sql:sql", "Ask the store in SQL, read-only."),
    "demo": ("story:demo", "Record a scripted agent, fork, rewind, and prove that nothing was lost."),
    "completion": ("completion:completion", "Print the completion script of a shell."),
}


class Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        found: click.Command = getattr(import_module(f"{__name__}.{module}"), attribute)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """click would end a broken pipe with code 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return _leave_quietly()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Sessions"):
            formatter.write_text(
                "by id or a beginning or end of it, by your own id, alias or title; @ is the latest, @~2 two turns back"
            )
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in CODES.items()])


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="palaver", message="%(prog)s %(version)s")
@click.option("-s", "--store", metavar="URL", help="The store; else PALAVER_STORE, PALAVER_HOME, ~/.palaver.")
@click.pass_context
def cli(ctx: click.Context, store: str | None) -> None:
    """The permanent record of AI agents' conversations."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    prepare_streams()
    given = sys.argv[1:] if args is None else list(args)
    try:
        code = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        code = _leave_quietly()
    sys.exit(code)


def _run(args: list[str]) -> int:
    try:
        result = cli.main(args, prog_name="palaver", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except Stop as stop:
        return _explain(args, stop.code, str(stop), stop.kind)
    except PalaverError as error:
        return _explain(args, code_of(error), str(error), type(error).__name__)
    except click.UsageError as error:
        return _explain(args, error.exit_code, _with_hint(error), "Usage")
    except click.ClickException as error:
        return _explain(args, 2, error.format_message(), "Usage")
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        return _explain(args, STORE, str(error), type(error).__name__)


def _explain(args: list[str], code: int, sentence: str, kind: str) -> int:
    """One sentence for a person, one JSON line for a program."""
    if "--json" in args:
        sys.stderr.write(as_json({"error": {"kind": kind, "message": sentence, "exit": code}}) + "\n")
    else:
        screen = Screen(sys.stderr)
        sys.stderr.write(f"palaver: {screen.safe(sentence)}\n")
    return code


def _with_hint(error: click.UsageError) -> str:
    named = error.ctx.command_path if error.ctx else "palaver"
    return f"{error.format_message()} (`{named} --help` shows how)"


def _leave_quietly() -> int:
    """Nobody reads any more. Python would complain once more at its end: give it something to write to."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return PIPE
