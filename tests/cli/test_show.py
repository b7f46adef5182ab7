"""`ls`, `show`, `tree` and `log`: what a person sees of a session."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import palaver
from palaver.cli.commands.tree import draw
from palaver.model import TurnInfo, Usage

from . import talks
from .run import COMMAND, Cli
from .terminal import Terminal


def test_ls_is_one_line_per_session_newest_first(cli: Cli) -> None:
    first, second = cli.ok("ls").splitlines()
    assert re.fullmatch(r"ses_\w{26} \w+ 3 coder Fix the build", first)
    assert re.fullmatch(r"ses_\w{26} \w+ 2 coder \[fork\] Why does the build fail\?", second)


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
    assert cli.ok("ls", "-n", "1").endswith("\nmore: --limit 2\n")
    assert "not a cursor" in cli.refused("ls", "--after", "nonsense", code=2)


def test_ls_filters(cli: Cli) -> None:
    assert len(cli.json("ls", "--agent", "coder")["sessions"]) == 2
    assert cli.json("ls", "--agent", "nobody")["sessions"] == []
    assert len(cli.json("ls", "--workspace", "/src/app")["sessions"]) == 2
    assert [one["relation"] for one in cli.json("ls", "--parent", "ticket-7")["sessions"]] == ["fork"]
    assert cli.ok("ls", "--agent", "nobody") == ""


SHOWN = """\
user
Why does the build fail?

assistant
  tool bash {"command":"ls -l"}
    -> total 0
Let me think.
The linker flag is missing. \n
user
Add it.

assistant
Let me think.
Done. \n"""


def test_show_is_the_talk_with_tool_calls_in_a_line(cli: Cli) -> None:
    heading, _, body = cli.ok("show", "@~1").partition("\n\n")
    assert re.fullmatch(r"ses_\w{26} at \w{6} coder Fix the build", heading)
    assert body == SHOWN


def test_show_detail_has_turns_ids_times_and_whole_values(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        with session.turn("Go.") as turn:
            turn.write({"type": "start", "messageId": "m-1", "messageMetadata": {"k": 1}})
            turn.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "x", "input": {"a": "y" * 300}})
            turn.write({"type": "tool-output-available", "toolCallId": "c", "output": "z" * 300})
            turn.usage(input=1_200, output=34)
    cli = Cli(tmp_path, tmp_path / "talks.db")
    plain, detail = cli.ok("show", "@"), cli.ok("show", "@", "--detail")
    assert "…" in plain and "y" * 300 not in plain and max(map(len, plain.splitlines())) <= 121
    assert "y" * 300 in detail and "z" * 300 in detail
    assert re.search(r"--- turn \w{6} turn completed [0-9a-f]{12}, 1,234 tokens\n", detail)
    assert re.search(r"assistant  m-1  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", detail)
    assert 'metadata {"k":1' in detail


def test_show_json_keeps_every_number_as_it_was_written(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        session.commit(b'{"role":"user","parts":[{"type":"data-x","data":{"n":1.10,"big":12345678901234567890123}}]}')
    out = Cli(tmp_path, tmp_path / "talks.db").ok("show", "@", "--json")
    assert '{"n":1.10,"big":12345678901234567890123}' in out


def test_show_reads_a_turn_while_it_is_written(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        turn = store.sessions.create().turn("Go on.")
        for chunk in list(talks.answer("one two three"))[:7]:
            turn.write(chunk)
        assert Cli(tmp_path, tmp_path / "talks.db").ok("show", "@").endswith("assistant\nLet me think.\none \n")


def test_tree_is_a_graph_with_strays_and_branches(cli: Cli) -> None:
    graph = re.sub(r"\w{6} [0-9a-f]{7}", "ID", cli.ok("tree", "@")).splitlines()
    assert graph == ["x ID Is it red?", "| * ID Is it green?", "|/", "o ID Add it.", "o ID Why does the build fail?"]
    marks = {turn["words"]: turn["mark"] for turn in cli.json("tree", "@")["turns"]}
    assert marks == {
        "Why does the build fail?": "path",
        "Add it.": "path",
        "Is it green?": "head",
        "Is it red?": "stray",
    }


def test_tree_marks_what_is_open_and_what_waits(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        waiting, running = session.turn("May I?"), session.turn("Running")
        waiting.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "rm", "input": {}})
        waiting.wait()
        cli = Cli(tmp_path, tmp_path / "talks.db")
        marks = {turn["words"]: turn["mark"] for turn in cli.json("tree", "@")["turns"]}
        text = cli.ok("tree", "@")
        running.abort()
    assert marks == {"May I?": "waiting", "Running": "open"}
    assert re.search(r"\? \w{6} ------- \(waiting\) May I\?", text)
    assert re.search(r"\+ \w{6} ------- \(streaming\) Running", text)


def turn_at(name: str, parent: str | None, depth: int, at: int) -> TurnInfo:
    return TurnInfo(name, parent, "s", "turn", "completed", 0, depth, at, at, b"", None, Usage(), 0.0, 0, 0)


def drawn(*turns: TurnInfo) -> list[str]:
    return [graph + (f" {turn.id}" if turn else "") for graph, turn in draw(list(turns))]


def test_columns_join_where_branches_grow_from_one_turn() -> None:
    tree = [turn_at("a", None, 1, 1), turn_at("b", "a", 2, 2), turn_at("c", "a", 2, 3), turn_at("d", "a", 2, 4)]
    assert drawn(*tree) == ["o d", "| o c", "| | o b", "|_|/", "|/", "o a"]


def test_a_column_that_joins_from_far_right_is_drawn_across() -> None:
    tree = [turn_at("a", None, 1, 1), turn_at("b", "a", 2, 2), turn_at("x", None, 1, 3), turn_at("y", "x", 2, 5)]
    tree += [turn_at("c", "a", 2, 6)]
    ordered = sorted(tree, key=lambda turn: turn.depth)
    assert drawn(*ordered) == ["o c", "| o y", "| o x", "| o b", "|/", "o a"]


def test_a_root_may_end_between_others() -> None:
    tree = [turn_at("a", None, 1, 9), turn_at("b", None, 1, 1), turn_at("c", "b", 2, 8), turn_at("d", "b", 2, 7)]
    assert drawn(*sorted(tree, key=lambda turn: turn.depth)) == ["o a", "o c", "| o d", "|/", "o b"]


def test_a_clock_that_went_back_puts_no_parent_above_its_child() -> None:
    assert drawn(turn_at("a", None, 1, 50), turn_at("b", "a", 2, 10)) == ["o b", "o a"]


def test_log_is_every_move_newest_first(cli: Cli) -> None:
    cli.ok("rewind", "@~1", "--reason", "too far")
    lines = cli.ok("log", "@").splitlines()
    assert re.fullmatch(r"@\{4\} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d rewind \w{6} too far", lines[0])
    assert [line["kind"] for line in cli.json("log", "@")["lines"]] == ["rewind", "seal", "seal", "seal", "create"]


# ---------------------------------------------------------------- pipes and pagers


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


@pytest.mark.skipif(not shutil.which("less"), reason="less is not installed")
def test_show_goes_through_less_on_a_terminal(cli: Cli) -> None:
    with Terminal({**cli.env, "PAGER": "less", "LESS": "R"}, "show", "@", rows=6) as terminal:
        terminal.until("Why does the build fail?")
        terminal.type("G")
        terminal.until("Green.")
        terminal.type("q")
        code, _ = terminal.end()
    assert code == 0


@pytest.mark.parametrize("pager", ["cat", "", "no-such-pager-anywhere", "'", "head -n 1"])
def test_any_pager_will_do(cli: Cli, pager: str) -> None:
    with Terminal({**cli.env, "PAGER": pager, "NO_COLOR": "1"}, "show", "@") as terminal:
        code, seen = terminal.end()
    assert code == 0 and "Fix the build" in seen
    assert ("Green." in seen) is (pager != "head -n 1")


def test_no_pager_when_it_is_not_wanted_or_there_is_no_terminal(cli: Cli) -> None:
    loud = {"PAGER": "echo PAGED; cat"}
    assert "PAGED" not in cli.ok("show", "@", **loud)
    for args, paged in [(("show", "@"), True), (("show", "@", "--no-pager"), False)]:
        with Terminal({**cli.env, **loud}, *args) as terminal:
            assert ("PAGED" in terminal.end()[1]) is paged


@pytest.mark.parametrize("options", [[], ["-a"], ["-n", "1"], ["--limit", "2", "--all"], ["--agent", "coder"]])
def test_the_quick_way_to_list_and_the_long_way_print_the_same(cli: Cli, options: list[str]) -> None:
    cli.ok("archive", "ticket-7")
    ages = re.compile(r" \d+[smh] ")
    fast = cli.ok("ls", *options)
    slow = cli.ok("ls", f"--store={cli.home / 'talks.db'}", *options)  # spelled so, it goes the long way
    assert ages.sub(" ", fast) == ages.sub(" ", slow)
    assert fast.count("ses_") == (2 if {"-a", "--all"} & set(options) else 1)
