"""Globs mean what the table says, agree with a matcher that tries everything, and never take long.

How long something takes is counted in lines of Python that are run, not in seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.errors import BadRule
from palaver.permissions import globs

from . import reference, table

Match = Callable[[str, Any], bool]


# ---------------------------------------------------------------- what a pattern means


@pytest.mark.parametrize(("pattern", "argv", "fits"), table.ARGV)
def test_a_pattern_over_a_command(pattern: str, argv: str | list[str], fits: bool) -> None:
    assert globs.match_argv(pattern, argv) is fits


@pytest.mark.parametrize(("pattern", "path", "fits"), table.PATH)
def test_a_pattern_over_a_path(pattern: str, path: str, fits: bool) -> None:
    assert globs.match_path(pattern, path) is fits


@pytest.mark.parametrize(("pattern", "host", "fits"), table.HOST)
def test_a_pattern_over_a_host(pattern: str, host: str, fits: bool) -> None:
    assert globs.match_host(pattern, host) is fits


PATTERNS = st.text(alphabet="ab*?[]!^-", max_size=9)
TEXTS = st.text(alphabet="ab[]!-", max_size=9)
NAME_PATTERNS = st.lists(st.just("**") | st.text(alphabet="ab*?[]!", min_size=1, max_size=3), min_size=1, max_size=6)
NAMES = st.lists(st.text(alphabet="ab]", min_size=1, max_size=2), min_size=1, max_size=6)


@settings(max_examples=600, deadline=None)
@given(PATTERNS, TEXTS)
def test_a_text_is_matched_as_by_trying_everything(pattern: str, text: str) -> None:
    expected = reference.text(pattern, text) or (pattern.endswith(" *") and reference.text(pattern[:-2], text))
    assert globs.match_argv(pattern, text) is expected


@settings(max_examples=300, deadline=None)
@given(NAME_PATTERNS, NAMES)
def test_a_path_is_matched_as_by_trying_everything(pattern: list[str], names: list[str]) -> None:
    assert globs.match_path("/".join(pattern), "/".join(names)) is reference.names(pattern, names)


@settings(max_examples=300, deadline=None)
@given(NAME_PATTERNS, NAMES)
def test_a_host_is_matched_as_by_trying_everything(pattern: list[str], labels: list[str]) -> None:
    assert globs.match_host(".".join(pattern), ".".join(labels)) is reference.names(pattern, labels)


@pytest.mark.parametrize(
    ("pattern", "specific"),
    [("*", 0), ("**", 0), ("git *", 4), ("/etc/??", 5), ("[abcdef]", 0), ("a[!x]b", 2), ("[ab", 3), ("", 0)],
)
def test_how_specific_a_pattern_is_are_its_characters_that_mean_themselves(pattern: str, specific: int) -> None:
    assert globs.literal_length(pattern) == specific


# ---------------------------------------------------------------- how long it takes


class TooLong(Exception):
    pass


def steps(match: Match, pattern: str, given: Any, most: int) -> tuple[bool, int]:
    """What it answers, and how many lines of Python that took; it is stopped when these are too many."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += 1
        if count > most:
            raise TooLong(f"more than {most:,} steps")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        answer = match(pattern, given)
    finally:
        sys.settrace(before)
    return answer, count


def distinct(n: int) -> str:
    return "".join(map(chr, range(0x3400, 0x3400 + n)))


HOSTILE: dict[str, Callable[[int], tuple[Match, str, str, bool]]] = {
    "nothing but stars": lambda n: (globs.match_argv, "*" * n, "a" * n, True),
    "stars, and an end that is not there": lambda n: (globs.match_argv, "*" * n + "b", "a" * n, False),
    "a star behind each letter": lambda n: (globs.match_argv, "a*" * n + "b", "a" * 2 * n, False),
    "a star before each set": lambda n: (globs.match_argv, "*[ab]" * n + "c", "a" * 2 * n, False),
    "a star before each question mark": lambda n: (globs.match_argv, "*?" * n + "c", "a" * n, False),
    "a needle that almost fits": lambda n: (globs.match_argv, "*" + "a" * n + "b*", "a" * 2 * n, False),
    "a needle of sets that almost fits": lambda n: (globs.match_argv, "*" + "[ab]" * n + "c*", "a" * 2 * n, False),
    "holes, and letters all different": lambda n: (globs.match_argv, "*" + "?" * n + "[ab]*", distinct(2 * n), False),
    "a set of many, and letters all different": lambda n: (globs.match_argv, f"*[{'a' * n}]*", distinct(n), False),
    "brackets that are never closed": lambda n: (globs.match_argv, "[" * n, "a" * n, False),
    "brackets and stars": lambda n: (globs.match_argv, "*[" * n, "a" * n, False),
    "the same, without a last word": lambda n: (globs.match_argv, "a*" * n + "b *", "a" * 2 * n, False),
    "a name of stars": lambda n: (globs.match_path, "/" + "a*" * n + "b", "/" + "a" * n, False),
    "double stars in a row": lambda n: (globs.match_path, "**/" * n + "b", "a/" * n, False),
    "double stars between names": lambda n: (globs.match_path, "a/**/" * n + "b", "a/" * 2 * n, False),
    "a run of names that almost fits": lambda n: (globs.match_path, f"**/{'a/' * n}b/**", "a/" * 2 * n, False),
    "a run of labels that almost fits": lambda n: (globs.match_host, f"**.{'a.' * n}b.**", "a." * 2 * n + "c", False),
    "labels of stars": lambda n: (globs.match_host, "*." * n + "b", "a." * n + "c", False),
}
A_LOT = 200  # steps for each character of pattern and text: far more than any of them needs


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_as_much_is_about_twice_the_work(name: str) -> None:
    counts = []
    for n in (150, 300, 600):
        match, pattern, given, fits = HOSTILE[name](n)
        answer, count = steps(match, pattern, given, A_LOT * (len(pattern) + len(given)))
        assert answer is fits
        counts.append(count)
    assert counts[1] <= 2.5 * counts[0] + 200 and counts[2] <= 2.5 * counts[1] + 200, counts


@pytest.mark.long
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hundred_thousand_of_anything_are_a_few_steps_for_each(name: str) -> None:
    match, pattern, given, fits = HOSTILE[name](10_000 if "different" in name else 100_000)
    try:
        answer, _ = steps(match, pattern, given, A_LOT * (len(pattern) + len(given)))
    except BadRule:
        return  # too wide to be looked for in time, and it says so
    assert answer is fits
