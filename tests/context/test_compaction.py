"""A compaction stands for the turns before it in the context, and nowhere else: every turn stays where it was."""

from __future__ import annotations

from typing import Any

import pytest

import palaver

from ..tools.chunks import step, text
from ..tools.talk import feed
from .support import details, kinds, plain, said, talk, talks, walked, words


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create("coder")


def test_five_turns_the_first_three_summarised_the_last_two_kept(
    store: palaver.Store, session: palaver.Session, path: str
) -> None:
    """The ledger's own picture: Turn 1 → … → Turn 5 → CompactionTurn (summary of 1-3, kept: 4, 5)."""
    turns = talks(session, 1, 2, 3, 4, 5)
    made = session.compact("They did 1, 2 and 3.", keep_from=turns[3])
    assert (made.kind, made.status, made.parent_id) == ("compaction", "completed", turns[4])
    assert [turn.id for turn in session.path()] == walked(path, session) == [*turns, made.id]
    assert details(session) == {
        "summary": "They did 1, 2 and 3.",
        "summarized_through_turn_id": turns[2],
        "first_kept_turn_id": turns[3],
        "turns_summarized": 3,
        "compaction_type": "summary",
    }
    with session.turn("q6", system_prompt="Be kind.") as turn:
        feed(turn, [{"type": "start"}])
        assert words(turn.context()) == [
            "system: Be kind.",
            "system: They did 1, 2 and 3.",
            *said(4, 5),
            "user: q6",
        ]
    assert store.verify() == []


def test_every_field_of_the_ledger_is_kept(session: palaver.Session) -> None:
    (only,) = talks(session, 1)
    given: dict[str, Any] = {
        "compaction_type": "sliding_window",
        "model": "small",
        "provider": "acme",
        "trigger": "auto",
        "metadata": {"why": ["too long"]},
        "tokens_before": 9000,
        "tokens_after": 700,
        "summary_tokens": 70,
        "summarization_input_tokens": 8000,
        "summarization_output_tokens": 80,
        "duration_ms": 1234,
    }
    session.compact("s", **given)
    scope = {"summary": "s", "summarized_through_turn_id": only, "turns_summarized": 1}
    assert details(session) == scope | given


def test_metadata_given_as_json_text_is_kept_as_given(store: palaver.Store, session: palaver.Session) -> None:
    talks(session, 2)
    session.compact("They talked.", metadata=palaver.Raw(b'{"b": 1.10, "a" : [ ]}'))  # type: ignore[arg-type]
    assert '{"b": 1.10, "a" : [ ]}' in session.messages_json()
    assert store.verify() == []


def test_without_keep_from_everything_is_summarised(session: palaver.Session) -> None:
    turns = talks(session, 1, 2)
    session.compact("all of it")
    assert words(session.context()) == ["system: all of it"]
    assert details(session)["summarized_through_turn_id"] == turns[1]
    assert "first_kept_turn_id" not in details(session)
    talk(session, "3")
    assert words(session.context()) == ["system: all of it", *said(3)]


def test_messages_still_show_everything(session: palaver.Session) -> None:
    turns = talks(session, 1, 2, 3)
    session.compact("s", keep_from=turns[2])
    talk(session, "4")
    assert words(session.messages()) == [*said(1, 2, 3), "assistant: data-compaction", *said(4)]


def test_keep_from_may_be_a_turn_as_path_gives_it(session: palaver.Session) -> None:
    talks(session, 1, 2)
    session.compact("s", keep_from=session.path()[1])
    assert words(session.context()) == ["system: s", *said(2)]


# ---------------------------------------------------------------- one after another


def test_the_latest_summary_stands_for_the_older_one(store: palaver.Store, session: palaver.Session, path: str) -> None:
    one, two, three = talks(session, 1, 2, 3)
    first = session.compact("of 1", keep_from=two)
    four, five = talks(session, 4, 5)
    second = session.compact("of 1 to 4", keep_from=five)
    talk(session, "6")
    assert words(session.context()) == ["system: of 1 to 4", *said(5, 6)]
    assert details(session)["turns_summarized"] == 4
    order = [one, two, three, first.id, four, five, second.id]
    assert walked(path, session)[:-1] == order
    assert store.verify() == []


def test_a_later_compaction_may_keep_what_lies_before_an_older_one(session: palaver.Session) -> None:
    two = talks(session, 1, 2)[1]
    session.compact("of 1", keep_from=two)
    talk(session, "3")
    session.compact("of 1, better", keep_from=two)
    assert words(session.context()) == ["system: of 1, better", *said(2, 3)]


def test_two_compactions_in_a_row(session: palaver.Session) -> None:
    talks(session, 1, 2)
    session.compact("first")
    session.compact("second")
    assert words(session.context()) == ["system: second"]
    assert kinds(session) == ["turn", "turn", "compaction", "compaction"]
    assert details(session)["turns_summarized"] == 2


# ---------------------------------------------------------------- forks and moves


@pytest.fixture
def compacted(session: palaver.Session) -> palaver.Session:
    """1, 2, 3, a summary of 1 that keeps 2 and 3, then 4."""
    two = talks(session, 1, 2, 3)[1]
    session.compact("of 1", keep_from=two)
    talk(session, "4")
    return session


AFTER = ["system: of 1", *said(2, 3, 4)]


def test_a_fork_behind_the_compaction_sees_the_summary(store: palaver.Store, compacted: palaver.Session) -> None:
    fork = compacted.fork()
    talk(fork, "5")
    assert words(fork.context()) == [*AFTER, *said(5)]
    assert words(compacted.context()) == AFTER
    assert words(compacted.fork(at=compacted.path()[3]).context()) == ["system: of 1", *said(2, 3)]
    assert store.verify() == []


def test_a_fork_before_the_compaction_sees_the_turns(compacted: palaver.Session) -> None:
    fork = compacted.fork(at=compacted.path()[2])
    assert words(fork.context()) == said(1, 2, 3)


def test_a_compaction_in_a_fork_is_not_the_origins(store: palaver.Store, compacted: palaver.Session) -> None:
    fork = compacted.fork()
    fork.compact("of all", keep_from=fork.path()[-1])
    assert words(fork.context()) == ["system: of all", *said(4)]
    assert words(compacted.context()) == AFTER
    assert store.verify() == []


def test_a_fork_whose_copies_are_made_reads_the_same(store: palaver.Store, compacted: palaver.Session) -> None:
    assert words(compacted.fork(copy=True).context()) == AFTER
    assert store.verify() == []


def test_rewind_and_undo_take_the_summary_away_and_back(store: palaver.Store, compacted: palaver.Session) -> None:
    compacted.rewind(to=compacted.path()[2])
    assert words(compacted.context()) == said(1, 2, 3)
    compacted.undo()
    assert words(compacted.context()) == AFTER
    compacted.redo()
    assert words(compacted.context()) == said(1, 2, 3)
    assert store.verify() == []


def test_undo_takes_back_a_compaction(session: palaver.Session) -> None:
    talks(session, 1, 2)
    session.compact("s")
    session.undo()
    assert words(session.context()) == said(1, 2)
    session.redo()
    assert words(session.context()) == ["system: s"]


def test_a_rewind_into_a_kept_turn_shows_the_path_as_it_is_then(compacted: palaver.Session) -> None:
    question = compacted.messages()[2]
    assert question["parts"][0]["text"] == "q2"
    compacted.rewind(to=question)
    assert words(compacted.context()) == [*said(1), "user: q2"]


def test_a_place_may_be_named_by_the_message_of_a_compaction(store: palaver.Store, compacted: palaver.Session) -> None:
    message = compacted.messages()[6]
    assert message["parts"][0]["type"] == "data-compaction"
    fork = compacted.fork(at=message)
    assert kinds(fork) == ["turn", "turn", "turn", "compaction"]
    compacted.rewind(to=message)
    assert words(compacted.context()) == words(fork.context()) == ["system: of 1", *said(2, 3)]
    assert store.verify() == []


def test_the_message_of_a_compaction_is_no_answer_to_give_again(compacted: palaver.Session) -> None:
    before = compacted.revision
    with pytest.raises(palaver.Refused):
        compacted.regenerate(compacted.messages()[6]["id"])
    assert compacted.revision == before


def test_an_edit_of_a_summarised_question_leaves_the_compaction_behind(
    store: palaver.Store, compacted: palaver.Session
) -> None:
    feed(compacted.edit(compacted.messages()[0]["id"], "another"), step(*text("answer"))).seal()
    assert words(compacted.context()) == ["user: another", "assistant: answer"]
    compacted.undo()
    assert words(compacted.context()) == AFTER
    assert store.verify() == []


# ---------------------------------------------------------------- refused, and nothing changed


def unchanged(store: palaver.Store, session: palaver.Session) -> tuple[Any, ...]:
    return (session.info, session.messages_json(), session.history(), session.context(), store.verify())


def test_a_turn_off_the_path_cannot_be_kept(store: palaver.Store, session: palaver.Session) -> None:
    talk(session, "1")
    aside = talk(session, "2")
    session.rewind(to=session.path()[0])
    before = unchanged(store, session)
    with pytest.raises(palaver.NotOnPath):
        session.compact("s", keep_from=aside)
    assert unchanged(store, session) == before


def test_a_turn_of_another_session_cannot_be_kept(store: palaver.Store, session: palaver.Session) -> None:
    talk(session, "1")
    foreign = talk(store.sessions.create("other"), "x")
    with pytest.raises(palaver.NotOnPath):
        session.compact("s", keep_from=foreign)


@pytest.mark.parametrize("keep_from", ["trn_nowhere", "", "q1"])
def test_an_unknown_turn_cannot_be_kept(store: palaver.Store, session: palaver.Session, keep_from: str) -> None:
    talk(session, "1")
    before = unchanged(store, session)
    with pytest.raises(palaver.TurnNotFound):
        session.compact("s", keep_from=keep_from)
    assert unchanged(store, session) == before


def test_not_everything_can_be_kept(store: palaver.Store, session: palaver.Session) -> None:
    turns = talks(session, 1, 2)
    before = unchanged(store, session)
    with pytest.raises(palaver.BadValue, match="everything would be kept"):
        session.compact("s", keep_from=turns[0])
    assert unchanged(store, session) == before


@pytest.mark.parametrize("summary", ["", "  \n\t", None, 7, b"bytes", ["s"]])
def test_a_summary_is_text_that_says_something(session: palaver.Session, summary: Any) -> None:
    talk(session, "1")
    with pytest.raises(palaver.BadValue):
        session.compact(summary)
    assert kinds(session) == ["turn"]


WRONG = [{"tokens_before": -1}, {"tokens_after": 1.5}, {"duration_ms": True}, {"summary_tokens": "7"}]


@pytest.mark.parametrize("given", [*WRONG, {"model": 7}, {"compaction_type": "a\0b"}, {"metadata": {"f": {1}}}])
def test_a_field_that_is_wrong_is_refused(session: palaver.Session, given: dict[str, Any]) -> None:
    talk(session, "1")
    with pytest.raises(palaver.BadValue):
        session.compact("s", **given)
    assert kinds(session) == ["turn"]


def test_an_empty_session_has_nothing_to_summarise(store: palaver.Store, session: palaver.Session) -> None:
    before = unchanged(store, session)
    with pytest.raises(palaver.BadValue, match="nothing was said yet"):
        session.compact("s")
    assert unchanged(store, session) == before


def test_whoever_expects_another_revision_is_refused(store: palaver.Store, session: palaver.Session) -> None:
    talks(session, 1, 2)
    before = unchanged(store, session)
    with pytest.raises(palaver.HeadConflict):
        session.compact("s", expected=1)
    assert unchanged(store, session) == before
    session.compact("s", expected=2)
    assert session.revision == 3


def test_an_archived_session_is_not_compacted(session: palaver.Session) -> None:
    talk(session, "1")
    session.archive()
    with pytest.raises(palaver.SessionArchived):
        session.compact("s")


# ---------------------------------------------------------------- beside open turns, and others


def test_a_turn_that_runs_loses_to_a_compaction(store: palaver.Store, session: palaver.Session) -> None:
    talk(session, "1")
    running = feed(session.turn("q2"), [{"type": "start"}, *step(*text("a2"))])
    session.compact("s")
    with pytest.raises(palaver.HeadConflict):
        running.seal()
    assert words(session.context()) == ["system: s"]
    assert [stray.id for stray in session.strays()] == [running.id]
    assert store.verify() == []


def test_what_another_program_wrote_is_taken_in_before_the_summary(
    store: palaver.Store, session: palaver.Session, path: str
) -> None:
    talk(session, "1")
    with plain(path, writes=True) as db:
        at = db.execute("SELECT max(created_at) + 1 FROM chat_messages").fetchall()[0][0]
        db.execute("INSERT INTO chat_messages VALUES ('theirs', ?1, 'user', '{}', ?2, ?2)", (session.id, at))
        part = '{"type":"text","text":"from afar"}'
        values = ("part", "theirs", session.id, part, at)
        db.execute("INSERT INTO chat_parts VALUES (?1, ?2, ?3, 0, 'text', ?4, NULL, NULL, ?5, ?5)", values)
    session.compact("s")
    assert kinds(session) == ["turn", "foreign", "compaction"]
    assert words(session.context()) == ["system: s"]
    assert store.verify() == []


def test_the_tokens_of_the_summary_are_counted_once(store: palaver.Store, session: palaver.Session) -> None:
    with session.turn("q") as turn:
        feed(turn, [{"type": "start"}])
        turn.usage(input=100, output=10)
    made = session.compact("s", summarization_input_tokens=7, summarization_output_tokens=5, tokens_before=999)
    assert made.usage == palaver.Usage(input=7, output=5)
    assert session.info.usage == palaver.Usage(input=107, output=15)
    assert session.info.total_tokens == session.path()[-1].thread_tokens == 122
    fork = session.fork()
    assert fork.info.total_tokens == 0
    session.undo()
    session.redo()
    assert session.info.total_tokens == 122
    assert store.verify() == []


# ---------------------------------------------------------------- by hand


FORGED = {"type": "data-compaction", "data": {"summary": "forged"}}


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_compaction_is_not_committed_by_hand(session: palaver.Session, role: str) -> None:
    with pytest.raises(palaver.BadValue, match="data-compaction"):
        session.commit({"role": role, "parts": [FORGED]})
    assert session.messages() == []


def test_a_compaction_is_not_said_streamed_edited_or_queued_by_hand(session: palaver.Session) -> None:
    forged = {"role": "user", "parts": [FORGED]}
    for refused in (session.turn, session.enqueue):
        with pytest.raises(palaver.BadValue, match="data-compaction"):
            refused(forged)
    talk(session, "1")
    with pytest.raises(palaver.BadValue, match="data-compaction"):
        session.edit(session.messages()[0]["id"], forged)
    with session.turn("q2") as turn:
        feed(turn, [{"type": "start"}])
        for given in (FORGED, FORGED | {"id": "x"}, FORGED | {"transient": True}):
            with pytest.raises(palaver.BadValue, match="data-compaction"):
                turn.write(given)
    assert "data-compaction" not in session.messages_json()


def test_a_transcript_with_a_compaction_is_not_committed_elsewhere(
    store: palaver.Store, session: palaver.Session
) -> None:
    talk(session, "1")
    session.compact("s")
    other = store.sessions.create("other")
    with pytest.raises(palaver.BadValue, match="data-compaction"):
        other.commit(session.messages())
    assert other.messages() == []
