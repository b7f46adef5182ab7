"""Some sessions only: what they stand on comes along as husks, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import palaver
from palaver.exports import Summary

from . import rich
from .conftest import Source
from .support import change, contents, export, group_of, groups, joined, session_of, signed, take

Scratch = Callable[[str], palaver.Store]


def husks(data: bytes) -> set[str]:
    return {session_of(group) for group in groups(data) if json.loads(group[0]).get("husk")}


def test_a_fork_alone_brings_husks_of_the_sessions_it_stands_on(source: Source, target: palaver.Store) -> None:
    data = export(source.store, [source.ids["second"]])
    assert {session_of(group) for group in groups(data)} == {source.ids[n] for n in ("main", "fork", "second")}
    assert husks(data) == {source.ids["main"], source.ids["fork"]}
    assert take(target, data)[0].imported == 3
    assert target.sessions.get(source.ids["second"]).messages_json() == source.messages("second")
    assert target.verify() == []


def test_every_session_can_be_taken_alone(source: Source, scratch: Scratch) -> None:
    for name, session_id in source.ids.items():
        store = scratch(name)
        data = export(source.store, [session_id])
        assert take(store, data)[1] == [], name
        assert store.verify() == [], name
        assert export(store) == data, name
        if name != "deleted":
            assert store.sessions.get(session_id).messages_json() == source.messages(name), name


def test_undo_in_a_fork_taken_alone_reaches_what_it_reached_before(source: Source, target: palaver.Store) -> None:
    take(target, export(source.store, [source.ids["fork"]]))
    fork = target.sessions.get(source.ids["fork"])
    fork.redo()
    assert fork.messages()[-1]["parts"][-1]["text"] == "again from the start "
    fork.undo()
    assert fork.messages_json() == source.messages("fork")
    assert target.verify() == []


def test_a_husk_is_in_no_list_and_reads_as_deleted(source: Source, target: palaver.Store) -> None:
    take(target, export(source.store, [source.ids["second"]]))
    assert [info.id for info in target.sessions] == [source.ids["second"]]
    with pytest.raises(palaver.SessionNotFound):
        target.sessions.get(source.ids["main"])
    husk = target.sessions.get(source.ids["main"], deleted=True)
    assert husk.messages() == []
    with pytest.raises(palaver.NothingToUndo):
        husk.undelete()


def test_what_the_chosen_sessions_do_not_reach_stays_behind(scratch: Scratch) -> None:
    here = scratch("here")
    origin = here.sessions.create("coder", title="a secret title")
    origin.commit(["shared"])
    fork = origin.fork()
    fork.commit(["of the fork"])
    origin.commit(["a secret"], settings={"secret": 1})
    origin.alias("secret-alias")
    origin.add_usage({"inputTokens": 1}, source="secret")
    origin.end("a secret reason")
    origin.update(facts={"secret": "secret"})
    data = export(here, [fork.id])
    assert b"shared" in data and b"of the fork" in data
    assert b"secret" not in data


def test_usage_of_a_husk_is_that_of_the_messages_it_holds(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    origin = here.sessions.create("coder")
    with origin.turn("one") as turn:
        rich.answer(turn, "counted")
        turn.usage(input=7, output=2, cost_usd=0.5)
    fork = origin.fork()
    with origin.turn("two") as turn:
        rich.answer(turn, "not taken along")
        turn.usage(input=100, cost_usd=9.0)
    take(there, export(here, [fork.id]))
    husk = there.sessions.get(origin.id, deleted=True).info
    assert (husk.usage.input, husk.usage.output, husk.total_tokens, husk.cost_usd) == (7, 2, 9, 0.5)
    assert there.verify() == []


def counted_origin(store: palaver.Store, turns: int) -> palaver.Session:
    """Each turn has a row of usage, settings of its own, and a fork that stands on it."""
    origin = store.sessions.create("coder")
    for number in range(1, turns + 1):
        with origin.turn(f"turn {number}", settings={"n": number}, system_prompt=f"Be {number}.") as turn:
            rich.answer(turn, f"answer {number}")
            turn.usage(input=number, key=f"resp-{number}")
    return origin


def test_a_husk_brings_the_usage_and_the_settings_of_the_turns_it_holds(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    origin = counted_origin(here, 3)
    fork = origin.fork(at=origin.path()[1].id)
    data = export(here, [fork.id])
    assert take(there, data)[1] == []
    husk = there.sessions.get(origin.id, deleted=True)
    assert [(one.n, one.key, one.usage.input) for one in husk.usage()] == [(1, "resp-1", 1), (2, "resp-2", 2)]
    assert b'"body":"{\\"n\\":2}"' in data and b'"body":"{\\"n\\":3}"' not in data
    assert there.verify() == []
    assert export(there) == data


def test_usage_comes_along_when_a_husk_takes_in_more_and_when_it_is_completed(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    origin = counted_origin(here, 3)
    origin.update(project="palaver")
    early, late = origin.fork(at=origin.path()[0].id), origin.fork(at=origin.path()[1].id)
    for fork, rows in ((early, 1), (late, 2)):
        assert take(there, export(here, [fork.id]))[1] == []
        assert len(there.sessions.get(origin.id, deleted=True).usage()) == rows
        assert there.verify() == []
    assert take(there, export(here))[1] == []
    assert export(there) == export(here)
    here.trim(older_than=0)  # chunks that are to be trimmed are not exported
    assert contents(there.path) == contents(here.path)
    assert there.verify() == []


@pytest.mark.parametrize(
    "table, forged, why",
    [
        ("system_prompts", {"body": "Be evil."}, "is not what it is named by"),
        ("bodies", {"body": '{"n":99}'}, "is not what it is named by"),
        ("usage", {"input": 99}, "there with another content"),
        ("usage", {"turn_id": "trn_nowhere"}, "there with another content, or belongs to nothing here"),
    ],
)
def test_what_is_forged_is_refused_also_where_a_husk_takes_in_more(
    table: str, forged: dict[str, object], why: str, scratch: Scratch
) -> None:
    here, there = scratch("here"), scratch("there")
    origin = counted_origin(here, 2)
    early, late = origin.fork(at=origin.path()[0].id), origin.fork()
    take(there, export(here, [early.id]))
    before = contents(there.path)
    group = change(group_of(export(here, [late.id]), origin.id), table, lambda row: row.update(forged))
    refused = take(there, joined([group]))[1]
    assert why in refused[0].why, refused[0].why
    assert contents(there.path) == before


def test_a_question_told_usage_in_another_turn_still_proves_itself(scratch: Scratch) -> None:
    """A fork inside a turn lists the answer in a sibling; who counted its usage is known only to the first turn."""
    here, there = scratch("here"), scratch("there")
    origin = here.sessions.create("coder")
    with origin.turn("one") as turn:
        rich.answer(turn, "answered")
        turn.usage(input=7)
        rich.add_foreign_rows(here.path, origin.id, "msg_beside")
    assert [m["role"] for m in origin.messages()] == ["user", "assistant", "user"]
    fork = origin.fork(at=origin.messages()[1]["id"])
    data = export(here, [fork.id])
    assert take(there, data)[1] == []
    assert there.sessions.get(fork.id).messages_json() == fork.messages_json()
    assert there.verify() == []


def test_the_whole_session_completes_a_husk(source: Source, target: palaver.Store) -> None:
    take(target, export(source.store, [source.ids["second"]]))
    summary, refused = take(target, source.data)
    assert (summary.imported, summary.already_there, refused) == (11, 1, [])
    assert export(target) == source.data
    source.store.trim(older_than=0)  # chunks that are to be trimmed are not exported
    assert contents(target.path) == contents(source.store.path)
    assert target.verify() == []


def test_a_husk_changes_nothing_where_the_session_is_whole(source: Source, target: palaver.Store) -> None:
    take(target, source.data)
    summary, refused = take(target, export(source.store, [source.ids["second"]]))
    assert (summary.imported, summary.already_there, refused) == (0, 3, [])
    assert export(target) == source.data


def test_two_forks_taken_one_after_the_other_share_one_husk(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    origin = here.sessions.create("coder")
    for text in ("one", "two", "three"):
        with origin.turn(text) as turn:
            rich.answer(turn, "answer " + text)
            turn.usage(input=1)
    early, late = origin.fork(at=origin.path()[0].id), origin.fork()
    assert take(there, export(here, [early.id]))[1] == []
    assert take(there, export(here, [late.id]))[0] == Summary(2, 0, 0, export(here, [late.id]).count(b"\n"))
    assert there.sessions.get(origin.id, deleted=True).info.usage.input == 3
    assert there.sessions.get(early.id).messages_json() == early.messages_json()
    assert there.sessions.get(late.id).messages_json() == late.messages_json()
    assert there.verify() == []
    assert take(there, export(here, [early.id]))[0].already_there == 2


def test_a_husk_with_more_than_the_whole_session_has_is_refused_with_what_stands_on_it(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    origin = here.sessions.create("coder")
    origin.commit(["one"])
    take(there, export(here))
    origin.commit(["two"])
    fork = origin.fork()
    before = contents(there.path)
    summary, refused = take(there, export(here, [fork.id]))
    assert (summary.imported, [r.session for r in refused]) == (0, [origin.id, fork.id])
    assert "exists and lacks rows" in refused[0].why
    assert "neither in the store nor earlier in the file" in refused[1].why or "head points at" in refused[1].why
    assert contents(there.path) == before


def test_an_older_copy_of_the_session_does_not_complete_a_husk(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    origin = here.sessions.create("coder")
    origin.commit(["one"])
    older = export(here)
    origin.commit(["two"])
    fork = origin.fork()
    take(there, export(here, [fork.id]))
    before = contents(there.path)
    summary, refused = take(there, older)
    assert (summary.imported, [r.session for r in refused]) == (0, [origin.id])
    assert contents(there.path) == before


def test_a_forged_husk_is_refused(source: Source, target: palaver.Store) -> None:
    data = export(source.store, [source.ids["second"]])
    group = group_of(data, source.ids["main"])
    plain = signed([group[0].replace(b',"husk":true', b""), *group[1:]])
    assert "husk" in take(target, joined([plain]))[1][0].why
    altered = change(group, "chat_parts", lambda row: row.update(data_json='{"type":"text","text":"forged"}'))
    assert "digest does not fit" in take(target, joined([altered]))[1][0].why
    assert export(target) == export(target, [])


def test_a_session_that_is_not_there_is_said(source: Source) -> None:
    with pytest.raises(palaver.SessionNotFound):
        export(source.store, ["ses_nowhere"])


def test_a_long_line_of_forks_can_be_taken_by_its_last_one(scratch: Scratch) -> None:
    here, there = scratch("here"), scratch("there")
    session = here.sessions.create("coder")
    session.commit(["root"])
    for number in range(60):
        session = session.fork()
        if number % 3:
            session.commit([f"fork {number}"])
    data = export(here, [session.id])
    assert take(there, data)[1] == []
    assert there.sessions.get(session.id).messages_json() == session.messages_json()
    assert there.verify() == []
