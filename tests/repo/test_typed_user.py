"""The code that type checkers are shown as right is right: it runs, and what comes back is what they were told."""

from __future__ import annotations

import asyncio
from pathlib import Path

from . import typed_user


def test_it_runs(tmp_path: Path) -> None:
    typed_user.talk(str(tmp_path / "talks.db"))


def test_it_runs_with_asyncio(tmp_path: Path) -> None:
    asyncio.run(typed_user.async_talk(str(tmp_path / "talks.db")))
