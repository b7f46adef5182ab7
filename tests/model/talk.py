"""Rules of talk: turns that begin, stream, wait, are answered and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

import palaver

from .bench import PICK, Bench, is_open, text
from .fold import options
from .model import open_tools
from .nouns import KEYS, Session, Turn

MALFORMED = (
    {"type": "text-delta", "id": "nobody", "delta": "x"},
    {"type": "reasoning-end", "id": "nobody"},
    {"type": "tool-output-available", "toolCallId": "nobody", "output": 1},
    {"type": "tool-input-delta", "toolCallId": "nobody", "inputTextDelta": "{"},
    {"type": "text-start"},
    {"kind": "text"},
    "[1, 2]",
)


class Talk(Bench):
    # ------------------------------------------------------------ turns

    @precondition(is_open)
    @rule(pick=PICK, shape=PICK, current=st.booleans())
    def begin(self, pick: int, shape: int, current: bool) -> None:
        self._begin(pick, shape, current)
        self.note("begin")

    def _begin(self, pick: int, shape: int, current: bool = False) -> int:
        session = self.choose(pick)
        assert session is not None
        return self._begin_in(session, shape, current)

    def _begin_in(self, session: Session, shape: int, current: bool = False) -> int:
        owner, _ = self.writer(shape)
        given, messages = self.words(shape)
        expected = session.revision if current else None
        handle, turn = self.both(
            lambda: self.session(session.id, shape).turn(given, expected=expected),
            lambda _: self.world.begin(session.id, messages, owner, expected),
        )
        if turn is None:  # told of others, once
            return self._begin_in(self.world.sessions[session.id], shape, current)
        self.began(handle, turn)
        return int(turn.key)

    @precondition(is_open)
    @rule(pick=PICK, whole=st.booleans())
    def stale(self, pick: int, whole: bool) -> None:
        """With a revision that is not the session's: HeadConflict, and nothing of the caller's is kept."""
        session = self.choose(pick)
        assert session is not None
        here, wrong = self.session(session.id, pick), session.revision + 1_000
        error, _ = self.both(
            lambda: here.commit("no", expected=wrong) if whole else here.turn("no", expected=wrong),
            lambda _: self.world.begin(session.id, [], "", wrong),
        )
        assert (error.expected, error.stray) == (wrong, None)
        assert error.actual == self.world.sessions[session.id].revision
        self.note("commit with a stale revision" if whole else "begin with a stale revision")

    @precondition(is_open)
    @rule(
        pick=PICK,
        answered=st.booleans(),
        counted=st.booleans(),
        tool=st.sampled_from([None, "open", "answered"]),
        current=st.booleans(),
    )
    def commit(self, pick: int, answered: bool, counted: bool, tool: str | None, current: bool) -> None:
        session = self.choose(pick)
        assert session is not None
        self._commit(session, pick, answered, counted, tool, current)
        self.note("commit")

    def _commit(
        self, session: Session, by: int, answered: bool, counted: bool, tool: str | None, current: bool = False
    ) -> Turn:
        new = self.new()
        messages: list[dict[str, Any]] = [{"role": "user", "id": f"u-{new}", "parts": [text(f"whole {new}")]}]
        if answered:
            metadata = {"usage": {"input": 3, "output": 4}} if counted else {}
            called = {"type": "tool-run", "toolCallId": f"c-{new}", "state": "input-available", "input": {"q": 1}}
            tools = {None: [], "open": [called], "answered": [called | {"state": "output-available", "output": [new]}]}
            messages.append({"role": "assistant", "metadata": metadata, "parts": [text(f"answer {new}"), *tools[tool]]})
        expected = session.revision if current else None
        info, turn = self.both(
            lambda: self.session(session.id, by).commit(messages, expected=expected),
            lambda _: self.world.commit(session.id, messages, expected),
        )
        if turn is None:  # told of others, once
            return self._commit(self.world.sessions[session.id], by, answered, counted, tool, current)
        turn.id = info.id
        return self.world.turns[turn.key]

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
            lambda: self.handles[turn.key].usage(**dict(zip(KEYS, given, strict=True))),
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
        if answer == "output" and turn.fold.is_denied(call):
            self._refuse_an_output(handle, call)
        elif answer == "output":
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

    def _refuse_an_output(self, handle: palaver.Turn, call: str) -> None:
        """What a person denied did not run: it may end as an error, and changes nothing otherwise."""
        try:
            handle.resolve(call, output={"late": [1, None]})
        except palaver.ChunkError:
            self.note("an output of a denied call is refused")
        else:
            raise AssertionError("a denied call was given an output")

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
        return [(turn, call) for turn in ended for call in open_tools(turn)]

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
        except (palaver.TurnSealed, palaver.TurnWaiting, palaver.UsageConflict) as error:
            self.note(f"refused: {type(error).__name__}")
        else:
            raise AssertionError(f"{verb} went through on a turn that is over")

    def _shut(self) -> list[palaver.Turn]:
        shut = [handle for key, handle in self.handles.items() if not self.world.turns[key].is_open()]
        return shut + [handle for _, handle in self.outdated]
