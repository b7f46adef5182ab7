"""A command answers in this process as in a process of its own, and leaves this process as it was."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from . import inside
from .run import Cli, Done

SAMPLE: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--version",), {}),
    (("show", "--help"), {}),
    (("show", "--help"), {"COLUMNS": "40"}),
    (("lss",), {}),
    (("ls", "--nope", "--json"), {}),
    (("ls",), {}),
    (("ls", "--json"), {}),
    (("ls",), {"PALAVER_STORE": "nowhere.db"}),
    (("ls",), {"PALAVER_STORE": "", "PALAVER_HOME": "~/mine"}),
    (("show", "@", "--detail"), {}),
    (("show", "nobody"), {}),
    (("show", "@"), {"_PALAVER_COMPLETE": "bash_source"}),
    (("export",), {}),
    (("import", "-"), {"stdin": b"\xff not an export\n"}),
    (("sql",), {"stdin": "SELECT 1;\nSELECT 'é\x1b'"}),
    (("rm", "@"), {}),
    (("rewind", "@~1", "--reason", "too far"), {}),
    (("fork", "@"), {}),
    (("verify", "-s", "damaged.db"), {}),
    (("doctor",), {}),
]


def both(folder: Path, filled: Path, args: tuple[str, ...], given: dict[str, Any]) -> tuple[Done, Done]:
    """The answer in this process, and in another, each on a store of its own in a home of its own."""
    answers = []
    for name in ("inside", "real"):
        home = folder / name / "home"
        home.mkdir(parents=True)
        shutil.copy(filled, home / "talks.db")
        (home / "damaged.db").write_bytes(filled.read_bytes()[:2048] + b"\xff" * 9000)
        cli = Cli(home, home / "talks.db", PAGER="cat")
        answers.append(plain((cli if name == "inside" else cli.real)(*args, **given), home))
    return answers[0], answers[1]


def plain(done: Done, home: Path) -> Done:
    """Without what no two runs have in common: new ids, ages, the home's own name."""
    patterns = {re.escape(str(home)): "HOME", r"ses_\w{26}": "ID", r"\b\d+[smh]\b": "AGE"}

    def cleaned(text: str) -> str:
        for pattern, word in patterns.items():
            text = re.sub(pattern, word, text)
        return text

    return Done(done.code, cleaned(done.out), cleaned(done.err))


@pytest.mark.parametrize(("args", "given"), SAMPLE, ids=[" ".join([*args, *given]) for args, given in SAMPLE])
def test_a_command_answers_the_same_inside_and_in_a_process(
    tmp_path: Path, filled: Path, args: tuple[str, ...], given: dict[str, Any]
) -> None:
    one, other = both(tmp_path, filled, args, given)
    assert one == other
    assert one.out or one.err


def test_a_command_that_keeps_our_environment_is_noticed(
    tmp_path: Path, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inside, "_with_environment", lambda undo, env: None)
    monkeypatch.setenv("PALAVER_STORE", "nowhere.db")
    one, other = both(tmp_path, filled, ("ls",), {})
    assert one != other


def state() -> list[object]:
    """What a command could leave behind in this process."""
    streams = [sys.stdin, sys.stdout, sys.stderr, [os.fstat(number).st_ino for number in range(3)]]
    logs = [(log.level, list(log.handlers)) for log in (logging.getLogger(), logging.getLogger("palaver"))]
    told = [list(warnings.filters), warnings.showwarning, time.tzname, tempfile.gettempdir(), list(sys.argv)]
    return [os.getcwd(), dict(os.environ), streams, logs, told, len(os.listdir("/proc/self/fd")), threading.enumerate()]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="open files are counted in /proc")
def test_this_process_is_afterwards_as_it_was(cli: Cli) -> None:
    cli.ok("ls", "--json")
    before = state()
    assert before == state()
    cli.ok("rewind", "@~1", TZ="Pacific/Chatham")
    cli.refused("show", "nobody", code=3)
    cli("sql", stdin="SELECT 1")
    assert state() == before


def test_a_command_that_does_not_end_is_ended(cli: Cli) -> None:
    with pytest.raises(inside.TookTooLong):
        cli("tail", "@", "-f", timeout=0.3)
    assert cli.ok("ls")


def test_what_only_an_interpreter_has_needs_a_process(cli: Cli) -> None:
    with pytest.raises(AssertionError, match="real"):
        cli("ls", PYTHONIOENCODING="ascii")
    assert cli.real("ls", PYTHONIOENCODING="ascii").code == 0


def test_a_warning_and_a_log_line_are_told_on_stderr_as_python_does(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(args: object) -> None:
        warnings.warn("look here", UserWarning, stacklevel=1)
        warnings.warn("not for people", ResourceWarning, stacklevel=1)
        logging.getLogger("palaver").warning("it was late")
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(inside, "main", noisy)
    done = cli("ls")
    assert "UserWarning: look here" in done.err and "it was late\n" in done.err and "not for people" not in done.err
    assert (done.code, done.out) == (1, "") and done.err.endswith("ZeroDivisionError: a bug\n")
