"""`palaver completion`: the script by which a shell completes our command lines."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from ..command import Call, command

SHELLS = ("bash", "zsh", "fish")


@command(
    "completion",
    examples=['eval "$(palaver completion bash)"', "palaver completion fish > ~/.config/fish/completions/palaver.fish"],
    keys={"shell": "bash, zsh or fish", "script": "what the shell must evaluate"},
    store=False,
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(call: Call, shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands, options, and sessions by id, title and alias."""
    root = click.get_current_context().find_root().command
    made = get_completion_class(shell)
    assert made
    maker = made(root, {}, "palaver", "_PALAVER_COMPLETE")
    script = ShellComplete.source(maker)  # bash's own would first run bash, to look at its version
    if call.json:
        call.screen.json({"shell": shell, "script": script})
    else:
        call.screen.out.write(script)
