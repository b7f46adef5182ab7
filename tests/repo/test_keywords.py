"""The options that editors are told of are those that there are; any other is refused with the list of them."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import palaver
from palaver import recording
from palaver.core.verbs.compaction import Compaction
from palaver.db.postgres.engine import PostgresDatabase
from palaver.db.sqlite.engine import SqliteDatabase
from palaver.keywords import (
    CompactKeywords,
    EngineKeywords,
    PostgresKeywords,
    StoreKeywords,
    TurnKeywords,
)

from .public import MODULES, callables_of

ANY_NAME = {
    "palaver.aio.AsyncSessions.list",  # what `Sessions.list` takes: aio.pyi says it
    "palaver.SessionRules.add",  # fields of others: there is no list of them
    "palaver.testing.assistant",
    "palaver.testing.user",
}


@pytest.mark.parametrize("module", MODULES)
def test_what_a_public_callable_takes_by_name_has_a_list_of_names(module: str) -> None:
    for name, function in callables_of(module):
        if inspect.isclass(function) or name in ANY_NAME:
            continue
        for each in inspect.signature(function).parameters.values():
            if each.kind is each.VAR_KEYWORD:
                (family,) = get_args(get_type_hints(function)[each.name])
                assert family.__module__ == "palaver.keywords", name


def keyword_only(function: Any) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}


def test_the_options_of_open_are_what_engines_and_the_store_take() -> None:
    assert {*StoreKeywords.__annotations__} == keyword_only(palaver.Store.__init__)
    files = keyword_only(SqliteDatabase.__init__) | {"readonly"}
    assert {*EngineKeywords.__annotations__} == files
    assert {*EngineKeywords.__annotations__, *PostgresKeywords.__annotations__} == keyword_only(
        PostgresDatabase.__init__
    )


def test_the_options_of_compact_are_the_fields_of_a_compaction_and_its_counts() -> None:
    assert {*Compaction._fields} - {"summary", "counts"} <= {*CompactKeywords.__annotations__}


def test_every_option_of_a_turn_is_kept(store: palaver.Store) -> None:
    given: dict[str, Any] = {
        "model": "acme/tick-1",
        "agent": "clock",
        "system_prompt": "Be brief.",
        "trigger": {"source": "schedule"},
        "snapshot_id": "snap-1",
        "toolset": "all",
        "tools": ["look"],
        "permissions": [{"permission": "bash", "pattern": "*", "action": "ask"}],
    }
    assert {*given} == {*TurnKeywords.__annotations__}
    with store.sessions.create("a").turn("Hello?", **given) as turn:
        facts = turn._state.facts
    for each in ("tick-1", "clock", "schedule", "all", "look", "bash"):
        assert each in repr(facts)


@pytest.fixture
def store() -> Any:
    with palaver.open(":memory:") as store:
        yield store


TURN = "agent, model, permissions, snapshot_id, system_prompt, tools, toolset, trigger"


@pytest.mark.parametrize("verb", ["turn", "commit", "enqueue", "edit", "regenerate", "claim", "record"])
def test_a_misspelt_option_of_a_turn_is_refused_with_those_that_there_are(store: palaver.Store, verb: str) -> None:
    session = store.sessions.create("a")
    session.commit({"role": "user", "content": "Hello?", "id": "q"})
    wrong: dict[str, Any] = {"modle": "acme/tick-1"}
    calls: dict[str, Any] = {
        "turn": lambda: session.turn("x", **wrong),
        "commit": lambda: session.commit("x", **wrong),
        "enqueue": lambda: session.enqueue("x", **wrong),
        "edit": lambda: session.edit("q", "x", **wrong),
        "regenerate": lambda: session.regenerate(**wrong),
        "claim": lambda: session.claim(**wrong),
        "record": lambda: recording.record(session, "x", [], **wrong),
    }
    with pytest.raises(TypeError) as caught:
        calls[verb]()
    assert str(caught.value) == f"a turn has no option 'modle'; there are {TURN}"
    assert len(session.messages()) == 1 and session.queue() == []


def test_a_misspelt_option_of_compact_is_refused_with_all_that_there_are(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit("Hello?")
    wrong: dict[str, Any] = {"token_before": 7}
    with session.turn("And now?") as turn:
        for verb in (session.compact, turn.compact):
            with pytest.raises(TypeError, match=r"no option 'token_before'; there are auto, .*, provider, .*before"):
                verb("They said hello.", **wrong)
    assert [turn.kind for turn in session.path()] == ["turn", "turn"]


def test_a_misspelt_option_of_open_is_refused_with_those_that_there_are(tmp_path: Any) -> None:
    wrong: dict[str, Any] = {"save_in": "turn"}
    with pytest.raises(TypeError, match=r"no option 'save_in'; there are create, .*, save_on, .*trim_after"):
        palaver.open(tmp_path / "talks.db", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_families_are_nothing_but_options() -> None:
    for name, family in vars(palaver.keywords).items():
        if name.endswith("Keywords"):
            assert get_origin(family) is None and family.__total__ is False
