"""What `rich` draws on a terminal: Markdown, code, diffs, tables. Nothing that is stored acts, links or hides in it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import palaver
from palaver.cli.ui.render import Renderer
from palaver.cli.ui.sanitize import width
from palaver.cli.ui.screen import Screen

from . import talks
from .run import Cli
from .terminal import Terminal
from .test_reference import loaded
from .test_sanitize import acting_without_tabs

SGR = re.compile(r"\x1b\[[0-9;]*m")  # colours, and nothing else


class Paper(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def screen(columns: int = 60) -> Screen:
    made = Screen(Paper())
    made.colour, made.width = True, columns
    return made


def drawn(text: str, columns: int = 60) -> str:
    """What was said in an answer, as it is written to a terminal."""
    on = screen(columns)
    renderer = Renderer(on)
    renderer.blocks([*renderer.reader.part({"type": "text", "text": text})])
    assert isinstance(on.out, Paper)
    return on.out.getvalue()


def seen(text: str, columns: int = 60) -> str:
    return SGR.sub("", drawn(text, columns))


# ---------------------------------------------------------------- Markdown


def test_markdown_is_drawn() -> None:
    assert (
        seen(talks.MARKDOWN)
        == """\
What happened

The build failed for want of zlib: see the manual
(https://zlib.net/manual.html).
It says -lz, and [bold]this[/bold] is no markup.

 • install it
 • run make

  def link() -> str:
      return "cc -lz"
"""
    )
    assert "\x1b[1mzlib\x1b[0m" in drawn(talks.MARKDOWN)


def test_a_table_is_drawn_where_it_fits_and_left_as_it_is_where_not() -> None:
    table = "| file | lines |\n|---|---:|\n| Makefile | 2 |"
    assert re.fullmatch(r" +file +lines *\n [─━]+\n +Makefile +2 *\n", seen(table))
    assert seen("| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |", 20) == "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n"


@pytest.mark.parametrize("columns", [20, 60, 100])
def test_drawn_words_are_never_broken(columns: int) -> None:
    words = "Words that are wrapped between one another, and **bold** ones, and `code`, in every width there may be."
    plain = words.replace("*", "").replace("`", "")
    for text in (words, f"- {words}", f"> {words}", f"1. {words}"):
        lines = [re.sub(r"^[ •▌1]+", "", line) for line in seen(text, columns).splitlines()]
        assert " ".join(lines) == plain
        assert max(map(width, seen(text, columns).splitlines())) <= columns


def test_a_line_that_somebody_ended_is_a_line() -> None:
    assert seen("one\ntwo") == "one\ntwo\n"


HIDING = [
    "<!-- hidden --> <b>shown</b> List<String>",
    "[text](https://a.example 'a title')",
    "![picture](https://tracker.example/x.png)",
    "[name]: https://b.example 'defined'",
    "| a |\n|---|\n| 1 | too many |",
    "``` python and more words\ncode\n```",
    "&lrm;&#x202e;&#8203;entities",
    "> " * 60 + "deep",
    "- " * 30 + "deeper",
]


@pytest.mark.parametrize("text", HIDING)
@pytest.mark.parametrize("columns", [20, 100])
def test_nothing_that_was_written_is_hidden(text: str, columns: int) -> None:
    shown = re.sub(r"\s", "", seen(text, columns))
    for word in re.findall(r"\w+", text):
        assert word in shown or (text.startswith("```") and word == "python"), (word, shown)


def test_a_link_shows_where_it_leads_and_is_none() -> None:
    shown = drawn("[https://good.example](https://evil.example) <https://auto.example>")
    assert "\x1b]8" not in shown
    assert SGR.sub("", shown) == "https://good.example (https://evil.example)\nhttps://auto.example\n"


WORDS = [
    *HIDING,
    talks.ATTACK,
    "[bold red]x[/]",
    "[link=http://x]y[/link]",
    "&lrm;",
    "&#27;[2J",
    "`",
    "*",
    "[",
    "](",
    "\n",
    "> ",
    "- ",
]


@given(text=st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=6).map("".join))
@example("[a](http://x\x1b]8;;y)")
@settings(max_examples=60)
def test_whatever_was_said_no_character_acts_and_no_letter_is_lost(text: str) -> None:
    shown = drawn(text, 40)
    bare = SGR.sub("", shown)
    assert acting_without_tabs(bare) == set()
    on = screen(40)
    safe = re.sub(r"(?m)^(`{3,}|~{3,}).*$", "", on.sanitized(text, lines=True))  # the language of a code block
    assert not [letter for letter in safe if letter.isalnum() and letter not in bare and not letter.isdigit()]


# ---------------------------------------------------------------- on a real terminal


def test_a_terminal_with_colours_gets_code_diffs_and_markdown_drawn(worked: Cli) -> None:
    with Terminal({**worked.env, "PAGER": "cat"}, "show", "@", columns=60) as terminal:
        code, shown = terminal.end()
    assert code == 0
    bare = SGR.sub("", shown)
    assert acting_without_tabs(bare) == set() and "\x1b]8" not in shown
    assert "\n# please\n" in bare, "what people type is no Markdown"
    assert "\n    -LIBS = -lm\n    +LIBS = -lm -lz\n     CFLAGS = -O2\n" in bare
    assert "\x1b[91m-LIBS = -lm\x1b[0m" in shown and "\x1b[92m+LIBS = -lm -lz\x1b[0m" in shown
    assert "\n • install it\n" in bare and "## What" not in bare
    assert re.search(r"\x1b\[[0-9;]*mdef\x1b\[0m", shown)


@pytest.mark.parametrize("columns", [20, 100])
def test_a_hostile_talk_is_drawn_without_a_character_that_acts(tmp_path: Path, attacked: Path, columns: int) -> None:
    env = Cli(tmp_path, attacked).env
    with Terminal({**env, "PAGER": "cat"}, "show", "hostile", "--detail", columns=columns) as terminal:
        code, shown = terminal.end()
    assert code == 0 and "Traceback" not in shown
    bare = SGR.sub("", shown)
    assert acting_without_tabs(bare) == set()
    assert max(map(width, bare.splitlines())) <= columns


def test_a_file_that_is_written_has_the_colours_of_its_language(tmp_path: Path) -> None:
    on = screen()
    renderer = Renderer(on)
    content = "def f():\n\treturn 1\n"
    renderer.blocks([*renderer.reader.call("write", {"file_path": "a.py", "content": content, "mode": "w"})])
    renderer.blocks([*renderer.reader.call("bash", {"command": "cd /\necho $HOME"})])
    assert isinstance(on.out, Paper)
    bare = SGR.sub("", on.out.getvalue())
    assert "    content:\n      def f():\n          return 1\n    mode: w\n" in bare
    assert "    command:\n      cd /\n      echo $HOME\n" in bare
    assert re.search(r"\x1b\[[0-9;]*mreturn\x1b\[0m", on.out.getvalue())


def test_without_colours_or_their_characters_a_terminal_gets_plain_text(worked: Cli) -> None:
    for extra in ({"NO_COLOR": "1"}, {"PYTHONIOENCODING": "ascii"}):
        with Terminal({**worked.env, "PAGER": "cat", **extra}, "show", "@", columns=60) as terminal:
            bare = SGR.sub("", terminal.end()[1])
        assert "\n## What happened\n" in bare and "\n- install it\n" in bare
        assert "\nThe build failed for want of **zlib**: see [the\nmanual]" in bare


def test_a_pipe_never_loads_rich(worked: Cli) -> None:
    for args in (["show", "@"], ["show", "@", "-u"], ["tree", "@"], ["log", "@"], ["tail", "@"]):
        assert not {name for name in loaded(worked, *args) if name.split(".")[0] in ("rich", "pygments", "markdown_it")}


def test_a_list_on_a_terminal_needs_no_rich(cli: Cli) -> None:
    """It is looked at most often: it starts at once."""
    with Terminal({**cli.env, "PYTHONPROFILEIMPORTTIME": "1"}, "ls") as terminal:
        assert " rich" not in terminal.end()[1]


def test_live_words_are_wrapped_as_they_come(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(title="Live")
        turn = session.turn("Go.")
        cli = Cli(tmp_path, tmp_path / "talks.db", NO_COLOR="1")
        with Terminal(cli.env, "tail", "Live", columns=20) as terminal:
            terminal.until("Go.")
            turn.reasoning("I wonder about it for a while.")
            turn.text("The quick brown f")
            turn.text("ox jumps over it.")
            turn.tool("bash", {"command": "make"}).output("one\ntwo")
            turn.seal()
            shown = terminal.end()[1].replace(" \n", "\n")
    assert (
        "assistant\n  thinks: I wonder\n    about it for a\n    while.\nThe quick brown fox\njumps over it.\n" in shown
    )
    assert "  tool bash\n    command:\n      make\n    -> one\n       two\n" in shown
