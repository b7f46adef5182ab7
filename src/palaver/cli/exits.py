"""How a command ends: the exit codes, and which goes with each kind of error.

A person gets one sentence on stderr, never a traceback; a program that asked for `--json` gets the same as one JSON
line there. The codes are part of the interface: docs/cli.md and `palaver --help` list them from this file.
"""

from __future__ import annotations

import os
import re
import sys

from palaver import errors

OK, PROBLEMS, USAGE, UNKNOWN, STORE, CONFLICT, INTERRUPTED, PIPE = 0, 1, 2, 3, 4, 5, 130, 141

CODES = {
    OK: "done",
    PROBLEMS: "it ran, and found problems (verify, doctor, rebuild, copy, space, export, import), or nothing (search),"
    " or no rule (permit); or you answered no (rm, space drop)",
    USAGE: "the command line is wrong, or a value or file given there",
    UNKNOWN: "no such session, turn, message, alias or call, or the name fits several",
    STORE: "the store is not there, cannot be opened, or is damaged",
    CONFLICT: "another writer was first, the store is busy, or the session's state does not allow it",
    INTERRUPTED: "interrupted (Ctrl-C)",
    PIPE: "the reader of the output went away",
}

_BY_KIND: tuple[tuple[type[errors.PalaverError], int], ...] = (
    (errors.NotFound, UNKNOWN),
    (errors.NotOnPath, UNKNOWN),
    (errors.StoreBusy, CONFLICT),
    (errors.StoreTimeout, CONFLICT),
    (errors.StoreError, STORE),
    (errors.HeadConflict, CONFLICT),
    (errors.Refused, CONFLICT),
    (errors.BadValue, USAGE),
)


class Stop(Exception):
    """End the command with a code and a sentence. `kind` names it for programs."""

    def __init__(self, code: int, sentence: str, kind: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.kind = kind


def code_of(error: errors.PalaverError) -> int:
    return next((code for kind, code in _BY_KIND if isinstance(error, kind)), PROBLEMS)


def hide_secrets(text: str) -> str:
    """Passwords that are part of an address: whatever is said, they are not."""
    text = re.sub(r"(://[^\s/:@]*):\S*@", r"\1:***@", text)
    return re.sub(r"\b((?:ssl)?password=)[^\s&#]*", r"\1***", text)


def leave_quietly() -> int:
    """Nobody reads any more. Python would complain once more at its end: give it something to write to."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return PIPE
