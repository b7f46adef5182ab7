"""Stores move up to a server and down again, through kills and lost servers; spaces are made, copied, migrated."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import palaver
from palaver import CopyReport, Migrated, copying, directory, exports
from palaver.db.migrate import VERSION
from tests.cli.test_copy import die, several
from tests.exports import old_talks, rich
from tests.exports.support import change, forge_header, groups, joined

from .engines import schema_of
from .server import Server, rewritten


def export(store: palaver.Store) -> bytes:
    out = io.BytesIO()
    exports.write(store.db, out)
    return out.getvalue()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[palaver.Store]:
    with palaver.open(tmp_path / "rich.db") as store:
        rich.fill(store)
        for turn in store._background.turns:
            turn.abort()
        yield store


# ---------------------------------------------------------------- up and down


def test_everything_goes_up_and_comes_down_to_the_byte(here: palaver.Store, dsn: str, tmp_path: Path) -> None:
    with palaver.open(dsn, space="acme") as up, palaver.open(tmp_path / "down.db") as down:
        report = palaver.copy(here, up)
        assert report.problems == [] and report.copied == report.sessions > 5
        assert palaver.copy(here, up) == CopyReport(report.sessions, 0, report.sessions, [])
        assert palaver.copy(up, down).problems == []
        assert export(here) == export(up) == export(down)
        assert up.verify() == down.verify() == here.verify()


def test_many_items_of_another_program_go_up_and_down_and_are_known_there(dsn: str, tmp_path: Path) -> None:
    more = [rich._turn(f"g-{number}", f"came {number}", b"%d " % number * 200) for number in range(5, 35)]
    source = rich.grafted_source(*more)
    with (
        palaver.open(tmp_path / "here.db") as here,
        palaver.open(dsn, space="acme") as up,
        palaver.open(tmp_path / "down.db") as down,
    ):
        here.graft(source)
        assert palaver.copy(here, up).problems == palaver.copy(up, down).problems == []
        assert export(here) == export(up) == export(down)
        for store in (up, down):
            (same,) = store.graft(source).sessions
            assert (same.is_new, same.turns, same.items, same.known) == (False, 0, 0, 34)
            assert store.verify() == []


def test_an_item_that_was_altered_on_a_server_is_named(dsn: str) -> None:
    with palaver.open(dsn, space="acme") as store:
        store.graft(rich.grafted_source())
        with psycopg.connect(dsn, autocommit=True) as db:
            change = f"UPDATE {schema_of(db, 'acme')}.natives SET body = '\\x00' WHERE item IN ('g-1', 'g-2')"
            db.execute(change.encode())
        found = store.verify()
        assert [(problem.rule, problem.copy) for problem in found] == [("native", False)] * 2


def test_from_space_to_space(here: palaver.Store, dsn: str) -> None:
    with palaver.open(dsn, space="one") as one, palaver.open(dsn, space="two") as two:
        palaver.copy(here, one)
        assert palaver.copy(one, two).problems == []
        assert export(one) == export(two)


@pytest.mark.parametrize(("when", "nth"), [("before", 1), ("after", 2), ("before", 6)])
def test_killed_on_the_way_up_it_goes_on(tmp_path: Path, dsn: str, when: str, nth: int) -> None:
    several(tmp_path / "talks.db")
    die(tmp_path / "talks.db", dsn, "acme", when, nth)
    with palaver.open(tmp_path / "talks.db") as source, palaver.open(dsn, space="acme") as target:
        assert target.verify() == []
        there = nth - (when == "before")
        assert palaver.copy(source, target) == CopyReport(6, 6 - there, there, [])
        assert export(source) == export(target)


def test_a_server_that_is_lost_ends_it_and_the_next_copy_goes_on(tmp_path: Path, ours: Server, dsn: str) -> None:
    several(tmp_path / "talks.db", 12)
    with palaver.open(tmp_path / "talks.db") as source:
        with palaver.open(dsn, space="acme", timeout=1.0) as target:
            stopping = threading.Thread(target=ours.stop, args=("immediate",))

            def stop(sessions: int, _: int) -> None:
                if sessions == 4 and not stopping.ident:
                    stopping.start()
                    stopping.join()

            with pytest.raises(palaver.StoreUnavailable):
                palaver.copy(source, target, progress=stop)
        ours.start()
        with palaver.open(dsn, space="acme") as target:
            report = palaver.copy(source, target)
            assert report.problems == [] and report.already_there >= 3
            assert export(source) == export(target)


def test_two_copies_at_once_are_as_good_as_one(here: palaver.Store, dsn: str) -> None:
    reports: list[CopyReport] = []

    def run() -> None:
        with palaver.open(dsn, space="acme") as target:
            reports.append(palaver.copy(here, target))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with palaver.open(dsn, space="acme") as target:
        assert palaver.copy(here, target).problems == []
        assert export(here) == export(target)
    assert len(reports) == 2


def test_a_session_with_a_living_writer_is_left_for_later(dsn: str) -> None:
    with palaver.open(dsn, space="from") as source, palaver.open(dsn, space="to") as target:
        session = source.sessions.create("coder")
        turn = session.turn("Hello?")
        report = palaver.copy(source, target)
        assert [(one.session, "being written" in one.why) for one in report.problems] == [(session.id, True)]
        turn.seal()
        assert palaver.copy(source, target).problems == []
        assert target.sessions.get(session.id).messages() == session.messages()


def test_one_space_by_two_addresses_is_the_same_store(dsn: str) -> None:
    other = rewritten(dsn, application_name="another")
    with palaver.open(dsn, space="acme") as one, palaver.open(other, space="acme") as same:
        with pytest.raises(palaver.BadValue, match="copy from, too"):
            palaver.copy(one, same)
        with palaver.open(dsn, space="else") as different:
            assert not copying.is_same(one, different)


SPOILS: dict[str, Any] = {
    "a turn": lambda target, session_id: target.sessions.get(session_id).commit(["one more"]),
    "usage": lambda target, session_id: target.sessions.get(session_id).add_usage({"inputTokens": 1}),
}


@pytest.mark.parametrize("what", SPOILS)
def test_a_row_that_changes_on_the_way_up_is_noticed(
    what: str, here: palaver.Store, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = exports.read
    spoiled: list[str] = []

    def spoiling(db: Any, *rest: Any, **more: Any) -> exports.Summary:
        summary = real(db, *rest, **more)
        session = target.sessions.list(limit=1).sessions[0].id
        SPOILS[what](target, session)
        spoiled.append(session)
        return summary

    monkeypatch.setattr(copying.exports, "read", spoiling)
    with palaver.open(dsn, space="acme") as target:
        assert [one.session for one in palaver.copy(here, target).problems] == spoiled


# ---------------------------------------------------------------- files that were kept, and files that were forged


def test_an_export_of_version_1_comes_in_as_what_it_was(dsn: str) -> None:
    told = old_talks.FIRST.told()
    with palaver.open(dsn, space="acme") as store, open(old_talks.FIRST.everything, "rb") as kept:
        assert exports.read(store.db, kept).imported == 11
        assert old_talks.told(store, told) == told
        assert store.verify() == []
        kept.seek(0)
        assert exports.read(store.db, kept).already_there == 11


def test_husks_of_version_1_are_completed(dsn: str) -> None:
    told = old_talks.FIRST.told()
    with palaver.open(dsn, space="acme") as store:
        for file, imported in ((old_talks.FIRST.copied, 3), (old_talks.FIRST.everything, 10)):
            with open(file, "rb") as kept:
                assert exports.read(store.db, kept).imported == imported
        assert old_talks.told(store, told) == told
        assert store.verify() == []


def test_a_text_of_version_1_that_no_index_holds_is_cut(dsn: str) -> None:
    data = old_talks.FIRST.everything.read_bytes()
    (talk, *_) = groups(data)
    longer = change(talk, "aliases", lambda row: row.update(name="n" * 3000))
    cut: list[exports.Cut] = []
    with palaver.open(dsn, space="acme") as store:
        found = exports.read(store.db, io.BytesIO(forge_header(joined([longer]), 1)), on_cut=cut.append)
        assert (found.imported, len(cut)) == (1, 1)
        again = exports.read(store.db, io.BytesIO(forge_header(joined([longer]), 1)))
        assert again.already_there == 1


FORGED: list[tuple[dict[str, Any], str]] = [
    ({"turn_id": "trn_nowhere"}, "belongs to nothing in this session"),
    ({"message_id": "msg_nowhere"}, "belongs to nothing in this session"),
    ({"n": 7}, "is there twice"),
    ({"key": "resp-7"}, "the key 'resp-7' is on two rows of usage"),
    ({"input": 2**53}, "more than can be counted"),
    ({"input": 1}, "are not those of its rows of usage"),
]


@pytest.mark.parametrize(("forged", "why"), FORGED)
def test_usage_that_is_forged_is_refused_however_many_rows_come_at_once(
    forged: dict[str, Any], why: str, tmp_path: Path, dsn: str
) -> None:
    with palaver.open(tmp_path / "talks.db") as here, here.sessions.create("coder").turn("count") as turn:
        for number in range(40):
            turn.usage(input=number + 2, key=f"resp-{number}")
        turn.write({"type": "start"})
        turn.seal()
        (group,) = groups(export(here))
    refused: list[exports.Refusal] = []
    with palaver.open(dsn, space="acme") as there:
        for file in (change(group, "usage", lambda row: row.update(forged), nth=20), group):
            exports.read(there.db, io.BytesIO(joined([file])), on_refused=refused.append)
        assert [why in one.why for one in refused] == [True], refused
        assert len(there.sessions.get(turn.session_id).usage()) == 40
        assert there.verify() == []


# ---------------------------------------------------------------- memory

LARGE = """
import sys, palaver
text = "z" * 200_000
with palaver.open(sys.argv[1], durability="normal") as store:
    session = store.sessions.create("coder")
    for number in range(150):
        session.commit([f"{number} {text}"])
"""
COPY = """
import sys, palaver
def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024
with palaver.open(sys.argv[1]) as source, palaver.open(sys.argv[2], space="large") as target:
    before = peak()
    assert palaver.copy(source, target).problems == []
    print(peak() - before)
"""
HOARD = """
from palaver.exports.tables import Table
kept, checked = [], Table.row
def row(self, fields, *version):
    kept.append(checked(self, fields, *version))
    return kept[-1]
Table.row = row
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read the peak from")
def test_30_mb_in_one_session_go_up_within_20_mb(tmp_path: Path, dsn: str) -> None:
    subprocess.run([sys.executable, "-c", LARGE, str(tmp_path / "large.db")], check=True, timeout=120)
    run = [sys.executable, "-c", COPY, str(tmp_path / "large.db"), dsn]
    peak = int(subprocess.run(run, check=True, timeout=120, capture_output=True, text=True).stdout)
    palaver.spaces(dsn).drop("large")
    run[2] = HOARD + COPY
    hoarding = int(subprocess.run(run, check=True, timeout=120, capture_output=True, text=True).stdout)
    assert peak <= 20 < hoarding


# ---------------------------------------------------------------- spaces


def test_a_database_without_spaces_lists_none_and_stays_as_it_is(dsn: str) -> None:
    found = palaver.spaces(dsn)
    assert found.list() == []
    assert found.migrate() == []
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT to_regnamespace('palaver')").fetchone() == (None,)


def test_spaces_are_made_copied_and_dropped(here: palaver.Store, dsn: str) -> None:
    found = palaver.spaces(dsn)
    made = found.create("acme")
    assert (made.name, made.version) == ("acme", VERSION) and made.schema.startswith("palaver_")
    with pytest.raises(palaver.Refused, match="there already"):
        found.create("acme")
    with palaver.open(dsn, space="acme", create=False) as store:
        palaver.copy(here, store)
        kept = export(store)
    found.copy("acme", "before")
    found.drop("acme")
    assert [one.name for one in found.list()] == ["before"]
    with palaver.open(dsn, space="before", create=False) as store:
        assert export(store) == kept and store.verify() == here.verify()
    for wrong in (lambda: found.drop("acme"), lambda: found.copy("acme", "other")):
        with pytest.raises(palaver.NotAStore, match="no space"):
            wrong()
    with pytest.raises(palaver.Refused, match="there already"):
        found.copy("before", "before")
    with pytest.raises(palaver.BadValue):
        found.create("Not A Name")


def test_a_reader_that_does_not_end_keeps_drop_waiting_only_so_long(dsn: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(directory, "_TIMEOUT", 1.0)
    found = palaver.spaces(dsn)
    schema = found.create("acme").schema
    with psycopg.connect(dsn) as reader:
        reader.execute(f"SELECT 1 FROM {schema}.heads")
        with pytest.raises(palaver.StoreBusy):
            found.drop("acme")
    assert [one.name for one in found.list()] == ["acme"]


def pretend_old(dsn: str, *names: str) -> None:
    """As a Palaver of version 0 would have left them: a line in the directory, and no schema yet."""
    with psycopg.connect(dsn) as connection:
        for name in names:
            row = connection.execute("SELECT schema_name FROM palaver.spaces WHERE name = %s", (name,)).fetchone()
            assert row
            connection.execute(f"DROP SCHEMA {row[0]} CASCADE")
            connection.execute("UPDATE palaver.spaces SET version = 0 WHERE name = %s", (name,))


def test_all_spaces_are_migrated_and_one_that_cannot_be_keeps_nobody_back(dsn: str) -> None:
    found = palaver.spaces(dsn)
    for name in ("a", "b", "c", "newer"):
        found.create(name)
    pretend_old(dsn, "b", "c")
    with psycopg.connect(dsn) as connection:  # it says that it is old, and its tables are there
        connection.execute("UPDATE palaver.spaces SET version = 1 WHERE name = 'a'")
        connection.execute("UPDATE palaver.spaces SET version = %s WHERE name = 'newer'", (VERSION + 1,))
    done = {one.name: one for one in found.migrate()}
    assert done["b"] == Migrated("b", 0, VERSION) and done["c"] == Migrated("c", 0, VERSION)
    assert set(done) == {"a", "b", "c"}
    assert "cannot be migrated" in (done["a"].problem or "") and done["a"].after == 1
    assert [one.name for one in found.migrate()] == ["a"]
    with palaver.open(dsn, space="c", create=False) as store:
        assert store.verify() == []


def test_only_a_server_has_spaces_and_its_secrets_stay_secret() -> None:
    with pytest.raises(palaver.BadValue, match="a file is one"):
        palaver.spaces("talks.db")
    with pytest.raises(palaver.BadValue, match="not a Postgres address") as refused:
        palaver.spaces("postgresql://h/d?bogus=secret").list()
    with pytest.raises(palaver.StoreUnavailable) as lost:
        palaver.spaces("postgresql://u:secret@127.0.0.1:1/d").list()
    assert "secret" not in str(refused.value) + str(lost.value)
