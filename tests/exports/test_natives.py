"""Items of other programs go where their turns go, byte for byte, however they are packed, and are known there."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable

import pytest

import palaver

from ..tools.sql import execute, query
from . import rich
from .conftest import Source
from .support import contents, export, forge_header, group_of, groups, joined, signed, take

Scratch = Callable[[str], palaver.Store]
PACKED = "SELECT item, codec FROM natives ORDER BY item"
ALL = [("g-1", None), ("g-2", "zstd"), ("g-3", None), ("g-4", None)]


def items(store: palaver.Store) -> list[palaver.Native]:
    session = store.sessions.get("s-1")
    return [item for turn in session.tree() for item in store.natives(turn.id)]


def test_an_item_in_a_file_is_base64_of_the_bytes_that_were_given(source: Source) -> None:
    lines = group_of(source.data, source.ids["grafted"])
    rows = [json.loads(line) for line in lines if line.startswith(b'{"table":"natives"')]
    assert {row["item"]: b64decode(row["body"]) for row in rows} == {
        item.item: item.body for item in items(source.store)
    }
    assert [row["body"] for row in rows if row["item"] == "g-1"] == ["eyJpZCI6ICJnLTEifQ=="]
    assert len(next(row["body"] for row in rows if row["item"] == "g-2")) > 6000


def test_items_come_along_and_are_packed_again(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    assert query(source.store.path, PACKED) == query(target.path, PACKED) == ALL
    assert items(target) == items(source.store)
    assert target.verify() == []


def test_what_was_grafted_is_known_where_it_was_imported(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    (same,) = target.graft(rich.grafted_source()).sessions
    assert (same.session_id, same.is_new, same.turns, same.items) == (source.ids["grafted"], False, 0, 0)
    (grown,) = target.graft(rich.grafted_source(rich._turn("g-5", "came later", b"5"))).sessions
    assert (grown.turns, grown.items) == (1, 1)
    assert target.verify() == []


def test_what_was_grafted_is_known_where_it_was_copied(target: palaver.Store, scratch: Scratch) -> None:
    here = scratch("here")
    here.graft(rich.grafted_source())
    assert palaver.copy(here, target).problems == []
    (same,) = target.graft(rich.grafted_source()).sessions
    assert (same.is_new, same.turns, same.items) == (False, 0, 0)


def test_a_copy_names_a_session_whose_items_did_not_arrive(target: palaver.Store, scratch: Scratch) -> None:
    here = scratch("here")
    here.graft(rich.grafted_source())
    palaver.copy(here, target)
    execute(target.path, "DELETE FROM natives WHERE item = 'g-3'")
    (problem,) = palaver.copy(here, target).problems
    assert "exists and differs" in problem.why


def test_an_item_that_was_erased_is_null_in_a_file_and_stays_known(target: palaver.Store, scratch: Scratch) -> None:
    here = scratch("here")
    here.graft(rich.grafted_source())
    execute(here.path, "UPDATE natives SET body = NULL, codec = NULL WHERE item = 'g-2'")
    assert take(target, export(here))[1] == []
    assert [item.item for item in items(target) if item.body is None] == ["g-2"]
    assert target.graft(rich.grafted_source()).sessions[0].turns == 0
    assert export(target) == export(here)
    assert target.verify() == here.verify() == []


def test_an_item_that_cannot_be_unpacked_is_named_and_the_others_are_exported(scratch: Scratch) -> None:
    here = scratch("here")
    here.graft(rich.grafted_source())
    here.sessions.create("a").commit("fine")
    execute(here.path, "UPDATE natives SET body = x'00ff' WHERE item = 'g-2'")
    with pytest.raises(palaver.BadValue, match=r"item g-2 of turn trn_\w+ cannot be exported"):
        export(here)
    assert len(palaver.copy(here, scratch("there")).problems) == 1
    assert len(list(scratch("there").sessions)) == 1


# ---------------------------------------------------------------- husks


def forked(here: palaver.Store) -> tuple[bytes, bytes]:
    """The export of a fork, with a husk of what was grafted; and of everything."""
    here.graft(rich.grafted_source())
    first, *_ = here.sessions.get("s-1").path()
    fork = here.sessions.get("s-1").fork(at=first)
    fork.commit("apart")
    return export(here, [fork.id]), export(here)


def test_a_husk_has_the_items_of_its_turns_and_is_completed(target: palaver.Store, scratch: Scratch) -> None:
    some, whole = forked(scratch("here"))
    take(target, some)
    assert query(target.path, PACKED) == ALL[:1]
    assert target.verify() == []
    assert take(target, whole)[1] == []
    assert export(target) == whole


def test_a_husk_takes_in_the_items_of_more_turns(target: palaver.Store, scratch: Scratch) -> None:
    here = scratch("here")
    some, _ = forked(here)
    grafted = here.sessions.get("s-1")
    more = grafted.fork(at=next(turn for turn in grafted.tree() if here.natives(turn.id)[0].item == "g-2"))
    more.commit("further on")
    take(target, some)
    assert take(target, export(here, [more.id]))[1] == []
    assert query(target.path, PACKED) == ALL[:2]
    assert target.verify() == []


def test_a_husk_with_another_item_than_the_store_has_is_refused_at_its_line(
    target: palaver.Store, scratch: Scratch
) -> None:
    here = scratch("here")
    some, _ = forked(here)
    take(target, some)
    execute(target.path, "UPDATE natives SET item = 'g-other'")
    grafted = here.sessions.get("s-1")
    further = grafted.fork(at=next(turn for turn in grafted.tree() if here.natives(turn.id)[0].item == "g-2"))
    further.commit("further on")
    data = export(here, [further.id])
    before = contents(target.path)
    husk, *_ = take(target, data)[1]
    assert "item 'g-1'" in husk.why and "with another content" in husk.why
    assert b'"item":"g-1"' in data.splitlines()[husk.line - 1]
    assert contents(target.path)["natives"] == before["natives"]


def test_a_whole_session_of_version_2_leaves_the_items_of_a_husk(target: palaver.Store, scratch: Scratch) -> None:
    some, whole = forked(scratch("here"))
    take(target, some)
    older = without_items(whole)
    assert take(target, older)[1] == []
    assert query(target.path, PACKED) == ALL[:1]
    assert target.verify() == []


def without_items(data: bytes) -> bytes:
    """As a Palaver of version 2 writes it."""
    parts = [[line for line in group if not line.startswith(b'{"table":"natives"')] for group in groups(data)]
    return forge_header(joined([signed(part) for part in parts]), 2)


def test_an_export_of_version_2_is_the_same_session_as_one_with_items(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    summary, refused = take(target, without_items(source.data))
    assert (summary.already_there, refused) == (12, [])


def test_items_are_in_the_group_of_their_session_after_its_usage(source: Source) -> None:
    group = group_of(source.data, source.ids["grafted"])
    tables = list(dict.fromkeys(json.loads(line).get("table") for line in group[1:-1]))
    assert tables[-2:] == ["usage", "natives"]
    assert source.data.count(b'{"table":"natives"') == 4
