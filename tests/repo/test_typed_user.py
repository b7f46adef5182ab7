"""The code that type checkers are shown as right is right: it runs, and what comes back is what they were told."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

from . import typed_user


def test_it_runs(tmp_path: Path) -> None:
    typed_user.talk(str(tmp_path / "talks.db"))


def test_it_runs_with_asyncio(tmp_path: Path) -> None:
    asyncio.run(typed_user.async_talk(str(tmp_path / "talks.db")))


def test_both_type_checkers_read_it_and_the_examples() -> None:
    tools = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]
    mine = {"examples", "tests/repo/typed_user.py"}
    assert mine < set(tools["mypy"]["files"]) and mine <= set(tools["pyright"]["include"])
    assert tools["mypy"]["strict"] and tools["pyright"]["reportUnnecessaryTypeIgnoreComment"]
