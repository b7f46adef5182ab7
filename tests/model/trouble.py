"""Rules of trouble: other programs, races, clocks, and the ends of writers.

A crash is what `kill -9` leaves: the database and its log, without the writers' signs of life.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from .bench import PICK, has_room, has_run, is_open, kill, now
from .judge import Foreigner
from .nouns import Session
from .talk import Talk


class Trouble(Talk):
    # ------------------------------------------------------------ other programs

    @rule(pick=PICK, roles=st.lists(st.sampled_from(["user", "assistant"]), min_size=1, max_size=3))
    def foreign_messages(self, pick: int, roles: list[str]) -> None:
        session = list(self.world.sessions.values())[pick % len(self.world.sessions)]
        self._write_foreign(session, roles)

    def _write_foreign(self, session: Session, roles: list[str]) -> None:
        messages = self._foreign(roles)
        Foreigner(self.path, now()).write(session.id, messages)
        for message in messages:
            self.world.foreign_message(session.id, *message)
        self.note("foreign rows beside an open turn" if session.standing() else "foreign rows")

    @precondition(is_open)
    @rule(pick=PICK, shape=PICK, ends=st.booleans())
    def interjection(self, pick: int, shape: int, ends: bool) -> None:
        """Another program writes between a question and its answer."""
        key = self._begin(pick, shape)
        self._write_foreign(self.world.sessions[self.world.turns[key].session], ["user", "assistant"])
        self._append(self.world.turns[key], [0, 0], at_once=False)
        if ends:
            self._seal(self.world.turns[key], "completed")
        self.note("interjection")

    @precondition(has_room)
    @rule(roles=st.lists(st.sampled_from(["user", "assistant"]), max_size=3))
    def foreign_session(self, roles: list[str]) -> None:
        name, messages = f"other-{self.new()}", self._foreign(roles)
        Foreigner(self.path, now()).found(name, messages)
        self.world.foreign_session(name)
        for message in messages:
            self.world.foreign_message(name, *message)
        self.note("foreign session")

    def _foreign(self, roles: list[str]) -> list[tuple[str, str, str]]:
        return [(f"other-{self.new()}", role, f"from elsewhere {self.count}") for role in roles]

    @precondition(is_open)
    @rule(pick=PICK, everywhere=st.booleans())
    def adopt(self, pick: int, everywhere: bool) -> None:
        session = self.choose(pick, Session.loose)
        if session is None:
            return
        if everywhere:
            self.both(self.writer(pick)[1].adopt, lambda _: self.world.adopt_everywhere())
        else:
            self.both(self.session(session.id, pick).adopt, lambda _: self.world.adopt(session.id))
        self.note("adopt everywhere" if everywhere else "adopt")

    # ------------------------------------------------------------ time, and the ends of writers

    @precondition(has_run)
    @rule(seconds=st.integers(1, 100))
    def time_passes(self, seconds: int) -> None:
        self.ahead += seconds
        self.steps = 0
        self.note("time passes")

    @precondition(lambda self: len(self.writers) < 2)
    @rule()
    def second_writer(self) -> None:
        self.open_writer()
        self.note("second writer")

    @precondition(lambda self: len(self.writers) > 1)
    @rule(pick=PICK, found=st.booleans())
    def one_writer_dies(self, pick: int, found: bool) -> None:
        """The other lives on, and finds out now or with its next verb."""
        self._dies(self.writer(pick)[0])
        if found:
            self.store.recover()
            self.world.recover_everywhere()
        self.note("one of two writers dies")

    def _dies(self, name: str) -> None:
        kill(self.writers[name])
        self._gone(name)

    @precondition(has_run)
    @rule(rows=st.booleans())
    def crash(self, rows: bool) -> None:
        """What a kill leaves: the database and its log; every lock is gone. Somebody may have written just before."""
        assert self.judge is not None
        for session in self.world.sessions.values():
            if rows and session.standing():
                self._write_foreign(session, ["user"])
        fresh = tempfile.mkdtemp(prefix="palaver-model-")
        for suffix in ("", "-wal"):
            if os.path.exists(self.path + suffix):
                shutil.copy(self.path + suffix, fresh)
        self.judge.close()
        self.judge = None
        for name in sorted(self.writers):
            self._dies(name)
        shutil.rmtree(self.folder)
        self.folder = fresh
        self.open_writer()
        self.steps = 0
        self.note("crash")

    def _gone(self, name: str) -> None:
        """A dead writer's handles are gone with it."""
        store = self.writers.pop(name)
        self.world.dead.add(name)
        self.handles = {key: handle for key, handle in self.handles.items() if handle._recorder._db is not store.db}
        self.outdated = [(key, handle) for key, handle in self.outdated if handle._recorder._db is not store.db]

    @precondition(has_run)
    @rule()
    def reopen(self) -> None:
        """A clean end, and a new beginning."""
        assert self.judge is not None
        self.judge.close()
        self.judge = None
        for name in sorted(self.writers):
            self.writers[name].close()
            self.world.close(name)
            self._gone(name)
        self.open_writer()
        self.steps = 0
        self.note("reopen")

    @precondition(is_open)
    @rule(pick=PICK, shape=PICK, first_waits=st.booleans(), second_dies=st.booleans())
    def race(self, pick: int, shape: int, first_waits: bool, second_dies: bool) -> None:
        """Two writers on one revision; one may wait, one may die."""
        if len(self.writers) < 2:
            self.open_writer()
        keys = [self._begin(pick, 10 * shape + by) for by in (0, 1)]
        self.handles[keys[1]].write({"type": "start-step"})
        self.world.append(self.world.turns[keys[1]], {"type": "start-step"})
        if first_waits:
            self.handles[keys[0]].wait()
            self.world.wait(self.world.turns[keys[0]])
        if second_dies:
            self._dies(self.writer(1)[0])
        self.note("race")
