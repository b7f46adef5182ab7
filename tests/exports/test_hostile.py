"""Hostile files: refused with a typed error or a refusal, in bounded time and memory, and the store as it was."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import palaver
from palaver import exports
from palaver.exports import NotAnExport, lines

from . import hostile
from .conftest import Source
from .support import HEADER, contents, encoded, export, group_of, groups, joined, signed, take

CHILD = """
import sys, palaver
from palaver import exports
with palaver.open(sys.argv[1]) as store:
    for name in sys.argv[2:]:
        with open(name, "rb") as source:
            try:
                exports.read(store.db, source)
            except exports.NotAnExport as error:
                print(name.rsplit("/", 1)[-1], error)
print("peak", next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def test_every_hostile_file_is_refused_as_what_it_is_within_little_memory(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    files = hostile.write(tmp_path / "files")
    assert len(files) == 31
    store = tmp_path / "store.db"
    arguments = [sys.executable, "-c", CHILD, str(store), *map(str, files)]
    out = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    assert [told.split()[0] for told in out[:-1]] == [file.name for file in files]
    assert all(" line 1: " in told and told.endswith("; nothing was imported") for told in out[:-1])
    assert int(out[-1].removeprefix("peak ")) <= 100_000
    assert sum(map(len, contents(str(store)).values())) == 0


@pytest.mark.parametrize("name", sorted(hostile.ROWS))
def test_a_hostile_line_inside_an_export_is_refused_and_the_others_come_in(
    name: str, source: Source, quick: palaver.Store
) -> None:
    bad = signed([group_of(source.data, source.ids["foreign"])[0], hostile.ROWS[name], b""])
    good = group_of(source.data, source.ids["races"])
    summary, refused = take(quick, joined([bad, good]))
    assert (summary.imported, summary.refused, refused[0].line) == (1, 1, 3)
    assert [info.id for info in quick.sessions] == [source.ids["races"]]


@pytest.mark.parametrize("name", sorted(hostile.ROWS))
def test_a_hostile_line_between_sessions_is_refused_and_the_others_come_in(
    name: str, source: Source, quick: palaver.Store
) -> None:
    good = group_of(source.data, source.ids["races"])
    data = joined([good]).replace(HEADER, HEADER + hostile.ROWS[name], 1)
    summary, refused = take(quick, data)
    assert (summary.imported, summary.refused, refused[0].line) == (1, 1, 2)


@pytest.mark.parametrize("text", hostile.WORDS)
def test_hostile_words_that_were_said_come_back_as_they_were(text: str, quick: palaver.Store) -> None:
    with palaver.open(":memory:") as here:
        there = quick
        session = here.sessions.create("coder")
        session.commit([text])
        assert take(there, export(here))[1] == []
        assert there.sessions.get(session.id).messages()[0]["parts"][0]["text"] == text
        assert there.verify() == []


def test_a_line_over_the_limit_is_refused_and_the_next_session_comes_in(
    source: Source, target: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST", 100_000)
    group = group_of(source.data, source.ids["foreign"])
    long = [group[0], encoded({"table": "chat_messages", "id": "x" * 300_000}), *group[1:]]
    data = joined([long, group_of(source.data, source.ids["races"])])
    summary, refused = take(target, data)
    assert summary.imported == 1
    assert [(r.line, r.session) for r in refused] == [(3, source.ids["foreign"])]
    assert "longer than" in refused[0].why


class Endless(io.RawIOBase):
    """A file of one line that never ends."""

    def __init__(self) -> None:
        self.given = 0

    def readable(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> bytes:
        assert size is not None and 0 < size <= 1 << 20, "a read without a bound"
        self.given += size
        return b"{" * size


def test_the_first_line_is_read_no_further_than_64_kb(target: palaver.Store) -> None:
    endless = Endless()
    with pytest.raises(NotAnExport):
        exports.read(target.db, endless)  # type: ignore[arg-type]
    assert endless.given <= (64 << 10) + 1


@pytest.mark.parametrize(
    "first, why",
    [
        (b"", "the file is empty"),
        (b"\n", "not the first line"),
        (b"{}\n", "not the first line of an export"),
        (b'{"palaver":"export"}\n', "the version of the export is missing"),
        (b'{"palaver":"export","version":4,"schema":1}\n', "version 4, this Palaver knows up to 3; upgrade"),
        (b'{"palaver":"export","version":1,"schema":9}\n', "schema 9, this Palaver knows up to 1; upgrade"),
        (b'{"palaver":"export","version":true,"schema":1}\n', "the version of the export is missing"),
        (b'{"palaver":"export","version":1,"schema":1}', "cut off"),
        (b"\x1f\x8b\x08\x00", "compressed"),
        (b"PK\x03\x04", "compressed"),
        (b"SQLite format 3\x00", "SQLite database"),
        (b"\xef\xbb\xbf{}\n", "byte order mark"),
        (b"x" * 70_000, "not the first line"),
    ],
)
def test_a_file_that_is_not_an_export_is_said_to_be_what_it_is(first: bytes, why: str, quick: palaver.Store) -> None:
    with pytest.raises(NotAnExport, match=why):
        take(quick, first)
    assert isinstance(NotAnExport("x"), palaver.PalaverError)


def test_a_group_that_repeats_itself_two_thousand_times_costs_no_memory(source: Source, quick: palaver.Store) -> None:
    group = [line for line in group_of(source.data, source.ids["foreign"])]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summary, refused = take(quick, joined([group] * 2_000))
    assert (summary.imported, summary.already_there, refused) == (1, 1_999, [])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_ten_thousand_broken_lines_are_one_refusal(source: Source, quick: palaver.Store) -> None:
    good = groups(source.data)[0]
    data = HEADER + b"broken\n" * 10_000 + b"".join(good) + b'{"end":"export","sessions":1}\n'
    summary, refused = take(quick, data)
    assert (summary.imported, len(refused), refused[0].line) == (1, 1, 2)


def test_the_header_is_json_and_nothing_more(source: Source) -> None:
    assert json.loads(HEADER) == {"palaver": "export", "version": 3, "schema": 1}
