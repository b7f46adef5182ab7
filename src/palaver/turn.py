"""An open turn, in the hands of its owner: chunks and results go in, it waits, and it ends.

Every verb takes the turn's lock, so threads may share one. What becomes of the chunks is the recorder's business.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Unpack

from . import marks, tool_call
from .aisdk import budget, chunks, composing, model_messages
from .aisdk.folding import MISSING
from .base import arguments, exact_json, ids
from .core import counting
from .core.runtime import Runtime
from .core.turn.open_turn import OpenTurn
from .core.verbs import results
from .core.verbs.compaction import Compaction
from .errors import BadValue, HeadConflict, PalaverError
from .keywords import CompactKeywords, Count, ModelLike
from .model import SEALED, TurnInfo, Usage
from .streaming import changes
from .streaming.recorder import Offer, Recorder
from .streaming.speech import Saying, Speech
from .tool_call import ToolCall

Chunk = Mapping[str, Any] | str | bytes

_ALL: weakref.WeakSet[Turn] = weakref.WeakSet()


class Turn:
    """An open turn. Leave its `with` block and it is sealed: completed, or aborted on an exception."""

    def __init__(
        self,
        runtime: Runtime,
        recorder: Recorder,
        *,
        on_end: Callable[[Turn], None] | None = None,
        on_begin: Callable[[Turn], None] | None = None,
        resumed: bool = False,
    ) -> None:
        self._runtime = runtime
        self._recorder = recorder
        self._on_end = on_end
        self._on_begin = on_begin
        self._lock = threading.RLock()
        _ALL.add(self)
        self._resumed = resumed
        self._speech = Speech(recorder)

    # ------------------------------------------------------------ what it is

    @property
    def _state(self) -> OpenTurn:
        return self._recorder.state

    @property
    def _began(self) -> tuple[str, int]:
        """Where its beginning stands among the events of its session."""
        return self.session_id, self._state.begin_seq

    @property
    def id(self) -> str:
        return self._state.id

    @property
    def session_id(self) -> str:
        return self._state.session_id

    def _fresh(self) -> OpenTurn:
        """The state as the rows have it, if a write failed."""
        with self._lock:
            self._recorder.refresh()
            return self._state

    @property
    def status(self) -> str:
        return self._fresh().status

    @property
    def stopped(self) -> bool:
        """Whether somebody else ended it (`session.stop`): known at the next write, on leaving the block, or within a
        second. Look at it between chunks, and end the model's call."""
        with self._lock:
            self._recorder.refresh()
            return self._recorder.is_stopped

    def _look(self) -> None:
        """Whether it was sealed by somebody else; for the maintenance thread, which waits for nobody."""
        if self._lock.acquire(blocking=False):
            try:
                self._recorder.look()
                if self._state.status in SEALED:
                    self._end()
            finally:
                self._lock.release()

    @property
    def chunks(self) -> int:
        """How many chunks were taken: the `at` of the next one."""
        with self._lock:
            self._recorder.refresh()
            return self._recorder.chunks

    @property
    def stored(self) -> int:
        """How many of them are on disk: all, unless the save policy holds some back."""
        return self._fresh().chunks

    @property
    def message_id(self) -> str | None:
        """The row of the response, once there is one."""
        return self._fresh().response_id

    def message(self) -> dict[str, Any]:
        """The response so far, as plain values."""
        with self._lock:
            shown = self._fresh().fold.message()
        parts = [_plain(part) for part in shown.pop("parts")]  # one by one: together they are deeper than what came
        return {**{key: _plain(value) for key, value in shown.items()}, "parts": parts}

    def __repr__(self) -> str:
        return f"<Turn {self.id} {self.status}>"

    # ------------------------------------------------------------ writing

    def write(self, chunk: Chunk, *, at: int | None = None) -> None:
        """Keep one chunk. When this returns it survives the process, unless `save_on` says later."""
        if at is not None:
            self.append((chunk,), at=at)
            return
        items = [chunks.parse(chunk)]
        with self._lock:
            self._recorder.write(items)

    def append(self, given: Iterable[Chunk], *, at: int | None = None) -> None:
        """Keep chunks, all or none. `at` says how many were stored before: chunks stored already are not doubled."""
        if at is not None:
            arguments.whole("at", at, least=-arguments.LARGEST)  # which places there are, the recorder knows
        items = [chunks.parse(one) for one in arguments.several("chunks", given)]
        with self._lock:
            self._recorder.append(items, at)

    def flush(self) -> None:
        """Write what the save policy holds back."""
        with self._lock:
            self._recorder.refresh()
            self._recorder.flush()

    def _flush_old(self) -> float | None:
        with self._lock:
            return self._recorder.flush_old()

    def _offer(self, chunk: Chunk) -> Offer | None:
        """See `Recorder.offer`. What it gives out locks the turn until `_conclude`."""
        items = [chunks.parse(chunk)]
        self._lock.acquire()
        offer = None
        try:
            offer = self._recorder.offer(items)
            return offer
        finally:
            if offer is None:
                self._lock.release()

    def _conclude(self, offer: Offer, outcome: int | Exception) -> None:
        try:
            self._recorder.conclude(offer, outcome)
        finally:
            self._lock.release()

    # ------------------------------------------------------------ writing without knowing the chunks

    def text(self, delta: str) -> None:
        """More of the answer. It goes on in the text that is open, or begins one."""
        if arguments.text("delta", delta):
            self._say(composing.say, "text", delta)

    def reasoning(self, delta: str) -> None:
        """More of what the model thinks."""
        if arguments.text("delta", delta):
            self._say(composing.say, "reasoning", delta)

    def tool(self, name: str, input: Any = None, *, id: str | None = None) -> ToolCall:
        """The model calls a tool; `call.output(…)` or `call.error(…)` answers. Without an answer the turn waits when
        its block is left. Calls that were made together are written before the first answer."""
        if not exact_json.check_text("name", arguments.text("name", name)) or id == "":
            raise BadValue("a tool has a name, and its call an id that is not empty")
        call_id = ids.mint("call_") if id is None else arguments.text("id", id)
        self._say(composing.call, call_id, name, {} if input is None else input)
        return ToolCall(self, call_id, name, input)

    def file(self, source: str | bytes, media_type: str | None = None) -> None:
        """A file that the model made: its bytes, or its address (a URL)."""
        self._say(composing.file, *composing.located(source, arguments.text_or_none("media_type", media_type)))

    def step(self) -> None:
        """The model is called again: what follows is another step."""
        self._say(composing.step)

    def calls(self) -> list[ToolCall]:
        """The tool calls that have no result yet, with their input and whether they may run: for who goes on with a
        turn after a resume."""
        with self._lock:
            found = self._fresh().fold.unresolved()
        return [tool_call.of_part(self, {key: _plain(value) for key, value in part.items()}) for part in found]

    def _answer(self, call_id: str, chunk: composing.Chunk) -> None:
        with self._lock:
            self._speech.answer(call_id, chunk)

    def _say(self, saying: Saying, *given: Any) -> None:
        with self._lock:
            self._speech.say(saying, *given)

    # ------------------------------------------------------------ usage

    def usage(
        self,
        told: Any = None,
        *,
        input: int = 0,
        output: int = 0,
        reasoning: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        model: ModelLike | None = None,
        cost_usd: float | None = None,
        key: str | None = None,
    ) -> None:
        """Tokens used since the last call: the usage object of the AI SDK, OpenAI or Anthropic as it is, or the counts.
        `input` excludes the cache, `output` excludes reasoning. The store never computes a cost. With a `key`, such as
        the id of the response, the same again counts once."""
        counts = counting.read_usage(told, Usage(input, output, reasoning, cache_read, cache_write))
        cost = None if cost_usd is None else counting.check_cost(cost_usd)
        exact_json.check_column("key", key)
        is_told = counts != Usage() or any(each is not None for each in (told, cost, model))
        with self._lock:
            self._recorder.refresh()
            self._recorder.refuse_ended(waiting=True)
            if is_told:
                changes.count_usage(self._recorder, counts, cost, model, key)

    # ------------------------------------------------------------ waiting and results from outside

    def resolve(
        self,
        tool_call_id: str,
        *,
        output: Any = MISSING,
        error: str | None = None,
        approved: bool | None = None,
        reason: str | None = None,
    ) -> None:
        """A tool's result, or the answer to an approval request, that did not come through the stream."""
        answer = results.checked_answer(tool_call_id, output, error, approved, reason)
        with self._lock:
            changes.resolve(self._recorder, answer)

    def wait(self) -> None:
        """Leave the turn open for somebody to answer: minutes or days. `session.resume(turn.id)` continues it."""
        with self._lock:
            changes.wait(self._recorder)

    # ------------------------------------------------------------ what is in force, and what a model sees

    def used(self, permission: str) -> None:
        """Note that the turn made use of a permission: beside those it was granted, for whoever audits it."""
        if not exact_json.check_column("permission", permission):
            raise BadValue("a permission that was used has a name")
        with self._lock:
            changes.note_permission(self._recorder, permission)

    def context(
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
    ) -> budget.Context:
        """What a model should see to go on with this turn: what is before it, and what it has so far; with
        `max_tokens`, what fits (see `session.context`)."""
        arguments.text_or_none("system", system)
        budget.check(max_tokens, count)
        with self._lock:
            found = changes.read_context(self._recorder, system)
        return budget.fit(found, max_tokens, count)

    def model_messages(
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
    ) -> list[dict[str, Any]]:
        """The same as the AI SDK's model messages: what an agent's loop gives its model, again after each tool."""
        return model_messages.convert(self.context(system=system, max_tokens=max_tokens, count=count))

    def compact(
        self, summary: str, keep_from: str | TurnInfo | Turn | None = None, **given: Unpack[CompactKeywords]
    ) -> Turn:
        """Compact while the turn runs: it is sealed at its last finished step, the summary follows, and the turn that
        is returned goes on from there; all of it or nothing. Takes what `session.compact` takes."""
        said, where = Compaction.of(summary, given), marks.name_of(keep_from)
        with self._lock:
            recorder = changes.compact(self._recorder, self._runtime, said, where)
            self._end()
            turn = Turn(self._runtime, recorder, on_end=self._on_end, on_begin=self._on_begin, resumed=self._resumed)
            turn._speech = Speech(recorder, is_unended=self._speech.is_unended)
            if self._on_begin:
                self._on_begin(turn)
            return turn

    # ------------------------------------------------------------ the end

    def seal(self, status: str | None = None) -> None:
        """Freeze the turn and move the head to it. HeadConflict: somebody else moved it first."""
        with self._lock:
            if self._speech.is_unended and status in (None, "completed") and self.status == "streaming":
                self._speech.end()
            self._recorder.make_ready(waiting=True)
            status = status or self._recorder.ended_as
            if status not in SEALED:
                raise BadValue(f"a turn ends as completed, failed or aborted, not {arguments.shown(status)}")
            try:
                changes.seal(self._recorder, self._runtime, status)
            except HeadConflict:
                self._end()
                raise
            self._end()

    def abort(self, reason: str | None = None) -> None:
        """End the turn with what it has; open tool calls are closed as interrupted."""
        arguments.text_or_none("reason", reason)
        with self._lock, changes.saying(self._recorder, "abort_reason", reason):
            self.seal("aborted")

    def fail(self, message: str, code: str | None = None) -> None:
        """End the turn as failed, with what it has; the error can be read in its `TurnInfo`."""
        said = {"message": exact_json.check_text("message", arguments.text("message", message))}
        if code is not None:
            said["code"] = exact_json.check_column("code", arguments.text("code", code))
        with self._lock:
            self._recorder.make_ready(waiting=True)
            with changes.saying(self._recorder, "error", said):
                self.seal("failed")

    def _end(self) -> None:
        if self._on_end:
            self._on_end(self)

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status in SEALED or (self.status == "waiting" and error is None):
            return
        if error is None:
            self._leave()
            return
        try:
            if self.give_back():
                return
            self.abort(_why(error))
        except PalaverError as failure:  # the exception on its way out matters more
            error.add_note(f"palaver: the turn was not put on the path: {failure}")

    def give_back(self) -> bool:
        """A queued message whose start failed before anything came waits again, once. False: it does not."""
        with self._lock:
            given = changes.give_back(self._recorder)
            if given:
                self._end()
            return given

    def _leave(self) -> None:
        """What was said without chunks is ended; a tool without an answer leaves the turn waiting. So it does after a
        resume."""
        if self._speech.is_unended:
            self._say(composing.finish)
            if self.status == "waiting":
                return
        if self._resumed and self._state.fold.unresolved():
            self.wait()
        else:
            self.seal()


def _why(error: BaseException) -> str:
    """An exception as the reason of an abort, whatever it says of itself."""
    name = type(error).__name__
    try:
        said = str(error)
    except Exception:  # its own text raises: its name says enough
        return name
    said = said or ("its task was cancelled" if name == "CancelledError" else "")
    return f"{name}: {said}"[:500] if said else name


def _plain(value: Any) -> Any:
    return exact_json.parse(exact_json.dump(value))


def _after_fork() -> None:
    """A forked child has no other threads: it must not wait for the locks they held, but be refused."""
    for turn in list(_ALL):
        turn._lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
