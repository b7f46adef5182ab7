"""The command line. Commands are loaded when they are called, so that `palaver` starts fast."""

from __future__ import annotations

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="palaver")
def main() -> None:
    """The permanent record of AI agents' conversations."""


@main.command()
def demo() -> None:
    """Record a scripted agent, lose a race, fork, rewind, and prove that nothing was lost."""
    from .demo import run

    run(click.echo)
