"""Rules of what a model sees: summaries that stand for turns, and outputs that are not shown again."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from .bench import PICK, has_said, is_open, learn
from .contexts import named_part
from .nouns import Counts, Session, Turn
from .trouble import Trouble

PLACES = ("whole", "turn", "off the path", "stale")


class Summaries(Trouble):
    @precondition(has_said)
    @rule(pick=PICK, place=PICK, where=st.sampled_from(PLACES), counted=st.booleans())
    def compact(self, pick: int, place: int, where: str, counted: bool) -> None:
        session = self.choose(pick, Session.path)
        if session is None:
            return
        keep_from = self._turn_at(session, where, place)
        if keep_from is None and where in ("turn", "off the path"):
            return
        usage = (5, 2, 0, 0, 0) if counted else None
        self._compact(session, keep_from, pick, usage, session.revision + 1_000 if where == "stale" else None)
        self.note(f"compact: {where}")

    def _turn_at(self, session: Session, where: str, place: int) -> Turn | None:
        found: list[Turn] = {
            "whole": [],
            "stale": [],
            "turn": session.path(),
            "off the path": [*session.strays, *session.open, *(ticket.turn for ticket in session.queue())],
        }[where]
        return found[place % len(found)] if found else None

    def _compact(
        self, session: Session, keep_from: Turn | None, by: int, usage: Counts | None, expected: int | None = None
    ) -> None:
        here, name = self.session(session.id, by), keep_from.id if keep_from else None
        summary, counts = f"so far {self.new()}", {}
        if usage is not None:
            counts = {"summarization_input_tokens": usage[0], "summarization_output_tokens": usage[1]}
        info, turn = self.both(
            lambda: here.compact(summary, keep_from=name, expected=expected, **counts),
            lambda _: self.world.compact(session.id, summary, keep_from, usage, expected),
        )
        if turn is None:
            now = self.world.sessions[session.id].revision
            assert expected is None or (info.expected, info.actual) == (expected, now)
            return
        turn.id = info.id
        learn(here.path(), self.world.sessions[session.id].path())
        turn.entries[0].message.parts.append(named_part(turn.summary, usage))
        turn.entries[0].message.row_id = info.response_id
        assert info.kind == "compaction"

    @precondition(is_open)
    @rule(pick=PICK, whole=st.booleans(), beside=st.booleans(), keep=st.integers(0, 3))
    def long_talk(self, pick: int, whole: bool, beside: bool, keep: int) -> None:
        """Tools are called and answered, all of it is summarised, old outputs go; somebody may be at work beside it."""
        session = self.choose(pick)
        assert session is not None
        name = session.id
        turns = [self._commit(session, pick, answered=True, counted=False, tool="answered") for _ in range(2)]
        if beside:
            self._begin_in(session, pick)
            self._write_foreign(session, ["user"])
        self._compact(session, None if whole else turns[1], pick, None)
        self._prune(self.world.sessions[name], pick, keep)
        if keep == 3:
            self._ask_again(name, pick)
        self.note("long talk with others beside it" if beside else "long talk")

    def _ask_again(self, name: str, by: int) -> None:
        """A summary is not an answer: it cannot be given again, and the one before it is the last."""
        summary = self.world.sessions[name].path()[-1].entries[0]
        here, shown = self.session(name, by), summary.shown_id()
        self.both(lambda: here.regenerate(shown), lambda _: self.world.answer_again(name, summary, None, ""))
        owner, _ = self.writer(by)
        handle, turn = self.both(here.regenerate, lambda _: self.world.answer_again(name, None, None, owner))
        self.began(handle, turn)

    @precondition(is_open)
    @rule(pick=PICK, keep=st.integers(0, 3))
    def prune(self, pick: int, keep: int) -> None:
        session = self.choose(pick, _has_outputs)
        if session is None:
            return
        self._prune(session, pick, keep)

    def _prune(self, session: Session, by: int, keep: int) -> None:
        told, expected = self.both(
            lambda: self.session(session.id, by).prune(keep=keep),
            lambda _: self.world.prune(session.id, keep),
        )
        assert told == expected, f"{told} outputs were pruned, not {expected}"
        self.note("prune" if told else "prune nothing")


def _has_outputs(session: Session) -> bool:
    parts = [part for entry in session.path_entries() for part in entry.message.parts]
    return any(part.get("state") == "output-available" for part in parts)
