"""Many processes with a `SessionDB` each on one place: nobody is turned away, nothing is lost or invented."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver

from ...load.crowd import wal_size
from ...tools.puppet import LONG, Crew, Report
from .jobs import opened, round_of
from .support import WITNESS, call, contents, counts, roles

CREW = Crew("tests.dialects.hermes.jobs", LONG)
PROCESSES = 8
MB = 1 << 20
pytestmark = pytest.mark.xdist_group("hermes-crowd")  # the crowd is there once

# ---------------------------------------------------------------- a crowd


class Crowd:
    """What 8 processes said that they did, and what is there afterwards."""

    def __init__(self, kind: str, place: str, rounds: int, sessions: list[str]) -> None:
        opened(kind, place).close()
        jobs = [
            {"job": "write", "kind": kind, "place": place, "session": session, "me": f"p{number}", "rounds": rounds}
            for number, session in enumerate(sessions)
        ]
        self.kind, self.rounds = kind, rounds
        self.reports: list[Report] = CREW.together(jobs)
        db = opened(kind, place)
        self.rows = {session: db.get_messages(session) for session in sorted(set(sessions))}
        self.counts = {session: counts(db, session) for session in self.rows}
        self.found = {hit["session_id"] for hit in db.search_messages("question", limit=10_000)}
        self.total = db.message_count()
        db.close()


ALONE, TOGETHER = [f"of p{number}" for number in range(PROCESSES)], ["of all"] * PROCESSES


@pytest.fixture(scope="module", params=["file", *(["witness"] if WITNESS else [])])
def kind_of_file(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def alone(kind_of_file: str, tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    """Each in a session of its own."""
    return Crowd(kind_of_file, str(tmp_path_factory.mktemp("alone") / "palaver.db"), 25, ALONE)


@pytest.fixture(scope="module")
def together(kind_of_file: str, tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    """All in one session."""
    return Crowd(kind_of_file, str(tmp_path_factory.mktemp("together") / "palaver.db"), 12, TOGETHER)


def nobody_was_turned_away(crowd: Crowd) -> None:
    assert [error for report in crowd.reports for error in report["errors"]] == []
    assert [len(report["ids"]) for report in crowd.reports] == [4 * crowd.rounds] * PROCESSES


def all_rows_are_there(crowd: Crowd) -> None:
    given = {id: text for report in crowd.reports for id, text in report["ids"]}
    assert len(given) == 4 * crowd.rounds * PROCESSES == crowd.total
    assert {row["id"]: row["content"] for rows in crowd.rows.values() for row in rows} == given
    for rows in crowd.rows.values():
        ids = [row["id"] for row in rows]
        assert ids == sorted(ids)
    for report in crowd.reports:
        ids = [id for id, _ in report["ids"]]
        assert ids == sorted(set(ids))
    assert crowd.found == set(crowd.rows)


def counts_are_the_real_ones(crowd: Crowd) -> None:
    for session, rows in crowd.rows.items():
        assert crowd.counts[session] == (len(rows), sum(len(row["tool_calls"] or ()) for row in rows))


def test_promise_113_eight_processes_see_no_error(alone: Crowd) -> None:
    nobody_was_turned_away(alone)


def test_promise_113_eight_processes_in_one_session_see_no_error(together: Crowd) -> None:
    nobody_was_turned_away(together)


def test_every_row_of_eight_processes_is_there_under_its_number(alone: Crowd) -> None:
    all_rows_are_there(alone)
    for report in alone.reports:
        said = [row["content"] for number in range(alone.rounds) for row in round_of(report["me"], number)]
        assert [row["content"] for row in alone.rows[report["session"]]] == said


def test_every_row_of_eight_processes_is_there_in_one_session(together: Crowd) -> None:
    all_rows_are_there(together)
    (rows,) = together.rows.values()
    for me in (report["me"] for report in together.reports):
        said = [row for number in range(together.rounds) for row in round_of(me, number)]
        mine = [row for row in rows if row["content"].startswith(f"{me} ")]
        assert [(row["role"], row["content"]) for row in mine] == [(row["role"], row["content"]) for row in said]
        assert [row["tool_calls"] for row in mine] == [row.get("tool_calls") for row in said]
        assert [row["tool_call_id"] for row in mine] == [row.get("tool_call_id") for row in said]


def test_promise_161_the_counts_of_a_crowd_are_the_real_ones(alone: Crowd, together: Crowd) -> None:
    counts_are_the_real_ones(alone)
    counts_are_the_real_ones(together)


def test_promise_116_nobody_waits_while_the_others_go_round_and_round(alone: Crowd) -> None:
    """Rows of others between two of one's own: of all that the others wrote, never more than half."""
    if alone.kind == "witness":
        return  # it starves some; that is what the promise is about
    order = sorted((id, report["me"]) for report in alone.reports for id, _ in report["ids"])
    last: dict[str, int] = {}
    worst = 0
    for place, (_, me) in enumerate(order):
        worst = max(worst, place - last.get(me, place - 1) - 1)
        last[me] = place
    print(f"overtaken by at most {worst} of {len(order)}")
    assert worst <= len(order) / 2


@pytest.mark.long
@pytest.mark.parametrize("sessions", [ALONE, TOGETHER], ids=["alone", "together"])
def test_promise_113_a_long_day_of_eight_processes(tmp_path: Path, sessions: list[str]) -> None:
    crowd = Crowd("file", str(tmp_path / "palaver.db"), 150, sessions)
    nobody_was_turned_away(crowd)
    all_rows_are_there(crowd)
    counts_are_the_real_ones(crowd)


def test_eight_processes_on_a_server(ready_space: tuple[str, str]) -> None:
    crowd = Crowd("postgres", "#".join(ready_space), 3, ["one", "one", "two", *ALONE[3:]])
    nobody_was_turned_away(crowd)
    all_rows_are_there(crowd)
    counts_are_the_real_ones(crowd)


# ---------------------------------------------------------------- killed


@pytest.fixture
def killed(kind: str, file: Path) -> tuple[Any, list[int]]:
    """A process asked and called, and was killed: what is there, and the numbers that it was given."""
    opened(kind, str(file)).close()
    with CREW.start("append", kind=kind, place=str(file), session="s") as puppet:
        ids = []
        for row in round_of("p", 0)[:2]:
            puppet.tell(row)
            ids.append(puppet.hear())
        puppet.kill()
    return opened(kind, str(file)), ids


def test_a_call_of_a_killed_process_waits_and_is_answered_by_the_next(killed: tuple[Any, list[int]]) -> None:
    db, ids = killed
    assert contents(db, "s") == ["p 0 question", "p 0 call"]
    for row in round_of("p", 0)[2:]:
        ids.append(db.append_message("s", **row))
    rows = db.get_messages("s")
    assert [row["content"] for row in rows] == ["p 0 question", "p 0 call", "p 0 result", "p 0 answer"]
    assert [row["id"] for row in rows] == ids == sorted(ids)
    assert counts(db, "s") == (4, 1)
    db.close()


def test_a_call_of_a_killed_process_is_closed_by_the_next_row_and_nothing_is_invented(
    killed: tuple[Any, list[int]],
) -> None:
    db, ids = killed
    ids.append(db.append_message("s", "user", "are you there?"))
    assert roles(db, "s") == ["user", "assistant", "user"]
    assert contents(db, "s") == ["p 0 question", "p 0 call", "are you there?"]
    assert counts(db, "s") == (3, 1)
    ids.append(db.append_message("s", **round_of("p", 0)[2]))
    assert contents(db, "s") == ["p 0 question", "p 0 call", "are you there?", "p 0 result"]
    assert [row["id"] for row in db.get_messages("s")] == ids
    assert counts(db, "s") == (4, 1)
    db.close()


def test_a_call_that_was_closed_is_closed_for_palaver(mine: Any, path_of_ours: Path) -> None:
    mine.create_session("s", "cli")
    mine.append_message("s", "assistant", "look", tool_calls=[call("c1")])
    with palaver.open(path_of_ours) as store:
        (info,) = store.sessions.list().sessions
        session = store.sessions.get(info.id)
        assert len(session.waiting()) == 1
        mine.append_message("s", "user", "never mind")
        assert session.waiting() == []
        answer = next(message for message in session.messages() if message["role"] == "assistant")
        (part,) = (part for part in answer["parts"] if part["type"].startswith(("tool-", "dynamic-tool")))
        assert part["state"] == "output-error"
        assert store.verify() == []


# ---------------------------------------------------------------- locks and the log


def beside(kind: str, file: Path) -> Any:
    """Another connection to the file, by the same library: closing one of another would drop the locks of the first."""
    if kind == "witness":
        return sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other = apsw.Connection(str(file))
    other.set_busy_timeout(5_000)
    return other


def test_promise_114_a_writer_waits_for_a_program_that_holds_the_lock(db: Any, kind: str, file: Path) -> None:
    """It shows at the beginning, and is waited for: nothing fails in the middle."""
    db.create_session("s", "cli")
    other = beside(kind, file)

    def hold() -> None:
        for _ in range(5):
            other.execute("BEGIN IMMEDIATE")
            time.sleep(0.02)
            other.execute("ROLLBACK")
            time.sleep(0.002)

    thread = threading.Thread(target=hold)
    thread.start()
    texts = []
    while thread.is_alive():
        for row in round_of("p", len(texts)):
            texts.append(row["content"])
            db.append_message("s", **row)
    thread.join()
    other.close()
    assert contents(db, "s") == texts
    assert counts(db, "s") == (len(texts), len(texts) // 4)


def test_promise_115_the_log_stays_bounded(mine: Any, path_of_ours: Path) -> None:
    mine.create_session("s", "cli")
    greatest = 0
    for number in range(500):
        mine.append_message("s", "user", f"message {number} " + "x" * 4_000)
        greatest = max(greatest, wal_size(str(path_of_ours)))
    print(f"{greatest // 1024} KB")
    assert 0 < greatest <= 16 * MB


READS: dict[str, Callable[[Any], Any]] = {
    "get_session": lambda db: db.get_session("s"),
    "get_messages": lambda db: db.get_messages("s"),
    "conversation": lambda db: db.get_messages_as_conversation("s"),
    "search": lambda db: db.search_messages("fox"),
    "list": lambda db: db.list_sessions_rich(),
    "export": lambda db: db.export_all(),
    "count": lambda db: (db.session_count(), db.message_count()),
    "resolve": lambda db: (db.resolve_session_id("s"), db.resolve_session_by_title("T"), db.get_compression_tip("s")),
}


def test_promise_117_a_writer_holds_up_no_reader(db: Any, kind: str, file: Path) -> None:
    db.create_session("s", "cli")
    db.set_session_title("s", "T")
    for row in round_of("fox", 0):
        db.append_message("s", **row)
    before = {name: read(db) for name, read in READS.items()}
    writer = beside(kind, file)
    writer.execute("BEGIN IMMEDIATE")
    assert {name: read(db) for name, read in READS.items()} == before
    writer.close()


def test_promise_117_a_reader_holds_up_no_writer(db: Any, kind: str, file: Path) -> None:
    db.create_session("s", "cli")
    reader = beside(kind, file)
    reader.execute("BEGIN")
    before = reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
    for number in range(60):
        db.append_message("s", "user", str(number))
    assert reader.execute("SELECT count(*) FROM sqlite_master").fetchall() == before
    reader.close()
    assert counts(db, "s") == (60, 0)
