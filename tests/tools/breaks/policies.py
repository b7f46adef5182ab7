"""Breaks of the promises about the save policies."""

from __future__ import annotations

from typing import Any

from ..planting import planted


@planted
def chunks_are_held_by_default() -> None:
    """`chunk` keeps a chunk in memory until the turn is sealed."""
    from palaver.streaming import save_policy

    init = save_policy.SavePolicy.__init__

    def later(self: Any, *given: Any, **named: Any) -> None:
        init(self, *given, **named)
        self.at_once = False

    save_policy.SavePolicy.__init__ = later  # type: ignore[method-assign]


@planted
def steps_are_kept_until_the_answer_ends() -> None:
    """`step` saves like `turn`."""
    from palaver.streaming import save_policy

    save_policy._ENDS["step"] = save_policy._ENDS["turn"]


@planted
def answers_are_kept_until_the_seal() -> None:
    """`turn` does not save at finish."""
    from palaver.streaming import save_policy

    save_policy._ENDS["turn"] = frozenset()


@planted
def nothing_is_too_old() -> None:
    """save_buffer_ms is not looked at when a chunk comes."""
    from palaver.streaming import save_policy

    is_due = save_policy.SavePolicy.is_due
    save_policy.SavePolicy.is_due = lambda self, kinds, size, age: is_due(self, kinds, size, 0.0)  # type: ignore[method-assign]
    nothing_is_flushed_by_the_clock()


@planted
def nothing_is_too_large() -> None:
    """save_buffer_size is not looked at."""
    from palaver.streaming import save_policy

    is_due = save_policy.SavePolicy.is_due
    save_policy.SavePolicy.is_due = lambda self, kinds, size, age: is_due(self, kinds, 0, age)  # type: ignore[method-assign]


@planted
def nothing_is_flushed_by_the_clock() -> None:
    """A stream that stalls is written when it goes on."""
    from palaver.streaming import recorder

    recorder.Recorder.flush_old = lambda self: None  # type: ignore[method-assign]


@planted
def nothing_but_the_policy_saves() -> None:
    """flush, usage, wait, resolve and the seal leave what is held where it is."""
    from palaver.streaming import recorder

    flush = recorder.Recorder.flush

    def when_due(self: Any) -> None:
        kinds = {parsed["type"] for parsed, _ in self.pending.items}
        if kinds & self._policy._ends and not self.state.fold.unresolved():
            flush(self)

    recorder.Recorder.flush = when_due  # type: ignore[method-assign]


@planted
def seals_forget_what_is_held() -> None:
    """A seal drops what was not written yet."""
    from palaver.streaming import recorder

    def forgetful(self: Any) -> None:
        self.pending.clear()
        self.is_stale = True
        self.refresh()

    recorder.Recorder.flush = forgetful  # type: ignore[method-assign]


@planted
def flushes_lose_the_last_chunk() -> None:
    """Of what was held, all but the last chunk is written."""
    from palaver.streaming import chunk_writer

    write = chunk_writer.ChunkWriter._write_chunks

    def most(self: Any, tx: Any, items: Any) -> None:
        write(self, tx, items[:-1] if len(items) > 1 else items)

    chunk_writer.ChunkWriter._write_chunks = most  # type: ignore[method-assign]


@planted
def flushes_write_no_parts() -> None:
    """A flush writes the chunks and leaves the parts' rows to the seal."""
    from palaver.streaming import chunk_writer

    chunk_writer.ChunkWriter._write_parts = lambda self, tx, items, touched, **_: []  # type: ignore[method-assign]
