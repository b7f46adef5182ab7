"""`ls`: what there is, a line each; in a pipe nothing but the list."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import palaver
from palaver.cli.ui.screen import Screen

from .run import COMMAND, Cli
from .terminal import Terminal


def test_ls_is_one_line_per_session_newest_first(cli: Cli) -> None:
    first, second = cli.ok("ls").splitlines()
    assert re.fullmatch(r"ses_\w{26} \w+ 3 coder ticket-7 - - - Fix the build", first)
    assert re.fullmatch(r"ses_\w{26} \w+ 2 coder - +- - - \[fork\] Why does the build fail\?", second)


def test_ls_tells_your_own_id_the_model_tokens_and_cost(worked: Cli) -> None:
    assert re.fullmatch(r"ses_\w{26} \w+ 1 coder work-1 claude-opus-4 1234 0\.0125 At work\n", worked.ok("ls"))


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (20, r"\w{6} \w+ 1 At work"),
        (60, r"\w{6} \w+ 1 coder 1\.23k \$0\.0125 At work"),
        (100, r"\w{6} \w+ 1 coder work-1 claude-opus-4 1\.23k \$0\.0125 At work"),
    ],
)
def test_a_terminal_shows_as_much_as_there_is_room_for(worked: Cli, columns: int, shown: str) -> None:
    with Terminal({**worked.env, "NO_COLOR": "1"}, "ls", columns=columns) as terminal:
        assert re.fullmatch(shown + "\n", terminal.end()[1])


def test_ls_on_a_terminal_shows_the_end_of_the_id(cli: Cli) -> None:
    whole = cli.json("ls")["sessions"][0]["id"]
    with Terminal({**cli.env, "NO_COLOR": "1"}, "ls") as terminal:
        _, seen = terminal.end()
    assert seen.startswith(whole[-6:] + " ")
    assert cli.json("show", seen[:6])["session"]["id"] == whole


def test_ls_goes_on_where_the_page_ended(cli: Cli) -> None:
    page = cli.json("ls", "-n", "1")
    rest = cli.json("ls", "--after", page["next"])
    assert [len(page["sessions"]), len(rest["sessions"]), rest["next"]] == [1, 1, None]
    assert "not a cursor" in cli.refused("ls", "--after", "nonsense", code=2)


def test_that_there_are_more_is_said_to_a_terminal_and_never_to_a_pipe(cli: Cli) -> None:
    done = cli("ls", "-n", "1")
    assert (done.out.count("\n"), done.err) == (1, "")
    with Terminal({**cli.env, "NO_COLOR": "1"}, "ls", "-n", "1") as terminal:
        assert terminal.end()[1].endswith("\nmore: --limit 2\n")


def test_a_hint_reaches_a_person_whose_pipe_is_read_by_a_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Screen().hint("more: --limit 2")
    assert capsys.readouterr() == ("", "more: --limit 2\n")


def test_what_ls_prints_in_a_pipe_can_be_given_to_another_command(cli: Cli) -> None:
    palaver = " ".join(COMMAND)
    pipe = f"{palaver} ls -n 1 | awk '{{print $1}}' | xargs {palaver} archive"
    run = subprocess.run(["sh", "-c", pipe], env=cli.env, cwd=cli.home, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert [one["app_id"] for one in cli.json("ls", "--all")["sessions"] if one["archived_at"]] == ["ticket-7"]


def test_ls_filters(cli: Cli) -> None:
    assert len(cli.json("ls", "--agent", "coder")["sessions"]) == 2
    assert cli.json("ls", "--agent", "nobody")["sessions"] == []
    assert len(cli.json("ls", "--workspace", "/src/app")["sessions"]) == 2
    assert [one["relation"] for one in cli.json("ls", "--parent", "ticket-7")["sessions"]] == ["fork"]
    assert cli.ok("ls", "--agent", "nobody") == ""


def test_ls_marks_what_waits_and_what_is_written(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create(title="Quiet").commit("Hello.")
        with store.sessions.create(title="Asks").turn("Clean up.") as asking:
            asking.tool("bash", {"command": "rm -rf build"})
        writing = store.sessions.create(title="Writes").turn("Go on.")
        cli = Cli(tmp_path, tmp_path / "talks.db")
        listed = cli.ok("ls")
        waiting = [cli.ok("ls", "--waiting"), cli.ok("ls", "--waiting", f"--store={tmp_path / 'talks.db'}")]
        shown = [cli.ok("show", name).splitlines()[1] for name in ("Asks", "Writes")]
        writing.abort()
    assert re.findall(r"- (\[\w+\] )?(\w+)\n", listed) == [("[live] ", "Writes"), ("[waiting] ", "Asks"), ("", "Quiet")]
    assert [re.findall(r"\[\w+\] \w+\n", lines) for lines in waiting] == [["[waiting] Asks\n"]] * 2
    assert shown == ["0 turns, 1 waiting", "0 turns, 1 live"]
    assert [one["title"] for one in cli.json("ls", "--waiting")["sessions"]] == ["Asks"]


def test_a_pipe_closed_early_ends_quietly(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        for number in range(2_000):
            store.sessions.create(title=f"session {number} " + "x" * 100)
    cli = Cli(tmp_path, tmp_path / "talks.db")
    reading = subprocess.Popen(
        [*COMMAND, "ls", "-n", "2000"], env=cli.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert reading.stdout and reading.stderr
    with reading.stdout, reading.stderr:
        assert reading.stdout.readline().endswith(b"x\n")
        reading.stdout.close()
        assert reading.stderr.read() == b""
    assert reading.wait(60) == 141


# ---------------------------------------------------------------- the quick way


AGES = re.compile(r" \d+[smh] ")


def both_ways(cli: Cli, *options: str) -> tuple[str, str]:
    fast = cli.ok("ls", *options)
    slow = cli.ok("ls", f"--store={cli.home / 'talks.db'}", *options)  # spelled so, it goes the long way
    return AGES.sub(" ", fast), AGES.sub(" ", slow)


@pytest.mark.parametrize("options", [[], ["-a"], ["-n", "1"], ["--limit", "2", "--all"], ["--agent", "coder"]])
def test_the_quick_way_to_list_and_the_long_way_print_the_same(cli: Cli, options: list[str]) -> None:
    cli.ok("archive", "ticket-7")
    fast, slow = both_ways(cli, *options)
    assert fast == slow
    assert fast.count("ses_") == (2 if {"-a", "--all"} & set(options) else 1)


MODELS = [
    '{"provider_id":"p","model_id":"m"}',
    '{"provider_id":"p","model_id":"m","variant":"high"}',
    '{ "model_id" : "spaced" }',
    '{"provider_id":"p","model_id":"a\\"b\\u00e9"}',
    '{"provider_id":"p","model_id":7}',
    "[1]",
    "no JSON",
    "",
]


def test_both_ways_read_a_model_however_another_program_wrote_it(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        for _ in MODELS:
            store.sessions.create()
    db = sqlite3.connect(tmp_path / "talks.db")
    names = [name for (name,) in db.execute("SELECT id FROM chat_sessions ORDER BY updated_at DESC, id DESC")]
    with db:
        db.executemany(
            "UPDATE chat_sessions SET model_json = ?2, cost_usd = 'x' WHERE id = ?1", zip(names, MODELS, strict=True)
        )
    db.close()
    fast, slow = both_ways(Cli(tmp_path, tmp_path / "talks.db"))
    assert fast == slow
    assert [line.split()[5] for line in fast.splitlines()] == ["m", "m", "spaced", 'a"bé', "-", "-", "-", "-"]


def test_a_model_is_not_cut_where_there_is_room(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create(agent="coder", title="Short", model="anthropic/claude-sonnet-4-20250514")
    env = Cli(tmp_path, tmp_path / "talks.db", NO_COLOR="1").env
    with Terminal(env, "ls", columns=100) as terminal:
        _, seen = terminal.end()
    assert "claude-sonnet-4-20250514" in seen and "Short" in seen and max(map(len, seen.splitlines())) <= 100


def test_a_person_is_told_that_nothing_is_listed_and_a_pipe_is_not(cli: Cli) -> None:
    assert cli.ok("ls", "--agent", "nobody") == ""
    with Terminal({**cli.env, "NO_COLOR": "1"}, "ls", "--agent", "nobody") as terminal:
        assert terminal.end() == (0, "no sessions\n")
