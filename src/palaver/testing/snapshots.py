"""Snapshots: a read is of one moment, a second handle sees every acknowledged chunk, and nothing read changes later."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import palaver
from palaver import Session, Store

from .group import Group
from .helpers import OpenStore, answer, ask, assistant, leave_waiting, picture, say, tell, texts, user


class Snapshots(Group):
    def test_a_second_handle_sees_each_chunk_at_once(self, session: Session, second: Store) -> None:
        other = second.sessions.get(session.id)
        with session.turn("Count.") as turn:
            assert texts(other) == ["Count."]
            for chunk in answer("one two three four"):
                turn.write(chunk)
                assert other.messages() == session.messages()
                assert other.messages()[1]["parts"] == turn.message()["parts"]
        assert picture(other) == picture(session)

    def test_a_second_handle_sees_every_verb_at_once(self, session: Session, second: Store) -> None:
        other = second.sessions.get(session.id)
        first = ask(session, "q1", "a1")
        assert texts(other) == ["q1", "a1"]
        ask(other, "q2", "a2")
        assert texts(session) == ["q1", "a1", "q2", "a2"]
        session.rewind(to=first.id)
        assert texts(other) == ["q1", "a1"]
        other.undo()
        assert texts(session) == ["q1", "a1", "q2", "a2"]
        session.title = "Two of us"
        session.alias("main")
        assert (other.title, second.sessions.find("main").id) == ("Two of us", session.id)
        other.archive()
        assert session.info.archived_at is not None
        session.delete()
        assert other.messages() == []

    def test_a_second_handle_sees_usage_and_waiting_at_once(self, session: Session, second: Store) -> None:
        other = second.sessions.get(session.id)
        turn = session.turn("Hello?")
        turn.usage(input=10)
        assert other.info.usage == palaver.Usage(input=10)
        turn.seal()
        waiting = leave_waiting(session)
        assert [t.id for t in other.waiting()] == [waiting.id]
        with other.resume(waiting.id) as resumed:
            resumed.resolve("c1", output=1)
        assert session.waiting() == []

    def test_a_reader_never_sees_half_of_a_commit(self, session: Session, open_store: OpenStore) -> None:
        reader = open_store().sessions.get(session.id) if self.shared else session
        seen: list[list[str]] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                seen.append(texts(reader))
                time.sleep(0)  # as below

        thread = threading.Thread(target=read)
        thread.start()
        try:
            for n in range(40):
                session.commit([user(f"q{n}"), assistant(f"a{n}"), assistant(f"b{n}")])
        finally:
            done.set()
            thread.join(timeout=60)
        whole = [text for n in range(40) for text in (f"q{n}", f"a{n}", f"b{n}")]
        assert seen and all(len(one) % 3 == 0 and one == whole[: len(one)] for one in seen)
        assert [len(one) for one in seen] == sorted(len(one) for one in seen)

    def test_a_reader_never_sees_a_part_run_backwards(self, session: Session, open_store: OpenStore) -> None:
        reader = open_store().sessions.get(session.id) if self.shared else session
        turn = session.turn("Count.")
        turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}])
        seen: list[str] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                seen.append(texts(reader)[1])
                time.sleep(0)  # in memory both need one lock: who reads on and on would hardly let the writer in

        thread = threading.Thread(target=read)
        thread.start()
        try:
            for n in range(200):
                turn.write({"type": "text-delta", "id": "t", "delta": f"{n} "})
            turn.seal()
        finally:
            done.set()
            thread.join(timeout=60)
        whole = "".join(f"{n} " for n in range(200))
        assert seen and all(whole.startswith(one) for one in seen)
        assert [len(one) for one in seen] == sorted(len(one) for one in seen)

    def test_what_was_read_does_not_change_later(self, session: Session) -> None:
        ask(session, "q1", "a1")
        messages, info, path, history = session.messages(), session.info, session.path(), session.history()
        copies = (repr(messages), repr(info), repr(path), repr(history))
        ask(session, "q2", "a2")
        session.undo()
        session.delete()
        assert (repr(messages), repr(info), repr(path), repr(history)) == copies

    def test_a_moment_stays_what_it_was(self, session: Session) -> None:
        ask(session, "q1", "a1")
        moment = session.at(session.history()[-1].at)
        ask(session, "q2", "a2")
        session.undo()
        session.undo()
        assert texts(moment) == ["q1", "a1"]

    def test_messages_json_is_the_text_of_messages(self, session: Session) -> None:
        ask(session, user("q1", id="q-1", metadata={"k": 1}), "a1")
        say(session.turn("q2"), "open")
        ids = [message["id"] for message in session.messages()]
        assert session.messages_json() == (
            '[{"id":"q-1","role":"user","metadata":{"k":1},"parts":[{"type":"text","text":"q1"}]},'
            f'{{"id":"{ids[1]}","role":"assistant","parts":'
            '[{"type":"step-start"},{"type":"text","text":"a1","state":"done"}]},'
            f'{{"id":"{ids[2]}","role":"user","parts":[{{"type":"text","text":"q2"}}]}},'
            f'{{"id":"{ids[3]}","role":"assistant","parts":'
            '[{"type":"step-start"},{"type":"text","text":"open","state":"done"}]}]'
        )

    def test_closing_the_store_seals_what_was_open_with_what_it_had(
        self, store: Store, reopen: Callable[[Store], Store]
    ) -> None:
        session = store.sessions.create(agent="coder")
        turn = session.turn("Hello?")
        turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Hel"}])
        waiting = leave_waiting(other := store.sessions.create(agent="coder"))
        again = reopen(store)
        session, other = again.sessions.get(session.id), again.sessions.get(other.id)
        assert ([t.id for t in session.path()], session.path()[0].status) == ([turn.id], "aborted")
        assert session.messages()[1]["parts"] == [{"type": "text", "text": "Hel", "state": "done"}]
        assert [t.id for t in other.waiting()] == [waiting.id]

    def test_a_store_proves_itself_sound_after_all_this(self, store: Store, session: Session) -> None:
        first = ask(session, "q1", "a1")
        loser = say(session.turn("lost"), "lost")
        session.commit(tell("q2", "a2"))
        try:
            loser.seal()
        except palaver.HeadConflict:
            pass
        with session.regenerate() as turn:
            say(turn, "another a2")
            turn.usage(input=3)
        session.rewind(to=first.id)
        fork = session.fork(at=session.messages()[0]["id"])
        leave_waiting(fork)
        session.undo()
        session.delete()
        session.undelete()
        assert store.verify() == []
