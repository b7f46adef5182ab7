"""Files that will not do: a sentence, what could be read, and the source as it was, to the byte."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import palaver
from palaver import NotAStore, PalaverError, StoreCorrupt
from palaver.dialects.hermes import state_file, tables
from palaver.dialects.hermes.importing import ImportReport, import_file

from ....tools.talk import texts
from .files import Said, add, content_of, digests, made, session
from .talks import of_6, of_22

WRITER = Path(__file__).with_name("writer.py")


def tried(store: palaver.Store, path: Path) -> ImportReport | PalaverError:
    """An import of a file that may be damaged: its bytes stay, and nothing comes beside it."""
    before = digests(path)
    try:
        return import_file(store, path)
    except PalaverError as error:
        return error
    finally:
        assert digests(path) == before


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "hermes"
    made.mkdir()
    return made


def test_what_is_no_state_db_is_refused_by_a_sentence(store: palaver.Store, folder: Path) -> None:
    (folder / "empty.db").touch()
    (folder / "text.db").write_text("hello")
    with closing(sqlite3.connect(folder / "other.db")) as db:
        db.execute("CREATE TABLE things (id)")
    palaver.open(folder / "ours.db").close()
    (folder / "folder.db").mkdir()
    for name, why in {
        "missing.db": "is not there",
        "empty.db": "is empty",
        "text.db": "no SQLite database",
        "other.db": "no state.db of Hermes",
        "ours.db": "is a store of Palaver",
        "folder.db": "is a directory",
    }.items():
        found = tried(store, folder / name)
        assert isinstance(found, NotAStore) and why in str(found), name


def test_a_newer_file_comes_in_and_what_it_adds_is_kept(store: palaver.Store, folder: Path) -> None:
    source = of_22(folder / "state.db")
    with closing(sqlite3.connect(source)) as db:
        db.execute("UPDATE schema_version SET version = 99")
        db.execute("CREATE TABLE dreams (id)")
        db.execute("INSERT INTO dreams VALUES (1), (2)")
        db.commit()
    report = tried(store, source)
    assert isinstance(report, ImportReport)
    assert (report.schema_version, report.is_newer, report.tables) == (99, True, {"dreams": 2})
    assert store.sessions.get("s1").metadata["hermes"]["weather"] == "fine"


def test_one_that_is_being_written_to_comes_in_as_it_stands(store: palaver.Store, folder: Path) -> None:
    source = made(folder / "state.db", [session()], [])
    with subprocess.Popen([sys.executable, WRITER, source], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None and writer.stdout.readline() == b"going\n"
            seen = []
            for _ in range(3):
                report = import_file(store, source)
                assert report.problems == [] and report.unreadable == []
                seen.append(report.rows)
            assert writer.poll() is None, "it was disturbed"
        finally:
            writer.kill()
    assert sum(seen) >= 30 and texts(store.sessions.get("s1"))[: sum(seen)] == [
        f"row {n + 1}" for n in range(sum(seen))
    ]


def test_a_log_that_was_left_is_read_and_stays(store: palaver.Store, folder: Path) -> None:
    source = made(folder / "there.db", [session()], [])
    with closing(sqlite3.connect(source)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s1', 'user', 'x', 1.0)")
        db.commit()
        for end in ("", "-wal"):  # as a crash leaves them, and somebody copied them
            shutil.copy(f"{source}{end}", folder / f"state.db{end}")
    source.unlink()
    report = tried(store, folder / "state.db")
    assert isinstance(report, ImportReport) and report.rows == 1


def test_a_folder_that_cannot_be_written_is_no_hindrance(store: palaver.Store, folder: Path) -> None:
    source = of_6(folder / "state.db")
    with closing(sqlite3.connect(source)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    source.chmod(0o400)
    folder.chmod(0o500)
    try:
        report = tried(store, source)
    finally:
        folder.chmod(0o700)
    assert isinstance(report, ImportReport) and report.problems == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(store: palaver.Store, folder: Path) -> None:
    source = of_6(folder / "state.db")
    source.chmod(0)
    with pytest.raises(NotAStore, match="cannot be read: Permission denied"):
        import_file(store, source)


def many(path: Path, count: int = 300) -> Path:
    said = Said()
    for number in range(count):
        said("user" if number % 2 == 0 else "assistant", f"row {number} " + "x" * 200)
    source = made(path, [session(system_prompt="p" * 3000)], said.rows)
    with closing(sqlite3.connect(source)) as db:
        db.execute("PRAGMA page_size = 1024")
        db.execute("VACUUM")
    return source


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 17])
def test_whatever_page_is_damaged_what_can_be_read_comes_in(
    tmp_path: Path, folder: Path, empty: Path, step: int
) -> None:
    whole = many(tmp_path / "whole.db", 60 if step > 1 else 300).read_bytes()
    size = int.from_bytes(whole[16:18], "big")
    chance, seen = random.Random(7), set[str]()
    shutil.copy(empty, tmp_path / "talks.db")
    with palaver.open(tmp_path / "talks.db") as store:
        for number in range(0, len(whole) // size, step):
            for noise in (bytes(size), chance.randbytes(size), bytes(b ^ 0xFF for b in whole[number * size :][:size])):
                damaged = whole[: number * size] + noise + whole[(number + 1) * size :]
                (folder / "state.db").write_bytes(damaged)
                found = tried(store, folder / "state.db")
                seen.add(type(found).__name__)
                for info in store.sessions.list():
                    store.sessions.get(info.id).delete()
    assert "ImportReport" in seen


def test_rows_on_both_sides_of_a_damaged_page_come_in_and_the_gap_is_told(store: palaver.Store, folder: Path) -> None:
    source = many(folder / "state.db")
    data = bytearray(source.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    page = data.index(b"row 150 ") // size
    data[page * size : (page + 1) * size] = bytes(size)
    source.write_bytes(data)
    report = tried(store, source)
    assert isinstance(report, ImportReport) and len(report.unreadable) == 1
    assert report.unreadable[0].startswith("messages: rows 1")
    said = texts(store.sessions.get("s1"))
    assert len(said) > 290 and said[0].startswith("row 0 ") and said[-1].startswith("row 299 ")


def test_a_file_that_was_cut_off_gives_what_is_left(store: palaver.Store, folder: Path) -> None:
    whole = many(folder / "state.db").read_bytes()
    kinds = set()
    for length in (50, 1_000, 1024 * 3, len(whole) // 2, len(whole) - 1024):
        (folder / "state.db").write_bytes(whole[:length])
        kinds.add(type(tried(store, folder / "state.db")).__name__)
    assert "ImportReport" in kinds and kinds <= {"ImportReport", "NotAStore", "StoreCorrupt"}


def test_sessions_whose_row_is_gone_come_in_with_what_was_said(store: palaver.Store, folder: Path) -> None:
    source = made(folder / "state.db", [], Said("lost")("user", "x").rows)
    report = tried(store, source)
    assert isinstance(report, ImportReport) and len(report.problems) == 1
    assert texts(store.sessions.get("lost")) == ["x"] and store.sessions.get("lost").facts["source"] == "unknown"


def test_blobs_are_text_and_what_is_none_is_told(store: palaver.Store, folder: Path) -> None:
    said = Said()("user", b"bytes \xc3\xa9")("user", b"\xff\xfe")("user", "x", timestamp="soon")(
        "user", "y", timestamp=1e400
    )
    report = tried(store, made(folder / "state.db", [session(input_tokens=-5, actual_cost_usd="free")], said.rows))
    assert isinstance(report, ImportReport)
    assert texts(store.sessions.get("s1")) == ["bytes é", "\ufffd\ufffd", "x", "y"]
    assert [(one.row, one.why.split()[0]) for one in report.problems] == [
        *((None, "input_tokens"), (None, "actual_cost_usd")),
        *((2, "content"), (4, "timestamp")),
    ]


def test_ids_that_cannot_be_kept_are_told_and_the_others_come_in(store: palaver.Store, folder: Path) -> None:
    rows = Said("")("user", "x").rows + Said("ok")("user", "y").rows
    report = tried(store, made(folder / "state.db", [session(""), session("a\nb"), session("ok")], rows))
    assert isinstance(report, ImportReport)
    assert {one.session for one in report.problems} == {"", "a\nb"}
    assert texts(store.sessions.get("ok")) == ["y"]


def test_a_table_that_is_a_trap_is_no_table(store: palaver.Store, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state.db")) as db:
        db.executescript("CREATE VIEW sessions AS SELECT 1 AS id; CREATE VIEW messages AS SELECT 1 AS id;")
    assert isinstance(tried(store, folder / "state.db"), NotAStore)
    with closing(sqlite3.connect(folder / "second.db")) as db:
        db.execute("CREATE TABLE schema_version (version)")
    assert isinstance(tried(store, folder / "second.db"), StoreCorrupt)


def test_a_snapshot_leaves_nothing_and_reads_a_path_with_signs(store: palaver.Store, tmp_path: Path) -> None:
    folder = tmp_path / "50% of #1? really"
    folder.mkdir()
    source = of_6(folder / "state.db")
    with closing(sqlite3.connect(source)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("UPDATE sessions SET title = 'while it is open' WHERE id = 's1'")
        db.commit()
        before = {name: digest for name, digest in digests(source).items() if name != "state.db-shm"}
        import_file(store, source)
        assert {name: digest for name, digest in digests(source).items() if name != "state.db-shm"} == before
        db.execute("UPDATE sessions SET title = 'still open' WHERE id = 's1'")  # its locks are as they were
        db.commit()
    assert store.sessions.get("s1").title == "while it is open"


def test_gaps_are_found_by_halves(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    source = many(folder / "state.db")
    with state_file.opened(source) as file:
        bad = set(range(100, 110)) | {200}
        real = file.messages._connection.execute

        class Damaged:
            def execute(self, sql: str, given: tuple[int, ...] = ()) -> object:
                found = real(sql, given)
                return Rows(found, bad) if "NOT INDEXED" in sql else found

        class Rows:
            def __init__(self, found: sqlite3.Cursor, bad: set[int]) -> None:
                self.found, self.bad = found, bad

            def __iter__(self) -> object:
                while (row := self.fetchone()) is not None:
                    yield row

            def fetchone(self) -> tuple[int, ...] | None:
                row = self.found.fetchone()
                if row is not None and row[0] in self.bad:
                    raise sqlite3.DatabaseError("malformed")
                return row

            def close(self) -> None:
                self.found.close()

        monkeypatch.setattr(file.messages, "_connection", Damaged())
        assert [row[0] for row in file.messages.keys("role")] == [n for n in range(1, 301) if n not in bad]
        assert file.messages.gaps == [tables.Gap("messages", 100, 109), tables.Gap("messages", 200, 200)]


def test_a_file_that_was_mended_brings_in_the_rest(store: palaver.Store, folder: Path) -> None:
    source = made(folder / "state.db", [session()], Said()("user", "x").rows)
    import_file(store, source)
    add(source, messages=Said(at=1767300100)("user", "y").rows)
    assert len(content_of(source)["messages"]) == 2 and import_file(store, source).rows == 1
