"""What lies beside a store, and who may touch it: nothing is left by what was refused, links are not followed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import palaver

from .elsewhere import AS_NOBODY, answer, as_nobody, python


def refused(path: Path, kind: type[palaver.PalaverError], **options: bool) -> str:
    with pytest.raises(kind) as caught:
        palaver.open(path, **options)
    return str(caught.value)


def database(path: Path, text: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(text).fetchall()
    connection.close()


def test_what_is_refused_has_nothing_of_ours_beside_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary\n" * 200)
    database(tmp_path / "other.db", "CREATE TABLE turns (spin TEXT)")
    database(tmp_path / "half.db", "CREATE TABLE chat_sessions (agent TEXT)")
    database(tmp_path / "bookmarks.db", "CREATE TABLE bookmarks (url TEXT)")
    palaver.open(tmp_path / "newer.db").close()
    database(tmp_path / "newer.db", "INSERT INTO schema_migrations VALUES (99, 'the future', 0)")
    (tmp_path / "newer.db-queue").unlink()
    before = {found.name: found.read_bytes() for found in tmp_path.iterdir()}
    refused(tmp_path / "notes.txt", palaver.NotAStore)
    refused(tmp_path / "other.db", palaver.SchemaMismatch)
    refused(tmp_path / "half.db", palaver.SchemaMismatch)
    refused(tmp_path / "bookmarks.db", palaver.NotAStore, create=False)
    refused(tmp_path / "newer.db", palaver.SchemaTooNew)
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == before


def test_a_database_of_the_application_may_hold_the_store_beside_its_own_tables(tmp_path: Path) -> None:
    database(tmp_path / "app.db", "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')")
    with palaver.open(tmp_path / "app.db") as store:
        store.sessions.create().commit("hi")
        assert list(store.db.query("SELECT url FROM bookmarks")[1]) == [("x",)]


@pytest.mark.parametrize("end", ["-owners", "-queue"])
def test_a_link_beside_a_store_is_not_followed(tmp_path: Path, end: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"talks.db{end}").symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in refused(tmp_path / "talks.db", palaver.StoreReadOnly)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_that_is_put_there_later_is_not_followed_either(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "talks.db-owners").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(palaver.StoreReadOnly, match="symbolic link"):
            session.turn("hi")
        assert list((tmp_path / "elsewhere").iterdir()) == []


# ---------------------------------------------------------------- modes


def test_a_file_that_all_may_write_is_made_private_and_that_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    palaver.open(path).close()
    os.chmod(path, 0o666)
    os.chmod(f"{path}-queue", 0o666)
    with palaver.open(path) as store:
        assert len(store.notes) == 1 and f"others could write {path}; it is yours alone" in store.notes[0]
        assert {found.stat().st_mode & 0o777 for found in tmp_path.iterdir()} == {0o600}
    with palaver.open(path) as store:
        assert store.notes == []


def test_it_is_said_to_a_program_in_its_log(tmp_path: Path) -> None:
    palaver.open(tmp_path / "talks.db").close()
    os.chmod(tmp_path / "talks.db", 0o666)
    code = "import sys, palaver; palaver.open(sys.argv[1]).close()"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "talks.db")], capture_output=True, text=True)
    assert done.stderr.startswith("others could write")


def test_what_others_may_read_stays_so_and_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / "talks.db"
    palaver.open(path).close()
    os.chmod(path, 0o644)
    with palaver.open(path) as store:
        assert store.notes == [] and path.stat().st_mode & 0o777 == 0o644
    for name in (path, Path(f"{path}-queue")):
        os.chmod(name, 0o666)
    os.chmod(path.parent, 0o777)
    assert as_nobody("with palaver.open(path) as store: print(store.notes)", path) == "[]"
    assert path.stat().st_mode & 0o777 == 0o666


def test_a_text_file_that_all_may_write_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary\n" * 200)
    os.chmod(tmp_path / "notes.txt", 0o666)
    refused(tmp_path / "notes.txt", palaver.NotAStore)
    assert (tmp_path / "notes.txt").stat().st_mode & 0o777 == 0o666


# ---------------------------------------------------------------- permissions that are lost, files that run out

LOST = """
import os
store = palaver.open(path)
session = store.sessions.create()
held = session.turn("one")
print("opened", flush=True)
sys.stdin.readline()
held.seal()
other = palaver.open(path)
for verb in (lambda: session.turn("two").seal(), lambda: other.sessions.get(session.id).turn("three")):
    try:
        verb()
        print("done")
    except palaver.PalaverError as error:
        print(type(error).__name__, str(error)[:60])
print(len(session.messages()))
"""


def test_a_folder_that_was_closed_to_the_writer_is_said_in_one_sentence(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    folder = tmp_path / "store"
    folder.mkdir()
    for parent in list(folder.parents)[:-1]:
        os.chmod(parent, os.stat(parent).st_mode | 0o011)
    os.chown(folder, 65534, 65534)
    writer = subprocess.Popen(
        python(AS_NOBODY + LOST, folder / "talks.db"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout and writer.stdout.readline() == "opened\n"
        for closed in (folder, folder / "talks.db-owners"):
            os.chown(closed, 0, 0)
            os.chmod(closed, 0o755)
        out, _ = writer.communicate("\n", timeout=60)
    finally:
        writer.kill()
        writer.wait(60)
    held, begun, read = out.splitlines()
    assert held == "done"  # who has all its files goes on
    assert begun.startswith("StoreReadOnly cannot open") and read == "2"


NO_FILES = """
import resource, os
{before}
held, _ = [], resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
try:
    {verb}
except palaver.PalaverError as error:
    print(type(error).__name__, "ulimit" in str(error))
for fd in held:
    os.close(fd)
{after}
"""


@pytest.mark.parametrize("verb", ["commit", "turn", "open", "open readonly", "first open"])
def test_too_many_open_files_is_called_that(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "talks.db"
    if verb != "first open":
        palaver.open(path).close()
    before = "store = palaver.open(path); session = store.sessions.create()"
    what = {
        "commit": (before, "session.commit('x')", "session.commit('x'); print(len(session.messages()))"),
        "turn": (before, "session.turn('x')", "session.turn('x').seal(); print(len(session.messages()))"),
        "open": ("", "palaver.open(path)", "palaver.open(path).close(); print(1)"),
        "open readonly": ("", "palaver.open(path, readonly=True)", "print(1)"),
        "first open": ("", "palaver.open(path)", "palaver.open(path).close(); print(1)"),
    }[verb]
    code = NO_FILES.format(before=what[0], verb=what[1], after=what[2])
    assert answer(python(code, path)).splitlines() == ["TooManyFiles True", "1"]
