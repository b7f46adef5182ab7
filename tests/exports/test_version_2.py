"""Exports of version 2, from before items of other programs were kept, are read for ever: two files that were kept."""

from __future__ import annotations

import json

import palaver

from . import old_talks
from .support import contents, export, forge_header, group_of, joined, signed, take

EVERYTHING, COPIED = old_talks.SECOND.everything.read_bytes(), old_talks.SECOND.copied.read_bytes()
TOLD = old_talks.SECOND.told()
ID_OF = {told["title"]: session_id for session_id, told in TOLD.items()}


def test_every_session_is_what_it_was(target: palaver.Store) -> None:
    summary, refused = take(target, EVERYTHING)
    assert (summary.imported, refused) == (12, [])
    assert old_talks.told(target, TOLD) == TOLD
    assert target.verify() == []


def test_the_file_holds_one_of_everything() -> None:
    assert EVERYTHING.startswith(b'{"palaver":"export","version":2,"schema":1}\n')
    tables = {json.loads(line)["table"] for line in EVERYTHING.splitlines() if b'{"table"' in line}
    assert len(tables) == 18 and "natives" not in tables


def test_usage_facts_and_an_end_are_what_they_were(target: palaver.Store) -> None:
    take(target, EVERYTHING)
    counted = target.sessions.get(ID_OF["Counted"])
    assert [(one.key, one.source, one.usage.input) for one in counted.usage()] == [
        *(("resp-1", "turn", 7), ("resp-2", "turn", 3), ("resp-3", "title", 4)),
    ]
    assert counted.facts == {"note": "kept", "project": "palaver", "source": "cli"}
    assert counted.info.end_reason == "all counted"


def test_a_second_import_finds_it_there(target: palaver.Store) -> None:
    take(target, EVERYTHING)
    before = contents(target.path)
    summary, refused = take(target, EVERYTHING)
    assert (summary.already_there, refused) == (12, [])
    assert contents(target.path) == before


def test_what_came_as_version_2_goes_out_as_version_3_and_is_the_same(
    target: palaver.Store, quick: palaver.Store
) -> None:
    take(target, EVERYTHING)
    again = export(target)
    assert again == forge_header(EVERYTHING, 3)
    assert take(quick, again)[1] == []
    assert take(quick, EVERYTHING)[0].already_there == 12


def test_husks_of_version_2_are_completed(target: palaver.Store) -> None:
    assert take(target, COPIED)[0].imported == 3
    assert target.verify() == []
    assert take(target, EVERYTHING)[1] == []
    assert old_talks.told(target, TOLD) == TOLD
    assert target.verify() == []


def test_version_2_has_no_items(target: palaver.Store) -> None:
    group = group_of(EVERYTHING, ID_OF["Talk"])
    forged = signed([*group[:-1], b'{"table":"natives"}\n', group[-1]])
    refused = take(target, forge_header(joined([forged]), 2))[1]
    assert refused[0].why == "an export of version 2 has no table 'natives'"
