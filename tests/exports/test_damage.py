"""A file that was torn, shuffled or altered on its way: what is wrong is said with its line, the session it happened to
is not there at all, and the others are.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

import palaver
from palaver.exports import NotAnExport, Refusal, Summary

from .support import contents, export, groups, joined, rows_of, session_of, signed, take

Scratch = Callable[[str], palaver.Store]


def three_sessions(store: palaver.Store) -> bytes:
    for name in ("first", "second", "third"):
        session = store.sessions.create(name)
        session.commit([f"{name} question", {"role": "assistant", "parts": [{"type": "text", "text": "answer"}]}])
        session.commit(["again"])
    return export(store)


def damaged(scratch: Scratch, data: bytes, name: str = "there") -> tuple[Summary, list[Refusal], palaver.Store]:
    store = scratch(name)
    summary, refused = take(store, data)
    assert store.verify() == []
    for refusal in refused:
        assert refusal.line >= 1 and refusal.why
        if refusal.session is not None:
            assert rows_of(store.path, refusal.session) == 0
    return summary, refused, store


def test_a_file_cut_anywhere_keeps_the_sessions_before_the_cut(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    ends = [data.index(group[-1]) + len(group[-1]) for group in groups(data)]
    for cut in range(60, len(data) - 1, 50):
        summary, refused, _ = damaged(scratch, data[:cut])
        assert summary.imported + summary.already_there == sum(end <= cut for end in ends), cut
        assert [r.line for r in refused] == [data[:cut].count(b"\n") + (not data[:cut].endswith(b"\n"))], cut
        assert "cut off" in refused[0].why or "truncated" in refused[0].why, cut


def test_a_file_cut_at_every_line_keeps_the_sessions_before_the_cut(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    lines = data.splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines, 1) if line.startswith(b'{"end":"ses_')]
    store = scratch("there")
    for cut in range(1, len(lines)):
        summary, refused = take(store, b"".join(lines[:cut]))
        assert summary.imported + summary.already_there == sum(end <= cut for end in ends)
        assert [refusal.line for refusal in refused] == [cut]
        assert "truncated" in refused[0].why


def test_the_file_without_its_last_line_is_said_to_be_truncated(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    body = data[: data.rindex(b'{"end":"export"')]
    summary, refused, _ = damaged(scratch, body)
    assert summary.imported == 3
    assert refused == [Refusal(body.count(b"\n"), None, "the file ends here without its last line: it was truncated")]


def each_row_of_the_second(data: bytes) -> list[int]:
    lines = data.splitlines(keepends=True)
    second = [number for number, line in enumerate(lines) if line.startswith(b'{"session":')][1]
    third = [number for number, line in enumerate(lines) if line.startswith(b'{"session":')][2]
    return list(range(second + 1, third - 1))


def only_the_second_is_refused(scratch: Scratch, lines: list[bytes], name: str) -> Refusal:
    summary, refused, _ = damaged(scratch, b"".join(lines), name)
    assert summary.imported == 2
    assert len(refused) == 1
    second = [line for line in lines if line.startswith(b'{"session":')][1]
    assert refused[0].session == json.loads(second)["session"]
    return refused[0]


def test_two_lines_swapped_are_noticed(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    rows = each_row_of_the_second(data)
    for at in rows[:-1:3]:
        lines = data.splitlines(keepends=True)
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
        only_the_second_is_refused(scratch, lines, f"swapped-{at}")


def test_a_line_that_is_there_twice_is_noticed(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    for at in each_row_of_the_second(data)[::3]:
        lines = data.splitlines(keepends=True)
        lines.insert(at, lines[at])
        only_the_second_is_refused(scratch, lines, f"doubled-{at}")


def test_a_line_that_is_missing_is_noticed(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    for at in each_row_of_the_second(data)[::3]:
        lines = data.splitlines(keepends=True)
        del lines[at]
        only_the_second_is_refused(scratch, lines, f"missing-{at}")


def test_a_changed_byte_is_noticed_wherever_it_is(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    lines = data.splitlines(keepends=True)
    rows = each_row_of_the_second(data)
    start, end = sum(map(len, lines[: rows[0]])), sum(map(len, lines[: rows[-1] + 1]))
    seed = random.randrange(2**32)
    print("seed", seed)
    for at in random.Random(seed).sample(range(start, end), 25):
        if data[at : at + 1] == b"\n":
            continue
        changed = bytearray(data)
        changed[at] ^= 0x01
        summary, refused, store = damaged(scratch, bytes(changed), f"changed-{at}")
        assert (summary.imported, summary.refused) == (2, 1), at
        assert lines.index(lines[rows[0]]) < refused[0].line <= rows[-1] + 2
        assert b"first question" in export(store) and b"third question" in export(store)


def test_a_changed_letter_is_refused_at_the_last_line_of_its_session(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    changed = data.replace(b"second question", b"second Question", 1)
    refused = damaged(scratch, changed)[1]
    assert refused[0].why == "the session's lines are not what was written: their SHA-256 does not fit"
    assert changed.splitlines()[refused[0].line - 1].startswith(b'{"end":"ses_')


def test_a_session_whose_last_line_is_missing_does_not_swallow_the_next(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    parts = groups(data)
    refusal = only_the_second_is_refused(
        scratch, joined([parts[0], parts[1][:-1], parts[2]]).splitlines(keepends=True), "there"
    )
    assert "no last line" in refusal.why


def test_a_session_that_is_missing_is_noticed_at_the_end(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    parts = groups(data)
    short = joined(parts).replace(b"".join(parts[1]), b"")
    summary, refused, _ = damaged(scratch, short)
    assert summary.imported == 2
    assert [r.why for r in refused] == ["the file says that it holds 3 sessions, 2 were in it"]


def test_a_session_that_is_there_twice_comes_in_once(scratch: Scratch) -> None:
    parts = groups(three_sessions(scratch("here")))
    summary, refused, _ = damaged(scratch, joined([*parts, parts[0]]))
    assert (summary.imported, summary.already_there, refused) == (3, 1, [])


def test_a_fork_before_the_session_it_stands_on_is_refused_and_comes_in_the_next_time(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    origin = here.sessions.create("coder")
    origin.commit(["shared"])
    fork = origin.fork()
    fork.commit(["more"])
    backwards = joined(groups(export(here))[::-1])
    summary, refused = take(there, backwards)
    assert (summary.imported, [r.session for r in refused]) == (1, [fork.id])
    assert "neither in the store nor earlier in the file" in refused[0].why
    summary, refused = take(there, backwards)
    assert (summary.imported, summary.already_there, refused) == (1, 1, [])


def test_lines_between_sessions_and_after_the_end_are_said_once(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    lines = data.splitlines(keepends=True)
    second = [number for number, line in enumerate(lines) if line.startswith(b'{"session":')][1]
    stray = [*lines[:second], b"what is this?\n", lines[2], lines[3], *lines[second:], b"and this\n"]
    summary, refused, _ = damaged(scratch, b"".join(stray))
    assert summary.imported == 3
    assert [r.line for r in refused] == [second + 1, len(stray)]


def test_windows_line_ends_are_said_to_be_the_trouble(scratch: Scratch) -> None:
    data = three_sessions(scratch("here"))
    with pytest.raises(NotAnExport, match="CR LF"):
        take(scratch("there"), data.replace(b"\n", b"\r\n"))
    assert sum(map(len, contents(scratch("there").path).values())) == 0


def test_a_file_written_by_another_program_is_read_if_its_own_hashes_fit(scratch: Scratch) -> None:
    """Keys in another order, spaces, escapes: what counts is what the lines say."""
    data = three_sessions(scratch("here"))
    other = []
    for group in groups(data):
        rows = [json.dumps(dict(reversed(json.loads(line).items()))).encode() + b"\n" for line in group[1:-1]]
        other.append(signed([group[0], *rows, group[-1]]))
    there = scratch("there")
    summary, refused = take(there, joined(other))
    assert (summary.imported, refused) == (3, [])
    assert export(there) == data
    assert {session_of(group) for group in other} == {info.id for info in there.sessions}
