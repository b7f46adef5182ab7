"""`palaver completion`: the script by which a shell completes our command lines."""

from __future__ import annotations

import click

from ..command import Call, command
from ..shells import SHELLS, script


@command(
    "completion",
    examples=['eval "$(palaver completion bash)"', "palaver completion fish > ~/.config/fish/completions/palaver.fish"],
    keys={"shell": "bash, zsh or fish", "script": "what the shell must evaluate"},
    store=False,
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(call: Call, shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands, options, sessions by id, title, alias and your application's own id, and calls that wait for
    an answer. A title of several words is quoted."""
    made = script(click.get_current_context().find_root().command, shell)
    if call.json:
        call.screen.json({"shell": shell, "script": made})
    else:
        call.screen.out.write(made)
