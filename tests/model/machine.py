"""The state machine: every verb on a real file and on the model, and both read in full after each step.

One or two writers (stores of their own on the same file) take turns; a third program writes plain SQL between them.
A crash is what `kill -9` leaves: the database and its log, without the writers' signs of life.
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
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import palaver
from palaver import clock

from . import model
from .fold import options
from .judge import Foreigner, Judge
from .model import Entry, Refusal, Session, Turn, World

REACHED: Counter[str] = Counter()
MAX_SESSIONS = 5
MALFORMED = (
    {"type": "text-delta", "id": "nobody", "delta": "x"},
    {"type": "reasoning-end", "id": "nobody"},
    {"type": "tool-output-available", "toolCallId": "nobody", "output": 1},
    {"type": "tool-input-delta", "toolCallId": "nobody", "inputTextDelta": "{"},
    {"type": "text-start"},
    {"kind": "text"},
    "[1, 2]",
)
PLACES = ("stray", "open turn", "open message", "message", "turn")
PICK = st.integers(0, 1_000)
real_ns = time.time_ns


class Machine(RuleBasedStateMachine):
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

    # ------------------------------------------------------------ sessions

    @initialize()
    def start(self) -> None:
        self.open_writer()
        self.world.create(self.store.sessions.create(agent="coder").id)

    def has_room(self) -> bool:
        return len(self.world.sessions) < MAX_SESSIONS

    def is_open(self) -> bool:
        """Some session takes writes."""
        return self.choose(0) is not None

    def has_said(self) -> bool:
        return self.choose(1, Session.path) is not None

    def has_run(self) -> bool:
        """Long enough since the writers ended, or time passed: those are not repeated at once."""
        return self.steps >= 4

    @precondition(has_room)
    @rule(pick=PICK, spawn=st.booleans())
    def create(self, pick: int, spawn: bool) -> None:
        parent = self.choose(pick) if spawn else None
        new = self.writer(pick)[1].sessions.create(agent="coder", parent=parent.id if parent else None)
        self.world.create(new.id, parent.id if parent else None)
        self.both(new.regenerate, lambda _: self.world.answer_again(new.id, None, None, ""))
        self.note("spawn" if parent else "create")

    @precondition(has_room)
    @rule(pick=PICK, where=st.integers(0, 5), place=PICK)
    def fork(self, pick: int, where: int, place: int) -> None:
        session = self.choose(pick, Session.read, archived=True)
        if session is None:
            return
        places = ["head", *(name for name in PLACES if self._place(session, name, 0))]
        at = self._place(session, places[where % len(places)], place)
        name = None if at is None else (at.id if isinstance(at, Turn) else at.shown_id())
        self.both(
            lambda: self.session(session.id, pick).fork(at=name).id,
            lambda new: self.world.fork(session.id, new, at),
        )
        self.note(f"fork at {places[where % len(places)]}")

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

    @precondition(is_open)
    @rule(pick=PICK, keep=st.booleans())
    def archive(self, pick: int, keep: bool) -> None:
        """Read-only; turns that are open may go on."""
        session = self.choose(pick)
        assert session is not None
        here, name = self.session(session.id, pick), session.id
        self.note("archive with an open turn" if session.open else "archive")
        self.both(here.archive, lambda _: self.world.archive(name))
        self.both(lambda: here.turn("no"), lambda _: self.world.begin(name, [], ""))
        self.both(lambda: here.commit("no"), lambda _: self.world.commit(name, []))
        self.both(here.undo, lambda _: self.world.undo(name))
        if not keep:
            self.both(here.unarchive, lambda _: self.world.unarchive(name))

    @precondition(lambda self: any(s.archived and not s.deleted for s in self.world.sessions.values()))
    @rule(pick=PICK)
    def unarchive(self, pick: int) -> None:
        found = [s for s in self.world.sessions.values() if s.archived and not s.deleted]
        session = found[pick % len(found)]
        self.both(self.session(session.id, pick).unarchive, lambda _: self.world.unarchive(session.id))
        self.note("unarchive")

    @precondition(lambda self: self.choose(0, archived=True))
    @rule(pick=PICK, keep=st.booleans())
    def delete(self, pick: int, keep: bool) -> None:
        session = self.choose(pick, archived=True)
        assert session is not None
        here, name = self.session(session.id, pick), session.id
        self.both(here.delete, lambda _: self.world.delete(name))
        self.both(lambda: here.turn("no"), lambda _: self.world.begin(name, [], ""))
        if not keep:
            self.both(here.undelete, lambda _: self.world.undelete(name))
        self.note("delete")

    @precondition(lambda self: any(s.deleted for s in self.world.sessions.values()))
    @rule(pick=PICK)
    def undelete(self, pick: int) -> None:
        found = [s for s in self.world.sessions.values() if s.deleted]
        session = found[pick % len(found)]
        self.both(self.session(session.id, pick).undelete, lambda _: self.world.undelete(session.id))
        self.note("undelete")

    # ------------------------------------------------------------ turns

    @precondition(is_open)
    @rule(pick=PICK, shape=PICK, current=st.booleans())
    def begin(self, pick: int, shape: int, current: bool) -> None:
        self._begin(pick, shape, current)
        self.note("begin")

    def _begin(self, pick: int, shape: int, current: bool = False) -> int:
        session = self.choose(pick)
        assert session is not None
        owner, _ = self.writer(shape)
        given, messages = self.words(shape)
        expected = session.revision if current else None
        handle, turn = self.both(
            lambda: self.session(session.id, shape).turn(given, expected=expected),
            lambda _: self.world.begin(session.id, messages, owner, expected),
        )
        self.began(handle, turn)
        return int(turn.key)

    @precondition(is_open)
    @rule(pick=PICK, whole=st.booleans())
    def stale(self, pick: int, whole: bool) -> None:
        """With a revision that is not the session's: HeadConflict, and nothing changes."""
        session = self.choose(pick)
        assert session is not None
        here, wrong = self.session(session.id, pick), session.revision + 1
        error, _ = self.both(
            lambda: here.commit("no", expected=wrong) if whole else here.turn("no", expected=wrong),
            lambda _: self.world.begin(session.id, [], "", wrong),
        )
        assert (error.expected, error.actual, error.stray) == (wrong, session.revision, None)
        self.note("commit with a stale revision" if whole else "begin with a stale revision")

    @precondition(is_open)
    @rule(pick=PICK, answered=st.booleans(), counted=st.booleans())
    def commit(self, pick: int, answered: bool, counted: bool) -> None:
        session = self.choose(pick)
        assert session is not None
        new = self.new()
        messages: list[dict[str, Any]] = [{"role": "user", "id": f"u-{new}", "parts": [text(f"whole {new}")]}]
        if answered:
            metadata = {"usage": {"input": 3, "output": 4}} if counted else {}
            messages.append({"role": "assistant", "metadata": metadata, "parts": [text(f"answer {new}")]})
        info, turn = self.both(
            lambda: self.session(session.id, pick).commit(messages),
            lambda _: self.world.commit(session.id, messages),
        )
        turn.id = info.id
        self.note("commit")

    @precondition(lambda self: self.choose_turn(0, "streaming"))
    @rule(pick=PICK, picks=st.lists(PICK, min_size=1, max_size=10), at_once=st.booleans())
    def append(self, pick: int, picks: list[int], at_once: bool) -> None:
        turn = self.choose_turn(pick, "streaming")
        assert turn is not None
        self._append(turn, picks, at_once)
        self.note("append")

    def _append(self, turn: Turn, picks: list[int], at_once: bool) -> None:
        handle = self.handles[turn.key]
        chunks: list[Any] = []
        for one in picks:
            offered = options(turn.fold, self.new(), may_count=not turn.told)
            chunk = offered[one % len(offered)]
            self.world.append(turn, chunk)
            chunks.append(chunk)
            if not at_once:
                handle.write(chunk)
            self.note(f"chunk {chunk['type']}")
            if turn.status == "waiting":
                break
        if at_once:
            handle.append(chunks)
        assert (handle.status, handle.chunks) == (turn.status, turn.fold.chunks)

    @precondition(lambda self: self.choose_turn(0, "streaming"))
    @rule(pick=PICK, wrong=st.sampled_from(MALFORMED), after_a_good_one=st.booleans())
    def malformed(self, pick: int, wrong: Any, after_a_good_one: bool) -> None:
        turn = self.choose_turn(pick, "streaming")
        assert turn is not None
        good = [{"type": "start-step"}] if after_a_good_one else []
        try:
            self.handles[turn.key].append([*good, wrong])
        except palaver.ChunkError:
            self.note("malformed chunk")
        else:
            raise AssertionError(f"{wrong} was taken")

    @precondition(lambda self: self.choose_turn(0, "streaming", "waiting"))
    @rule(pick=PICK, status=st.sampled_from([None, "completed", "failed", "aborted"]))
    def seal(self, pick: int, status: str | None) -> None:
        turn = self.choose_turn(pick, "streaming", "waiting")
        assert turn is not None
        self._seal(turn, status)

    def _seal(self, turn: Turn, status: str | None) -> None:
        """No status means what the stream said; a writer that resumed the turn did not hear it."""
        handle, actual = self.handles[turn.key], self.world.sessions[turn.session].revision
        lost, status = turn.base != actual, status or (turn.fold.ended_as if handle._resumed else None)
        try:
            handle.seal(status)
        except palaver.HeadConflict as error:
            assert lost, "it stood on the current revision"
            assert (error.expected, error.actual, error.stray) == (turn.base, actual, turn.id)
        else:
            assert not lost, "the head had moved"
        self.world.seal(turn, status or turn.fold.ended_as)
        assert handle.status == turn.status
        self.note(f"seal {turn.status}")

    @precondition(lambda self: self.choose_turn(0, "streaming", "waiting"))
    @rule(pick=PICK, n=st.integers(0, 9), in_stream=st.booleans())
    def usage(self, pick: int, n: int, in_stream: bool) -> None:
        """Told, or in the stream's metadata; not both."""
        turn = self.choose_turn(pick, "streaming", "waiting")
        assert turn is not None
        if in_stream and turn.status == "streaming" and not turn.told:
            chunk = {"type": "message-metadata", "messageMetadata": {"usage": {"input": n, "cache_read": 1}}}
            self.world.append(turn, chunk)
            self.handles[turn.key].write(chunk)
            self.note("usage in the stream")
        given = (n, 2 * n, 1, n % 3, 0)
        self.both(
            lambda: self.handles[turn.key].usage(**dict(zip(model.KEYS, given, strict=True))),
            lambda _: self.world.count(turn, given),
        )
        self.note("usage")

    @precondition(is_open)
    @rule(pick=PICK, shape=PICK, picks=st.lists(PICK, min_size=1, max_size=10))
    def exchange(self, pick: int, shape: int, picks: list[int]) -> None:
        """A question and its answer, as most turns are."""
        key = self._begin(pick, shape)
        self._append(self.world.turns[key], picks, at_once=False)
        self._seal(self.world.turns[key], "completed")
        self.note("exchange")

    @precondition(is_open)
    @rule(pick=PICK, shape=PICK, approval=st.booleans())
    def ask_a_tool(self, pick: int, shape: int, approval: bool) -> None:
        """A turn that ends with an open tool call, and so waits."""
        turn = self.world.turns[self._begin(pick, shape)]
        call = f"c-{self.new()}"
        chunks = [{"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {"q": 1}}]
        if approval:
            chunks.append({"type": "tool-approval-request", "toolCallId": call, "approvalId": f"p-{call}"})
        for chunk in [*chunks, {"type": "finish"}]:
            self.world.append(turn, chunk)
            self.handles[turn.key].write(chunk)
        self.note("ask a tool")

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

    # ------------------------------------------------------------ waiting

    @precondition(lambda self: self.choose_turn(0, "streaming"))
    @rule(pick=PICK)
    def wait(self, pick: int) -> None:
        turn = self.choose_turn(pick, "streaming")
        assert turn is not None
        self.handles[turn.key].wait()
        self.world.wait(turn)
        self.note("wait")

    @precondition(lambda self: any(s.waiting() for s in self.world.sessions.values()))
    @rule(pick=PICK, by=PICK)
    def resume(self, pick: int, by: int) -> None:
        found = [t for s in self.world.sessions.values() for t in s.waiting()]
        turn = found[pick % len(found)]
        owner, _ = self.writer(by)
        name, key, old = turn.id, turn.key, self.handles.get(turn.key)
        assert name is not None
        handle, _ = self.both(
            lambda: self.session(turn.session, by).resume(name),
            lambda _: self.world.resume(turn, owner),
        )
        if isinstance(handle, palaver.Turn):
            self.handles[key] = handle
            if old is not None:
                self.outdated.append((key, old))
            self.note("resume")

    @precondition(lambda self: self._answerable())
    @rule(pick=PICK, answer=st.sampled_from(["output", "error", "approve", "deny"]))
    def resolve(self, pick: int, answer: str) -> None:
        found = self._answerable()
        turn, call = found[pick % len(found)]
        handle, state = self.handles[turn.key], turn.fold.state_of(call)
        if state == "approval-requested" and pick % 2:
            answer = {"output": "approve", "error": "deny"}.get(answer, answer)
        if answer == "output":
            handle.resolve(call, output={"late": [1, None]})
            turn.fold.put_output(call, {"late": [1, None]})
        elif answer == "error":
            handle.resolve(call, error="broken")
            turn.fold.put_error(call, "broken")
        elif state == "approval-requested":
            reason = "no" if answer == "deny" else None
            handle.resolve(call, approved=answer == "approve", reason=reason)
            turn.fold.answer(call, answer == "approve", reason)
        else:
            return
        self.note(f"resolve: {answer}")

    def _answerable(self) -> list[tuple[Turn, str]]:
        found = []
        for session in self.world.sessions.values():
            for turn in session.open:
                if turn.key in self.handles:
                    usable = [c for c in turn.fold.unresolved() if turn.fold.state_of(c) != "input-streaming"]
                    found += [(turn, call) for call in usable]
        return found

    def _late(self) -> list[tuple[Turn, str]]:
        ended = [t for t in self.world.turns.values() if not t.is_open() and t.key in self.handles]
        ended = [t for t in ended if not self.world.sessions[t.session].deleted]
        return [(turn, call) for turn in ended for call in model.open_tools(turn)]

    @precondition(lambda self: self._late())
    @rule(pick=PICK)
    def resolve_late(self, pick: int) -> None:
        found = self._late()
        turn, call = found[pick % len(found)]
        output = {"after": self.new()}
        try:
            self.handles[turn.key].resolve(call, output=output)
        except palaver.TurnSealed as error:
            assert error.late is not None
            self.world.resolve_late(turn, call, output).id = error.late
            self.note("late result")
        else:
            raise AssertionError("a sealed turn was changed")

    @precondition(lambda self: self._shut())
    @rule(pick=PICK, verb=st.sampled_from(["write", "seal", "usage", "wait"]))
    def use_a_turn_that_is_over(self, pick: int, verb: str) -> None:
        """Sealed, closed by somebody else, or resumed by somebody else: refused, and nothing changes."""
        found = self._shut()
        handle = found[pick % len(found)]
        work: dict[str, Callable[[], None]] = {
            "write": lambda: handle.write({"type": "start-step"}),
            "seal": handle.seal,
            "usage": lambda: handle.usage(input=1),
            "wait": handle.wait,
        }
        try:
            work[verb]()
        except (palaver.TurnSealed, palaver.TurnWaiting) as error:
            self.note(f"refused: {type(error).__name__}")
        else:
            raise AssertionError(f"{verb} went through on a turn that is over")

    def _shut(self) -> list[palaver.Turn]:
        shut = [handle for key, handle in self.handles.items() if not self.world.turns[key].is_open()]
        return shut + [handle for _, handle in self.outdated]

    # ------------------------------------------------------------ moving the head

    @precondition(has_said)
    @rule(pick=PICK, place=PICK, last=st.booleans())
    def regenerate(self, pick: int, place: int, last: bool) -> None:
        session = self.choose(pick, Session.read)
        if session is None:
            return
        answers = [e for e in session.read() if e.message.role == "assistant" and e.message.listed]
        at = None if last or not answers else answers[place % len(answers)]
        owner, _ = self.writer(place)
        name = at.shown_id() if at else None
        handle, turn = self.both(
            lambda: self.session(session.id, place).regenerate(name),
            lambda _: self.world.answer_again(session.id, at, None, owner),
        )
        if turn is not None:
            self.began(handle, turn)
            self.note("regenerate")

    @precondition(is_open)
    @rule(pick=PICK, place=PICK, shape=st.integers(0, 2))
    def edit(self, pick: int, place: int, shape: int) -> None:
        session = self.choose(pick, Session.read)
        shown = session.read() if session else []
        said = [e for e in shown if e.message.role != "assistant" and e.message.listed]
        if session is None or not said:
            return
        at = said[place % len(said)]
        given, messages = self.words(shape)
        owner, _ = self.writer(place)
        name, beside = at.shown_id(), [e.shown_id() for turn in session.standing() for e in turn.entries]
        assert name is not None
        handle, turn = self.both(
            lambda: self.session(session.id, place).edit(name, given),
            lambda _: self.world.answer_again(session.id, at, messages[0], owner),
        )
        if turn is not None:
            self.began(handle, turn)
            self.note("edit beside an open turn" if name in beside else "edit")

    @precondition(has_said)
    @rule(pick=PICK, place=PICK, where=st.sampled_from(["turn", "message", "message", "open turn", "open message"]))
    def rewind(self, pick: int, place: int, where: str) -> None:
        session = self.choose(pick, Session.path)
        to = self._place(session, where, place) if session else None
        if session is None or to is None:
            return
        name = to.id if isinstance(to, Turn) else to.shown_id()
        assert name is not None
        self.both(
            lambda: self.session(session.id, pick).rewind(name),
            lambda _: self.world.rewind(session.id, to),
        )
        self.note(f"rewind to {where}")

    @precondition(has_said)
    @rule(pick=PICK, place=PICK)
    def move(self, pick: int, place: int) -> None:
        session = self.choose(pick, lambda s: s.strays or s.path())
        found = [*session.strays, *session.path()] if session else []
        if session is None or not found:
            return
        to = found[place % len(found)]
        name, expected = to.id, session.revision
        self.both(
            lambda: self.session(session.id, pick).move(name, expected),
            lambda _: self.world.move(session.id, to, expected),
        )
        self.note("move to a stray" if to in session.strays else "move")

    @precondition(is_open)
    @rule(pick=PICK)
    def undo(self, pick: int) -> None:
        session = self.choose(pick, lambda s: s.past[1:])
        if session is not None:
            self.both(lambda: self.session(session.id, pick).undo(), lambda _: self.world.undo(session.id))
            self.note("undo")

    @precondition(lambda self: any(s.future for s in self.world.sessions.values()))
    @rule(pick=PICK)
    def redo(self, pick: int) -> None:
        session = self.choose(pick, lambda s: s.future)
        if session is not None:
            self.both(lambda: self.session(session.id, pick).redo(), lambda _: self.world.redo(session.id))
            self.note("redo")

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
        self.handles = {key: handle for key, handle in self.handles.items() if handle._db is not store.db}
        self.outdated = [(key, handle) for key, handle in self.outdated if handle._db is not store.db]

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

    # A rule under several names is drawn more often: talk is more common than trouble.
    begin_b = begin_c = begin
    exchange_b = exchange_c = exchange_d = exchange
    ask_a_tool_b = ask_a_tool
    append_b = append_c = append_d = append_e = append
    seal_b = seal_c = seal_d = seal
    resolve_b = resolve_c = resolve
    resolve_late_b = resolve_late
    fork_b = fork_c = fork_d = fork
    rewind_b = rewind_c = rewind
    regenerate_b = regenerate
    edit_b = edit
    undo_b = undo
    redo_b = redo_c = redo
    foreign_messages_b = foreign_messages

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

    def _compare_rows(self, session: Session) -> None:
        """The contract's tables, read by plain SQL, against the model."""
        assert self.judge is not None
        rows = self.judge.rows(session.id)
        for row, expected in zip(rows, session.rows, strict=True):
            expected.row_id = expected.row_id or row.id
            assert row.id == expected.row_id
            assert row.role == expected.role
            assert row.metadata == expected.shown_metadata()
            assert row.parts == expected.parts
            assert row.hidden == session.is_hidden(expected), f"hidden_at of {row}"
        stamps = [row.created_at for row in rows]
        assert stamps == sorted(set(stamps)), "created_at must strictly increase within a session"
        if session.relation != "fork":
            visible = [row.id for row in rows if not row.hidden]
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
        assert [line.kind for line in lines] == session.lines
        assert [line.revision for line in lines] == list(range(len(lines)))
        assert (info.revision, info.relation) == (session.revision, session.relation)
        assert (info.usage.counts(), info.total_tokens) == (session.usage, sum(session.usage))
        assert (info.turns, info.messages) == (len(session.path()), len(session.path_entries()))
        learn(path, session.path())
        shown = [(turn.kind, turn.status, turn.usage.counts()) for turn in path]
        assert shown == [(turn.kind, turn.status, turn.usage) for turn in session.path()]
        learn(here.waiting(), session.waiting())
        learn(here.strays(), session.strays)

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


def kill(store: palaver.Store) -> None:
    """What the kernel does for a process that dies: every descriptor is closed, nothing is sealed."""
    store.db.close()
    if store._owner._file is not None:
        store._owner._file.forget()
        store._owner._file = None


def now() -> int:
    return clock.now_ms()


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}
