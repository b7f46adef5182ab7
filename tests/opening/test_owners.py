"""Signs of life that were removed, that may not be looked at, or that did not come with a copy of the store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.db.sqlite import owner_files

from .elsewhere import as_nobody, python

HALF = """
store = palaver.open(path)
session = store.sessions.create("coder", title="Killed")
session.commit(["One?", {"role": "assistant", "parts": [{"type": "text", "text": "One."}]}])
turn = session.turn("Two?")
turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Half a sen"}])
import os; os._exit(9)
"""
QUICKLY = "from palaver.cli.commands import tail\ntail._CALM = 0.01\n"
SIGN = "1-own"


def missing_note(folder: Path) -> Path:
    return folder / f"{SIGN}.missed"


def test_an_owner_that_makes_its_file_again_takes_back_the_note_that_it_was_missing(tmp_path: Path) -> None:
    """Else the next who finds it missing, an hour later, calls it dead at the first look."""
    file = owner_files.OwnerFile(str(tmp_path), SIGN)
    os.unlink(file.path)
    assert owner_files.first_missed(str(tmp_path), SIGN, noting=True) is None
    assert missing_note(tmp_path).exists()
    file.make()
    assert os.listdir(tmp_path) == [SIGN]
    file.close()


LOOKS = """
os.umask(0)
with palaver.open(path) as store:
    [info] = store.sessions.list().sessions
    print([turn.status for turn in store.sessions.get(info.id).live()], len(store.abandoned()))
"""


def test_a_writer_that_may_not_search_the_owners_folder_takes_the_others_for_alive(tmp_path: Path) -> None:
    place = tmp_path / "store" / "talks.db"
    place.parent.mkdir()
    with palaver.open(place) as store:
        store.sessions.create("coder").turn("Hi?").write({"type": "start"})
        os.chmod(place.parent, 0o777)
        for end in ("", "-wal", "-shm", "-queue"):
            os.chmod(f"{place}{end}", 0o666)
        assert as_nobody(LOOKS, place) == "['streaming'] 0"


@pytest.mark.parametrize(
    "look",
    [
        lambda folder: owner_files.look(folder, SIGN),
        lambda folder: owner_files.first_missed(folder, SIGN, noting=True),
        lambda folder: owner_files.take_back(folder, SIGN),
        lambda folder: owner_files.remove(folder, SIGN),
    ],
    ids=["look", "first_missed", "take_back", "remove"],
)
def test_an_owners_folder_that_is_a_link_is_not_followed(look: Callable[[str], object], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for end in ("", ".missed"):
        (tmp_path / "elsewhere" / (SIGN + end)).touch()
    (tmp_path / "owners").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(palaver.StoreReadOnly, match="symbolic link"):
        look(str(tmp_path / "owners"))
    assert len(os.listdir(tmp_path / "elsewhere")) == 2


def test_who_asks_whose_a_sign_is_may_do_so_while_another_thread_opens_a_store(tmp_path: Path) -> None:
    made: list[owner_files.OwnerFile] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        opener = threading.Thread(
            target=lambda: made.extend(owner_files.OwnerFile(str(tmp_path), str(number)) for number in range(500))
        )
        opener.start()
        while opener.is_alive():
            assert not owner_files.is_ours("nobody")
        opener.join()
    finally:
        sys.setswitchinterval(before)
        for file in made:
            file.close()
    assert len(made) == 500


TAIL = """
os.umask(0)
with palaver.open(path, readonly=True) as store:
    [info] = store.sessions.list().sessions
    session = store.sessions.get(info.id)
    follower = tail.Follower(store, session, session.snapshot()[1], path + "-owners")
    follower.on_silence = lambda: print("silence", end=" ")
    print([event.kind for event in follower.events(forever=False)], len(store.abandoned()))
"""
HIDDEN = """
    looks = []
    def are_hidden(folder):
        looks.append(folder)
        if len(looks) > 30:
            print("it goes on")
            sys.exit()
        return False
    tail.owner_files.are_hidden = are_hidden
"""


def test_tail_of_another_users_store_ends_when_nothing_comes(tmp_path: Path) -> None:
    """Whether its writer lives is not theirs to know."""
    place = tmp_path / "store" / "talks.db"
    place.parent.mkdir(mode=0o755)
    with palaver.open(place) as store:
        store.sessions.create("coder").turn("Hi?").write({"type": "start"})
        for end in ("", "-wal", "-shm"):
            os.chmod(f"{place}{end}", 0o644)
        assert as_nobody(TAIL, place, before=QUICKLY) == "silence [] 0"


def test_a_tail_that_takes_hidden_signs_for_seen_ones_waits_for_ever(tmp_path: Path) -> None:
    """Planted: nobody's signs are hidden. Counted, not timed: it looks for the dead more often than it may."""
    place = tmp_path / "store" / "talks.db"
    place.parent.mkdir(mode=0o755)
    planted = TAIL.replace("    follower.on_silence", HIDDEN + "    follower.on_silence")
    with palaver.open(place) as store:
        store.sessions.create("coder").turn("Hi?").write({"type": "start"})
        for end in ("", "-wal", "-shm"):
            os.chmod(f"{place}{end}", 0o644)
        assert as_nobody(planted, place, before=QUICKLY) == "it goes on"


# ---------------------------------------------------------------- a copy without its owners


@pytest.fixture
def restored(tmp_path: Path) -> Iterator[Path]:
    """A store whose writer was killed, restored from its database and its log."""
    (tmp_path / "lost").mkdir()
    lost, here = tmp_path / "lost" / "talks.db", tmp_path / "talks.db"
    assert subprocess.run(python(HALF, lost), timeout=60).returncode == 9
    for end in ("", "-wal"):
        shutil.copy(f"{lost}{end}", f"{here}{end}")
    yield here


def say_of_its_owner(place: Path, **columns: object) -> None:
    db = apsw.Connection(str(place))
    for name, value in columns.items():
        db.execute(f"UPDATE owners SET {name} = ?", (value,)).fetchall()
    db.close()


def live(place: Path) -> list[str]:
    with palaver.open(place) as store:
        [info] = store.sessions.list().sessions
        return [turn.status for turn in store.sessions.get(info.id).live()]


@pytest.mark.parametrize("folder", ["missing", "empty"])
def test_the_writer_of_a_restored_copy_is_dead_at_once_if_its_process_is_not_there(restored: Path, folder: str) -> None:
    if folder == "empty":
        (restored.parent / "talks.db-owners").mkdir()
    with palaver.open(restored, readonly=True) as store:
        assert len(store.abandoned()) == 1
    with palaver.open(restored) as store:
        [info] = store.sessions.list().sessions
        session = store.sessions.get(info.id)
        assert session.live() == []
        session.commit("Three?", expected=session.revision)
        assert [turn.status for turn in session.path()] == ["completed", "aborted", "completed"]
        assert store.verify() == []


def test_the_writer_of_a_copy_from_another_machine_is_dead_at_once(restored: Path) -> None:
    say_of_its_owner(restored, host="another", pid=os.getpid())
    assert live(restored) == []


def test_the_writer_of_a_restored_copy_may_live_if_there_is_a_process_of_its_number(restored: Path) -> None:
    say_of_its_owner(restored, pid=os.getppid())
    assert live(restored) == ["streaming"]


def test_a_sign_that_alone_is_missing_says_nothing_about_a_process_of_another_machine(restored: Path) -> None:
    """A container beside this one, maybe: a program that tidies up took its file, and it makes it again."""
    say_of_its_owner(restored, host="another")
    (restored.parent / "talks.db-owners").mkdir()
    (restored.parent / "talks.db-owners" / "2-own").touch()  # somebody else's
    assert live(restored) == ["streaming"]
