"""Rules of sessions and their heads: made, forked, archived, deleted; rewound, undone, answered again."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from .bench import PICK, Bench, has_room, has_said, is_open
from .nouns import Session, Turn

PLACES = ("stray", "open turn", "open message", "message", "turn")


class Moves(Bench):
    # ------------------------------------------------------------ sessions

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
