"""Every key that the contract keeps in metadata_json, where it appears and who may set it; and the JSON columns."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

import palaver

from . import judge
from .support import answer, assert_agrees, say, stream

MODEL = {"provider_id": "acme", "model_id": "large-2"}
FAST = {"provider_id": "acme", "model_id": "large-2", "variant": "fast"}
TRIGGER = {
    "source": "schedule",
    "fired_at": 1_760_000_000_000,
    "schedule_id": "s-1",
    "delivery_id": "d-1",
    "headers": {"x": "1"},
    "auth_subject": "me",
}


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create("coder")


def metadata(store: palaver.Store, role: str) -> list[dict[str, Any]]:
    """The metadata of every row of a role, hidden ones too."""
    with judge.opened(store.path) as db:
        found = db.execute("SELECT metadata_json FROM chat_messages WHERE role = ? ORDER BY created_at", (role,))
        return [json.loads(text) for (text,) in found]


def column(store: palaver.Store, session: palaver.Session, name: str) -> Any:
    with judge.opened(store.path) as db:
        ((value,),) = db.execute(f"SELECT {name} FROM chat_sessions WHERE id = ?", (session.id,))
        return value


# ---------------------------------------------------------------- keys a turn sets


def test_without_anything_to_say_the_bags_are_empty_objects(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "hello", "hi")
    assert metadata(store, "user") == metadata(store, "assistant") == [{}]
    assert column(store, session, "metadata_json") == "{}"


def test_a_sessions_model_is_on_each_message_whose_turn_names_none(store: palaver.Store) -> None:
    session = store.sessions.create("coder", model=MODEL)
    say(session, "hello", "hi")
    session.commit(["and?", {"role": "assistant", "content": "so.", "metadata": {"model": "mine"}}])
    say(session, "faster", "yes", model=FAST)
    say(session, "again", "yes")  # the session's model is that of its newest turn
    assert [m.get("model") for m in metadata(store, "user")] == [MODEL, MODEL, FAST, FAST]
    assert [m.get("model") for m in metadata(store, "assistant")] == [MODEL, "mine", FAST, FAST]
    assert [turn.model for turn in session.path()] == [MODEL, MODEL, FAST, FAST]
    assert_agrees(store)


def test_an_agent_is_on_a_message_only_where_it_is_another(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "hello", "hi", agent="coder")
    say(session, "check", "fine", agent="critic")
    assert [m.get("agent") for m in metadata(store, "user")] == [None, "critic"]
    assert [m.get("agent") for m in metadata(store, "assistant")] == [None, "critic"]
    assert_agrees(store)


def test_usage_is_on_the_assistant_message_with_all_five_counts(store: palaver.Store, session: palaver.Session) -> None:
    with session.turn("how much?") as turn:
        stream(turn, "that much")
        turn.usage(input=1, output=2, reasoning=3, cache_read=4, cache_write=5)
    told = {"input": 1, "output": 2, "reasoning": 3, "cache_read": 4, "cache_write": 5}
    assert metadata(store, "assistant") == [{"usage": told}]
    assert metadata(store, "user") == [{}]


def test_usage_in_the_stream_is_counted_once_and_kept_as_given(store: palaver.Store, session: palaver.Session) -> None:
    usage = {"input": 9, "output": 1, "price_class": "gold"}
    with session.turn("how much?") as turn:
        turn.append(answer("that much")[:-1])
        turn.write({"type": "message-metadata", "messageMetadata": {"usage": usage}})
        turn.write({"type": "finish", "messageMetadata": {"usage": usage}})
    assert metadata(store, "assistant") == [{"usage": usage}]
    assert session.info.total_tokens == 10
    assert_agrees(store)


def test_usage_cannot_come_both_ways(session: palaver.Session) -> None:
    turn = session.turn("how much?")
    turn.write({"type": "start", "messageMetadata": {"usage": {"input": 9}}})
    with pytest.raises(palaver.UsageConflict):
        turn.usage(input=9)


def test_the_store_never_computes_a_cost(store: palaver.Store, session: palaver.Session) -> None:
    with session.turn("how much?") as turn:
        stream(turn, "that much")
        turn.usage(input=1_000_000, output=1_000_000, model=MODEL)
    assert column(store, session, "cost_usd") == 0
    with session.turn("and now?") as turn:
        stream(turn, "this much")
        turn.usage(input=1, cost_usd=0.125)
    assert column(store, session, "cost_usd") == 0.125


def test_the_model_of_a_turn_is_on_both_its_messages(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "hello", "hi", model=FAST)
    assert metadata(store, "user") == metadata(store, "assistant") == [{"model": FAST}]


def test_model_json_is_the_model_of_the_latest_turn(store: palaver.Store) -> None:
    session = store.sessions.create("coder", model=MODEL)
    assert json.loads(column(store, session, "model_json")) == MODEL
    for model in (FAST, {"provider_id": "other", "model_id": "small"}, MODEL):
        say(session, "hello", "hi", model=model)
        assert json.loads(column(store, session, "model_json")) == model
    say(session, "the same", "yes")
    assert json.loads(column(store, session, "model_json")) == MODEL


def test_a_session_without_a_model_still_names_provider_and_model(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    assert json.loads(column(store, session, "model_json")) == {"provider_id": "", "model_id": ""}


def test_another_agent_for_a_turn_is_on_its_messages_and_the_session_keeps_its_own(
    store: palaver.Store, session: palaver.Session
) -> None:
    say(session, "plan it", "planned", agent="plan")
    assert metadata(store, "user") == metadata(store, "assistant") == [{"agent": "plan"}]
    assert column(store, session, "agent") == "coder"


def test_no_verb_changes_the_agent_of_a_session(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "one", "first", agent="plan")
    say(session, "two", "second", agent="build")
    session.undo()
    session.redo()
    session.archive()
    session.unarchive()
    session.title = "Titled"
    session.delete()
    session.undelete()
    assert column(store, session, "agent") == "coder"


def test_a_snapshot_id_is_on_the_user_message_only(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "hello", "hi", snapshot_id="snap-1")
    assert metadata(store, "user") == [{"snapshot_id": "snap-1"}]
    assert metadata(store, "assistant") == [{}]


def test_a_trigger_is_on_the_user_message_whole(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "wake up", "awake", trigger=TRIGGER)
    assert metadata(store, "user") == [{"trigger": TRIGGER}]
    assert metadata(store, "assistant") == [{}]


def test_a_system_prompt_is_named_by_its_sha256_and_kept_once(store: palaver.Store, session: palaver.Session) -> None:
    prompt = "You are brief. Antworte kurz. 🦉"
    digest = sha256(prompt.encode()).hexdigest()
    say(session, "one", "first", system_prompt=prompt)
    say(session, "two", "second", system_prompt=prompt)
    assert metadata(store, "assistant") == [{"system_prompt_digest": digest}] * 2
    assert metadata(store, "user") == [{}, {}]
    assert store.system_prompt(digest) == prompt
    with judge.opened(store.path) as db:
        assert list(db.execute("SELECT digest, body FROM system_prompts")) == [(digest, prompt)]


def test_what_the_caller_says_in_metadata_wins_over_the_setup_of_the_turn(
    store: palaver.Store, session: palaver.Session
) -> None:
    message = {"role": "user", "content": "hello", "metadata": {"snapshot_id": "mine"}}
    session.turn(message, snapshot_id="theirs").seal()
    assert metadata(store, "user") == [{"snapshot_id": "mine"}]


def test_keys_that_the_contract_does_not_know_stay_as_given(store: palaver.Store, session: palaver.Session) -> None:
    given = b'{ "zebra": 1.10, "agent_note": {"b": 2, "a": [1e3]} }'
    session.commit([b'{"role":"user","content":"hello","metadata":' + given + b"}"])
    with judge.opened(store.path) as db:
        assert list(db.execute("SELECT metadata_json FROM chat_messages")) == [(given.decode(),)]


# ---------------------------------------------------------------- keys that are the store's own


@pytest.mark.parametrize("key", ["hidden_at", "queued_at"])
def test_a_caller_cannot_set_a_key_of_the_store(store: palaver.Store, session: palaver.Session, key: str) -> None:
    message = {"role": "user", "content": "hello", "metadata": {key: 1_760_000_000_000}}
    with pytest.raises(palaver.ReservedKey):
        session.turn(message)
    with pytest.raises(palaver.ReservedKey):
        session.commit([message])
    assert metadata(store, "user") == []


@pytest.mark.parametrize("key", ["hidden_at", "queued_at"])
@pytest.mark.parametrize("kind", ["start", "message-metadata", "finish"])
def test_a_stream_cannot_set_a_key_of_the_store(
    store: palaver.Store, session: palaver.Session, kind: str, key: str
) -> None:
    turn = session.turn("hello")
    turn.write({"type": "start"})
    with pytest.raises(palaver.ReservedKey):
        turn.write({"type": kind, "messageMetadata": {key: 1}})
    turn.seal()
    assert metadata(store, "assistant") == [{}]


def test_hidden_at_is_when_the_rewind_was_and_goes_when_it_is_undone(
    store: palaver.Store, session: palaver.Session
) -> None:
    say(session, "one", "first", snapshot_id="snap-1")
    say(session, "two", "second", snapshot_id="snap-2")
    session.rewind(to=session.path()[0])
    moved = session.history()[-1].at
    kept, hidden = metadata(store, "user")
    assert kept == {"snapshot_id": "snap-1"}
    assert hidden["snapshot_id"] == "snap-2"
    assert abs(hidden["hidden_at"] - moved) < 1_000
    session.undo()
    assert metadata(store, "user") == [{"snapshot_id": "snap-1"}, {"snapshot_id": "snap-2"}]


def test_hidden_at_is_never_part_of_what_we_show(session: palaver.Session) -> None:
    say(session, "one", "first")
    fork = session.fork()
    session.delete()
    assert [set(message) for message in fork.messages()] == [{"id", "role", "parts"}] * 2


def test_a_hidden_message_stays_with_its_parts(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "one", "first")
    session.undo()
    with judge.opened(store.path) as db:
        assert judge.transcript(db, session.id) == []
        assert list(db.execute("SELECT count(*) FROM chat_messages")) == [(2,)]
        assert list(db.execute("SELECT count(*) FROM chat_parts")) == [(3,)]


# ---------------------------------------------------------------- session columns


def test_permissions_are_an_empty_list_when_there_are_none(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "hello", "hi")
    assert column(store, session, "permissions_json") == "[]"


def test_a_fork_starts_without_the_permissions_and_the_usage_of_its_origin(
    store: palaver.Store, session: palaver.Session
) -> None:
    with session.turn("how much?") as turn:
        stream(turn, "that much")
        turn.usage(input=5)
    fork = session.fork()
    assert column(store, fork, "permissions_json") == "[]"
    assert column(store, fork, "total_tokens") == 0
    assert column(store, fork, "model_json") == column(store, session, "model_json")


def test_the_workspace_is_optional(store: palaver.Store) -> None:
    with_one, without = store.sessions.create("a", workspace="/src"), store.sessions.create("a")
    assert column(store, with_one, "workspace_root") == "/src"
    assert column(store, without, "workspace_root") in (None, "")


def test_metadata_of_a_session_is_kept_as_given(store: palaver.Store) -> None:
    session = store.sessions.create("a", metadata={"colour": "blue", "nested": {"n": [1, 2.5]}})
    assert json.loads(column(store, session, "metadata_json")) == {"colour": "blue", "nested": {"n": [1, 2.5]}}


def test_an_archived_session_has_its_time_and_is_left_out_of_lists_by_default(
    store: palaver.Store, session: palaver.Session
) -> None:
    session.archive()
    assert column(store, session, "archived_at") >= column(store, session, "created_at")
    assert [info.id for info in store.sessions.list().sessions] == []
    assert [info.id for info in store.sessions.list(archived=True).sessions] == [session.id]
    session.unarchive()
    assert column(store, session, "archived_at") is None
    assert [info.id for info in store.sessions.list().sessions] == [session.id]


def test_a_deleted_session_says_so_in_its_own_metadata_and_forgets_it_when_undeleted(store: palaver.Store) -> None:
    session = store.sessions.create("a", metadata={"colour": "blue"})
    session.delete()
    gone = json.loads(column(store, session, "metadata_json"))
    assert gone["colour"] == "blue"
    assert gone["deleted_at"] == column(store, session, "archived_at")
    session.undelete()
    assert column(store, session, "metadata_json") == '{"colour":"blue"}'
    assert column(store, session, "archived_at") is None
