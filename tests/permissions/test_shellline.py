"""What the reader calls the simple commands of a line is what bash and dash run, word for word, and nothing else.

Of a line that it cannot read nothing is claimed, and none is run.
"""

from __future__ import annotations

import re
import shlex
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from palaver import permissions
from palaver.permissions import shell_line, wrappers
from palaver.permissions.shell_line import Command, Line, read

from . import attempts, shells
from .test_globs import steps

read_all = read

# ---------------------------------------------------------------- against the shells

PIECES = st.sampled_from(
    [
        *["a", "b", "ab", "a", "b", "1", "2", "-", "=", "+", "#", "%", "^", ",", "é", "''", "*", "?", "["],
        *["'a b'", '""', '"a b"', "'\\'", '"\\""', '"\\a"', '"\\\\"', '"a\\\nb"', '"b!"', "'a;b'", '"a|b"'],
        *["\\ ", "\\a", "\\;", "\\#", "\\'"],
    ]
)
WORDS = st.lists(PIECES, min_size=1, max_size=3).map("".join)
NAMES = st.sampled_from(["a", "b", "ab", "a", "'a'", '"b"', "\\a", "a''", '""b', "ba", "aa"])
BLANKS = st.sampled_from([" ", " ", " ", "\t", "  ", " \\\n", " \\\n "])
REDIRECTIONS = st.sampled_from(
    [
        *["", "", "", "> 'b'", "2> b", "< a", "&>> a", ">& a"],
        *[">a", "2>&1", ">>a", ">|b", ">&2", "2>&-", "<>b", ">/dev/null", "&>/dev/null", "1>&2", "<&-", "<&0"],
    ]
)
SIMPLE = st.tuples(
    st.sampled_from(["", "", "", "a=1 ", "b= ", "ab='x y' ", ">a "]),
    NAMES,
    st.lists(st.tuples(BLANKS, WORDS).map("".join), max_size=3).map("".join),
    BLANKS,
    REDIRECTIONS,
).map("".join)
OPERATORS = st.sampled_from(
    [";", "; ", "&", " & ", "&&", " && ", "||", "|", " | ", "|&", "\n", "\n\n", " #a;b\n", ";\n"]
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = st.tuples(st.sampled_from(["(", "( "]), inner, st.sampled_from([")", " )", ";)", "\n)", ") >a"])).map(
        "".join
    )
    return st.tuples(inner | grouped, OPERATORS, inner | grouped).map("".join)


GRAMMAR = st.recursive(SIMPLE, compound, max_leaves=6)
TOKENS = [
    *"ab12;&|()<>'\"\\#=$`{}!*?[]^+-%@,:.é \t\n\r\x01\x0b\xa0\u2003",
    *[" ", " ", "ab", "12", "&&", "||", "|&", ">>", ">&", "<&", "&>", ">|", "<>", "<<", "<(", "((", "))", "''"],
    *["a=", "b+=", "a[1]=", "\\\n", " \\\n", "time ", "if ", "fi", "do", "in ", "case ", "coproc ", "function ", "[[ "],
    ">/dev/null ",
]
NOISE = st.lists(st.sampled_from(TOKENS), max_size=14).map("".join)
SPOILT = st.tuples(GRAMMAR, st.sampled_from(TOKENS), st.integers(0, 60)).map(
    lambda given: given[0][: given[2]] + given[1] + given[0][given[2] :]
)
LINES = st.lists(GRAMMAR | SPOILT | NOISE, min_size=30, max_size=60)

_OTHERS = {"time", "[", ".", ":"}  # the shell's own words, and a builtin: what they run is not written down
_MAY_FAIL = re.compile(r"<|>&(?!(?:2|-)(?:[\s;&|)]|\Z))|''|\"\"|[0-9]>|[*?\[]")


FREE = settings(
    deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)  # a line that is wrong is named; making it shorter would start thousands of shells


def can_be_run(line: str) -> bool:
    """A command that is named by its path is not looked up, so that no function and no handler of ours hears of it."""
    found = read(line)
    names = {command.words[0] for command in found.commands if command.words}
    return found.unread is None and not names & _OTHERS and not any("/" in name for name in names) and shells.safe(line)


def wrong(line: str, ran: shells.Ran, shell: str, status: int) -> str | None:
    """Why what ran is not what was read."""
    commands = [command for command in read(line).commands if command.words]
    if shell != "bash":
        commands = [command for command in commands if command.words[0] in shells.NAMES]
    whole = all(command.expanding is None for command in commands)
    wanted = Counter(tuple(command.words if whole else command.words[:1]) for command in commands)
    found = Counter(tuple(words if whole else words[:1]) for words in ran)
    of_bash = shell != "bash" and ("|&" in line or "&>" in line)  # dash reads `& >f`, which succeeds by itself
    some_are_skipped = ("&&" if status else "||") in line or of_bash
    if found - wanted or (wanted - found and not some_are_skipped and not _MAY_FAIL.search(line)):
        return f"{shell} ran {ran} of {line!r}, not {[command.words for command in commands]}"
    return None


def compare(lines: list[str]) -> list[str]:
    lines = [line for line in lines if can_be_run(line)]
    found = []
    for shell in shells.SHELLS:
        for status in (0, 1):
            with TemporaryDirectory() as folder:
                ran = shells.run(shell, lines, Path(folder), status=status)
            found += [wrong(line, commands, shell, status) for line, commands in zip(lines, ran, strict=True)]
    return [problem for problem in found if problem is not None]


@settings(FREE, max_examples=4)
@given(LINES)
def test_the_shells_run_the_commands_that_were_read(lines: list[str]) -> None:
    assert compare(lines) == []


@pytest.mark.long
@settings(FREE, max_examples=400)
@given(LINES)
def test_the_shells_run_the_commands_that_were_read_in_many_lines(lines: list[str]) -> None:
    assert compare(lines) == []


LINES_BY_HAND = [
    *(attempts.BEGINS_WITH_GIT + attempts.ARE_GIT + attempts.DENIED + attempts.ASKED + attempts.ARGUMENTS),
    "a 2>&-b",
    "a \\ \\\nb",
    "a>b#c",
    "a 2>b 2 >c",
    "a '#' \\# #",
    "a &>/dev/null; b",
    "(a)2>b",
]


def test_the_shells_run_the_commands_that_were_read_in_lines_written_by_hand() -> None:
    renamed = [re.sub(r"\b(git|ls|echo)\b", "a", line).replace("rm", "b") for line in LINES_BY_HAND]
    own = re.compile(r"\b(alias|trap|eval|exec|command|builtin|source|sh|bash|env|time)\b")
    assert compare([line for line in renamed if not own.search(line)]) == []


# ---------------------------------------------------------------- what wrappers run

WRAPPERS = ["env", "nice", "nohup", "timeout", "xargs", "setsid", "stdbuf", "ionice", "sh", "bash"]
FRONT = st.sampled_from(
    [
        *["env", "env -i", "env -u A", "env -uA B=1", "env - A=1 B=2", "env --", "env -- A=1", "env --unset=A"],
        *["nice", "nice -n 1", "nice -1", "nice --adjustment 1", "nohup", "nohup --", "timeout 9", "timeout -s 9 9"],
        *["timeout --signal=9 -k 1 9s", "timeout --foreground 9", "xargs", "xargs -0", "xargs -n 1", "xargs -n1 -t"],
        *["xargs --max-args 1 --verbose", "xargs --replace", "xargs -I%", "setsid -w", "stdbuf -oL", "stdbuf -o L"],
        *["ionice -c 3", "exec", "command", "command -p", "command -v", "command --", "A=1 B=2", "A=1 >x", "eval"],
        *[
            "time",
            "time -p",
            "builtin command",
            "./a",
            "eval --",
            "exec -a b",
            "env -0",
            "env -S",
            "timeout",
            "nice -x",
        ],
    ]
)
INSIDE = st.sampled_from(["a 1", "b", "a 'x y'", "a | b 2", "(a); b", "a && b", "a $x", "A=1 b"])
SHELL = st.sampled_from(
    [
        *["sh -c", "sh -ec", "sh -e -c", "sh -c --", "sh -o errexit -c", "sh -eo errexit -c", "sh +e -c", "sh -c -e"],
        *["bash -c", "bash --norc -c", "bash -lc", "bash -O extglob -c", "bash +O extglob -c", "bash -norc -c"],
    ]
)
TEXTS = st.tuples(SHELL, INSIDE, st.sampled_from(["", " b", " b a"])).map(
    lambda given: f"{given[0]} {shlex.quote(given[1])}{given[2]}"
)
WRAPPED = st.tuples(st.lists(FRONT, max_size=2).map(" ".join), INSIDE | TEXTS).map(" ".join)


@settings(FREE, max_examples=4)
@given(st.lists(WRAPPED, min_size=25, max_size=30))
def test_what_wrappers_and_shells_run_is_seen(lines: list[str]) -> None:
    assert unseen(lines) == []


@pytest.mark.long
@settings(FREE, max_examples=150)
@given(st.lists(WRAPPED, min_size=25, max_size=30))
def test_what_wrappers_and_shells_run_is_seen_in_many_lines(lines: list[str]) -> None:
    assert unseen(lines) == []


def unseen(lines: list[str]) -> list[str]:
    """Commands that ran, and that no rule could have reached."""
    seen = {line: everything(line) for line in lines if shells.safe(line)}
    known = {line: texts for line, texts in seen.items() if texts is not None}
    found = []
    for shell in shells.SHELLS:
        with TemporaryDirectory() as folder:
            ran = shells.run_programs(shell, [*known], Path(folder), WRAPPERS)
        for (line, texts), commands in zip(known.items(), ran, strict=True):
            found += [f"{shell}: {line!r} ran {words}" for words in commands if " ".join(words) not in texts]
    return found


def everything(line: str) -> set[str] | None:
    """The texts that a deny is compared with; None if some of it cannot be parsed."""
    own = read(line)
    behind = [wrappers.behind(command) for command in own.commands]
    if any(each.unread is not None for each in [own, *behind]):
        return None
    return {command.text for each in [own, *behind] for command in each.commands}


# ---------------------------------------------------------------- these checks see what is wrong


@pytest.mark.parametrize("line", ["a; b", "a | b", "(a) & b", "a\nb"])
def test_a_reader_that_stops_after_the_first_command_is_noticed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare([line]) == []
    monkeypatch.setattr(f"{__name__}.read", lambda text: Line(read_all(text).commands[:1]))
    assert compare([line]) != []


DIFFERENT = [
    ("a 'b b'", "a b b"),
    ("a \\ b", "a b"),
    ("a b#c", "a b"),
    ("a 2 >b", "a 2>b"),
    ("a '' b", "a b"),
    ("a", "b"),
]


@pytest.mark.parametrize(("line", "other"), DIFFERENT)
def test_a_reader_that_takes_words_for_others_is_noticed(
    line: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compare([line]) == []
    monkeypatch.setattr(f"{__name__}.read", lambda text: read_all(other))
    assert compare([line]) != []


@pytest.mark.parametrize("line", ["env a 1", "nice -n 1 a", "sh -c 'a; b'", "xargs -n 1 a", "eval a", "A=1 a"])
def test_a_wrapper_that_is_not_known_is_noticed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unseen([line]) == []
    monkeypatch.setattr(wrappers, "behind", lambda command: Line([]))
    assert unseen([line]) != []


def test_a_line_that_could_write_elsewhere_is_never_run(tmp_path: Path) -> None:
    for line in ("a > /x", "a > ../x", "a > ~/x", "a >/dev/nullx", "a > '/dev/null'x", "a > x/dev/null", "PATH=. a"):
        with pytest.raises(AssertionError):
            shells.run("bash", [line], tmp_path)


# ---------------------------------------------------------------- characters


def test_no_character_that_is_a_blank_to_some_is_read_outside_quotes() -> None:
    spaces = [chr(code) for code in range(sys.maxunicode) if chr(code).isspace()]
    assert [c for c in spaces if read(f"a{c}b").unread is None] == ["\t", "\n", " "]
    assert read("a '\xa0\u3000'") == Line([Command(["a", "\xa0\u3000"], [], [])])


def test_no_character_that_a_pattern_takes_for_another_in_ascii_is_read() -> None:
    """Patterns are compared in normal form; there some characters are ASCII ones that mean something to a shell."""
    others = [chr(code) for code in range(128, sys.maxunicode) if unicodedata.normalize("NFC", chr(code)).isascii()]
    assert others and [c for c in others if read(f"a '{c}'").unread is None] == []


@pytest.mark.parametrize("code", [*range(9), *range(11, 32), 127, 0xD800, 0xDFFF])
def test_control_characters_and_halves_of_characters_are_not_read(code: int) -> None:
    assert read(f"a '{chr(code)}'").unread is not None


# ---------------------------------------------------------------- how long it takes


def many(piece: str) -> Callable[[int], str]:
    return lambda n: (piece * n)[:n]


HOSTILE: dict[str, Callable[[int], str]] = {
    "words": many("a "),
    "one word": many("a"),
    "commands": many("a;"),
    "different commands": lambda n: "".join(f"a{i};" for i in range(n))[:n],
    "quotes": many("'a'"),
    "quotes and words": many("a 'b' "),
    "a quote that is not closed": lambda n: "a '" + "b " * (n // 2),
    "double quotes with escapes": lambda n: 'a "' + '\\"' * (n // 2) + '"',
    "double quotes with backslashes": lambda n: 'a "' + "\\\\" * (n // 2),
    "backslashes": many("\\a"),
    "continued lines": many("a \\\n"),
    "open groups": many("("),
    "groups in groups": many("( "),
    "newlines": many("\n"),
    "comments": many("#a\n"),
    "assignments": many("a=b "),
    "redirections": many(">a "),
    "globs": many("a* "),
    "wrappers": many("sudo "),
    "wrappers of many commands": many("sudo sudo sudo sudo sudo sudo a;"),
    "texts in texts": many("sh -c 'a;a;a;a;a;a;a;a;a;a;a;a;a;a;a';"),
    "settings": lambda n: "env " + many("A=1 ")(n),
    "words before a number": lambda n: "a " * (n // 2) + "1>",
    "brackets": lambda n: "[ '" + "[" * n + "'",
    "subscripts": many("[ '[' "),
    "exclamations": lambda n: 'a "' + "! " * (n // 2),
}
RULES = [
    {"permission": "bash", "pattern": pattern, "action": action, "source": "session"}
    for pattern, action in [("*", "allow"), ("git *", "allow"), ("rm *", "deny"), ("*curl*|*sh", "ask")]
]


def answer(pattern: str, line: str) -> bool:
    return permissions.evaluate("bash", RULES, argv=line).allowed


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_as_long_a_line_is_about_twice_the_work_and_there_is_an_end_to_it(name: str) -> None:
    counts = [steps(answer, "", HOSTILE[name](n), 300 * n + 2_000)[1] for n in (200, 400, 800)]
    assert counts[1] <= 2.5 * counts[0] + 200 and counts[2] <= 2.5 * counts[1] + 200, counts
    _, longest = steps(answer, "", HOSTILE[name](100_000), 200_000)
    assert longest <= 200_000


def test_a_line_of_too_many_pieces_is_not_read() -> None:
    assert read("a;" * (shell_line.MOST // 2)).unread is None
    assert read("a;" * (shell_line.MOST // 2) + "a").unread == f"more than {shell_line.MOST:,} pieces"
    assert len(read("a " * 50_000).commands[0].words) == 50_000
