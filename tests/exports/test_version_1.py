"""Exports of version 1, from before facts and usage had rows, are read for ever: two files that were kept say how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import palaver

from . import old_talks
from .support import contents, export, forge_header, group_of, groups, joined, session_of, take

EVERYTHING, COPIED = old_talks.FIRST.everything.read_bytes(), old_talks.FIRST.copied.read_bytes()
TOLD = old_talks.FIRST.told()
ID_OF = {told["title"]: session_id for session_id, told in TOLD.items()}


def test_every_session_is_what_it_was(target: palaver.Store) -> None:
    summary, refused = take(target, EVERYTHING)
    assert (summary.imported, refused) == (11, [])
    assert old_talks.told(target, TOLD) == TOLD
    assert target.verify() == []


def test_the_file_holds_one_of_everything() -> None:
    tables = {json.loads(line)["table"] for line in EVERYTHING.splitlines() if b'{"table"' in line}
    assert len(tables) == 15
    assert TOLD[ID_OF["Races"]]["strays"] and TOLD[ID_OF["Waiting"]]["waiting"] and TOLD[ID_OF["Queued"]]["queue"]
    assert TOLD[ID_OF["Talk"]]["usage"] == [14, 8, 1, 5, 0, 28, 0.25]
    assert "They asked thrice." in json.dumps(TOLD[ID_OF["Compacted"]]["context"])


def test_a_second_import_finds_it_there(target: palaver.Store) -> None:
    take(target, EVERYTHING)
    before = contents(target.path)
    summary, refused = take(target, EVERYTHING)
    assert (summary.already_there, refused) == (11, [])
    assert contents(target.path) == before


def test_what_came_as_version_1_goes_out_as_version_3_and_is_the_same(
    target: palaver.Store, quick: palaver.Store
) -> None:
    take(target, EVERYTHING)
    again = export(target)
    assert again.startswith(b'{"palaver":"export","version":3,"schema":1}\n')
    assert take(quick, again)[1] == []
    assert export(quick) == again
    assert take(target, again)[0].already_there == take(quick, EVERYTHING)[0].already_there == 11


def test_a_session_knows_when_it_last_got_a_message(target: palaver.Store) -> None:
    take(target, EVERYTHING)
    for line in groups(export(target)):
        rows = [json.loads(one) for one in line[1:-1]]
        (head,) = [row for row in rows if row["table"] == "heads"]
        times = [row["created_at"] for row in rows if row["table"] == "chat_messages"]
        assert head["last_message_at"] == max(times, default=None)
        assert (head["ended_at"], head["end_reason"]) == (None, None)


def test_it_is_gone_on_with(path: str) -> None:
    with palaver.open(path) as store:
        take(store, EVERYTHING)
    with palaver.open(path) as store:
        talk, waiting = store.sessions.get(ID_OF["Talk"]), store.sessions.get(ID_OF["Waiting"])
        with talk.turn("And in version 2?") as turn:
            old_talks.answer(turn, "The same.")
            turn.usage(input=1)
        with waiting.resume(waiting.waiting()[0].id) as turn:
            turn.resolve("call-w", output="yes")
        queued = store.sessions.get(ID_OF["Queued"]).claim()
        assert queued is not None
        with queued:
            old_talks.answer(queued, "Fired, too.")
        cut_off = store.sessions.get(ID_OF["Cut off"])
        assert [turn.status for turn in cut_off.path()] == ["aborted"]
        assert cut_off.messages()[-1]["parts"][-1]["text"] == "I am in the middle"
        assert talk.info.total_tokens == 29
        assert store.verify() == []


def test_husks_of_version_1_are_completed(target: palaver.Store) -> None:
    assert take(target, COPIED)[0].imported == 3
    assert target.verify() == []
    copied = target.sessions.get(ID_OF["Copied"])
    assert copied.messages() == TOLD[copied.id]["messages"]
    summary, refused = take(target, EVERYTHING)
    assert (summary.imported, summary.already_there, refused) == (10, 1, [])
    assert old_talks.told(target, TOLD) == TOLD
    assert target.verify() == []


def test_a_husk_of_one_version_meets_the_session_of_the_other(target: palaver.Store, quick: palaver.Store) -> None:
    take(quick, EVERYTHING)
    newer = export(quick)
    take(target, COPIED)
    assert take(target, newer)[1] == []
    assert export(target) == newer
    summary, refused = take(target, COPIED)
    assert (summary.already_there, refused) == (3, [])


@pytest.mark.parametrize(
    "table, columns, why",
    [
        ("heads", {"ended_at": None}, "heads has no column 'ended_at'"),
        ("usage", {}, "an export of version 1 has no table 'usage'"),
        ("session_facts", {}, "an export of version 1 has no table 'session_facts'"),
        ("natives", {}, "an export of version 1 has no table 'natives'"),
    ],
)
def test_what_came_later_is_not_in_version_1(
    table: str, columns: dict[str, None], why: str, target: palaver.Store
) -> None:
    group = group_of(EVERYTHING, ID_OF["Talk"])
    row = json.loads(group[2]) | {"table": table} | columns
    forged = [*group[:2], json.dumps(row).encode() + b"\n", *group[3:]]
    assert take(target, forge_header(joined([forged]), 1))[1][0].why == why


def test_version_2_needs_all_its_columns(target: palaver.Store) -> None:
    refused = take(target, forge_header(EVERYTHING, 2))[1]
    assert {one.why for one in refused} == {"heads has a column ended_at, this line has not"}


def test_a_later_version_is_refused_by_its_name(target: palaver.Store) -> None:
    with pytest.raises(palaver.PalaverError, match="version 4, this Palaver knows up to 3; upgrade Palaver; nothing"):
        take(target, forge_header(EVERYTHING, 4))
    assert sum(map(len, contents(target.path).values())) == 0


def test_the_sessions_that_were_told_of_are_those_in_the_file() -> None:
    assert {session_of(group) for group in groups(EVERYTHING)} == set(TOLD)
    assert {path.name for path in Path(old_talks.HERE).glob("version_1*")} == {
        *("version_1.json", "version_1.jsonl", "version_1_copied.jsonl"),
    }
