"""The bench: a store on a real file beside its model, the means to do the same to both, and the comparison.

One or two writers (stores of their own on the same file) take turns; a third program writes plain SQL between them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

import palaver
from palaver.base import clock

from ..tools.stores import kill
from .contexts import World
from .judge import Judge
from .model import Refusal
from .nouns import Entry, Session, Turn

REACHED: Counter[str] = Counter()
CONTEXTS: list[tuple[list[Any], list[Any]]] = []  # what runs ended with: as UIMessages, as model messages
MAX_SESSIONS = 5
PICK = st.integers(0, 1_000)
real_ns = time.time_ns


class Bench(RuleBasedStateMachine):
    """A store beside its model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="palaver-model-")
        self.ahead = 0  # seconds that the clock was turned forward
        clock._now_ns = lambda: real_ns() + self.ahead * 1_000_000_000
        self.world = World(self.note)
        self.writers: dict[str, palaver.Store] = {}
        self.handles: dict[int, palaver.Turn] = {}
        self.outdated: list[tuple[int, palaver.Turn]] = []  # handles whose turn was resumed by another
        self.count = 0
        self.steps = 0  # since something happened to all writers at once
        self.judge: Judge | None = None

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self._last_words()
        finally:
            clock._now_ns = time.time_ns
            if self.judge:
                self.judge.close()
            for store in self.writers.values():
                kill(store)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _last_words(self) -> None:
        for name, session in self.world.sessions.items():
            if session.has_head and not session.deleted:
                shown = self.session(name).at(now() + 1).messages()
                assert shown == [entry.ui() for entry in session.path_entries()]
        if self.writers:
            self._verify()
            seen = [self.session(name) for name, session in self.world.sessions.items() if not session.deleted]
            CONTEXTS.extend((one.context(), one.model_messages()) for one in seen)

    def _verify(self) -> None:
        problems = self.store.verify()
        assert problems == [], problems

    # ------------------------------------------------------------ helpers

    def note(self, name: str) -> None:
        REACHED[name] += 1

    def new(self) -> str:
        self.count += 1
        return str(self.count)

    @property
    def path(self) -> str:
        return os.path.join(self.folder, "talks.db")

    @property
    def store(self) -> palaver.Store:
        return next(iter(self.writers.values()))

    def open_writer(self) -> None:
        store = palaver.open(self.path, save_buffer_ms=0, durability="normal")
        self.writers[f"writer {self.new()}"] = store
        if self.judge is None:
            self.judge = Judge(self.path)
        self.world.recover_everywhere()

    def writer(self, pick: int) -> tuple[str, palaver.Store]:
        name = sorted(self.writers)[pick % len(self.writers)]
        return name, self.writers[name]

    def session(self, name: str, pick: int = 0) -> palaver.Session:
        return self.writer(pick)[1].sessions.get(name, deleted=True)

    def choose(
        self, pick: int, fits: Callable[[Session], Any] | None = None, *, archived: bool = False
    ) -> Session | None:
        """A session that takes writes; now and then one that does not fit, to be refused."""
        alive = [s for s in self.world.sessions.values() if not s.deleted and (archived or not s.archived)]
        fitting = [s for s in alive if fits(s)] if fits and pick % 20 else alive
        return fitting[pick % len(fitting)] if fitting else None

    def choose_turn(self, pick: int, *status: str) -> Turn | None:
        """An open turn that we hold a handle of."""
        found = [
            t for s in self.world.sessions.values() for t in s.open if t.status in status and t.key in self.handles
        ]
        return found[pick % len(found)] if found else None

    def both(self, real: Callable[[], Any], expected: Callable[[Any], Any]) -> tuple[Any, Any]:
        """The verb on the store and on the model: both do it, or both refuse it by the same name."""
        value: Any = None
        error: palaver.PalaverError | None = None
        try:
            value = real()
        except palaver.PalaverError as refused:
            error = refused
        try:
            with self.world.verb():
                told = expected(value)
        except Refusal as refusal:
            assert type(error).__name__ in refusal.name, f"the model refuses with {refusal.name}, the store: {error!r}"
            self.note(f"refused: {refusal.name}")
            return error, None
        if error is not None:
            raise AssertionError(f"the store refuses what the model allows: {error!r}") from error
        return value, told

    def words(self, shape: int) -> tuple[Any, list[dict[str, Any]]]:
        """Something to say: as the caller gives it, and as messages."""
        new = self.new()
        text = {"role": "user", "parts": [{"type": "text", "text": f"question {new}"}]}
        system = {"role": "system", "parts": [{"type": "text", "text": f"rule {new}"}], "metadata": {"n": new}}
        if shape % 5 == 0:
            return f"question {new}", [text]
        if shape % 5 == 1:
            return text | {"id": f"u-{new}"}, [text | {"id": f"u-{new}"}]
        if shape % 5 == 2:
            return text | {"id": f"msg_{new:0>26}"}, [text | {"id": f"msg_{new:0>26}"}]
        if shape % 5 == 3:
            return [system, text], [system, text]
        return None, []

    def began(self, handle: palaver.Turn, turn: Turn) -> None:
        turn.id = handle.id
        self.handles[turn.key] = handle

    def _place(self, session: Session, where: str, pick: int) -> Turn | Entry | None:
        found: list[Any] = {
            "head": [],
            "turn": session.path(),
            "message": session.path_entries(),
            "open turn": session.standing(),
            "stray": session.strays,
            "open message": [e for turn in session.standing() for e in turn.entries],
        }[where]
        return found[pick % len(found)] if found else None

    @initialize()
    def start(self) -> None:
        self.open_writer()
        self.world.create(self.store.sessions.create(agent="coder").id)

    # ------------------------------------------------------------ after each step

    @invariant()
    def the_store_reads_as_the_model(self) -> None:
        if self.judge is None:
            return
        self.steps += 1
        for session in self.world.sessions.values():
            self._compare_rows(session)
        for session in self.world.sessions.values():
            self._compare_reads(session)
        self._compare_lists()
        if self.steps % 5 == 0:
            self._verify()

    def _compare_rows(self, session: Session) -> None:
        """The contract's tables, read by plain SQL, against the model."""
        assert self.judge is not None
        rows = self.judge.rows(session.id)
        for row, expected in zip(rows, session.rows, strict=True):
            expected.row_id = expected.row_id or row.id
            assert row.id == expected.row_id
            assert row.role == expected.role
            assert row.metadata == expected.shown_metadata()
            assert row.parts == expected.parts, f"parts of {expected}: {row}"
            assert row.hidden == session.is_hidden(expected), f"hidden_at of {row}"
            assert row.queued_at == expected.queued_at, f"queued_at of {row}"
        stamps = [row.created_at for row in rows]
        assert stamps == sorted(set(stamps)), "created_at must strictly increase within a session"
        if session.relation != "fork":
            visible = [row.id for row in rows if not row.hidden and row.queued_at is None]
            shown = [entry.message.row_id for entry in session.read()]
            if session.deleted:  # what another program writes there is not ours to hide
                shown = [row.row_id for row in session.loose()]
            assert visible == shown, "contract readers see another transcript"
        self._compare_session_row(session)

    def _compare_session_row(self, session: Session) -> None:
        assert self.judge is not None
        row = self.judge.session(session.id)
        assert tuple(row.values())[:6] == (*session.usage, sum(session.usage))
        assert (row["archived_at"] is not None) == (session.archived or session.deleted)
        assert ("deleted_at" in row["metadata_json"]) == session.deleted
        asked = session.parent_message
        assert (row["parent_id"], row["parent_message_id"]) == (session.parent_id, asked.row_id if asked else None)

    def _compare_reads(self, session: Session) -> None:
        """Palaver's own reads against the model."""
        here = self.session(session.id)
        assert here.messages() == [entry.ui() for entry in session.read()]
        info, path, lines = here.info, here.path(), here.history()
        assert [line.kind for line in lines] == session.lines, f"{lines}, not {session.lines}"
        assert [line.revision for line in lines] == list(range(len(lines)))
        assert (info.revision, info.relation) == (session.revision, session.relation)
        assert (info.usage.counts(), info.total_tokens) == (session.usage, sum(session.usage))
        assert (info.turns, info.messages) == (len(session.path()), len(session.path_entries()))
        learn(path, session.path())
        shown = [(turn.kind, turn.status, turn.usage.counts()) for turn in path]
        assert shown == [(turn.kind, turn.status, turn.usage) for turn in session.path()]
        learn(here.waiting(), session.waiting())
        learn(here.strays(), session.strays)
        self._compare_queue(here, session)
        self._compare_contexts(here, session)

    def _compare_queue(self, here: palaver.Session, session: Session) -> None:
        shown = [(one.id, one.turn_id, one.queued_at, one.message) for one in here.queue()]
        assert shown == [(t.id, t.turn.id, t.queued_at, t.turn.entries[0].ui()) for t in session.queue()]

    def _compare_contexts(self, here: palaver.Session, session: Session) -> None:
        shown, expected = here.context(), self.world.context(session.id)
        assert shown == expected, f"context is {shown}, not {expected}"
        for turn in session.open:
            if turn.key in self.handles:
                shown, expected = self.handles[turn.key].context(), self.world.context_of(turn)
                assert shown == expected, f"context of an open turn is {shown}, not {expected}"

    def _compare_lists(self) -> None:
        sessions = self.world.sessions.values()
        shown = self.store.sessions.list(limit=100).sessions
        assert {s.id for s in shown} == {s.id for s in sessions if not s.deleted and not s.archived}
        assert shown == sorted(shown, key=lambda s: (s.updated_at, s.id), reverse=True)
        everything = self.store.sessions.list(archived=True, limit=100).sessions
        assert {s.id for s in everything} == {s.id for s in sessions if not s.deleted}


def learn(shown: list[Any], expected: list[Turn]) -> None:
    """The same turns in the same order; ids that the model does not know yet are learned."""
    for info, turn in zip(shown, expected, strict=True):
        turn.id = turn.id or info.id
        assert info.id == turn.id


def now() -> int:
    return clock.now_ms()


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


# ---------------------------------------------------------------- when a rule makes sense


def has_room(bench: Bench) -> bool:
    return len(bench.world.sessions) < MAX_SESSIONS


def is_open(bench: Bench) -> bool:
    """Some session takes writes."""
    return bench.choose(0) is not None


def has_said(bench: Bench) -> bool:
    return bench.choose(1, Session.path) is not None


def has_run(bench: Bench) -> bool:
    """Long enough since the writers ended, or time passed: those are not repeated at once."""
    return bench.steps >= 4
