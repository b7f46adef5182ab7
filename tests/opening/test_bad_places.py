"""Opening what cannot be a store: one sentence that says what to do, and nothing is changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.db.sqlite import filesystem

pytestmark = pytest.mark.on_disk


def refused(path: Path | str, kind: type[palaver.PalaverError]) -> str:
    with pytest.raises(kind) as caught:
        palaver.open(path)
    sentence = str(caught.value)
    assert "\n" not in sentence and len(sentence) < 300
    return sentence


def test_a_directory_is_not_a_store(tmp_path: Path) -> None:
    assert "is a directory" in refused(tmp_path, palaver.NotAStore)
    assert list(tmp_path.iterdir()) == []


def test_a_text_file_is_not_a_store_and_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n" * 200)
    assert "not a SQLite database" in refused(path, palaver.NotAStore)
    assert path.read_text() == "dear diary\n" * 200


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file" / "talks.db", palaver.NotAStore)


def test_a_newer_schema_is_refused_and_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    palaver.open(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO schema_migrations VALUES (99, 'the future', 0)")
    connection.close()
    before = path.read_bytes()
    assert "upgrade Palaver" in refused(path, palaver.SchemaTooNew)
    assert path.read_bytes() == before


def test_another_programs_table_of_our_name_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE turns (spin TEXT); INSERT INTO turns VALUES ('left')")
    connection.close()
    refused(path, palaver.SchemaMismatch)
    connection = apsw.Connection(str(path))
    names = connection.execute("SELECT name FROM sqlite_schema").fetchall()
    connection.close()
    assert names == [("turns",)]


def test_a_corrupt_file_fails_closed_never_an_empty_list(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    with palaver.open(path) as store:
        for number in range(300):
            store.sessions.create(agent="a", title=f"session {number}", workspace="/w" * 50)
    data = bytearray(path.read_bytes())
    for at in range(2 * 2048, len(data), 2048):  # spare the header and the schema's first page
        data[at : at + 64] = b"\xde\xad\xbe\xef" * 16
    path.write_bytes(data)
    with pytest.raises(palaver.StoreError) as caught, palaver.open(path) as store:
        store.sessions.list()
    assert isinstance(caught.value, palaver.StoreCorrupt | palaver.NotAStore | palaver.SchemaMismatch)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "virtiofs"])
def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        f"1 0 8:1 / / rw - ext4 /dev/root rw\n2 1 0:40 / {tmp_path}/far rw,relatime shared:1 - {kind} host:/x rw\n"
    )
    monkeypatch.setattr(filesystem, "MOUNTS", str(mounts))
    (tmp_path / "far").mkdir()
    assert kind in refused(tmp_path / "far" / "talks.db", palaver.UnsafeFileSystem)
    assert list((tmp_path / "far").iterdir()) == []
    palaver.open(tmp_path / "near.db").close()


def test_a_file_that_is_mounted_by_itself_is_refused_for_its_log_would_stay_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    palaver.open(tmp_path / "talks.db").close()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/root rw\n2 1 8:1 /x {tmp_path}/talks.db rw - ext4 /dev/root rw\n")
    monkeypatch.setattr(filesystem, "MOUNTS", str(mounts))
    assert "mount the folder" in refused(tmp_path / "talks.db", palaver.UnsafeFileSystem)


def test_the_real_mount_table_is_read(tmp_path: Path) -> None:
    assert filesystem.kind_of(str(tmp_path)) != ""


READ_ONLY = """
import sys, palaver
try:
    palaver.open(sys.argv[1])
except palaver.StoreReadOnly as error:
    print("refused:", error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody; others are tested as themselves below")
@pytest.mark.parametrize("exists", [False, True])
def test_a_place_that_cannot_be_written_is_said_so_to_nobody(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = folder / "talks.db"
    if exists:
        palaver.open(path).close()
        os.chmod(path, 0o444)
    for parent in [folder, *folder.parents][:4]:
        os.chmod(parent, 0o755)
    code = f"import os; os.setgid(65534); os.setuid(65534)\n{READ_ONLY}"
    out = subprocess.run(
        [sys.executable, "-c", "import palaver; palaver.open, palaver.StoreReadOnly\n" + code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert out.stdout.startswith("refused:"), out.stderr


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    refused(folder / "talks.db", palaver.StoreReadOnly)


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    code = (
        "import os, sys; os.umask(0); import palaver\n"
        "store = palaver.open(sys.argv[1]); turn = store.sessions.create(agent='a').turn('x')\n"
        "os._exit(0)"
    )
    folder = tmp_path / "fresh"
    subprocess.run([sys.executable, "-c", code, str(folder / "talks.db")], timeout=60, check=True)
    modes = {p.name: p.stat().st_mode & 0o777 for p in folder.iterdir()}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert modes.pop("talks.db-owners") == 0o700
    assert set(modes) >= {"talks.db", "talks.db-wal", "talks.db-shm", "talks.db-queue"}
    assert set(modes.values()) == {0o600}


def test_urls_of_other_stores_and_unknown_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(palaver.BadValue, match="mysql"):
        palaver.open("mysql://x")
    with pytest.raises(TypeError, match="durabilty"):
        palaver.open(tmp_path / "a.db", durabilty="full")
    with pytest.raises(ValueError, match="durability"):
        palaver.open(tmp_path / "a.db", durability="maybe")
    with pytest.raises(palaver.BadValue, match="space"):
        palaver.open(tmp_path / "a.db", space="acme")


@pytest.mark.parametrize("name", ["", "a\0b", os.fsdecode(b"not-utf8-\xff.db")])
def test_what_is_no_path_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(palaver.BadValue, match=r"path|UTF-8"):
        palaver.open(name)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_the_system_does_not_take_is_refused(tmp_path: Path) -> None:
    with pytest.raises(palaver.NotAStore, match="too long"):
        palaver.open(tmp_path / ("x" * 300))
    (tmp_path / "round.db").symlink_to(tmp_path / "round.db")
    assert "cannot" in refused(tmp_path / "round.db", palaver.NotAStore)


def test_a_path_in_bytes_and_one_that_begins_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with palaver.open(os.fsencode(tmp_path / "talks.db")) as store, palaver.open("~/talks.db") as other:
        assert store.path == other.path == str(tmp_path / "talks.db")


@pytest.mark.parametrize("name", ["a?b#c.db", "file:x.db", " x.db", "new\nline.db", "ü/ñ.db", "-x.db"])
def test_a_strange_name_is_a_name(name: str, tmp_path: Path) -> None:
    with palaver.open(tmp_path / name) as store:
        store.sessions.create("a").commit("hi")
    assert (tmp_path / name).is_file()
    with palaver.open(tmp_path / name, create=False) as store:
        assert [info.messages for info in store.sessions.list().sessions] == [1]
