"""Which prompt, model and agent a turn had, the contract's table of metadata, and whose turns a context shows."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

import palaver

from ..tools.chunks import step, text
from ..tools.sql import query
from ..tools.talk import feed
from .support import said, talk, words

KIND, BRIEF = "Be kind.", "Be brief. 🌍"
LARGE = {"provider_id": "acme", "model_id": "large"}
SMALL = {"provider_id": "acme", "model_id": "small", "variant": "fast"}


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create("build", model=LARGE)


def stored(path: str, session: palaver.Session) -> list[tuple[str, dict[str, Any]]]:
    """(role, metadata) of each message, as another program finds them."""
    rows = "SELECT role, metadata_json FROM chat_messages WHERE session_id = ? ORDER BY created_at"
    return [(role, json.loads(text)) for role, text in query(path, rows, session.id)]


def test_the_contracts_table_of_metadata(session: palaver.Session, path: str) -> None:
    """usage: assistant; model, agent: both; snapshot_id, trigger: user; system_prompt_digest: assistant."""
    fired = {"source": "webhook", "fired_at": 1_700_000_000_000, "delivery_id": "d1"}
    setup: dict[str, Any] = {"model": SMALL, "agent": "plan", "system_prompt": KIND}
    with session.turn("q", **setup, snapshot_id="snap-7", trigger=fired) as turn:
        feed(turn, [{"type": "start"}, *step(*text("a"))])
        turn.usage(input=5, output=4, reasoning=3, cache_read=2, cache_write=1)
    usage = {"input": 5, "output": 4, "reasoning": 3, "cache_read": 2, "cache_write": 1}
    digest = sha256(KIND.encode()).hexdigest()
    assert stored(path, session) == [
        ("user", {"model": SMALL, "agent": "plan", "snapshot_id": "snap-7", "trigger": fired}),
        ("assistant", {"model": SMALL, "agent": "plan", "system_prompt_digest": digest, "usage": usage}),
    ]


def test_what_is_not_said_is_not_there(session: palaver.Session, path: str) -> None:
    talk(session, "1")
    model = {"provider_id": "acme", "model_id": "large"}  # the session's: no turn named another
    assert stored(path, session) == [("user", {"model": model}), ("assistant", {"model": model})]


def test_an_agent_is_swapped_by_the_message_not_the_session(session: palaver.Session, path: str) -> None:
    talk(session, "1", agent="plan")
    talk(session, "2")
    assert [data.get("agent") for _, data in stored(path, session)] == ["plan", "plan", None, None]
    assert session.info.agent == "build"


def test_a_queued_message_says_since_when_until_it_is_fired(session: palaver.Session, path: str) -> None:
    queued = session.enqueue("q1")
    assert stored(path, session) == [("user", {"queued_at": queued.queued_at})]
    turn = session.claim()
    assert turn is not None
    assert stored(path, session) == [("user", {})]
    turn.abort()


# ---------------------------------------------------------------- prompts


def test_a_prompt_is_kept_once_by_its_digest(store: palaver.Store, session: palaver.Session, path: str) -> None:
    for number in range(3):
        talk(session, str(number), system_prompt=BRIEF)
    talk(session, "4", system_prompt=KIND)
    rows = query(path, "SELECT digest, body FROM system_prompts")
    assert sorted(rows) == sorted((sha256(body.encode()).hexdigest(), body) for body in (BRIEF, KIND))
    assert store.system_prompt(rows[0][0]) == rows[0][1]
    assert store.verify() == []


def test_the_latest_prompt_comes_first(session: palaver.Session) -> None:
    talk(session, "1", system_prompt=KIND)
    talk(session, "2", system_prompt=BRIEF)
    talk(session, "3")
    assert words(session.context()) == [f"system: {BRIEF}", *said(1, 2, 3)]
    session.rewind(to=session.path()[0])
    assert words(session.context()) == [f"system: {KIND}", *said(1)]


def test_another_prompt_may_be_asked_for(session: palaver.Session) -> None:
    talk(session, "1", system_prompt=KIND)
    assert words(session.context(system="Other.")) == ["system: Other.", *said(1)]
    assert words(session.context(system="")) == said(1)
    assert session.model_messages(system="Other.")[0] == {"role": "system", "content": "Other."}
    turn = session.turn("q2")
    assert words(turn.context(system="Other."))[0] == "system: Other."
    turn.abort()


def test_the_prompt_outlives_a_summary_of_its_turn(session: palaver.Session) -> None:
    talk(session, "1", system_prompt=KIND)
    session.compact("s")
    assert words(session.context()) == [f"system: {KIND}", "system: s"]


def test_an_open_turn_has_its_own_prompt_from_the_start(session: palaver.Session) -> None:
    """The model is asked before the first chunk is there."""
    talk(session, "1", system_prompt=KIND)
    turn = session.turn("q2", system_prompt=BRIEF)
    assert words(turn.context()) == [f"system: {BRIEF}", *said(1), "user: q2"]
    feed(turn, [{"type": "start"}])
    assert words(turn.context())[0] == f"system: {BRIEF}"
    turn.abort()


def test_a_session_without_anything_has_an_empty_context(session: palaver.Session) -> None:
    assert session.context() == session.model_messages() == []
    assert session.context(system=KIND) == [
        {"id": "system", "role": "system", "parts": [{"type": "text", "text": KIND}]}
    ]


# ---------------------------------------------------------------- whose turns


def test_a_context_never_contains_another_open_turn(session: palaver.Session) -> None:
    talk(session, "1")
    mine, other = session.turn("mine"), session.turn("other")
    feed(mine, [{"type": "start"}, *step(*text("half", ends=False))])
    feed(other, [{"type": "start"}, *step(*text("theirs"))])
    session.enqueue("later")
    assert words(session.context()) == said(1)
    assert words(mine.context()) == [*said(1), "user: mine", "assistant: half"]
    assert words(other.context()) == [*said(1), "user: other", "assistant: theirs"]
    mine.seal()
    assert words(session.context()) == [*said(1), "user: mine", "assistant: half"]
    assert words(other.context()) == [*said(1), "user: other", "assistant: theirs"]
    with pytest.raises(palaver.HeadConflict):
        other.seal()
    assert words(session.context()) == [*said(1), "user: mine", "assistant: half"]


@pytest.mark.parametrize("save_on", ["chunk", "step", "turn"])
def test_a_turns_own_context_has_its_last_chunk(path: str, save_on: str) -> None:
    with palaver.open(path, durability="normal", save_on=save_on) as store:
        turn = store.sessions.create("coder").turn("q")
        feed(turn, [{"type": "start"}, {"type": "start-step"}, *text("half", ends=False)])
        assert words(turn.context()) == ["user: q", "assistant: half"]
        turn.abort()


def test_a_deleted_session_has_no_context(store: palaver.Store, session: palaver.Session) -> None:
    talk(session, "1")
    session.delete()
    assert store.sessions.get(session.id, deleted=True).context() == []
