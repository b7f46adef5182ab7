"""A `state.db` comes in and goes out without a loss: import(export(import(x))) = import(x), row for row."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from palaver.dialects.hermes.exporting import export_file
from palaver.dialects.hermes.importing import import_file

from .files import content_of, held
from .talks import FILES

STATE = {"id", "message_count", "tool_call_count"}


@pytest.mark.parametrize("version", FILES)
def test_what_comes_in_goes_out_and_comes_in_as_the_same(store: palaver.Store, tmp_path: Path, version: str) -> None:
    source = FILES[version](tmp_path / "state.db")
    first = import_file(store, source)
    assert first.problems == [] and first.unreadable == []
    assert (first.rows, first.known) == (len(content_of(source)["messages"]), 0)

    export_file(store, tmp_path / "out.db")
    with palaver.open(tmp_path / "other.db") as other:
        again = import_file(other, tmp_path / "out.db")
        assert again.problems == []
        there, here = held(other), held(store)
        assert there.keys() == here.keys()
        for name in here:
            assert there[name] == here[name]
        assert other.verify() == []
    assert store.verify() == []


@pytest.mark.parametrize("version", FILES)
def test_rows_go_out_as_they_came(store: palaver.Store, tmp_path: Path, version: str) -> None:
    source = FILES[version](tmp_path / "state.db")
    import_file(store, source)
    export_file(store, tmp_path / "out.db")
    before, after = content_of(source), content_of(tmp_path / "out.db")

    def said(row: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in row.items() if name not in STATE and (value != 0 or name == "active")}

    sessions = {str(row["id"]): said(row) for row in after["sessions"]}
    for row in before["sessions"]:
        expected = said(row) | ({"weather": "fine"} if row.get("weather") == "fine" else {})
        expected = {name: value for name, value in expected.items() if value != "rain"}
        assert sessions[str(row["id"])] == expected
    by_session: dict[str, list[dict[str, object]]] = {}
    for row in after["messages"]:
        by_session.setdefault(str(row["session_id"]), []).append(_plain(row))
    for name, rows in by_session.items():
        assert rows == [_plain(row) for row in before["messages"] if row["session_id"] == name]


def _plain(row: dict[str, object]) -> dict[str, object]:
    defaults = {"active": 1, "compacted": 0, "observed": 0}
    return {name: value for name, value in row.items() if name != "id" and defaults.get(name, "") != value}


@pytest.mark.parametrize("version", FILES)
def test_a_second_time_nothing_is_written(store: palaver.Store, tmp_path: Path, version: str) -> None:
    source = FILES[version](tmp_path / "state.db")
    first = import_file(store, source)
    before = {info.id: (store.sessions.get(info.id).cursor(), info) for info in store.sessions.list(archived=True)}
    again = import_file(store, source)
    assert (again.new_sessions, again.turns, again.rows, again.known) == (0, 0, 0, first.rows)
    after = {info.id: (store.sessions.get(info.id).cursor(), info) for info in store.sessions.list(archived=True)}
    assert after == before
