"""A store that is refused for one option keeps nothing of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver


def test_a_store_that_was_not_opened_did_not_choose_to_keep_everything(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    with pytest.raises(palaver.BadValue):
        palaver.open(path, events="full", save_on="nonsense")
    with palaver.open(path) as store:
        store.sessions.create("coder").commit("Hello?")
        assert store.db is store._engine
