"""Nothing that is stored can act on a terminal: every escape sequence is something to look at, in every command."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from palaver.cli.ui import jsontext, sanitize

from .run import COMMAND, Cli
from .terminal import Terminal

LOOKING = [
    ("ls",),
    ("ls", "--all"),
    ("show", "@", "--no-pager"),
    ("show", "@", "--detail", "--no-pager"),
    ("show", "@~1", "--no-pager"),
    ("tail", "@", "-n", "99"),
    ("tree", "@"),
    ("log", "@"),
    ("verify",),
    ("doctor",),
    ("sql", "SELECT * FROM session_rows"),
    ("sql", "SELECT data_json, metadata_json FROM chat_parts JOIN chat_messages m ON m.id = message_id"),
    ("show", "hostil"),
    ("show", "title"),
    ("archive", "hostile"),
]
JSON = [("ls",), ("show", "@"), ("tree", "@"), ("log", "@"), ("sql", "SELECT * FROM chat_parts"), ("doctor",)]


@pytest.fixture
def enemy(tmp_path: Path, attacked: Path) -> Cli:
    shutil.copy(attacked, tmp_path / "talks.db")
    return Cli(tmp_path, tmp_path / "talks.db")


def acting(text: str) -> set[str]:
    """The characters in it that do something instead of showing something."""
    return {f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")} - {"U+000A"}


def acting_without_tabs(text: str) -> set[str]:
    return acting(text) - {"U+0009"}


def test_the_attack_is_one() -> None:
    from .talks import ATTACK

    assert {"U+001B", "U+009B", "U+202E", "U+200B", "U+0007", "U+000D", "U+007F", "U+2028"} <= acting(ATTACK)


@pytest.mark.parametrize("command", LOOKING[::2], ids=" ".join)
def test_no_stored_character_acts_in_a_pipe(enemy: Cli, command: tuple[str, ...]) -> None:
    done = enemy(*command)
    assert done.code in (0, 1, 3) and "Traceback" not in done.err
    assert acting_without_tabs(done.out + done.err) == set()


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_no_stored_character_acts_on_a_terminal(enemy: Cli, command: tuple[str, ...]) -> None:
    with Terminal({**enemy.env, "NO_COLOR": "1", "PAGER": "cat"}, *command, columns=20) as terminal:
        code, seen = terminal.end()
    assert code in (0, 1, 3) and "Traceback" not in seen
    assert acting_without_tabs(seen) == set()


def test_what_is_made_visible_can_be_read(enemy: Cli) -> None:
    shown = enemy.ok("show", "@")
    assert "␛[2J" in shown and "\\u{202e}" in shown and "\\u{9b}31m" in shown and "␈␈␍␡" in shown
    assert "error ␛[2J" in shown and "tool tool␛[2J" in shown


def test_raw_is_raw_because_it_was_asked_for(enemy: Cli) -> None:
    assert "\x1b[2J" in enemy.ok("show", "@", "--raw")


@pytest.mark.parametrize("command", JSON, ids=" ".join)
def test_json_is_printable_ascii(enemy: Cli, command: tuple[str, ...]) -> None:
    done = enemy(*command, "--json")
    assert done.code in (0, 1) and done.json()
    assert all(32 <= ord(c) < 127 or c == "\n" for c in done.out)


def test_json_gives_the_text_back_exactly(enemy: Cli) -> None:
    from .talks import ATTACK

    messages = enemy.json("show", "@")["messages"]
    assert messages[0]["parts"][0]["text"] == f"question {ATTACK}"


def test_an_error_names_a_hostile_candidate_safely_in_json_too(enemy: Cli) -> None:
    done = enemy("show", "title", "--json")
    assert done.code == 3 and done.out == "" and acting(done.err) == set() and done.err.isascii()


def test_rm_asks_about_a_hostile_title_safely(enemy: Cli) -> None:
    with Terminal({**enemy.env, "NO_COLOR": "1"}, "rm", "@", columns=100) as terminal:
        assert acting(terminal.until("Delete 1 session? [y/N]: ")) == set()
        terminal.type("n\r")
        code, _ = terminal.end()
    assert code == 1
    assert len(enemy.json("ls")["sessions"]) == 1


# ---------------------------------------------------------------- places where characters do not fit


NO_UTF8 = [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}]


@pytest.mark.parametrize("command", [("ls",), ("show", "@"), ("tree", "@"), ("log", "@"), ("show", "title"), ("-h",)])
def test_a_locale_without_utf8_ends_no_command(enemy: Cli, command: tuple[str, ...]) -> None:
    extra = NO_UTF8[len(command[0]) % 2]
    run = subprocess.run(
        [*COMMAND, *command], env={**enemy.env, **extra}, cwd=enemy.home, capture_output=True, timeout=120
    )
    assert run.returncode in (0, 3), run.stderr
    assert b"Traceback" not in run.stderr
    assert (run.stdout + run.stderr).isascii()


def test_what_an_encoding_cannot_say_is_escaped() -> None:
    assert sanitize.visible("né \x1b[m", encoding="ascii") == "n\\u{e9} \\u{1b}[m"
    assert sanitize.visible("né", encoding="latin-1") == "né"


@pytest.mark.parametrize("selector", ["\ufe00", "\ufe0f", "\u180b", "\u180f", "\U000e0100", "\U000e01ef"])
def test_a_text_cannot_hide_in_variation_selectors(selector: str) -> None:
    assert sanitize.visible(f"a{selector}b") == f"a\\u{{{ord(selector):x}}}b"


def test_an_emoji_keeps_the_selector_that_says_how_it_looks_and_one_only() -> None:
    for emoji in ("\u2764\ufe0f", "\u2194\ufe0e", "1\ufe0f\u20e3"):
        assert sanitize.visible(emoji) == emoji
    assert sanitize.visible("\u2764\ufe0f\ufe0f") == "\u2764\ufe0f\\u{fe0f}"
    assert sanitize.width("1\ufe0f\u20e3") == 1


def test_emoji_that_are_joined_stay_whole_and_a_joiner_elsewhere_is_seen() -> None:
    for family in ("\U0001f469\u200d\U0001f467\u200d\U0001f466", "\u2764\ufe0f\u200d\U0001f525"):
        assert sanitize.visible(family) == family
    assert sanitize.visible("a\u200db \U0001f469\u200dx") == "a\\u{200d}b \U0001f469\\u{200d}x"
    assert sanitize.visible("\U0001f469\u200d\u200d\U0001f467") == "\U0001f469\\u{200d}\\u{200d}\U0001f467"
    assert sanitize.width("\U0001f469\u200d\U0001f467") == 4


def test_widths_count_what_a_terminal_shows() -> None:
    assert sanitize.width("漢字") == 4
    assert sanitize.width("e\u0301") == 1
    assert sanitize.shorten("漢字漢字", 5) == "漢字…"
    assert sanitize.shorten("abc", 3) == "abc"
    assert sanitize.shorten("abcd", 3) == "ab…"
    assert sanitize.shorten("abcd", 0) == ""
    assert sanitize.shorten_inside("abcdef", 6) == "abcdef"
    assert sanitize.shorten_inside("abcdef", 5) == "ab…ef"
    assert sanitize.shorten_inside("abcdef", 4) == "ab…f"
    assert sanitize.shorten_inside("漢字漢字", 6) == "漢…字"
    assert sanitize.shorten_inside("abcdefgh", 7, "...") == "ab...gh"
    assert [sanitize.shorten_inside("abcd", columns) for columns in (2, 1, 0)] == ["a…", "…", ""]


def test_json_text_keeps_its_numbers_and_is_ascii() -> None:
    from palaver.base.exact_json import Raw

    text = jsontext.as_json({"a": Raw(b'{"n":1.10,"big":123456789012345678901234567890}'), "b": "é\x7f\U0001f600"})
    assert text == ('{"a": {"n":1.10,"big":123456789012345678901234567890}, "b": "\\u00e9\\u007f\\ud83d\\ude00"}')


# ---------------------------------------------------------------- narrow terminals


@pytest.mark.parametrize(
    "command", [("ls",), ("tree", "@"), ("log", "@"), ("sql", "SELECT * FROM turns")], ids=" ".join
)
def test_lists_fit_a_terminal_of_twenty_columns(cli: Cli, command: tuple[str, ...]) -> None:
    with Terminal({**cli.env, "NO_COLOR": "1", "PAGER": "cat"}, *command, columns=20) as terminal:
        code, seen = terminal.end()
    assert code == 0
    lines = seen.splitlines()
    assert lines and max(map(sanitize.width, lines)) <= 20, seen


def test_colours_are_for_terminals_that_want_them(cli: Cli) -> None:
    assert "\x1b" not in cli.ok("ls")
    for extra, coloured in [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]:
        with Terminal({**cli.env, **extra}, "ls") as terminal:
            assert ("\x1b[" in terminal.end()[1]) is coloured
