"""Each claim about `SessionDB` is tried on a file, on Postgres and, where somebody has it, on the real one.

The real one, the witness, is `hermes-agent` 0.19.0: its wheel, unpacked in the folder that PALAVER_HERMES names. A
claim that it does not bear out is marked `schema6` or `promised`, and must then fail with it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver

from ...postgres.conftest import _spaces, ready_space, server
from .support import WITNESS, Clock, ours, witness

__all__ = ["_spaces", "ready_space", "server"]
EXCUSES = "schema6", "promised"
collect_ignore = [] if WITNESS else ["test_like_the_witness.py"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" not in metafunc.fixturenames:
        return
    kinds: list[Any] = ["file"] if "file" in metafunc.fixturenames else ["file", "postgres"]
    if WITNESS and "pair" not in metafunc.fixturenames:
        marks = [mark for name in EXCUSES for mark in metafunc.definition.iter_markers(name)]
        kinds.append(pytest.param("witness", marks=[pytest.mark.xfail(reason=m.args[0], strict=True) for m in marks]))
    metafunc.parametrize("kind", kinds)


@pytest.fixture
def open_db(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """A way to open the same place again."""
    opened = []
    if kind == "postgres":
        dsn, space = request.getfixturevalue("ready_space")
        place: str | Path = f"{dsn}#{space}"
    else:
        place = tmp_path / "palaver.db"
    if kind == "file":
        shutil.copy(request.getfixturevalue("empty"), place)

    def open_it() -> Any:
        opened.append((witness() if kind == "witness" else ours())(place))
        return opened[-1]

    yield open_it
    for db in opened:
        db.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file that `db` is in, which then is in one."""
    return tmp_path / "palaver.db"


@pytest.fixture
def db(open_db: Callable[[], Any]) -> Any:
    return open_db()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def path_of_ours(tmp_path: Path, empty: Path) -> Path:
    """The file of an empty store, for what is said about ours alone."""
    return Path(shutil.copy(empty, tmp_path / "palaver.db"))


@pytest.fixture
def mine(path_of_ours: Path) -> Iterator[Any]:
    """A `SessionDB` of ours on that file."""
    db = ours()(path_of_ours)
    yield db
    db.close()


@pytest.fixture(params=["ours", *(["witness"] if WITNESS else [])])
def cleaner(request: pytest.FixtureRequest) -> Any:
    """The class, for what needs no database."""
    return witness() if request.param == "witness" else ours()


@pytest.fixture
def pair(kind: str, db: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, palaver.Session]]:
    """A `SessionDB` of ours with one session, `s`, and that session as Palaver's own verbs have it."""
    db.create_session("s", "cli")
    if kind == "postgres":
        dsn, space = request.getfixturevalue("ready_space")
        store = palaver.open(dsn, space=space)
    else:
        store = palaver.open(tmp_path / "palaver.db")
    with store:
        (info,) = store.sessions.list().sessions
        yield db, store.sessions.get(info.id)
