"""What is installed: the code, its SQL, and what tells type checkers that there are types."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

import palaver

REPO = Path(__file__).parent.parent.parent
SOURCE = Path(palaver.__file__).parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files in a wheel that is built here."""
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(REPO)).build(directory=str(folder))
    with ZipFile(built) as archive:
        return set(archive.namelist())


def test_the_wheel_says_that_it_is_typed_and_has_the_stub(wheel: set[str]) -> None:
    assert {"palaver/py.typed", "palaver/aio.pyi"} <= wheel


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: set[str]) -> None:
    here = {path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    about = {name for name in wheel if name.startswith("palaver_store-")}
    assert wheel - about == {str(path.relative_to(SOURCE.parent)) for path in here}
