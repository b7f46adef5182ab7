"""What holds while others write, on any engine: a check disturbs nobody, and a repair undoes nothing.

A store is defaced as by another program (`deface` runs one statement), then mended while a process writes to the same
session: it is told to at every report of progress, so always after the check has begun and before anything is mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import palaver
from palaver.testing import ask

from ..tools.puppet import LONG, Crew, Puppet
from ..tools.waiting import until

CREW = Crew("tests.opening.writing", LONG)
Deface = Callable[[str], object]


@contextmanager
def writer(url: str, session: palaver.Session, job: str = "obey") -> Iterator[Puppet]:
    with CREW.ready([{"job": job, "url": url, "session": session.id}]) as (worker,):
        yield worker


def fixed_beside(store: palaver.Store, worker: Puppet, verb: str) -> list[palaver.Problem]:
    """Mend, while the other process does this again and again."""

    def meanwhile(turns: int, sessions: int) -> None:
        worker.tell(verb)
        assert worker.hear() == "done"

    return store.verify(fix=True, progress=meanwhile)


def talk(store: palaver.Store) -> palaver.Session:
    session = store.sessions.create(agent="a")
    for number in range(3):
        ask(session, f"question {number}", f"answer {number}")
    return session


def sums_are_right_although_tokens_came_in_between(store: palaver.Store, url: str, deface: Deface) -> None:
    session = talk(store)
    deface("UPDATE chat_sessions SET prompt_tokens = 99, total_tokens = 99")
    with writer(url, session) as worker:
        assert fixed_beside(store, worker, "commit") == []
    assert store.verify() == []
    commits = sum(message["role"] == "assistant" for message in session.messages()) - 3
    assert commits >= 2 and (session.info.usage.input, session.info.usage.output) == (3 * commits, 5 * commits)


def stamps_are_right_although_the_head_moved_in_between(store: palaver.Store, url: str, deface: Deface) -> None:
    session = talk(store)
    deface("UPDATE chat_messages SET metadata_json = '{\"hidden_at\":1}'")
    with writer(url, session) as worker:
        assert fixed_beside(store, worker, "sway") == []
    assert store.verify() == []


def part_rows_are_right_although_the_turn_went_on_in_between(store: palaver.Store, url: str, deface: Deface) -> None:
    session = store.sessions.create(agent="a")
    with session.turn("look it up") as turn:
        turn.append(
            [{"type": "start"}, {"type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": 1}]
        )
        turn.wait()
    deface('UPDATE chat_parts SET data_json = \'{"type":"tool-t","x":1}\' WHERE tool_call_id = \'c\'')
    with writer(url, session) as worker:
        assert fixed_beside(store, worker, "resolve") == []
    assert store.verify() == []
    assert session.messages()[-1]["parts"][-1]["output"] == 42


CLAIMS = (
    sums_are_right_although_tokens_came_in_between,
    stamps_are_right_although_the_head_moved_in_between,
    part_rows_are_right_although_the_turn_went_on_in_between,
)


def a_writer_goes_on_beside_checks_and_repairs(store: palaver.Store, url: str, deface: Deface, times: int) -> None:
    session = talk(store)
    with writer(url, session, "go_on") as worker:
        begun = session.info.revision
        worker.tell()
        until(lambda: session.info.revision > begun, "the writer writes")
        for _ in range(times):
            assert store.verify() == []
            deface("UPDATE heads SET preview = 'something else'")
            deface("UPDATE chat_sessions SET prompt_tokens = 99")
            assert store.verify(fix=True) == []
        worker.tell("stop")
        report = worker.hear()
    assert report["errors"] == [] and report["count"] > 0
    assert store.verify() == []
