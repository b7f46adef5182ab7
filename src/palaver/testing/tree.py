"""The tree: a fork shares a path with its origin, strays are kept beside it, and depth is no obstacle."""

from __future__ import annotations

from typing import ClassVar

import pytest

import palaver
from palaver import HeadConflict, Session, Store

from .group import Group
from .helpers import OpenStore, ask, assistant, ids_of, leave_waiting, refused, say, tell, texts, user


class Tree(Group):
    # ------------------------------------------------------------ fork

    def test_a_fork_shares_the_path_and_goes_its_own_way(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        fork = session.fork()
        assert (fork.messages(), fork.path(), fork.revision) == (session.messages(), session.path(), 0)
        ask(fork, "in the fork", "there")
        ask(session, "in the origin", "here")
        assert texts(fork) == ["Hello?", "Hi.", "in the fork", "there"]
        assert texts(session) == ["Hello?", "Hi.", "in the origin", "here"]

    def test_a_fork_inherits_agent_workspace_and_model_but_no_usage_and_no_names(self, store: Store) -> None:
        model = {"provider_id": "acme", "model_id": "m-1"}
        session = store.sessions.create(agent="coder", workspace="/src", model="acme/m-1", metadata={"k": 1})
        session.alias("main")
        with session.turn("Hello?") as turn:
            say(turn)
            turn.usage(input=10, output=5, cost_usd=0.5)
        info = (fork := session.fork(title="a copy")).info
        assert (info.agent, info.workspace, info.model, info.title) == ("coder", "/src", model, "a copy")
        assert (info.usage, info.total_tokens, info.cost_usd) == (palaver.Usage(), 0, 0)
        assert (info.relation, info.metadata, fork.aliases(), info.archived_at) == ("fork", {}, [], None)

    @pytest.mark.parametrize("keep", [1, 2, 3])
    def test_a_fork_at_a_turn_keeps_that_turn(self, session: Session, keep: int) -> None:
        turns = [ask(session, f"q{n}", f"a{n}") for n in (1, 2, 3)]
        fork = session.fork(at=turns[keep - 1].id)
        assert texts(fork) == ["q1", "a1", "q2", "a2", "q3", "a3"][: 2 * keep]
        assert fork.info.turn_id == turns[keep - 1].id

    @pytest.mark.parametrize("place", [0, 1, 2, 3])
    def test_a_fork_at_a_message_keeps_up_to_and_including_it(self, session: Session, place: int) -> None:
        ask(session, "q1", "a1")
        ask(session, "q2", "a2")
        fork = session.fork(at=session.messages()[place])
        assert fork.messages() == session.messages()[: place + 1]
        assert texts(session) == ["q1", "a1", "q2", "a2"]

    def test_a_fork_at_the_last_message_of_a_turn_needs_no_turn_of_its_own(self, session: Session) -> None:
        turn = ask(session)
        assert session.fork(at=ids_of(session)[1]).info.turn_id == turn.id

    def test_a_fork_at_a_message_that_two_turns_list_is_at_the_one_on_the_path(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.abort()
        with session.regenerate() as turn:
            turn.abort()
        assert session.fork(at=session.messages()[0]["id"]).path() == session.path()

    def test_a_fork_of_an_open_turn_has_its_finished_messages(self, session: Session) -> None:
        ask(session, "q1", "a1")
        turn = session.turn("q2")
        turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "half"}])
        fork = session.fork(at=turn.id)
        assert (texts(fork), texts(session)) == (["q1", "a1", "q2"], ["q1", "a1", "q2", "half"])
        turn.seal()
        assert (texts(fork), texts(session)) == (["q1", "a1", "q2"], ["q1", "a1", "q2", "half"])

    def test_a_fork_at_the_question_of_an_open_turn_works_by_the_id_messages_shows(self, session: Session) -> None:
        ask(session, "q1", "a1")
        say(session.turn([user("q2", id="q-2"), user("q3")]), "half")
        assert texts(session.fork(at=session.messages()[2]["id"])) == ["q1", "a1", "q2"]
        assert texts(session.fork(at=session.messages()[3]["id"])) == ["q1", "a1", "q2", "q3"]

    def test_a_fork_of_a_waiting_turn_has_its_finished_messages(self, session: Session) -> None:
        turn = leave_waiting(session, "Run it.")
        fork = session.fork(at=turn.id)
        assert (texts(fork), fork.waiting(), [t.id for t in session.waiting()]) == (["Run it."], [], [turn.id])

    def test_times_increase_along_the_path_of_a_fork(self, session: Session) -> None:
        for n in range(5):
            session.commit(user(f"origin {n}"))
        fork = session.fork()
        for n in range(5):
            fork.commit(user(f"fork {n}"))
        started = [turn.started_at for turn in fork.path()]
        assert (len(started), started) == (10, sorted(set(started)))

    def test_a_fork_at_the_head_does_not_take_an_open_turn_along(self, session: Session) -> None:
        ask(session, "q1", "a1")
        say(session.turn("q2"), "a2")
        assert texts(session.fork()) == ["q1", "a1"]

    def test_a_fork_of_nothing_is_empty(self, session: Session) -> None:
        fork = session.fork()
        assert (fork.messages(), fork.info.parent_id, fork.info.parent_message_id) == ([], session.id, None)

    def test_a_fork_names_the_nearest_question_and_its_home(self, session: Session) -> None:
        ask(session, "q1", "a1")
        ask(session, "q2", "a2")
        first, _, second, _ = ids_of(session)
        at_head, at_first = session.fork().info, session.fork(at=first).info
        assert (at_head.parent_id, at_head.parent_message_id) == (session.id, second)
        assert (at_first.parent_id, at_first.parent_message_id) == (session.id, first)

    def test_a_fork_of_a_fork_names_the_home_of_the_question(self, session: Session) -> None:
        ask(session, "q1", "a1")
        fork = session.fork()
        again = fork.fork()
        assert (again.info.parent_id, again.info.parent_message_id) == (session.id, ids_of(session)[0])
        ask(fork, "q2", "a2")
        third = fork.fork()
        assert (third.info.parent_id, third.info.parent_message_id) == (fork.id, ids_of(fork)[2])
        assert (third.ancestors(), session.descendants()) == ([fork.id, session.id], [fork.id, again.id, third.id])
        assert texts(third) == ["q1", "a1", "q2", "a2"]

    def test_forking_changes_nothing_in_the_origin(self, session: Session) -> None:
        session.commit([user("q1"), assistant("a1"), user("q2")])
        before = (session.messages_json(), session.revision, session.path(), session.history(), session.info.usage)
        session.fork(at=ids_of(session)[0])
        after = (session.messages_json(), session.revision, session.path(), session.history(), session.info.usage)
        assert after == before

    def test_a_fork_is_made_at_a_place_of_its_own_session(self, store: Store, session: Session) -> None:
        ask(session, "one")
        other = store.sessions.create("another")
        ask(other, "two")
        with refused(session, palaver.MessageNotFound):
            session.fork(at=other.messages()[1]["id"])
        with refused(session, palaver.TurnNotFound):
            session.fork(at=other.path()[0])
        fork = session.fork()
        ask(fork, "three")
        assert texts(fork.fork(at=session.messages()[0]["id"])) == ["one"]
        with refused(session, palaver.TurnNotFound):
            session.fork(at=fork.path()[-1])

    @pytest.mark.parametrize("place", ["trn_nobody", "msg_nobody", "nobody", ""])
    def test_a_fork_needs_a_place_that_is_there(self, session: Session, place: str) -> None:
        ask(session)
        with refused(session, palaver.NotFound):
            session.fork(at=place)

    # ------------------------------------------------------------ strays

    def test_a_stray_is_beside_the_path_and_a_fork_rescues_it(self, session: Session) -> None:
        ask(session, "q0", "a0")
        winner, loser = session.turn("q1"), session.turn("q2")
        say(winner, "won")
        say(loser, "lost")
        winner.seal()
        with pytest.raises(HeadConflict) as caught:
            loser.seal()
        assert caught.value.stray == loser.id
        assert ([t.id for t in session.strays()], loser.status) == ([loser.id], "completed")
        assert texts(session) == ["q0", "a0", "q1", "won"]
        assert texts(session.fork(at=loser.id)) == ["q0", "a0", "q2", "lost"]

    def test_strays_and_branches_are_in_the_tree_parents_first(self, session: Session) -> None:
        root = ask(session, "q0", "a0")
        loser = session.turn("lost")
        winner = session.commit(tell("q1", "a1"))
        with pytest.raises(HeadConflict):
            loser.seal()
        session.rewind(to=root.id)
        branch = ask(session, "q2", "a2")
        assert {t.id for t in session.tree()} == {root.id, loser.id, winner.id, branch.id}
        assert [t.depth for t in session.tree()] == [1, 2, 2, 2]
        assert {t.parent_id for t in session.tree()[1:]} == {root.id}

    def test_a_stray_has_a_digest_over_its_own_parent(self, session: Session) -> None:
        root = ask(session)
        loser = session.turn("lost")
        session.commit(tell("q1", "a1"))
        with pytest.raises(HeadConflict):
            loser.seal()
        [stray] = session.strays()
        assert (stray.parent_id, stray.depth) == (root.id, 2)
        assert stray.digest is not None and len(stray.digest) == 32

    def test_the_head_may_be_moved_to_a_stray(self, session: Session) -> None:
        loser = say(session.turn("q2"), "lost")
        session.commit(tell("q1", "a1"))
        with pytest.raises(HeadConflict):
            loser.seal()
        session.move(loser.id, expected=1)
        assert (texts(session), session.revision) == (["q2", "lost"], 2)

    # ------------------------------------------------------------ depth

    def test_three_hundred_turns_read_fork_and_rewind(self, session: Session) -> None:
        infos = [session.commit(user(str(n))) for n in range(300)]
        assert texts(session) == [str(n) for n in range(300)]
        assert [t.id for t in session.path()] == [t.id for t in infos]
        assert texts(session.fork(at=infos[149].id))[-1] == "149"
        session.rewind(to=infos[9].id)
        assert (len(session.messages()), len(session.tree())) == (10, 300)
        session.undo()
        assert len(session.messages()) == 300


class Ancestry(Group):
    """Sessions that came from sessions, very far down. The figure is `generations`; promises are kept at 10,000."""

    generations: ClassVar[int] = 2_000

    def test_forks_of_forks_go_as_deep_as_anybody_likes(self, open_store: OpenStore) -> None:
        first = session = open_store(durability="normal").sessions.create(agent="coder")
        ask(session, "Hello?", "Hi.")
        for _ in range(self.generations):
            session = session.fork()
        assert (texts(session), session.info.parent_id) == (["Hello?", "Hi."], first.id)
        assert session.info.preview == "Hello?"

    def test_sub_agents_of_sub_agents_know_all_their_ancestors(self, open_store: OpenStore) -> None:
        store = open_store(durability="normal")
        chain = [store.sessions.create(agent="coder")]
        for _ in range(self.generations):
            chain.append(store.sessions.create(agent="helper", parent=chain[-1]))
        names = [session.id for session in chain]
        assert chain[-1].ancestors() == names[-2::-1]
        assert chain[0].descendants() == names[1:]
