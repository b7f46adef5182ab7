"""`palaver lineage`: where a session came from, and what came from it, as an indented tree."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import palaver

from .run import Cli


@pytest.fixture
def family(tmp_path: Path) -> Cli:
    with palaver.open(tmp_path / "talks.db") as store:
        first = store.sessions.create("coder", title="The build", id="first")
        first.commit("Why?")
        again = store.sessions.create("coder", title="The build #2", parent=first, relation="continue", id="again")
        again.commit("And now?")
        store.sessions.create("looker", parent=again, id="helper").commit("Look it up.")
        again.fork(title="Another way").delete()
        last = store.sessions.create("coder", title="The build #3", parent=again, relation="continue", id="last")
        last.archive()
        store.sessions.create("coder", title="Stranger")
    return Cli(tmp_path, tmp_path / "talks.db")


def shape(text: str) -> list[str]:
    """The lines, without what is another one each time: ids and times."""
    return [re.sub(r"ses_\w{26} (now|\d+[smhd])", "ID", line) for line in text.splitlines()]


def test_a_session_stands_below_what_it_came_from_and_above_what_came_from_it(family: Cli) -> None:
    assert shape(family.ok("lineage", "again")) == [
        "  ID root The build",
        "*   ID continue The build #2",
        "      ID spawn Look it up.",
        "      ID fork [deleted] Another way",
        "      ID continue [archived] The build #3",
    ]
    assert shape(family.ok("lineage", "last")) == [
        "  ID root The build",
        "    ID continue The build #2",
        "*     ID continue [archived] The build #3",
    ]
    assert shape(family.ok("lineage", "Stranger")) == ["* ID root Stranger"]


def test_for_programs_it_is_a_list_with_levels_and_origins(family: Cli) -> None:
    told = family.json("lineage", "again")
    ids = {one["app_id"]: one["id"] for one in told["sessions"]}
    assert (told["session"], told["tip"]) == (ids["again"], ids["last"])
    named = [(one["level"], one["app_id"], one["origin_id"]) for one in told["sessions"] if one["app_id"]]
    again = ids["again"]
    assert named == [(0, "first", None), (1, "again", ids["first"]), (2, "helper", again), (2, "last", again)]
    assert told["sessions"][1]["last_message_at"] and told["sessions"][4]["last_message_at"] is None


def test_a_fork_in_which_nothing_was_said_stands_below_where_it_was_made(tmp_path: Path) -> None:
    """The column of the contract names the session that the nearest question is in."""
    with palaver.open(tmp_path / "talks.db") as store:
        first = store.sessions.create("coder", title="1")
        first.commit("Why?")
        first.fork(title="2").fork(title="3")
    shown = shape(Cli(tmp_path, tmp_path / "talks.db").ok("lineage", "1"))
    assert shown == ["* ID root 1", "    ID fork 2", "      ID fork 3"]


def test_a_very_long_line_stays_readable(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db", durability="normal") as store:
        at = store.sessions.create("coder", title="0", id="eldest")
        for number in range(1, 1_201):
            at = store.sessions.create("coder", title=str(number), parent=at)
    lines = shape(Cli(tmp_path, tmp_path / "talks.db").ok("lineage", "eldest"))
    assert len(lines) == 1_201
    assert lines[20] == " " * 42 + "ID spawn 20"
    assert lines[1_200] == " " * 42 + "(1200) ID spawn 1200"


def test_a_circle_that_another_program_made_is_drawn_once(tmp_path: Path) -> None:
    palaver.open(tmp_path / "talks.db").close()
    columns = "id, agent, model_json, parent_id, created_at, updated_at"
    with sqlite3.connect(tmp_path / "talks.db") as db:
        for name, parent in (("one", "three"), ("two", "one"), ("three", "two")):
            db.execute(f"INSERT INTO chat_sessions ({columns}) VALUES (?, 'x', '{{}}', ?, 1, 1)", (name, parent))
    db.close()
    told = Cli(tmp_path, tmp_path / "talks.db").json("lineage", "one")["sessions"]
    assert sorted(one["id"] for one in told) == ["one", "three", "two"]


def test_names_of_another_program_cannot_act_on_the_terminal(attacked: Path, tmp_path: Path) -> None:
    said = Cli(tmp_path, attacked).ok("lineage", "@")
    assert "\x1b" not in said and "\u202e" not in said


def test_who_is_not_there_has_no_lineage(family: Cli) -> None:
    family.refused("lineage", "nobody", code=3)
    assert "did you mean `palaver lineage`" in family.refused("ancestors", code=2)
