"""Completion in a real bash, with the script that `palaver completion bash` prints."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from . import talks
from .run import Cli

BASH = shutil.which("bash")


@pytest.fixture
def shell(cli: Cli, tmp_path: Path) -> Cli:
    """A directory with a `palaver` on the PATH, as an installation makes it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "palaver").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m palaver "$@"\n')
    (folder / "palaver").chmod(0o755)
    cli.env["PATH"] = f"{folder}:{cli.env['PATH']}"
    return cli


def complete(shell: Cli, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    if BASH is None:
        pytest.skip("bash is not installed")
    line = " ".join(map(shlex.quote, words))
    script = (
        'eval "$(palaver completion bash)"\n'
        f"COMP_WORDS=(palaver {line}); COMP_CWORD={len(words)}; COMPREPLY=()\n"
        "_palaver_completion palaver\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    run = subprocess.run(
        [BASH, "--norc", "-c", script], env=shell.env, cwd=shell.home, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0 and run.stderr == "", run.stderr
    return run.stdout.split("\n")[:-1]


def test_commands_and_options_are_completed(shell: Cli) -> None:
    assert complete(shell, "ma") == ["materialise"]
    assert complete(shell, "re") == ["rewind", "redo", "rebuild"]
    assert complete(shell, "show", "--de") == ["--detail"]
    assert complete(shell, "export", "--format", "m") == ["markdown"]


def test_sessions_are_completed_by_id_and_by_plain_names(shell: Cli) -> None:
    whole = shell.json("ls")["sessions"][0]["id"]
    assert complete(shell, "show", whole[:-2]) == [whole]
    assert complete(shell, "show", whole[4:-2]) == [whole[4:]]
    assert complete(shell, "rm", whole[-6:-2]) == [whole[-6:]]
    assert complete(shell, "archive", "the-") == ["the-build"]
    assert "@" in complete(shell, "fork", "")
    assert complete(shell, "ls", "--parent", "the-") == ["the-build"]


def test_a_title_that_a_shell_would_run_is_not_offered(shell: Cli) -> None:
    store = shell.home / "talks.db"
    import palaver

    with palaver.open(store) as opened:
        for title in ("x; touch owned", "x$(touch owned)", "x*", "x y", "x`touch owned`", "x-plain"):
            opened.sessions.create(title=title)
    offered = [one for one in complete(shell, "show", "x") if not one.isalnum()]  # an id may begin with an x, too
    assert offered == ["x-plain"]
    assert not (shell.home / "owned").exists()


def test_a_store_that_is_not_there_offers_nothing_and_is_not_made(shell: Cli) -> None:
    assert complete(shell, "show", "--store", "nowhere.db", "") == [""]
    assert complete(shell, "show", "--store", ".", "s") == [""]
    assert not (shell.home / "nowhere.db").exists()


def test_the_store_on_the_line_is_the_one_that_is_asked(shell: Cli, tmp_path: Path) -> None:
    session = talks.hostile(tmp_path / "other.db")
    assert complete(shell, "show", "--store", "other.db", "ses_") == [session]
    assert complete(shell, "--store", "other.db", "show", "ses_") == [session]


def test_every_shell_has_a_script(bare: Cli) -> None:
    for name in ("bash", "zsh", "fish"):
        assert "_PALAVER_COMPLETE" in bare.ok("completion", name)
    bare.refused("completion", "tcsh", code=2)


def test_the_help_beside_a_session_is_safe_to_show(shell: Cli, tmp_path: Path) -> None:
    talks.hostile(tmp_path / "other.db")
    asked = {"_PALAVER_COMPLETE": "zsh_complete", "COMP_WORDS": "palaver show --store other.db ", "COMP_CWORD": "4"}
    run = subprocess.run(
        [sys.executable, "-m", "palaver"], env={**shell.env, **asked}, cwd=shell.home, capture_output=True, timeout=60
    )
    text = run.stdout.decode()
    assert "title" in text and text.isprintable() is False  # newlines only
    assert "".join(text.split(os.linesep)).isprintable()
