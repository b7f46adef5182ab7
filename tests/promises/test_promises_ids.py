"""Rows 71 to 78 of the promise ledger: identifiers. Their shape, their order, and that no two are the same.

A stamp is milliseconds times 4096 plus a counter, in 14 hex digits. With the 12 digits that others use it wraps
every 2^36 ms: on 2026-08-14 at 11:19:55.136 UTC, and again on 2028-10-17.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

import palaver
from palaver.base import ids

from ..tools.planting import broken_by
from ..tools.puppet import Script, elsewhere
from ..tools.sql import column, query, reading
from ..tools.waiting import in_threads
from .support_schema import freeze_clock, live, talk

SHAPE = re.compile(r"[0-9a-f]{14}[0-9A-Za-z]{12}")
BASE62 = set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
PREFIXES = {"chat_sessions": "ses_", "chat_messages": "msg_", "chat_parts": "prt_", "turns": "trn_"}
WRAP_2026 = 1_786_706_395_136  # 26 * 2^36
WRAP_2028 = 1_855_425_871_872  # 27 * 2^36
LAST_MS = 17_592_186_044_415  # 2^44 - 1: in the year 2527
MINUTE = 60_000
FROZEN = 1_800_000_000_000


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As in a process that has minted nothing yet; the ids of other tests do not raise the floor."""
    monkeypatch.setattr(ids, "_last", 0)
    return monkeypatch


# ---------------------------------------------------------------- 71: shape


def test_promise_071_every_id_in_the_store_has_30_characters_and_the_shape(path: str) -> None:
    with palaver.open(path) as store:
        live(store)
    for table, prefix in PREFIXES.items():
        found = [one for one in column(path, f"SELECT id FROM {table}") if "foreign" not in one]
        assert len(found) > 7
        for one in found:
            assert len(one) == 30 and one.startswith(prefix) and SHAPE.fullmatch(one[4:]), one


def test_promise_071_the_stamp_is_the_time_and_the_tail_is_any_of_62(fresh: pytest.MonkeyPatch) -> None:
    first = ids.mint("msg_", now=FROZEN)
    assert first[:18] == "msg_1a3185c5000000"
    assert ids.mint("msg_", now=FROZEN)[:18] == "msg_1a3185c5000001"
    tails = [ids.mint("msg_")[18:] for _ in range(5_000)]
    assert all(len(tail) == 12 for tail in tails)
    assert [set(column) for column in zip(*tails, strict=True)] == [BASE62] * 12


# ---------------------------------------------------------------- 72: order of one process


@broken_by("the_counter_wraps_in_its_millisecond")
def test_promise_072_ids_of_one_frozen_millisecond_sort_as_they_were_minted(fresh: pytest.MonkeyPatch) -> None:
    in_one_millisecond(100_000)


@pytest.mark.long
def test_promise_072_a_million_ids_of_one_frozen_millisecond(fresh: pytest.MonkeyPatch) -> None:
    in_one_millisecond(1_000_000)


def in_one_millisecond(count: int) -> None:
    minted = [ids.mint("prt_", now=FROZEN) for _ in range(count)]
    assert rising(minted)
    assert {len(one) for one in minted} == {30}
    assert int(minted[-1][4:18], 16) == FROZEN * 4096 + count - 1  # past 4096 it borrows from the next millisecond


def test_promise_072_ids_sort_as_they_were_minted() -> None:
    assert rising([ids.mint("msg_") for _ in range(100_000)])


@pytest.mark.long
def test_promise_072_a_million_ids_sort_as_they_were_minted() -> None:
    assert rising([ids.mint("msg_") for _ in range(1_000_000)])


@broken_by("a_stamp_follows_the_clock_back")
def test_promise_072_a_clock_that_jumps_does_not_disturb_the_order(fresh: pytest.MonkeyPatch) -> None:
    hour, day = 3_600_000, 86_400_000
    times = [0, -hour, 1, 0, 0, -1, day, day - 1, 5, -day, day + 1]
    minted = [ids.mint("msg_", now=FROZEN + offset) for offset in times for _ in range(3)]
    assert rising(minted)


def test_promise_072_threads_share_one_order() -> None:
    minted: list[list[str]] = [[] for _ in range(4)]

    def mint_many(own: list[str]) -> None:
        own.extend(ids.mint("msg_") for _ in range(10_000))

    in_threads(mint_many, minted)
    assert all(rising(own) for own in minted)
    stamps = [one[4:18] for own in minted for one in own]
    assert len(set(stamps)) == 40_000


@broken_by("a_stamp_follows_the_clock_back")
def test_promise_072_rows_of_one_process_sort_by_id_as_they_were_inserted(path: str, fresh: pytest.MonkeyPatch) -> None:
    clock = freeze_clock(fresh, FROZEN)
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        for offset in (0, 0, -MINUTE, 5, -5):
            clock.ms = FROZEN + offset
            talk(session)
    for table in ("chat_messages", "chat_parts"):
        assert rising(column(path, f"SELECT id FROM {table} ORDER BY rowid"))


def rising(minted: list[str]) -> bool:
    return all(a < b for a, b in pairwise(minted))


# ---------------------------------------------------------------- 75: past the wrap


@broken_by("stamps_have_twelve_digits")
@pytest.mark.parametrize("wrap", [WRAP_2026, WRAP_2028])
def test_promise_075_ids_minted_around_the_wrap_sort_right(fresh: pytest.MonkeyPatch, wrap: int) -> None:
    minted = []
    for offset in (-MINUTE, -1, 0, 1, MINUTE):
        fresh.setattr(ids, "_last", 0)  # each by a process of its own
        minted.append(ids.mint("msg_", now=wrap + offset))
    assert rising(minted)
    assert {len(one) for one in minted} == {30}


def test_promise_075_the_stamps_around_the_wrap_are_these(fresh: pytest.MonkeyPatch) -> None:
    stamps = [ids.mint("msg_", now=now)[4:18] for now in (WRAP_2026 - 1, WRAP_2026, WRAP_2028 - 1, WRAP_2028, LAST_MS)]
    assert stamps == ["19fffffffff000", "1a000000000000", "1afffffffff000", "1b000000000000", "fffffffffff000"]


@broken_by("stamps_have_twelve_digits")
def test_promise_075_a_conversation_across_the_wrap_keeps_its_order(path: str, fresh: pytest.MonkeyPatch) -> None:
    clock = freeze_clock(fresh, WRAP_2026 - MINUTE)
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        for offset in (-MINUTE, -1, 0, MINUTE):
            clock.ms = WRAP_2026 + offset
            talk(session, f"at {offset}")
        said = [m["parts"][0]["text"] for m in session.messages() if m["role"] == "user"]
    assert said == ["at -60000", "at -1", "at 0", "at 60000"]
    by_id = column(path, "SELECT id FROM chat_messages ORDER BY id")
    assert by_id == column(path, "SELECT id FROM chat_messages ORDER BY created_at")


# ---------------------------------------------------------------- 76: many processes

_MINT = """
from palaver.base import clock, ids
clock._now_ns = lambda: 1_800_000_000_000 * 1_000_000
with open(sys.argv[1], "w") as file:
    for _ in range(int(sys.argv[2])):
        file.write(ids.mint("msg_") + "\\n")
"""


@broken_by("tails_are_the_same_in_every_process")
def test_promise_076_eight_processes_with_one_frozen_clock_mint_no_id_twice(tmp_path: Path) -> None:
    in_eight_processes(tmp_path, 25_000)


@pytest.mark.long
def test_promise_076_eight_processes_mint_a_million_each(tmp_path: Path) -> None:
    in_eight_processes(tmp_path, 1_000_000)


def in_eight_processes(folder: Path, count: int) -> None:
    files = [folder / f"ids-{n}" for n in range(8)]
    with ExitStack() as stack:
        for process in [stack.enter_context(Script(_MINT, str(file), str(count))) for file in files]:
            process.finish()
    assert [next(lines(file))[:18] for file in files] == ["msg_1a3185c5000000"] * 8  # only the tails differ
    total, last = 0, ""
    for one in heapq.merge(*map(lines, files)):
        assert one > last, one
        total, last = total + 1, one
    assert total == 8 * count


def lines(file: Path) -> Iterator[str]:
    with file.open() as opened:
        yield from map(str.strip, opened)


@broken_by("a_forked_child_keeps_its_parents_tails")
def test_promise_076_a_forked_child_shares_no_tail_with_its_parent(tmp_path: Path) -> None:
    (printed,) = elsewhere(_FORK)
    parent, child = json.loads(printed)
    assert len(set(parent) | set(child)) == 200


_FORK = """
import json, os
from palaver.base import ids
ids.mint("msg_")
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, json.dumps([ids.mint("msg_")[18:] for _ in range(100)]).encode())
    os._exit(0)
os.wait()
print(json.dumps([[ids.mint("msg_")[18:] for _ in range(100)], json.loads(os.read(reader, 10**5))]))
"""


# ---------------------------------------------------------------- 78: byte order


@broken_by("ids_are_compared_without_case")
def test_promise_078_ids_with_mixed_case_tails_sort_by_their_bytes(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    freeze_clock(monkeypatch, FROZEN)
    tails = [
        "AAAAAAAAAAAA",
        "aaaaaaaaaaaa",
        "ZZZZZZZZZZZZ",
        "zzzzzzzzzzzz",
        "000000000000",
        "AaAaAaAaAaAa",
        "aAaAaAaAaAaA",
    ]
    wanted = sorted((f"ses_1a3185c5000000{tail}" for tail in tails), key=str.encode)
    with palaver.open(path) as store:
        for one in wanted[::2] + wanted[1::2]:
            store.sessions.create("a", id=one)
        assert [info.id for info in store.sessions] == wanted[::-1]
        pages = [store.sessions.list(limit=3)]
        while pages[-1].next:
            pages.append(store.sessions.list(limit=3, after=pages[-1].next))
    assert [info.id for page in pages for info in page.sessions] == wanted[::-1]
    assert column(path, "SELECT id FROM chat_sessions ORDER BY id") == wanted


@broken_by("ids_are_compared_without_case")
def test_promise_078_every_key_of_every_table_is_compared_bytewise(path: str) -> None:
    palaver.open(path).close()
    assert query(path, "PRAGMA encoding") == [("UTF-8",)]
    with reading(path) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
        names = [row[1] for table in tables for row in db.execute(f'PRAGMA index_list("{table}")').fetchall()]
        collations = {row[4] for name in names for row in db.execute(f'PRAGMA index_xinfo("{name}")').fetchall()}
    assert len(names) > 15
    assert collations == {"BINARY"}


def test_promise_078_text_outside_ascii_sorts_by_its_bytes(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    names = ["z", "Z", "é", "e", "ß", "ss", "😀", "\uffee", "ñ", "0"]
    for name in names:
        session.alias(name, "label")
    assert [name for _, name in session.aliases()] == sorted(names, key=str.encode)
