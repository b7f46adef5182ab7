"""The commands and their group. Each command is loaded when it is called."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import click

from .exits import CODES, USAGE, Stop, leave_quietly

# name: (where it is, what it does), in the order of the help.
COMMANDS = {
    "ls": ("ls:ls", "List sessions, newest first."),
    "show": ("show:show", "Read a session."),
    "search": ("search:search", "Find what was ever said."),
    "tail": ("tail:tail", "Read the end of a session, and follow what is being written."),
    "tree": ("tree:tree", "Draw the tree of a session's turns."),
    "lineage": ("lineage:lineage", "Draw where a session came from, and what came from it."),
    "log": ("log:log", "List every move of a session's head, newest first."),
    "fork": ("moves:fork", "Make a new session that shares everything up to a turn or a message."),
    "rewind": ("moves:rewind", "Go back to a turn or a message; nothing is lost."),
    "undo": ("moves:undo", "Take back the last move of a session's head."),
    "redo": ("moves:redo", "Take back an undo."),
    "title": ("names:title", "Print a session's title, or set it."),
    "alias": ("names:alias", "List a session's aliases, or add or remove one."),
    "approve": ("approvals:approve", "Allow what a waiting turn asks for."),
    "deny": ("approvals:deny", "Refuse what a waiting turn asks for."),
    "stop": ("ending:stop", "End the turns that are being written or wait for an answer."),
    "queue": ("queue:queue", "List what waits in a session, send a message, or take one back."),
    "permit": ("permit:permit", "List a session's permission rules, or add or remove one."),
    "compact": ("compaction:compact", "Let a summary stand for what was said before."),
    "context": ("compaction:context", "Print what a model should see of a session."),
    "end": ("ending:end", "Say that a session is over, and why."),
    "reopen": ("ending:reopen", "Say that a session is not over after all."),
    "archive": ("archive:archive", "Make sessions read-only and take them off the list."),
    "rm": ("archive:rm", "Delete sessions; forks keep what they share."),
    "adopt": ("foreign:adopt", "Make turns of rows that another program wrote."),
    "materialise": ("foreign:materialise", "Write a fork's shared messages as rows of its own."),
    "verify": ("verify:verify", "Prove that nothing was altered."),
    "rebuild": ("rebuild:rebuild", "Make sessions again from their journal, row for row."),
    "reindex": ("reindex:reindex", "Make the search index again, from the record."),
    "copy": ("copy:copy", "Copy sessions from one store to another: a file, a Postgres server."),
    "space": ("space:space", "List, make, drop, copy or migrate the spaces of a Postgres database."),
    "export": ("export_import:export", "Write sessions to a file that import reads."),
    "import": ("export_import:import_", "Read an export into the store, or a conversation of a model API."),
    "doctor": ("doctor:doctor", "Look at the store and its surroundings, and say what to do."),
    "sql": ("sql:sql", "Ask the store in SQL, read-only."),
    "demo": ("demo:demo", "Record a scripted agent, fork, rewind, and prove that nothing was lost."),
    "completion": ("completion:completion", "Print the completion script of a shell."),
}


class Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        where, _ = COMMANDS[name]
        module, _, attribute = where.partition(":")
        found: click.Command = getattr(import_module(f"{__package__}.commands.{module}"), attribute)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """click knows no command that is not loaded, so it cannot say which was meant."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from .near import unknown_command

            ctx.fail(unknown_command(args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """click would end a broken pipe with code 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return leave_quietly()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Sessions"):
            formatter.write_text(
                "by id or a beginning or end of it, by your own id, alias or title; @ is the latest, @~2 two turns"
                " back, @{4} where its head was by `palaver log`, NAME@MESSAGE a message in it"
            )
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in CODES.items()])


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="palaver-store", message="%(prog)s %(version)s")
@click.option("-s", "--store", metavar="URL", help="The store; else PALAVER_STORE, PALAVER_HOME, ~/.palaver.")
@click.option("--space", metavar="NAME", help="The space on a Postgres server; else PALAVER_SPACE.")
@click.pass_context
def cli(ctx: click.Context, store: str | None, space: str | None) -> None:
    """The permanent record of AI agents' conversations."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(args: list[str]) -> int:
    """Run a command line; its exit code."""
    if "_PALAVER_COMPLETE" in os.environ:
        from . import shells

        shells.register()
    try:
        result = cli.main(args, prog_name="palaver", standalone_mode=False)
    except click.UsageError as error:
        named = error.ctx.command_path if error.ctx else "palaver"
        raise Stop(error.exit_code, f"{error.format_message()} (`{named} --help` shows how)", "Usage") from None
    except click.ClickException as error:
        raise Stop(USAGE, error.format_message(), "Usage") from None
    except click.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0
