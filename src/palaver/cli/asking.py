"""A question that a person answers by yes or no, on stderr: stdout may be anybody's."""

from __future__ import annotations

import click

from .exits import PROBLEMS, Stop


def ask(question: str, *, otherwise: str) -> None:
    """Go on if the answer is yes. A no is an answer, too: the command ends, and says what was not done."""
    if not click.confirm(question, err=True):
        raise Stop(PROBLEMS, otherwise, "Declined")
