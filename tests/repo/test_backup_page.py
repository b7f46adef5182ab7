"""The commands under Backup in docs/operations.md, as they are printed, on a store that somebody is writing."""

from __future__ import annotations

from pathlib import Path

import palaver

from .test_pages import BLOCK, REPO, run_block

PAGE = (REPO / "docs" / "operations.md").read_text()


def test_a_store_in_use_is_exported_and_restored_with_what_was_being_written(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        turn = store.sessions.create(id="live").turn("Tell me.")
        turn.text("Once upon ")
        with store.sessions.create(id="asks").turn("Delete it.") as waits:
            waits.tool("rm").ask()
        for _, commands, _ in BLOCK.findall(PAGE.split("## Backup")[1].split("\n## ")[0]):
            run_block("sh", commands, tmp_path)
        turn.text("a time.")
    with palaver.open(tmp_path / "restored.db", create=False) as restored:
        half = restored.sessions.get("live")
        assert [turn.status for turn in half.path()] == ["aborted"]
        assert half.messages()[1]["parts"][1]["text"] == "Once upon "
        assert len(restored.sessions.get("asks").waiting()) == 1
