"""The command line in this process: `palaver.cli.main` with streams, an environment and a directory of its own.

A command finds what a process of its own would have given it, and this process is afterwards as it was before. What
only a process has (signals, a terminal, the interpreter's settings, its imports) is tested in one: see `run.Cli.real`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Any

import click

from palaver.cli import main
from palaver.cli.program import COMMANDS, cli

Answer = tuple[int, bytes, bytes]
STREAMS: dict[str, dict[str, Any]] = {
    "stdin": {"errors": "surrogateescape"},
    "stdout": {"mode": "w", "errors": "surrogateescape"},
    "stderr": {"mode": "w", "errors": "backslashreplace", "buffering": 1},
}
INTERPRETER = ("PYTHON", "LC_", "LANG")  # read once, when a Python starts


class TookTooLong(BaseException):
    """No command may catch it."""


def run(args: Sequence[str], env: dict[str, str], cwd: Path, stdin: bytes, timeout: float) -> Answer:
    """Its exit code, and what it printed on stdout and stderr."""
    assert threading.current_thread() is threading.main_thread(), "other threads share directory and environment"
    with ExitStack() as places:
        given, out, err = (places.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        with _as_in_a_process(args, env, cwd, (given, out, err)), _bounded(timeout):
            code = _run(args)
        return code, _all_of(out), _all_of(err)


def _run(args: Sequence[str]) -> int:
    """As Python ends a process."""
    for name in COMMANDS:  # click keeps how help was asked for first, and a page asks by one name only
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command._help_option = None
    try:
        main(args)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
    except Exception:
        traceback.print_exc()
    return 1


def _all_of(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


# ---------------------------------------------------------------- what a process has of its own


@contextmanager
def _as_in_a_process(args: Sequence[str], env: dict[str, str], cwd: Path, files: Sequence[IO[bytes]]) -> Iterator[None]:
    with ExitStack() as undo:
        _in_directory(undo, cwd)
        _with_environment(undo, env)
        _with_files(undo, files)
        _with_python(undo, args)
        yield


def _in_directory(undo: ExitStack, cwd: Path) -> None:
    undo.callback(os.chdir, os.getcwd())
    os.chdir(cwd)


def _with_environment(undo: ExitStack, env: dict[str, str]) -> None:
    undo.callback(_replace_environment, dict(os.environ))
    _replace_environment(env)


def _replace_environment(env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None  # asked again, in this environment


def _with_files(undo: ExitStack, files: Sequence[IO[bytes]]) -> None:
    """Files in the place of 0, 1 and 2, so that a program that the command starts has them too; and their streams."""
    for number, file in enumerate(files):
        kept = os.dup(number)
        undo.callback(os.close, kept)
        undo.callback(os.dup2, kept, number)
        os.dup2(file.fileno(), number)
    for number, (name, options) in enumerate(STREAMS.items()):
        _set(undo, sys, name, undo.enter_context(os.fdopen(number, closefd=False, encoding="utf-8", **options)))


def _with_python(undo: ExitStack, args: Sequence[str]) -> None:
    """Its arguments; nobody listens to the log; warnings are what they are by default."""
    _set(undo, sys, "argv", ["palaver", *args])
    root = logging.getLogger()
    undo.callback(root.setLevel, root.level)
    root.setLevel(logging.WARNING)
    for one in (root, logging.getLogger("palaver")):
        _set(undo, one, "handlers", [])
    undo.enter_context(warnings.catch_warnings())
    warnings.resetwarnings()
    for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)
    warnings.showwarning = _show_warning


def _show_warning(
    message: Warning | str, category: type[Warning], name: str, line: int, file: object = None, text: str | None = None
) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, name, line, text))


def _set(undo: ExitStack, owner: Any, name: str, value: object) -> None:
    undo.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _too_long(seconds))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _too_long(seconds: float) -> Callable[[int, FrameType | None], None]:
    def told(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"a command did not end within {seconds:.0f} s")

    return told
