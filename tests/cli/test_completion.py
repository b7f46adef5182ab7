"""Completion in a real bash, with the script that `palaver completion bash` prints."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import palaver

from . import talks
from .run import Cli
from .terminal import Terminal

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
        f"{shell.ok('completion', 'bash')}\n"
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
    assert complete(shell, "re") == ["rewind", "redo", "reopen", "rebuild", "reindex"]
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


TITLES = [
    "Live talk",
    "x; touch owned",
    "x$(touch owned)",
    "x*",
    "x `touch owned`",
    "It's $HOME",
    "Fix, then: go",
    "Zwei Wörter",
]


@pytest.fixture
def titled(shell: Cli) -> Cli:
    with palaver.open(shell.home / "talks.db") as store:
        for title in TITLES:
            store.sessions.create(title=title)
    return shell


def test_titles_of_several_words_are_completed_and_quoted(titled: Cli) -> None:
    titles = [one for one in complete(titled, "title", "Zw") if not one.isalnum()]  # an id may begin so, too
    assert titles == ["Zwei\\ Wörter"]
    assert [one for one in complete(titled, "show", "It") if not one.isalnum()] == ["It\\'s\\ \\$HOME"]
    assert complete(titled, "show", '"It') == [""]  # it cannot stand in that quote
    assert complete(titled, "show", "'Fix, then") == ["Fix, then: go"]
    assert complete(titled, "fork", "ticket") == ["ticket-7"]  # the application's own id


def test_a_title_that_a_shell_would_run_is_offered_as_text(titled: Cli) -> None:
    offered = {one for one in complete(titled, "show", "x") if not one.isalnum()}  # an id may begin with an x, too
    assert offered == {"x\\;\\ touch\\ owned", "x\\$\\(touch\\ owned\\)", "x\\*", "x\\ \\`touch\\ owned\\`"}
    assert {shlex.split(one)[0] for one in offered} == {title for title in TITLES if title[0] == "x"}
    assert not (titled.home / "owned").exists()


def test_a_person_who_presses_tab_gets_the_whole_title(titled: Cli) -> None:
    if BASH is None:
        pytest.skip("bash is not installed")
    with Terminal({**titled.env, "HOME": str(titled.home)}, line=[BASH, "--norc", "-i"]) as terminal:
        terminal.type("cd; eval \"$(palaver completion bash)\"; PS1='> '; echo re''ady\r")
        terminal.until("ready")
        for number, typed in enumerate(("Liv", "'Liv", '"Liv', "Live\\ t")):
            terminal.type(f"palaver title {typed}\t&& echo end-{number}\r")
            terminal.until(f"Live talk\nend-{number}\n")
        terminal.type("palaver title x\\;\t&& echo end-4\r")
        terminal.until("x; touch owned\nend-4\n")
    assert not (titled.home / "owned").exists()


def test_what_nobody_can_see_or_an_option_could_be_is_not_offered(shell: Cli) -> None:
    with palaver.open(shell.home / "talks.db") as store:
        for title in ("zz\u202eevil", "--zz", "zz" * 60, "zz-seen"):
            store.sessions.create(title=title)
    assert complete(shell, "show", "zz") == ["zz-seen"]
    assert "--zz" not in complete(shell, "show", "--")


def test_calls_that_wait_are_completed(shell: Cli) -> None:
    with palaver.open(shell.home / "talks.db") as store:
        session = store.sessions.create(title="Careful")
        with session.turn("Clean up.") as turn:
            for name in ("call_one", "call_two"):
                turn.write({"type": "tool-input-available", "toolCallId": name, "toolName": "bash", "input": {}})
                turn.write({"type": "tool-approval-request", "approvalId": name, "toolCallId": name})
            turn.wait()
    assert complete(shell, "approve", "Careful", "call") == ["call_one", "call_two"]
    assert complete(shell, "deny", "Careful", "call_t") == ["call_two"]
    assert complete(shell, "deny", "ticket-7", "") == [""]


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


def test_a_session_is_offered_once_by_its_id(shell: Cli) -> None:
    whole = shell.json("show", "ticket-7")["session"]["id"]
    offered = complete(shell, "show", "")
    assert whole[-6:] in offered and whole not in offered and whole[4:] not in offered
    assert whole in complete(shell, "show", "ses_") and whole[4:] in complete(shell, "show", whole[4:9])
