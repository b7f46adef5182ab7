"""A room whose modules are imported on demand says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from palaver.base.lazy_import import on_demand
from palaver.core import verbs


def test_a_name_that_is_no_module_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        verbs.nonsense  # type: ignore[attr-defined] # noqa: B018


def test_a_package_that_a_module_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "a_room_of_a_test"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "part.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        on_demand("a_room_of_a_test")("part")
