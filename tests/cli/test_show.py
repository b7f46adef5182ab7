"""`show`: a session as a person reads it. A pipe gets plain text; what a terminal gets is in test_drawing.py."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

import palaver

from . import talks
from .run import Cli
from .terminal import Terminal

SHOWN = """\
user
Why does the build fail?

assistant
  tool bash
    command: ls -l
    -> total 0
  thinks: Let me think.

The linker flag is missing. \n
user
Add it.

assistant
  thinks: Let me think.

Done. \n"""


def test_show_is_the_talk_with_thoughts_and_tool_calls_named(cli: Cli) -> None:
    heading, _, body = cli.ok("show", "@~1").partition("\n\n")
    assert re.fullmatch(r"ses_\w{26} at \w{6} coder Fix the build\nticket-7, 2 turns", heading)
    assert body == SHOWN


AT_WORK = """\
assistant
  thinks: I look at what the linker says, and only then at the Makefile.

    Then I decide.

Let me look.
  tool bash
    command: make
    timeout: 60
    -> cc -c module_0.c
       cc -c module_1.c
       cc -c module_2.c
       cc -c module_3.c
       cc -c module_4.c
       cc -c module_5.c
       cc -c module_6.c
       cc -c module_7.c
       cc -c module_8.c
       cc -c module_9.c
       cc -c module_10.c
       cc -c module_11.c
       … 23 more lines (--detail)
       cc -c module_35.c
       cc -c module_36.c
       cc -c module_37.c
       cc -c module_38.c
       cc -c module_39.c
       ld: cannot find -lz
  tool edit
    file_path: Makefile
    -LIBS = -lm
    +LIBS = -lm -lz
     CFLAGS = -O2
    -> ok: true
       changed:
         - Makefile
  tool bash
    command: rm -rf /
    error: not allowed

## What happened
"""


def test_what_tools_took_and_gave_is_text_and_an_edit_is_a_diff(worked: Cli) -> None:
    shown = worked.ok("show", "@")
    assert shown.splitlines()[1] == "work-1, anthropic/claude-opus-4, 1 turn, 1,234 tokens, $0.0125"
    assert AT_WORK in shown
    assert shown.endswith(talks.MARKDOWN)


def test_detail_cuts_nothing_and_says_how_each_turn_ended_and_what_was_in_force(worked: Cli) -> None:
    detail = worked.ok("show", "@", "--detail")
    assert all(f"       {line}\n" in detail for line in talks.LOG.splitlines()[1:])
    facts = """\
  anthropic/claude-opus-4, 1,234 tokens, $0.0125, finish stop
  tokens: 1,200 input, 34 output
  tools: build: bash, edit
  prompt:
    7a70d68a3d8c
    You build.
    Carefully.
  granted: allow bash make *
  used: bash:make
user  msg_"""
    assert re.search(r"\n\n--- turn \w{6} completed [0-9a-f]{12}\n" + re.escape(facts), detail)
    assert re.search(r"\nassistant  msg_\w+  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", detail)
    assert "\n  tool bash  c3\n    command: rm -rf /\n" in detail
    assert "metadata" not in detail  # it says what the turn says


def test_detail_shows_what_of_the_metadata_the_turn_does_not_say(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store, store.sessions.create(model="a/b").turn("Well?") as turn:
        turn.write({"type": "start", "messageMetadata": {"note": "mine"}})
        turn.text("Well.")
    assert "\n  metadata: note: mine\n" in Cli(tmp_path, tmp_path / "talks.db").ok("show", "@", "--detail")


def test_a_turn_that_failed_and_one_that_was_aborted_say_why(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        session.turn("Deploy.").fail("the provider is overloaded", code="529")
        session.turn("Again.").abort("the user pressed stop")
    detail = Cli(tmp_path, tmp_path / "talks.db").ok("show", "@", "--detail")
    assert re.search(r"turn \w+ failed \w+\n  error: 529: the provider is overloaded\nuser", detail)
    assert re.search(r"turn \w+ aborted \w+\n  aborted: the user pressed stop\nuser", detail)


def test_a_line_that_is_too_long_is_cut_and_counted(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store, store.sessions.create().turn("Go.") as turn:
        turn.tool("x", {"a": "y" * 1_400}).output("z" * 420)
    cli = Cli(tmp_path, tmp_path / "talks.db")
    plain, detail = cli.ok("show", "@"), cli.ok("show", "@", "--detail")
    assert f"    a: {'y' * 400}… 1,000 more characters (--detail)\n    -> {'z' * 420}\n" in plain
    assert f"    a: {'y' * 1_400}\n" in detail


def test_json_is_shown_only_where_it_is_asked_for(worked: Cli) -> None:
    assert '{"' not in worked.ok("show", "@", "--detail")
    raw = worked.ok("show", "@", "--raw")
    assert '    {"command":"make","timeout":60}\n' in raw
    assert '    -> {"ok":true,"changed":["Makefile"]}\n' in raw


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
        shown = Cli(tmp_path, tmp_path / "talks.db").ok("show", "@")
        assert shown.endswith("assistant\n  thinks: Let me think.\n\none \n")


def test_a_summary_says_how_many_turns_it_stands_for(cli: Cli) -> None:
    cli.ok("compact", "ticket-7", "They **fixed** it.", "--keep", "1")
    assert cli.ok("show", "ticket-7").endswith("\nassistant\n  summary of 2 turns:\nThey **fixed** it.\n")


# ---------------------------------------------------------------- the last answer, and what was used


def test_the_last_answer_alone_is_plain_text(worked: Cli, cli: Cli) -> None:
    assert worked.ok("show", "@", "-r") == talks.MARKDOWN
    assert cli.ok("show", "@~1", "-r") == "Done. \n"
    assert [one["role"] for one in cli.json("show", "@", "-r")["messages"]] == ["assistant"]


def test_that_there_is_no_answer_yet_is_said(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create(title="Asked").commit("Hello?")
    assert "no answer yet" in Cli(tmp_path, tmp_path / "talks.db").refused("show", "Asked", "-r", code=3)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Two turns that used something, the second of them in two ways."""
    folder = tmp_path_factory.mktemp("used")
    with palaver.open(folder / "talks.db") as store:
        session = store.sessions.create(id="used")
        for begin in (lambda: session.turn("One."), lambda: session.turn("Two."), session.regenerate):
            with begin() as turn:
                turn.text("…")
                turn.usage(input=1_000, output=20, cache_read=300, cost_usd=0.5)
        session.commit("Three.")
    return Cli(folder, folder / "talks.db")


def test_usage_is_told_turn_by_turn_and_summed(used: Cli) -> None:
    _, _, header, *turns, shown, session = used.ok("show", "used", "-u").splitlines()
    assert header.split() == ["turn", "input", "output", "cache_read", "total", "cost"]
    one = ["1,000", "20", "300", "1,320", "$0.5000"]
    assert [turn.split()[1:] for turn in turns] == [one, one, ["-"] * 5]
    assert shown.split() == ["total", "2,000", "40", "600", "2,640", "$1.00"]
    assert session.split() == ["session", "3,000", "60", "900", "3,960", "$1.50"]
    told = used.json("show", "used~2", "-u")["turns"]
    assert [(turn["usage"]["cache_read"], turn["cost_usd"]) for turn in told] == [(300, 0.5)]
    assert used.json("show", "used")["turns"] == []


def test_numbers_that_another_program_made_words_of_stop_nobody(cli: Cli) -> None:
    db = sqlite3.connect(cli.home / "talks.db")
    with db:
        db.execute("UPDATE chat_sessions SET prompt_tokens = 'many', total_tokens = 'many', cost_usd = 'dear'")
    db.close()
    for args in (["show", "ticket-7"], ["show", "ticket-7", "-u"], ["show", "ticket-7", "--detail"], ["ls"]):
        assert "ticket-7" in cli.ok(*args)


def test_usage_in_twenty_columns_is_in_lines(used: Cli) -> None:
    with Terminal({**used.env, "NO_COLOR": "1", "PAGER": "cat"}, "show", "used", "-u", columns=20) as terminal:
        seen = terminal.end()[1]
    assert max(map(len, seen.splitlines())) <= 20
    assert "total: input 2,000,\n  output 40,\n  cache_read 600,\n  total 2,640, cost\n  $1.00\n" in seen


# ---------------------------------------------------------------- pagers


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


# ---------------------------------------------------------------- the log


def test_log_is_every_move_newest_first(cli: Cli) -> None:
    cli.ok("rewind", "@~1", "--reason", "too far")
    lines = [line for line in cli.ok("log", "@").splitlines() if not line.startswith(" ")]
    assert re.fullmatch(r"@\{4\} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d rewind \w{6} too far", lines[0])
    assert [line.split()[3] for line in lines] == ["rewind", "seal", "seal", "seal", "create"]
    assert [line["kind"] for line in cli.json("log", "@")["lines"]] == ["rewind", "seal", "seal", "seal", "create"]


def test_log_says_once_of_each_turn_what_it_used_and_what_was_in_force(worked: Cli) -> None:
    seal, *facts, create = worked.ok("log", "@").splitlines()
    assert re.fullmatch(r"@\{1\} \S+ \S+ seal \w{6}", seal) and create.endswith("create - agent coder")
    assert facts == [
        "  Make it green. # please",
        "  anthropic/claude-opus-4, 1,234 tokens, $0.0125, finish stop",
        "  tools: build: bash, edit",
        "  prompt: 7a70d68a3d8c You build. …",
        "  used: bash:make",
    ]


def test_log_says_why_a_turn_failed_or_was_aborted(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        session.turn("Deploy.").fail("overloaded", code="529")
        session.turn("Again.").abort("stopped")
        session.turn("And again.").abort()
    facts = [line for line in Cli(tmp_path, tmp_path / "talks.db").ok("log", "@").splitlines() if line[0] == " "]
    assert facts == [
        *("  And again.", "  aborted"),
        *("  Again.", "  aborted: stopped"),
        *("  Deploy.", "  error: 529: overloaded"),
    ]


def test_the_places_of_a_log_are_aligned(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        for number in range(11):
            session.commit([f"{number}"])
    lines = [line for line in Cli(tmp_path, tmp_path / "talks.db").ok("log", "@").splitlines() if line[0] != " "]
    assert len(lines) == 12 and {line.index(" 20") for line in lines} == {5}


def test_log_in_twenty_columns_can_be_read(worked: Cli) -> None:
    with Terminal({**worked.env, "NO_COLOR": "1", "PAGER": "cat"}, "log", "@", columns=20) as terminal:
        lines = terminal.end()[1].splitlines()
    assert max(map(len, lines)) <= 20
    assert re.fullmatch(r"@\{1\} \w+ seal", lines[0]) and re.fullmatch(r"  \w{6}", lines[1])
    assert lines[-2:] == [lines[-2], "  - agent coder"] and re.fullmatch(r"@\{0\} \w+ create", lines[-2])


LONG = "openrouter/meta-llama/llama-4-maverick-17b-128e-instruct-fp8-long-context-preview-2025-04-05-eu-west"


def models(path: Path) -> Cli:
    """Turns of a model with a long name: by itself, after an agent, and after one with a long name too."""
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        for agent in (None, "reviewer", "reviewer-of-what-the-other-reviewers-say-about-a-change"):
            session.commit("Hi.", model=LONG, agent=agent)
        session.commit("Hi.", model="anthropic/claude-opus-4", agent="reviewer")
    return Cli(path.parent, path, NO_COLOR="1", PAGER="cat")


def test_a_long_model_name_is_shortened_inside_on_a_terminal(tmp_path: Path) -> None:
    cli = models(tmp_path / "talks.db")
    with Terminal(cli.env, "log", "@", columns=80) as terminal:
        lines = terminal.end()[1].splitlines()
    assert [line for line in lines if line.startswith("  ") and line != "  Hi."] == [
        "  reviewer, anthropic/claude-opus-4",
        "  reviewer-of-what-the-other-reviewers-say-about-a-change,",
        "  openrouter/meta-llama/llama-4-maverick…ong-context-preview-2025-04-05-eu-west",
        "  reviewer, openrouter/meta-llama/llama-4-mav…ontext-preview-2025-04-05-eu-west",
        "  openrouter/meta-llama/llama-4-maverick…ong-context-preview-2025-04-05-eu-west",
    ]


def test_a_model_name_has_one_line_in_twenty_columns(tmp_path: Path) -> None:
    cli = models(tmp_path / "talks.db")
    with Terminal(cli.env, "log", "@", columns=20) as terminal:
        lines = terminal.end()[1].splitlines()
    assert [line for line in lines if "…" in line] == ["  anthropi…e-opus-4", *["  openrout…-eu-west"] * 3]


def test_a_pipe_and_a_program_get_a_long_model_name_whole(tmp_path: Path) -> None:
    cli = models(tmp_path / "talks.db")
    assert f"\n  reviewer, {LONG}\n" in cli.ok("log", "@")
    assert {turn["model"]["model_id"] for turn in cli.json("tree", "@")["turns"]} == {
        "claude-opus-4",
        LONG.removeprefix("openrouter/"),
    }
    with Terminal(cli.env, "show", "@", "--detail", columns=200) as terminal:
        assert LONG in terminal.end()[1]


def test_the_keys_of_a_turn_are_those_that_are_documented(worked: Cli) -> None:
    (turn,) = worked.json("show", "@", "--detail")["turns"]
    assert set(turn) == set(worked.json("tree", "@")["turns"][0]) - {"mark", "words", "heads", "agents"}
    assert json.loads(json.dumps(turn["permissions_used"])) == ["bash:make"]


def test_only_the_answer_and_only_what_was_used_do_not_go_together(cli: Cli) -> None:
    assert "give one of them" in cli.refused("show", "@", "-r", "-u", code=2)


def test_an_answer_that_is_not_whole_is_said_to_be_so(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(title="T")
        with session.turn("Which?") as turn:
            turn.text("The fi")
            turn.fail("overloaded", code="529")
        with session.turn("Again.") as turn:
            turn.text("The se")
            turn.abort()
        with session.turn("Again!") as turn:
            turn.text("The third.")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    _, _, body = cli.ok("show", "T").partition("\n\n")
    assert body == (
        "user\nWhich?\n\nassistant\nThe fi\n--- failed: 529: overloaded\n\n"
        "user\nAgain.\n\nassistant\nThe se\n--- aborted\n\nuser\nAgain!\n\nassistant\nThe third.\n"
    )
    done = cli("show", "T~2", "-r")
    assert done.out == "The fi\n" and "may not be whole: its turn is failed: 529: overloaded" in done.err
    assert cli("show", "T", "-r").err == ""
    assert cli.json("show", "T")["turns"] == []


def test_what_a_person_said_to_a_call_is_shown_with_the_reason(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(title="T")
        with session.turn("Clean up.") as turn:
            for call in ("c1", "c2", "c3"):
                turn.tool("rm", {"n": call}, id=call).ask()
        session.resolve("c1", approved=True, reason="fine")
        session.resolve("c2", approved=False, reason="Never!")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    said = cli.ok("show", "T")
    assert "  tool rm (answered, not run yet)\n    n: c1\n    approved: fine\n" in said
    assert "  tool rm (answered, not run yet)\n    n: c2\n    denied: Never!\n" in said
    assert "  tool rm (asks for approval)\n    n: c3\n" in said
    assert "approved: fine" in cli.ok("show", "T", "--detail") and "denied: Never!" in cli.ok("tail", "T")
    with palaver.open(tmp_path / "talks.db") as store:
        found = store.sessions.get(session.id)
        found.resume(found.waiting()[0].id).resolve("c1", output="gone")
    assert "    n: c1\n    approved: fine\n    -> gone\n" in cli.ok("show", "T")


def test_the_heading_tells_what_was_used_by_what_is_shown(used: Cli, worked: Cli) -> None:
    more = "the session used 3,960 tokens, $1.50"
    for name, told in (("@", "3 turns, 2,640 tokens, $1.00"), ("@~2", "1 turn, 1,320 tokens, $0.5000")):
        assert used.ok("show", name).splitlines()[1] == f"used, {told}, {more}"
    assert "the session used" not in worked.ok("show", "@")


def test_detail_cuts_nothing_on_a_narrow_terminal(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        agent, title = "an-agent-" * 9, "A title of many words " * 5
        with store.sessions.create(agent=agent, title=title.strip(), model="m" * 57).turn("Well?") as turn:
            turn.text("Well.")
    env = Cli(tmp_path, tmp_path / "talks.db", NO_COLOR="1").env
    with Terminal(env, "show", "@", "--detail", "--no-pager", columns=60) as terminal:
        _, seen = terminal.end()
    assert "…" not in seen and " ".join(seen.split()).count("A title of many words") == 5
    assert len(re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", seen)) == 2
    assert all(len(line) <= 60 and not line.startswith(",") for line in seen.splitlines())


def test_a_table_stands_apart_from_the_call_behind_it(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store, store.sessions.create().turn("Well?") as turn:
        turn.text("| a |\n|---|\n| b |")
        turn.tool("bash", {"command": "make"}, id="c").output("done")
    assert "| b |\n\n  tool bash\n" in Cli(tmp_path, tmp_path / "talks.db").ok("show", "@")
