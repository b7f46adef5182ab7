"""How text becomes lines: wrapped at words, values as `key: value`, edits as diffs, words that come piece by piece."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.cli.ui import edits
from palaver.cli.ui.flow import Flow
from palaver.cli.ui.outline import outline, shortened
from palaver.cli.ui.sanitize import visible, width
from palaver.cli.ui.screen import Screen
from palaver.cli.ui.wrap import wrap

TEXT = "The quick brown fox jumps over the lazy dog, and 漢字 are wide."


@pytest.mark.parametrize("columns", [20, 60, 100])
def test_text_is_broken_between_words(columns: int) -> None:
    lines = wrap(TEXT, columns)
    assert " ".join(lines) == TEXT and max(map(width, lines)) <= columns
    assert all(width(f"{line} {after.split()[0]}") > columns for line, after in pairwise(lines))


def test_lines_keep_their_indentation_and_a_label_its_margin() -> None:
    assert wrap("one two\n    three four five", 12) == ["one two", "    three", "    four", "    five"]
    assert wrap("one two three", 12, first="say: ", rest="  ") == ["say: one two", "  three"]
    assert wrap("a very_long_word", 12, first="say: ", rest="  ") == ["say: a", "  very_long_", "  word"]


def test_only_a_word_that_is_longer_than_a_line_is_broken() -> None:
    assert wrap("see https://example.com/a/b now", 20) == ["see", "https://example.com/", "a/b now"]
    assert wrap("        indented_word_of_20_", 20) == ["indented_word_of_20_"]


def test_a_pipe_gets_lines_as_they_are() -> None:
    assert wrap("x" * 500 + " \n\ty", 0, first="- ", rest="  ") == ["- " + "x" * 500 + " ", "  \ty"]


@given(text=st.text(max_size=80).map(lambda text: visible(text, lines=True)), columns=st.integers(16, 60))
def test_wrapped_text_fits_and_no_letter_of_it_is_lost(text: str, columns: int) -> None:
    lines = wrap(text, columns, first="  - ", rest="    ")
    assert max(map(width, lines)) <= columns
    assert "".join("".join(lines).split()).removeprefix("-") == "".join(text.split())


# ---------------------------------------------------------------- values


VALUES: list[tuple[Any, str]] = [
    ("two\nlines", "two\nlines"),
    ({"a": 1, "b": None, "c": True, "d": "x: y"}, "a: 1\nb: null\nc: true\nd: x: y"),
    ({"text": "two\nlines", "empty": [], "none": {}}, "text:\n  two\n  lines\nempty: []\nnone: {}"),
    ([1, {"a": 1, "b": [2, 3]}], "- 1\n- a: 1\n  b:\n    - 2\n    - 3"),
    ({"content": [{"type": "text", "text": "of"}, {"type": "text", "text": "MCP"}]}, "of\nMCP"),
    ({"content": [{"type": "text", "text": "of MCP"}], "isError": True}, "content: of MCP\nisError: true"),
    ({"content": [{"type": "image"}]}, "content:\n  - type: image"),
    (7, "7"),
]


@pytest.mark.parametrize(("value", "lines"), VALUES)
def test_a_value_is_read_as_lines(value: Any, lines: str) -> None:
    assert outline(value) == lines


def test_what_lies_very_deep_is_json() -> None:
    value: Any = "end"
    for _ in range(900):
        value = [value]
    assert outline(value).endswith('["end"' + "]" * 887)


def test_the_beginning_and_the_end_of_a_long_text_are_shown() -> None:
    text = "\n".join(map(str, range(1, 101)))
    assert shortened(text, "…").split("\n")[11:14] == ["12", "… 82 more lines (--detail)", "95"]
    assert shortened("\n".join("x" * 19), "…") == "\n".join("x" * 19)


# ---------------------------------------------------------------- edits


def test_an_edit_is_what_takes_the_place_of_what_and_the_other_keys_stay() -> None:
    for old, new in [("old_string", "new_string"), ("old_str", "new_str"), ("oldString", "newString"), ("old", "new")]:
        found = edits.find({"path": "a", old: "one\ntwo\n", new: "one\n2\n"})
        assert found == ([" one\n-two\n+2"], {"path": "a"})


def test_several_edits_are_several_diffs() -> None:
    pair = {"old_string": "a", "new_string": "b"}
    assert edits.find({"edits": [pair, pair], "file": "x"}) == (["-a\n+b", "-a\n+b"], {"file": "x"})
    assert edits.find({"edits": [{**pair, "replace_all": True}]}).diffs == []


@pytest.mark.parametrize(
    "patch",
    ["--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "diff --git a b\n-x", "*** Begin Patch\n*** Update File: a\n-x\n+y"],
)
def test_a_patch_is_a_diff_already(patch: str) -> None:
    assert edits.find({"input": patch, "n": 1}) == ([patch], {"n": 1})


def test_what_is_no_edit_is_left_alone() -> None:
    for given_ in ({"old": 1, "new": 2}, {"old": "x"}, {"text": "--- a title\nwords"}, "text", None, [1]):
        assert edits.find(given_).diffs == []


def test_places_far_apart_are_told_apart_and_equal_texts_say_so() -> None:
    old = [str(number) for number in range(30)]
    new = ["first", *old[1:-1], "last"]
    assert edits.diff("\n".join(old), "\n".join(new)).split("\n")[:7] == ["-0", "+first", " 1", " 2", " 3", "@@", " 26"]
    assert edits.diff("a", "a") == "(nothing changes)"
    assert edits.diff("x\n" * 1_500, "y\n" * 1_500).startswith("-x\n-x\n")


# ---------------------------------------------------------------- as it comes


class Paper(io.StringIO):
    """A terminal that can take letters back."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def read_back(self) -> str:
        letters: list[str] = []
        at = 0
        for letter in self.getvalue():
            at = at - 1 if letter == "\b" else at
            if letter != "\b":
                letters[at:] = [letter]
                at += 1
        return "\n".join(line.rstrip() for line in "".join(letters).split("\n"))


def flowed(pieces: list[str], monkeypatch: pytest.MonkeyPatch, columns: int = 12) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    paper = Paper()
    flow = Flow(Screen(paper))
    flow.begin("say: ", "  ")
    for piece in pieces:
        flow.write(piece)
    flow.end()
    return paper.read_back()


def test_a_word_that_goes_on_past_the_edge_moves_to_the_next_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert flowed(["one tw", "o th", "r", "ee four"], monkeypatch) == "say: one two\n  three four\n"
    assert flowed(["a\n\nb", " ", "c"], monkeypatch) == "say: a\n\n  b c\n"


def test_a_word_longer_than_a_line_is_left_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert flowed(["a ", "x" * 20, " b"], monkeypatch) == f"say: a\n  {'x' * 20} b\n"
