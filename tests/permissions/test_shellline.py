"""What the reader calls the simple commands of a line is what bash and dash run, word for word, and nothing else.

Of a line that it cannot read nothing is claimed, and none is run.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from palaver.shellline import read

from . import shells

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
    found = read(line)
    names = {command.words[0] for command in found.commands if command.words}
    return found.unread is None and not names & _OTHERS and shells.safe(line)


def wrong(line: str, ran: shells.Ran, shell: str, status: int) -> str | None:
    """Why what ran is not what was read."""
    commands = [command for command in read(line).commands if command.words]
    if shell != "bash":
        commands = [command for command in commands if command.words[0] in shells.NAMES]
    whole = all(command.expanding is None for command in commands)
    wanted = Counter(tuple(command.words if whole else command.words[:1]) for command in commands)
    found = Counter(tuple(words if whole else words[:1]) for words in ran)
    some_are_skipped = ("&&" if status else "||") in line or (shell != "bash" and "|&" in line)  # which dash has not
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


@settings(FREE, max_examples=12)
@given(LINES)
def test_the_shells_run_the_commands_that_were_read(lines: list[str]) -> None:
    assert compare(lines) == []


@pytest.mark.long
@settings(FREE, max_examples=400)
@given(LINES)
def test_the_shells_run_the_commands_that_were_read_in_many_lines(lines: list[str]) -> None:
    assert compare(lines) == []
