"""After every move of a head the judge, who knows nothing of heads, still rebuilds the session we show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import palaver

from . import judge
from .support import assert_agrees, say, shown, stream, texts

TALK = ["one", "first", "two", "second", "three", "third"]


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    """Three turns: one/first, two/second, three/third."""
    made = store.sessions.create("coder")
    for question, reply in zip(TALK[::2], TALK[1::2], strict=True):
        say(made, question, reply)
    return made


@pytest.fixture(autouse=True)
def agreement(store: palaver.Store) -> Iterator[None]:
    """Whatever a test did, at its end the judge agrees."""
    yield
    assert_agrees(store)


def rebuilt(store: palaver.Store, session: palaver.Session) -> list[str]:
    return texts(assert_agrees(store).transcripts[session.id])


def test_rewind_to_a_turn(store: palaver.Store, session: palaver.Session) -> None:
    session.rewind(to=session.path()[0])
    assert rebuilt(store, session) == TALK[:2]


def test_rewind_to_a_question_keeps_it_and_hides_its_answer(store: palaver.Store, session: palaver.Session) -> None:
    session.rewind(to=session.messages()[2]["id"])
    assert rebuilt(store, session) == TALK[:3]


def test_undo_and_redo_step_by_step(store: palaver.Store, session: palaver.Session) -> None:
    seen = []
    for _ in range(3):
        session.undo()
        seen.append(len(rebuilt(store, session)))
    for _ in range(3):
        session.redo()
        seen.append(len(rebuilt(store, session)))
    assert seen == [4, 2, 0, 2, 4, 6]


def test_undo_of_a_rewind(store: palaver.Store, session: palaver.Session) -> None:
    session.rewind(to=session.messages()[0]["id"])
    session.undo()
    assert rebuilt(store, session) == TALK


def test_a_new_turn_after_a_rewind(store: palaver.Store, session: palaver.Session) -> None:
    session.rewind(to=session.messages()[2]["id"])
    say(session, "two again", "another second")
    assert rebuilt(store, session) == [*TALK[:3], "two again", "another second"]
    session.undo()
    assert rebuilt(store, session) == TALK[:3]


def test_move_to_any_turn_of_the_tree(store: palaver.Store, session: palaver.Session) -> None:
    old = session.path()
    session.rewind(to=old[0])
    say(session, "left", "turn left")
    session.move(old[2], expected=session.revision)
    assert rebuilt(store, session) == TALK
    session.move(None, expected=session.revision)
    assert rebuilt(store, session) == []


def test_regenerate_while_open_after_and_undone(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.regenerate()
    assert rebuilt(store, session) == TALK[:5]
    stream(turn, "third again")
    turn.seal()
    assert rebuilt(store, session) == [*TALK[:5], "third again"]
    session.undo()
    assert rebuilt(store, session) == TALK
    session.redo()
    assert rebuilt(store, session) == [*TALK[:5], "third again"]


def test_regenerate_of_an_early_answer(store: palaver.Store, session: palaver.Session) -> None:
    with session.regenerate(session.messages()[1]["id"]) as turn:
        assert rebuilt(store, session) == ["one"]
        stream(turn, "first again")
    assert rebuilt(store, session) == ["one", "first again"]


def test_undo_while_a_regenerated_turn_is_open(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.regenerate()
    stream(turn, "too late")
    session.undo()
    assert rebuilt(store, session) == TALK
    with pytest.raises(palaver.HeadConflict):
        turn.seal()
    assert rebuilt(store, session) == TALK


def test_a_question_shared_with_an_open_regenerate_stays_visible_when_the_head_moves_on(
    store: palaver.Store, session: palaver.Session
) -> None:
    turn = session.regenerate()
    session.undo()
    session.commit(["four"])
    assert rebuilt(store, session) == [*TALK, "four"]
    with pytest.raises(palaver.HeadConflict):
        turn.seal()
    assert rebuilt(store, session) == [*TALK, "four"]


def test_an_aborted_regenerate(store: palaver.Store, session: palaver.Session) -> None:
    session.regenerate().abort()
    assert rebuilt(store, session) == TALK[:5]
    session.undo()
    assert rebuilt(store, session) == TALK


def test_edit_while_open_after_and_undone(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.edit(session.messages()[2]["id"], "two, put differently")
    assert rebuilt(store, session) == [*TALK[:2], "two, put differently"]
    stream(turn, "edited")
    turn.seal()
    assert rebuilt(store, session) == [*TALK[:2], "two, put differently", "edited"]
    session.undo()
    assert rebuilt(store, session) == TALK


def test_edit_of_an_edit(store: palaver.Store, session: palaver.Session) -> None:
    known = session.messages()[4]["id"]
    for words in ("three b", "three c"):
        with session.edit(known, words) as turn:
            stream(turn, f"to {words}")
    assert rebuilt(store, session) == [*TALK[:4], "three c", "to three c"]


def test_a_lost_race_leaves_what_was_read_before(store: palaver.Store, session: palaver.Session) -> None:
    winner, loser = session.turn("fast"), session.turn("slow")
    stream(loser, "never seen")
    stream(winner, "seen")
    winner.seal()
    assert rebuilt(store, session) == [*TALK, "fast", "seen"]
    loser.write({"type": "message-metadata", "messageMetadata": {"late": True}})
    assert rebuilt(store, session) == [*TALK, "fast", "seen"]
    with pytest.raises(palaver.HeadConflict):
        loser.seal()
    assert rebuilt(store, session) == [*TALK, "fast", "seen"]


def test_an_answer_that_begins_after_the_race_was_lost_is_born_hidden(
    store: palaver.Store, session: palaver.Session
) -> None:
    loser = session.turn("slow")
    session.commit(["fast"])
    stream(loser, "never seen")
    assert rebuilt(store, session) == [*TALK, "fast"]
    with pytest.raises(palaver.HeadConflict):
        loser.seal()


def test_undo_back_to_the_revision_of_an_open_turn_does_not_bring_it_back(
    store: palaver.Store, session: palaver.Session
) -> None:
    slow = session.turn("slow")
    stream(slow, "…")
    session.commit(["fast"])
    session.undo()
    assert rebuilt(store, session) == TALK
    with pytest.raises(palaver.HeadConflict):
        slow.seal()
    assert rebuilt(store, session) == TALK


def test_a_refused_verb_changes_nothing(store: palaver.Store, session: palaver.Session) -> None:
    before = judge.look(store.path)
    with pytest.raises(palaver.HeadConflict):
        session.turn("no", expected=1)
    with pytest.raises(palaver.HeadConflict):
        session.rewind(to=session.path()[0], expected=99)
    with pytest.raises(palaver.HeadConflict):
        session.commit(["no"], expected=0)
    assert judge.look(store.path) == before


def test_a_waiting_turn_while_it_waits_when_answered_and_when_resumed(
    store: palaver.Store, session: palaver.Session
) -> None:
    with session.turn("may I?") as turn:
        turn.write({"type": "start"})
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "rm", "input": {"f": "x"}})
        turn.write({"type": "tool-approval-request", "toolCallId": "c1", "approvalId": "a1"})
        turn.write({"type": "finish"})
    assert turn.status == "waiting"
    assert rebuilt(store, session) == [*TALK, "may I?", ""]
    with session.resume(turn.id) as resumed:
        assert_agrees(store)
        resumed.resolve("c1", approved=True)
        assert_agrees(store)
        resumed.write({"type": "tool-output-available", "toolCallId": "c1", "output": "gone"})
        stream(resumed, "done")
    assert rebuilt(store, session) == [*TALK, "may I?", "done"]


def ask(session: palaver.Session, question: str) -> palaver.Turn:
    """A turn that waits for a client's tool."""
    turn = session.turn(question)
    turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "pick", "input": {}})
    turn.write({"type": "finish"})
    return turn


def test_the_user_moves_on_from_a_waiting_turn(store: palaver.Store, session: palaver.Session) -> None:
    ask(session, "which one?")
    say(session, "never mind", "fine")
    assert rebuilt(store, session) == [*TALK, "which one?", "", "never mind", "fine"]


def test_of_two_waiting_turns_the_first_stays_when_the_user_moves_on(
    store: palaver.Store, session: palaver.Session
) -> None:
    first = session.turn("which?")
    second = session.turn("or which?")
    for turn in (second, first):
        turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "pick", "input": {}})
        turn.write({"type": "finish"})
    assert sorted(rebuilt(store, session)[6:]) == ["", "", "or which?", "which?"]
    say(session, "never mind", "fine")
    assert rebuilt(store, session) == [*TALK, "which?", "", "never mind", "fine"]


def test_a_result_that_comes_too_late_is_in_no_transcript(store: palaver.Store, session: palaver.Session) -> None:
    turn = ask(session, "which one?")
    turn.usage(input=5, output=6)
    turn.seal()
    before = session.messages()
    with pytest.raises(palaver.TurnSealed):
        turn.resolve("c1", output="the red one")
    assert shown(session.messages()) == shown(before)
    assert_agrees(store)
    assert session.info.total_tokens == 11


def test_rewind_past_a_waiting_turn(store: palaver.Store, session: palaver.Session) -> None:
    ask(session, "which one?")
    session.rewind(to=session.path()[0])
    assert rebuilt(store, session) == TALK[:2]


def test_archive_and_unarchive(store: palaver.Store, session: palaver.Session) -> None:
    session.archive()
    assert rebuilt(store, session) == TALK
    session.unarchive()
    assert rebuilt(store, session) == TALK


def test_a_turn_that_was_open_when_its_session_was_archived(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.turn("last words")
    session.archive()
    stream(turn, "indeed")
    turn.seal()
    assert rebuilt(store, session) == [*TALK, "last words", "indeed"]


def test_delete_and_undelete(store: palaver.Store, session: palaver.Session) -> None:
    session.delete()
    assert rebuilt(store, session) == []
    session.undelete()
    assert rebuilt(store, session) == TALK


def test_delete_with_an_open_turn(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.turn("too late")
    stream(turn, "for this")
    session.delete()
    assert rebuilt(store, session) == []
    with pytest.raises(palaver.PalaverError):
        turn.write({"type": "message-metadata", "messageMetadata": {"x": 1}})
    session.undelete()
    assert rebuilt(store, session) == TALK


def test_sealing_a_turn_that_a_delete_took_says_that_it_is_sealed(
    store: palaver.Store, session: palaver.Session
) -> None:
    turn = session.turn("too late")
    stream(turn, "for this")
    session.delete()
    with pytest.raises(palaver.TurnSealed):
        turn.seal()


def test_a_turn_that_was_taken_away_says_so_every_time(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.turn("too late")
    turn.write({"type": "text-start", "id": "t"})
    session.delete()
    for _ in range(3):
        with pytest.raises(palaver.TurnSealed):
            turn.write({"type": "text-delta", "id": "t", "delta": "for this"})


def test_a_message_given_by_its_own_well_formed_id_is_that_row(store: palaver.Store, session: palaver.Session) -> None:
    mine = "msg_9c82cc000001Abcdefghij0123"
    session.commit([{"id": mine, "role": "user", "content": "mine"}])
    assert assert_agrees(store).transcripts[session.id][-1]["id"] == mine
    assert session.messages()[-1]["id"] == mine


def test_a_message_known_by_another_id_has_a_row_of_ours(store: palaver.Store, session: palaver.Session) -> None:
    session.commit([{"id": "uuid-1", "role": "user", "content": "theirs"}])
    row = assert_agrees(store).transcripts[session.id][-1]["id"]
    assert row.startswith("msg_")
    assert len(row) == 30
    assert session.messages()[-1]["id"] == "uuid-1"


def test_rollups_never_fall_on_a_rewind(store: palaver.Store, session: palaver.Session) -> None:
    with session.turn("how much?") as turn:
        stream(turn, "that much")
        turn.usage(input=10, output=5)
    session.rewind(to=session.path()[0])
    assert_agrees(store)
    assert session.info.total_tokens == 15


# ---------------------------------------------------------------- forks


def test_a_fork_is_its_own_rows_and_a_link_to_the_question_it_forks_from(
    store: palaver.Store, session: palaver.Session
) -> None:
    fork = session.fork(at=session.messages()[3]["id"])
    say(fork, "otherwise", "indeed otherwise")
    verdict = assert_agrees(store)
    assert texts(verdict.transcripts[fork.id]) == ["otherwise", "indeed otherwise"]
    assert texts(fork.messages()) == [*TALK[:4], "otherwise", "indeed otherwise"]
    assert fork.info.parent_id == session.id
    assert fork.info.parent_message_id == verdict.transcripts[session.id][2]["id"]


def test_a_fork_changes_nothing_in_its_parent(store: palaver.Store, session: palaver.Session) -> None:
    before = judge.look(store.path).transcripts[session.id]
    fork = session.fork(at=session.messages()[0]["id"])
    say(fork, "otherwise", "yes")
    fork.rewind(to=fork.messages()[0]["id"])
    fork.undo()
    assert judge.look(store.path).transcripts[session.id] == before


def test_a_fork_of_a_fork_links_to_the_home_of_the_question(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork()
    again = fork.fork()
    assert again.info.parent_id == session.id
    say(fork, "four", "fourth")
    third = fork.fork()
    assert third.info.parent_id == fork.id
    assert_agrees(store)


def test_a_fork_rewound_past_its_own_rows_hides_them(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork()
    say(fork, "four", "fourth")
    fork.rewind(to=session.path()[0])
    assert texts(fork.messages()) == TALK[:2]
    assert judge.look(store.path).transcripts[fork.id] == []
    assert rebuilt(store, session) == TALK
    fork.undo()
    assert texts(judge.look(store.path).transcripts[fork.id]) == ["four", "fourth"]


def test_a_rewind_of_the_parent_leaves_its_fork_whole(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork()
    session.rewind(to=session.path()[0])
    assert texts(fork.messages()) == TALK
    assert rebuilt(store, session) == TALK[:2]


def test_a_fork_of_a_stray_rescues_it(store: palaver.Store, session: palaver.Session) -> None:
    loser = session.turn("slow")
    stream(loser, "but good")
    session.commit(["fast"])
    with pytest.raises(palaver.HeadConflict) as lost:
        loser.seal()
    rescued = session.fork(at=lost.value.stray)
    assert texts(rescued.messages()) == [*TALK, "slow", "but good"]
    assert rebuilt(store, session) == [*TALK, "fast"]


def test_a_fork_of_an_empty_session_links_to_it(store: palaver.Store) -> None:
    empty = store.sessions.create("coder")
    fork = empty.fork()
    assert (fork.info.parent_id, fork.info.parent_message_id) == (empty.id, None)


def test_a_spawned_session_links_to_the_question_that_caused_it(store: palaver.Store, session: palaver.Session) -> None:
    child = store.sessions.create("researcher", parent=session, tool_call_id="c9")
    say(child, "sub task", "done")
    verdict = assert_agrees(store)
    assert texts(verdict.transcripts[child.id]) == ["sub task", "done"]
    assert child.info.parent_message_id == verdict.transcripts[session.id][4]["id"]


def test_regenerate_in_a_fork_of_an_answer_it_shares(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork()
    with fork.regenerate() as turn:
        stream(turn, "third, otherwise")
    assert texts(fork.messages()) == [*TALK[:5], "third, otherwise"]
    assert texts(assert_agrees(store).transcripts[fork.id]) == ["third, otherwise"]
    assert rebuilt(store, session) == TALK
