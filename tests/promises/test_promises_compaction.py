"""Rows 5, 21, 69 and 101 to 104: models and prompts of turns, and a summary in the place of old turns. What is in the
file is judged by plain SQL."""

from __future__ import annotations

import json
import random
from hashlib import sha256
from typing import Any

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import query
from .support_tree import answers

FORGED = {"type": "data-compaction", "data": {"summary": "forged"}}


def say(session: palaver.Session, name: str, **setup: Any) -> str:
    turn = session.turn(f"q{name}", **setup)
    answers(turn, f"a{name}")
    return turn.id


def words(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(m["role"], "".join(p.get("text", "") for p in m["parts"])) for m in messages]


class Life:
    """Sessions that talk, compact, in mid-turn too, fork, rewind and undo, at random."""

    def __init__(self, store: palaver.Store, steps: int) -> None:
        seed = random.SystemRandom().getrandbits(32)
        print(f"seed {seed}")
        self.chance = random.Random(seed)
        self.sessions = [store.sessions.create("walker")]
        self.count = 0
        for verb in (self.say, self.say, self.compact, self.mid_turn, self.fork):
            verb(self.sessions[0])
        verbs = [self.say, self.say, self.compact, self.compact, self.mid_turn, self.fork, self.rewind, self.undo]
        for _ in range(steps):
            self.chance.choice(verbs)(self.chance.choice(self.sessions))

    def say(self, session: palaver.Session) -> None:
        self.count += 1
        say(session, str(self.count))

    def compact(self, session: palaver.Session) -> None:
        path = session.path()
        if path:
            session.compact("s", keep_from=self.chance.choice([None, *path[1:]]))

    def mid_turn(self, session: palaver.Session) -> None:
        turn = session.turn("long")
        turn.append([{"type": "start-step"}, {"type": "finish-step"}, {"type": "start-step"}])
        answers(turn.compact("s", keep_from=self.chance.choice([None, *session.path()[1:]])), "end")

    def fork(self, session: palaver.Session) -> None:
        path = session.path()
        self.sessions.append(session.fork(at=self.chance.choice(path)) if path else session.fork())

    def rewind(self, session: palaver.Session) -> None:
        if session.path():
            session.rewind(to=self.chance.choice(session.path()))

    def undo(self, session: palaver.Session) -> None:
        if len(session.history()) > 3:
            session.undo()


# ---------------------------------------------------------------- 5: the model


def model_of(path: str, session: palaver.Session) -> Any:
    ((text,),) = query(path, "SELECT model_json FROM chat_sessions WHERE id = ?", session.id)
    return json.loads(text)


@broken_by("a_compaction_changes_the_model")
def test_promise_005_the_model_that_summarises_is_not_the_sessions(store: palaver.Store, path: str) -> None:
    large, small = ({"provider_id": "acme", "model_id": name} for name in ("large", "small"))
    session = store.sessions.create("coder", model=small)
    say(session, "1", model=large)
    session.compact("s", provider="cheap", model="summariser")
    assert model_of(path, session) == large
    turn = session.turn("q2", model=small)
    turn.append([{"type": "start-step"}, {"type": "finish-step"}])
    then = turn.compact("t", provider="cheap", model="summariser")
    assert model_of(path, session) == small
    answers(then, "end")
    assert model_of(path, session) == small == session.messages()[-1]["metadata"]["model"]


# ---------------------------------------------------------------- 21: reserved


@broken_by("data_compaction_may_be_streamed")
def test_promise_021_data_compaction_is_not_streamed_by_hand(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("coder")
    with session.turn("q") as turn:
        for given in (FORGED, json.dumps(FORGED), json.dumps(FORGED).encode(), FORGED | {"id": "x"}):
            with pytest.raises(palaver.BadValue):
                turn.write(given)
        with pytest.raises(palaver.BadValue):
            turn.append([{"type": "start"}, FORGED])
    assert query(path, "SELECT 1 FROM chat_parts WHERE type = 'data-compaction'") == []
    assert query(path, "SELECT 1 FROM events WHERE data LIKE '%data-compaction%'") == []


@broken_by("data_compaction_may_be_committed")
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_promise_021_data_compaction_is_not_committed_by_hand(store: palaver.Store, path: str, role: str) -> None:
    session = store.sessions.create("coder")
    message = {"role": role, "parts": [{"type": "text", "text": "see"}, FORGED]}
    verbs = (session.commit, session.turn, session.enqueue)
    for given in (message, json.dumps(message).encode()):
        for verb in verbs:
            with pytest.raises(palaver.BadValue):
                verb(given)
    assert query(path, "SELECT 1 FROM chat_parts UNION ALL SELECT 1 FROM turns") == []


# ---------------------------------------------------------------- 69: prompts


@broken_by("prompts_are_named_by_their_stripped_text")
def test_promise_069_the_digest_of_a_prompt_is_the_sha256_of_its_bytes(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("coder")
    prompts = ["Be kind.", "Be kind.\n", " Be kind.", "Grüße 🌍", "", "Be kind.", "x" * 100_000]
    for number, prompt in enumerate(prompts):
        say(session, str(number), system_prompt=prompt)
    rows = "SELECT metadata_json FROM chat_messages WHERE role = 'assistant' ORDER BY created_at"
    named = [json.loads(text)["system_prompt_digest"] for (text,) in query(path, rows)]
    assert named == [sha256(prompt.encode()).hexdigest() for prompt in prompts]
    kept = dict(query(path, "SELECT digest, body FROM system_prompts"))
    assert kept == {sha256(prompt.encode()).hexdigest(): prompt for prompt in set(prompts)}


# ---------------------------------------------------------------- 101: walkable

WALKS = """
WITH RECURSIVE walk (session_id, id, parent_id, depth, n) AS (
    SELECT h.session_id, t.id, t.parent_id, t.depth, 1 FROM heads h JOIN turns t ON t.id = h.turn_id
    UNION ALL
    SELECT walk.session_id, t.id, t.parent_id, t.depth, n + 1 FROM walk JOIN turns t ON t.id = walk.parent_id
)
"""


@broken_by("a_compaction_is_a_new_root")
def test_promise_101_the_walk_to_the_root_crosses_compactions(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("coder")
    first = say(session, "0")
    said = [("user", "q0"), ("assistant", "a0")]
    for number in range(1, 6):
        say(session, str(number))
        session.compact(f"up to {number}")
        said += [("user", f"q{number}"), ("assistant", f"a{number}"), ("assistant", "")]
    assert query(path, WALKS + "SELECT id, n FROM walk WHERE parent_id IS NULL") == [(first, 11)]
    assert words(session.messages()) == said


@broken_by("a_compaction_is_a_new_root")
def test_promise_101_every_walk_ends_at_a_root_as_deep_as_it_says(store: palaver.Store, path: str) -> None:
    Life(store, 40)
    wrong = WALKS + "SELECT * FROM walk WHERE depth < 1 OR (parent_id IS NULL) <> (depth = 1)"
    assert query(path, wrong) == []
    roots = WALKS + "SELECT session_id FROM walk WHERE parent_id IS NULL"
    assert sorted(query(path, roots)) == sorted(query(path, "SELECT session_id FROM heads WHERE turn_id IS NOT NULL"))
    assert query(path, "SELECT id FROM turns WHERE kind = 'compaction' AND parent_id IS NULL") == []


# ---------------------------------------------------------------- 102: details

DETAILS = """
SELECT t.id AS turn_id, t.kind, p.data_json FROM turns t
  JOIN turn_entries e ON e.turn_id = t.id AND e.kind = 'part'
  JOIN chat_parts p ON p.id = e.ref AND p.type = 'data-compaction'
"""


@broken_by("a_compaction_is_an_ordinary_turn", "a_compaction_has_no_details")
def test_promise_102_every_compaction_turn_has_its_details_and_only_those(store: palaver.Store, path: str) -> None:
    Life(store, 40)
    without = f"SELECT id FROM turns WHERE kind = 'compaction' EXCEPT SELECT turn_id FROM ({DETAILS})"
    assert query(path, without) == []
    assert query(path, f"SELECT turn_id FROM ({DETAILS}) WHERE kind <> 'compaction'") == []
    twice = f"SELECT turn_id FROM ({DETAILS}) GROUP BY turn_id HAVING count(*) <> 1"
    assert query(path, twice) == []
    told = "json_type(data_json, '$.data.summary') = 'text'"
    assert len(query(path, f"SELECT 1 FROM ({DETAILS}) WHERE {told}")) == len(query(path, DETAILS)) > 1


# ---------------------------------------------------------------- 103: the context


@broken_by("kept_turns_are_forgotten", "the_summary_comes_last")
def test_promise_103_context_is_system_summary_kept_turns_and_query(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    turns = [say(session, str(number), system_prompt="Be kind.") for number in range(1, 6)]
    session.compact("They did 1 to 3.", keep_from=turns[3])
    turn = session.turn("What now?", system_prompt="Be kind.")
    assert words(turn.context()) == [
        ("system", "Be kind."),
        ("system", "They did 1 to 3."),
        ("user", "q4"),
        ("assistant", "a4"),
        ("user", "q5"),
        ("assistant", "a5"),
        ("user", "What now?"),
    ]
    turn.abort()


@broken_by("kept_turns_are_forgotten", "the_summary_comes_last")
def test_promise_103_only_the_latest_summary_is_in_the_context(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    turns = [say(session, str(number)) for number in range(1, 4)]
    session.compact("of 1", keep_from=turns[1])
    fourth = say(session, "4")
    session.compact("of 1 to 3", keep_from=fourth)
    say(session, "5")
    assert words(session.context()) == [
        ("system", "of 1 to 3"),
        ("user", "q4"),
        ("assistant", "a4"),
        ("user", "q5"),
        ("assistant", "a5"),
    ]


# ---------------------------------------------------------------- 104: scope

SCOPES = f"""
WITH RECURSIVE scopes AS (
    SELECT turn_id, data_json ->> '$.data.summarized_through_turn_id' AS through,
           data_json ->> '$.data.first_kept_turn_id' AS first_kept,
           data_json ->> '$.data.turns_summarized' AS turns
      FROM ({DETAILS})
),
above (turn_id, id, parent_id) AS (
    SELECT s.turn_id, p.id, p.parent_id
      FROM scopes s JOIN turns t ON t.id = s.turn_id JOIN turns p ON p.id = t.parent_id
    UNION ALL
    SELECT a.turn_id, p.id, p.parent_id FROM above a JOIN turns p ON p.id = a.parent_id
)
"""
NOT_ABOVE = (
    "SELECT s.* FROM scopes s WHERE NOT EXISTS (SELECT 1 FROM above a WHERE a.turn_id = s.turn_id AND a.id = {})"
)
NOT_ADJACENT = """
SELECT s.* FROM scopes s LEFT JOIN turns kept ON kept.id = s.first_kept JOIN turns t ON t.id = s.turn_id
 WHERE (CASE WHEN s.first_kept IS NULL THEN t.parent_id ELSE kept.parent_id END) IS NOT s.through
"""
MISCOUNTED = """
SELECT s.turn_id FROM scopes s JOIN turns last ON last.id = s.through
 WHERE s.turns <> (SELECT count(*) FROM above a JOIN turns t ON t.id = a.id
                    WHERE a.turn_id = s.turn_id AND t.depth <= last.depth AND t.kind <> 'compaction')
"""


@broken_by("the_summary_claims_a_turn_that_is_kept")
def test_promise_104_what_is_summarised_ends_right_before_what_is_kept(store: palaver.Store, path: str) -> None:
    Life(store, 40)
    assert len(query(path, SCOPES + "SELECT * FROM scopes")) > 1
    assert query(path, SCOPES + NOT_ABOVE.format("s.through")) == []
    assert query(path, SCOPES + NOT_ABOVE.format("s.first_kept") + " AND s.first_kept IS NOT NULL") == []
    assert query(path, SCOPES + NOT_ADJACENT) == []
    assert query(path, SCOPES + MISCOUNTED) == []
    assert store.verify() == []


@pytest.mark.long
def test_promise_104_at_length(store: palaver.Store, path: str) -> None:
    Life(store, 2000)
    assert query(path, SCOPES + NOT_ABOVE.format("s.through")) == []
    assert query(path, SCOPES + NOT_ADJACENT) == []
    assert store.verify() == []
