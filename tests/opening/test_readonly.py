"""A store that is opened to be read: all that was acknowledged is seen, nothing is changed, what writes is refused."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver
from palaver import aio
from palaver.db.sqlite import intruders, private_copy, source
from palaver.db.sqlite.readonly import ReadOnlyDatabase
from palaver.session_rules import SessionRules
from tests.contract.support import make_foreign
from tests.migrations import old
from tests.tools.puppet import in_a_fork

from .elsewhere import as_nobody, mounted, on_a_readonly_mount, python

pytestmark = pytest.mark.on_disk

KILLED = """
store = palaver.open(path)
session = store.sessions.create("coder", title="Killed")
session.commit(["One?", {"role": "assistant", "parts": [{"type": "text", "text": "One."}]}])
session.commit(["Two?", {"role": "assistant", "parts": [{"type": "text", "text": "Two."}]}])
turn = session.turn("Three?")
for chunk in ({"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Thr"}):
    turn.write(chunk)
import os; os._exit(9)
"""
COUNT = """
with palaver.open(path, readonly=True) as store:
    [info] = store.sessions.list().sessions
    session = store.sessions.get(info.id)
    print(len(session.messages()), [t.status for t in session.path()], len(store.verify()), len(store.notes))
"""
CLEAN = "2 ['completed'] 0 "
LEFT = "6 ['completed', 'completed'] 0 "


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of its own, that others may look into; the copies that are made lie beside it."""
    (tmp_path / "store").mkdir(mode=0o755)
    (tmp_path / "tmp").mkdir()
    os.chmod(tmp_path / "tmp", 0o1777)
    return tmp_path / "store" / "talks.db"


def fill(path: Path) -> str:
    with palaver.open(path) as store:
        session = store.sessions.create("coder", title="Talk")
        session.commit(["Why?", {"role": "assistant", "parts": [{"type": "text", "text": "Because."}]}])
    return session.id


def leave_killed(path: Path) -> None:
    """Two turns that were acknowledged, a third that is open, and all of them in the log only."""
    fill_empty(path)
    assert subprocess.run(python(KILLED, path), timeout=60).returncode == 9
    assert (path.parent / (path.name + "-wal")).stat().st_size > 0


def fill_empty(path: Path) -> None:
    palaver.open(path).close()


def everything(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Names, bytes, modes and times."""
    return {
        str(found.relative_to(folder)): (
            found.read_bytes() if found.is_file() else b"",
            found.stat().st_mode,
            found.stat().st_mtime_ns,
        )
        for found in [folder, *sorted(folder.rglob("*"))]
        if found.suffix != ".db-shm"
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in folder.iterdir() if found.is_file()}


def copies(place: Path) -> list[str]:
    return [found.name for found in (place.parent.parent / "tmp").iterdir()]


def read(path: Path) -> list[int]:
    with palaver.open(path, readonly=True) as store:
        return [len(store.sessions.get(info.id).messages()) for info in store.sessions]


# ---------------------------------------------------------------- nothing is changed


def test_reading_leaves_every_file_as_it_was_and_makes_none(place: Path) -> None:
    fill(place)
    before = contents(place.parent)
    with palaver.open(place, readonly=True) as store:
        [info] = store.sessions.list().sessions
        session = store.sessions.get(info.id)
        assert (len(session.messages()), session.revision, store.verify()) == (2, 1, [])
        assert list(session.follow(0, timeout=0))
        assert list(store.db.query("SELECT count(*) FROM chat_messages")[1]) == [(2,)]
        assert store.readonly and store.notes == []
    assert contents(place.parent) == before


def test_what_a_killed_writer_left_is_shown_and_left_as_it_is(place: Path) -> None:
    leave_killed(place)
    before = {name: data for name, data in contents(place.parent).items() if not name.endswith("-shm")}
    with palaver.open(place, readonly=True) as store:
        [info] = store.sessions.list().sessions
        session = store.sessions.get(info.id)
        assert [turn.status for turn in session.tree()] == ["completed", "completed", "streaming"]
        assert session.messages()[-1]["parts"][0]["text"] == "Thr"
        assert store.abandoned() == {session.tree()[-1].id}
        assert store.notes == []
    after = {name: data for name, data in contents(place.parent).items() if not name.endswith("-shm")}
    assert after == before
    with palaver.open(place) as store:
        assert [turn.status for turn in store.sessions.get(info.id).path()] == ["completed", "completed", "aborted"]


def test_rows_of_another_program_are_shown_and_not_adopted(place: Path) -> None:
    make_foreign(place)
    place.write_bytes(place.read_bytes())
    before = place.read_bytes()
    with palaver.open(place, readonly=True) as store:
        found = {info.id: len(store.sessions.get(info.id).messages()) for info in store.sessions}
        assert "private copy" in store.notes[0]
    assert found and place.read_bytes() == before
    with palaver.open(place) as store:
        assert {info.id: len(store.sessions.get(info.id).messages()) for info in store.sessions} == found


def test_an_older_store_is_read_and_stays_as_old_as_it_was(place: Path) -> None:
    old.version_1(str(place))
    before = contents(place.parent)
    with palaver.open(place, readonly=True) as store:
        assert len(store.sessions.get(old.TALK).messages()) == 4
        assert "schema 1, not" in store.notes[0]
    assert contents(place.parent) == before
    assert list(apsw.Connection(str(place)).execute("SELECT max(version) FROM schema_migrations")) == [(1,)]


def test_an_older_store_that_nobody_writes_is_copied_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.version_1(str(place))
    made: list[str] = []
    copied = private_copy.PrivateCopy.take_snapshot
    monkeypatch.setattr(private_copy.PrivateCopy, "take_snapshot", lambda *given: made.append("") or copied(*given))
    with palaver.open(place, readonly=True) as store:
        for _ in range(3):
            assert len(store.sessions.get(old.TALK).messages()) == 4
    assert len(made) == 1


def test_what_was_not_committed_when_a_program_was_killed_is_not_read(place: Path, tmp_path: Path) -> None:
    """A rollback journal: only a copy can be rolled back."""
    fill(place)
    db = apsw.Connection(str(place))
    db.execute("PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; PRAGMA synchronous=OFF").fetchall()
    db.execute("BEGIN").fetchall()
    db.execute("UPDATE chat_messages SET role = 'system'").fetchall()
    db.execute("UPDATE heads SET title = 'half' || hex(zeroblob(100000))").fetchall()
    db.cache_flush()
    taken = tmp_path / "taken"
    taken.mkdir()
    for end in ("", "-journal"):
        shutil.copy(f"{place}{end}", taken / f"talks.db{end}")
    db.close()
    before = contents(taken)
    assert set(before) == {"talks.db", "talks.db-journal"}
    with palaver.open(taken / "talks.db", readonly=True) as store:
        [info] = store.sessions.list().sessions
        assert info.title == "Talk"
        assert [m["role"] for m in store.sessions.get(info.id).messages()] == ["user", "assistant"]
        assert len(store.notes) == 1
    assert contents(taken) == before


# ---------------------------------------------------------------- what writes is refused

Verb = Callable[[palaver.Store, palaver.Session], Any]
CHUNK = {"role": "user", "parts": [{"type": "text", "text": "x"}]}


def _title(store: palaver.Store, session: palaver.Session) -> None:
    session.title = "new"


WRITING: dict[str, Verb] = {
    "turn": lambda store, session: session.turn("x"),
    "update": lambda store, session: session.update(project="x"),
    "resolve": lambda store, session: session.resolve("c-1", approved=True),
    "stop": lambda store, session: session.stop(),
    "end": lambda store, session: session.end(),
    "reopen": lambda store, session: session.reopen(),
    "add_usage": lambda store, session: session.add_usage({"input_tokens": 1}),
    "get_or_create": lambda store, session: store.sessions.get_or_create("x"),
    "update_metadata": lambda store, session: session.update_metadata({"k": 1}),
    "commit": lambda store, session: session.commit("x"),
    "regenerate": lambda store, session: session.regenerate(),
    "edit": lambda store, session: session.edit(session.messages()[0]["id"], "x"),
    "resume": lambda store, session: session.resume("trn_x"),
    "enqueue": lambda store, session: session.enqueue("x"),
    "claim": lambda store, session: session.claim(),
    "cancel": lambda store, session: session.cancel("x"),
    "compact": lambda store, session: session.compact("x"),
    "prune": lambda store, session: session.prune(),
    "fork": lambda store, session: session.fork(),
    "materialise": lambda store, session: session.materialise(),
    "rewind": lambda store, session: session.rewind(session.messages()[0]["id"]),
    "undo": lambda store, session: session.undo(),
    "redo": lambda store, session: session.redo(),
    "move": lambda store, session: session.move(session.path()[0], expected=1),
    "archive": lambda store, session: session.archive(),
    "unarchive": lambda store, session: session.unarchive(),
    "delete": lambda store, session: session.delete(),
    "undelete": lambda store, session: session.undelete(),
    "alias": lambda store, session: session.alias("x"),
    "unalias": lambda store, session: session.unalias("x"),
    "title": _title,
    "adopt": lambda store, session: session.adopt(),
    "add": lambda store, session: session.permissions.add("bash"),
    "remove": lambda store, session: session.permissions.remove("bash"),
    "create": lambda store, session: store.sessions.create(),
    "recover": lambda store, session: store.recover(),
    "trim": lambda store, session: store.trim(),
    "rebuild": lambda store, session: store.rebuild(),
    "put_foreign_id": lambda store, session: store.put_foreign_id("o", "f", session.id),
    "graft": lambda store, session: store.graft([]),
    "reindex": lambda store, session: store.reindex(),
    "verify": lambda store, session: store.verify(fix=True),
}
READING = {
    *("id", "agent", "metadata", "info", "revision", "messages", "messages_json", "transcript", "snapshot", "at"),
    *("history", "cursor", "events", "follow", "path", "tree", "strays", "waiting", "live", "messages_of"),
    *("ancestors", "descendants", "aliases", "queue", "permissions", "context", "model_messages", "get", "find"),
    *("match", "list", "evaluate", "find_foreign_id", "system_prompt", "abandoned", "close", "owner", "track"),
    *("usage", "context_tokens", "body", "open_turn", "parts", "turn_of", "facts", "natives", "search"),
    *("tip", "by_title", "next_title"),
}


@pytest.mark.parametrize("verb", WRITING)
def test_a_verb_that_writes_is_refused_by_its_name(verb: str, place: Path) -> None:
    fill(place)
    before = contents(place.parent)
    with palaver.open(place, readonly=True) as store:
        session = store.sessions.get(store.sessions.list().sessions[0].id)
        with pytest.raises(palaver.StoreReadOnly) as caught:
            WRITING[verb](store, session)
    assert str(caught.value) == f"{verb} writes; this store was opened with readonly=True"
    assert caught.value.verb == verb
    assert contents(place.parent) == before


def test_every_verb_either_reads_or_is_tried_above() -> None:
    kinds = (palaver.Store, palaver.Sessions, palaver.Session, SessionRules)
    public = {name for kind in kinds for name in vars(kind) if not name.startswith("_")}
    assert public - READING == set(WRITING)


def test_asyncio_reads_and_is_refused_in_the_same_way(place: Path) -> None:
    session_id = fill(place)

    async def look() -> tuple[int, str, bool]:
        async with await aio.open(place, readonly=True) as store:
            session = await store.sessions.get(session_id)
            with pytest.raises(palaver.StoreReadOnly) as caught:
                await session.commit("x")
            with pytest.raises(palaver.StoreReadOnly, match="title writes"):
                await session.set("title", "x")
            return len(await session.messages()), str(caught.value), store.readonly

    assert asyncio.run(look()) == (2, "commit writes; this store was opened with readonly=True", True)


def test_an_import_and_a_copy_into_it_are_refused(place: Path, tmp_path: Path) -> None:
    fill(place)
    with palaver.open(place, readonly=True) as store, palaver.open(tmp_path / "other.db") as other:
        other.sessions.create().commit("x")
        with pytest.raises(palaver.StoreReadOnly, match="copy writes"):
            palaver.copy(other, store)
        report = palaver.copy(store, other)  # the other way round it only reads
        assert (report.copied, report.problems) == (1, [])


# ---------------------------------------------------------------- what is not there


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere.db")
    for name in ("none.db", "folder/none.db", "link.db"):
        with pytest.raises(palaver.NotAStore, match="there is no store at"):
            palaver.open(tmp_path / name, readonly=True)
    assert [found.name for found in tmp_path.iterdir()] == ["link.db"]


def test_what_cannot_be_a_store_is_refused_and_nothing_is_made_beside_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary\n" * 200)
    apsw.Connection(str(tmp_path / "other.db")).execute("CREATE TABLE bookmarks (url TEXT)").fetchall()
    before = {found.name for found in tmp_path.iterdir()}
    for name in ("notes.txt", "other.db", "."):
        with pytest.raises(palaver.NotAStore):
            palaver.open(tmp_path / name, readonly=True)
    assert {found.name for found in tmp_path.iterdir()} == before


def test_a_newer_schema_is_refused(place: Path) -> None:
    fill(place)
    db = apsw.Connection(str(place))
    db.execute("INSERT INTO schema_migrations VALUES (99, 'the future', 0)").fetchall()
    db.close()
    before = contents(place.parent)
    with pytest.raises(palaver.SchemaTooNew):
        palaver.open(place, readonly=True)
    assert contents(place.parent) == before


def test_memory_begins_empty_so_there_would_be_nothing_to_read() -> None:
    with pytest.raises(palaver.BadValue, match="memory"):
        palaver.open(":memory:", readonly=True)


# ---------------------------------------------------------------- beside a writer


def test_what_a_writer_acknowledges_is_seen_at_once(place: Path) -> None:
    session_id = fill(place)
    with palaver.open(place) as writer, palaver.open(place, readonly=True) as reader:
        session, seen = writer.sessions.get(session_id), reader.sessions.get(session_id)
        for number in range(3, 6):
            session.commit(f"number {number}")
            assert len(seen.messages()) == number
        turn = session.turn("live")
        assert reader.abandoned() == set()
        events = seen.follow(seen.cursor(), timeout=5)
        turn.write({"type": "start"})
        assert next(events).data == {"type": "start"}
        turn.seal()


def test_a_reader_that_stays_longer_than_the_writer_leaves_a_log_that_the_next_one_finds(place: Path) -> None:
    session_id = fill(place)
    with palaver.open(place, readonly=True) as reader:
        with palaver.open(place) as writer:
            writer.sessions.get(session_id).commit("three")
        assert len(reader.sessions.get(session_id).messages()) == 3
    assert read(place) == [3]
    with palaver.open(place) as writer:
        assert writer.verify() == [] and len(writer.sessions.get(session_id).messages()) == 3


def test_a_child_process_leaves_the_reader_to_its_parent(place: Path) -> None:
    old.version_1(str(place))
    with palaver.open(place, readonly=True) as store:

        def child() -> dict[str, str]:
            try:
                store.sessions.list()
            except palaver.StoreClosed as error:
                store.close()
                return {"said": str(error)}
            return {}

        assert "before fork()" in in_a_fork(child)["said"]
        assert len(store.sessions.get(old.TALK).messages()) == 4


# ---------------------------------------------------------------- on a read-only file system


def test_a_store_without_a_log_is_read_where_it_lies(place: Path) -> None:
    fill(place)
    assert on_a_readonly_mount(COUNT, place, TMPDIR=str(place.parent.parent / "tmp")) == CLEAN + "0"
    assert copies(place) == []


def test_a_log_on_a_readonly_file_system_is_copied_with_it_and_nothing_acknowledged_is_missing(place: Path) -> None:
    leave_killed(place)
    os.unlink(f"{place}-shm")  # as in a backup; without it SQLite cannot read the log there
    before = everything(place.parent)
    assert on_a_readonly_mount(COUNT, place, TMPDIR=str(place.parent.parent / "tmp")) == LEFT + "1"
    assert copies(place) == [] and everything(place.parent) == before


def test_a_log_with_its_index_is_read_where_it_lies(place: Path) -> None:
    leave_killed(place)
    before = everything(place.parent)
    assert on_a_readonly_mount(COUNT, place, TMPDIR=str(place.parent.parent / "tmp")) == LEFT + "0"
    assert everything(place.parent) == before


@pytest.mark.parametrize("has_index", [True, False])
def test_a_reader_that_leaves_the_log_out_is_found_out(place: Path, has_index: bool) -> None:
    """Planted: no log is seen. SQLite's `immutable` then shows an empty store, without an error."""
    leave_killed(place)
    if not has_index:
        os.unlink(f"{place}-shm")
    planted = "from palaver.db.sqlite import source\nsource._original = source._frozen\n"
    code = planted + "with palaver.open(path, readonly=True) as store: print(len(store.sessions.list().sessions))"
    assert on_a_readonly_mount(code, place) == "0"


@pytest.mark.parametrize("kind", ["older", "foreign"])
def test_an_older_or_foreign_store_on_readonly_media_is_read_from_a_copy(place: Path, kind: str) -> None:
    (old.version_1(str(place)) if kind == "older" else make_foreign(place))
    code = "with palaver.open(path, readonly=True) as s: print(len(list(s.sessions)) > 1, len(s.notes))"
    assert on_a_readonly_mount(code, place, TMPDIR=str(place.parent.parent / "tmp")) == "True 1"
    assert copies(place) == []


FOLLOW = """
with palaver.open(path, readonly=True) as store:
    [info] = store.sessions.list().sessions
    session = store.sessions.get(info.id)
    cursor = session.cursor()
    print(len(session.messages()), flush=True)
    for event in session.follow(cursor, timeout=20):
        if event.kind == "seal":
            print(len(session.messages()), store.notes, flush=True)
            break
"""


@pytest.mark.parametrize("beside", ["a writer that is there", "a writer that comes later"])
def test_what_is_written_on_the_other_side_of_a_readonly_mount_is_followed(place: Path, beside: str) -> None:
    session_id = fill(place)
    seen = place.parent.parent / "seen"
    seen.mkdir()
    early = palaver.open(place) if beside == "a writer that is there" else None
    if early:
        early.sessions.get(session_id).title = "here"
    command = mounted(place.parent, *python(FOLLOW, seen / place.name), at=seen)
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE)
    try:
        assert reader.stdout and reader.stdout.readline() == "2\n", reader.communicate()
        with early or palaver.open(place) as writer:
            writer.sessions.get(session_id).commit(["And?", {"role": "assistant", "parts": []}])
            out, err = reader.communicate(timeout=60)
        assert out == "4 []\n", err
    finally:
        reader.kill()
        reader.wait(60)


# ---------------------------------------------------------------- where a permission is missing


def test_somebody_else_reads_a_store_in_a_folder_that_is_not_theirs(place: Path) -> None:
    fill(place)
    os.chmod(place, 0o644)
    before = everything(place.parent)
    assert as_nobody(COUNT, place, TMPDIR=str(place.parent.parent / "tmp")) == CLEAN + "1"
    assert everything(place.parent) == before and copies(place) == []


def test_somebody_else_sees_what_the_owner_is_writing(place: Path) -> None:
    session_id = fill(place)
    os.chmod(place, 0o644)
    with palaver.open(place) as store:
        os.chmod(place, 0o644)
        for end in ("-wal", "-shm"):
            os.chmod(f"{place}{end}", 0o644)
        store.sessions.get(session_id).commit("three")
        assert as_nobody(COUNT, place) == "3 ['completed', 'completed'] 0 0"


def test_a_log_that_somebody_else_left_is_not_left_out(place: Path) -> None:
    leave_killed(place)
    os.unlink(f"{place}-shm")
    for end in ("", "-wal"):
        os.chmod(f"{place}{end}", 0o644)
    assert as_nobody(COUNT, place, TMPDIR=str(place.parent.parent / "tmp")) == LEFT + "1"


def test_a_reader_makes_no_files_that_the_owner_could_not_write(place: Path) -> None:
    """A folder that all may write, as /tmp: an index of the log that we made would be ours, and lock its owner out."""
    session_id = fill(place)
    os.chmod(place, 0o644)
    os.chmod(place.parent, 0o1777)
    before = contents(place.parent)
    assert as_nobody(COUNT, place) == CLEAN + "1"
    assert contents(place.parent) == before
    with palaver.open(place) as store:
        store.sessions.get(session_id).commit("mine")


REFUSED = """
try:
    palaver.open(path, readonly=True)
except palaver.StoreError as error:
    print(type(error).__name__, error)
"""


def test_a_store_that_may_not_be_read_says_so(place: Path) -> None:
    fill(place)
    os.chmod(place, 0o600)
    said = as_nobody(REFUSED, place)
    assert said.startswith("StoreReadOnly") and copies(place) == []
    assert f"{place}: Permission denied" in said
    os.chmod(place.parent, 0o700)
    said = as_nobody(REFUSED, place)
    assert said.startswith("NotAStore") and "Permission denied" in said


def test_a_log_that_may_not_be_read_is_an_error_never_a_shorter_store(place: Path) -> None:
    leave_killed(place)
    os.chmod(place, 0o644)
    said = as_nobody(REFUSED, place)
    assert said.startswith("StoreReadOnly") and f"{place}-wal and {place}-shm may not be read" in said
    os.unlink(f"{place}-shm")
    said = as_nobody(REFUSED, place)
    assert said.startswith("StoreReadOnly") and f"{place}-wal: Permission denied" in said


# ---------------------------------------------------------------- private copies


def test_a_copy_is_private_and_goes_when_the_store_is_closed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.version_1(str(place))
    monkeypatch.setattr("tempfile.tempdir", str(place.parent.parent / "tmp"))
    store = palaver.open(place, readonly=True)
    [folder] = (place.parent.parent / "tmp").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    store.close()
    assert copies(place) == []


@pytest.mark.parametrize("end", ["forgets to close", "raises", "is killed"])
def test_a_copy_goes_also_when_its_process(place: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old.version_1(str(place))
    temporary = place.parent.parent / "tmp"
    last = {"forgets to close": "", "raises": "raise KeyError", "is killed": "os.kill(os.getpid(), 9)"}[end]
    code = f"import os\nstore = palaver.open(path, readonly=True)\nprint(os.listdir(rest[0]), flush=True)\n{last}"
    done = subprocess.run(
        python(code, place, str(temporary)),
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert done.stdout.startswith("['palaver-copy-"), done.stderr
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with palaver.open(
        place, readonly=True
    ):  # whose process was killed: the next one tidies up, not in the first minute
        assert len(copies(place)) == (2 if end == "is killed" else 1)
        monkeypatch.setattr(private_copy, "_YOUNG", -1.0)
        with palaver.open(place, readonly=True):
            assert len(copies(place)) == 2  # those of the living
    assert copies(place) == []


def test_what_is_written_to_the_original_is_copied_again(place: Path) -> None:
    make_foreign(place)
    with palaver.open(place, readonly=True) as store:
        before = len(list(store.sessions))
        db = apsw.Connection(str(place))
        columns = [str(row[1]) for row in db.execute("PRAGMA table_info(chat_sessions)")]
        named = ", ".join(f'"{column}"' for column in columns if column != "id")
        copied = f"INSERT INTO chat_sessions (id, {named}) SELECT 'ses_new', {named} FROM chat_sessions LIMIT 1"
        db.execute(copied).fetchall()
        db.close()
        assert len(list(store.sessions)) == before + 1


def test_threads_read_while_the_copy_is_made_again(place: Path) -> None:
    make_foreign(place)
    failures: list[BaseException] = []
    with palaver.open(place, readonly=True) as store:
        ids = [info.id for info in store.sessions]

        def work() -> None:
            try:
                for _ in range(10):
                    for session_id in ids:
                        store.sessions.get(session_id).messages()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(5):
            db = apsw.Connection(str(place))
            db.execute(f"PRAGMA user_version={number + 1}").fetchall()
            db.close()
        for thread in threads:
            thread.join(60)
    assert failures == []


def test_no_room_for_a_copy_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.version_1(str(place))
    monkeypatch.setattr("tempfile.tempdir", str(place.parent / "nowhere"))
    with pytest.raises(palaver.StoreReadOnly, match="TMPDIR"):
        palaver.open(place, readonly=True)


def test_a_store_that_is_said_something_about_says_it_in_the_log(place: Path) -> None:
    old.version_1(str(place))
    code = "palaver.open(path, readonly=True).close()"
    done = subprocess.run(python(code, place), capture_output=True, text=True, timeout=60, cwd=sys.path[0] or None)
    assert "is read from a private copy" in done.stderr


def break_once(monkeypatch: pytest.MonkeyPatch, error: type[apsw.Error]) -> None:
    """The first thing that is read of the store cannot be read."""
    whole = intruders.refuse

    def refuse(connection: apsw.Connection, path: str) -> None:
        monkeypatch.setattr(intruders, "refuse", whole)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        raise error("planted")

    monkeypatch.setattr(intruders, "refuse", refuse)


def test_a_store_that_cannot_be_read_in_place_is_copied_though_the_attempt_made_an_index(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = fill(place)
    before = contents(place.parent)
    break_once(monkeypatch, apsw.IOError)
    with palaver.open(place, readonly=True) as store:
        assert "private copy" in store.notes[0]
        assert len(store.sessions.get(session_id).messages()) == 2
        assert contents(place.parent) == before


def test_a_copy_goes_if_the_original_cannot_be_closed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.version_1(str(place))
    monkeypatch.setattr("tempfile.tempdir", str(place.parent.parent / "tmp"))
    whole = source.Source.end

    def end(self: source.Source, connection: apsw.Connection) -> None:
        whole(self, connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(source.Source, "end", end)
    with pytest.raises(KeyboardInterrupt):
        palaver.open(place, readonly=True)
    assert copies(place) == []


def test_a_connection_that_could_not_be_set_up_leaves_the_log_as_it_is(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed as SQLite closes, the last connection would take the log in."""
    leave_killed(place)
    before = everything(place.parent)
    opened: list[apsw.Connection] = []

    class Interrupted(apsw.Connection):
        def execute(self, statements: str, *rest: Any, **more: Any) -> Any:
            opened.append(self)
            if "query_only" in statements:
                super().execute("SELECT count(*) FROM sqlite_schema").fetchall()
                raise KeyboardInterrupt
            return super().execute(statements, *rest, **more)

    monkeypatch.setattr("apsw.Connection", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        palaver.open(place, readonly=True)
    with pytest.raises(apsw.ConnectionClosedError):
        opened[0].changes()
    assert everything(place.parent) == before


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only file system that somebody can write elsewhere."""
    monkeypatch.setattr("palaver.db.sqlite.filesystem.can_write", lambda path: False)
    monkeypatch.setattr("palaver.db.sqlite.filesystem.is_mounted_readonly", lambda path: True)


def test_what_was_read_while_the_file_changed_is_not_believed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only file system that somebody can write elsewhere."""
    session_id = fill(place)
    with monkeypatch.context() as here:
        here.setattr("palaver.db.sqlite.filesystem.can_write", lambda path: False)
        here.setattr("palaver.db.sqlite.filesystem.is_mounted_readonly", lambda path: True)
        with palaver.open(place, readonly=True) as reader:
            with pytest.raises(palaver.StoreError, match="read it again"), reader.db.read() as tx:
                assert tx.generation()
                with palaver.open(place) as writer:
                    writer.sessions.get(session_id).commit("three")
            assert len(reader.sessions.get(session_id).messages()) == 3


def test_a_torn_read_is_not_believed_either_when_another_thread_found_the_change_first(
    place: Path, frozen: None
) -> None:
    session_id = fill(place)
    with palaver.open(place, readonly=True) as reader:
        with pytest.raises(palaver.StoreError, match="read it again"), reader.db.read() as tx:
            assert tx.generation()
            with palaver.open(place) as writer:
                writer.sessions.get(session_id).commit("three")
            other = threading.Thread(target=lambda: reader.sessions.get(session_id).messages())
            other.start()
            other.join(60)
        assert len(reader.sessions.get(session_id).messages()) == 3


def test_rows_of_ones_own_query_are_not_believed_if_the_file_changed_meanwhile(place: Path, frozen: None) -> None:
    session_id = fill(place)
    with palaver.open(place, readonly=True) as reader:
        assert isinstance(reader.db, ReadOnlyDatabase)
        _, rows = reader.db.query("SELECT id FROM chat_messages")
        next(rows)
        with palaver.open(place) as writer:
            writer.sessions.get(session_id).commit("three")
        with pytest.raises(palaver.StoreError, match="read it again"):
            list(rows)
        assert len(list(reader.db.query("SELECT id FROM chat_messages")[1])) == 3


class BesideAWriter:
    """So many pages for a step; and before each step another connection commits."""

    def __init__(self, path: Path, steps: int = 1000) -> None:
        self._writer = apsw.Connection(str(path))
        self.steps, self._most = 0, steps

    def __index__(self) -> int:
        self.steps += 1
        assert self.steps < self._most, "it began anew with each commit"
        self._writer.execute(f"PRAGMA user_version={self.steps % 2 + 1}").fetchall()
        return 1


def old_with_a_log(path: Path) -> int:
    """A store of the first schema in WAL mode, and its pages."""
    old.version_1(str(path))
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode=WAL").fetchall()
    [[pages]] = db.execute("PRAGMA page_count").fetchall()
    db.close()
    assert isinstance(pages, int)
    return pages


def test_a_copy_of_a_store_that_is_being_written_comes_to_an_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = old_with_a_log(place)
    beside = BesideAWriter(place)
    monkeypatch.setattr(private_copy, "_PAGES", beside)
    with palaver.open(place, readonly=True) as store:
        assert beside.steps <= 2 * (pages + 1)  # what was written meanwhile was copied again, for the first read
        monkeypatch.undo()
        assert len(store.sessions.get(old.TALK).messages()) == 4


def test_a_copy_that_begins_anew_with_each_commit_is_given_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: no transaction holds the snapshot."""
    old_with_a_log(place)
    monkeypatch.setattr(private_copy, "_PAGES", BesideAWriter(place, 1_000_000))
    monkeypatch.setattr(private_copy, "_hold", lambda source: None)
    with pytest.raises(palaver.StoreBusy):
        palaver.open(place, readonly=True, timeout=0.1)
    assert not [name for name in os.listdir(place.parent.parent / "tmp") if name.startswith(private_copy.PREFIX)]
