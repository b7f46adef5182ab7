"""Bringing a source in, batch by batch: what is here already is left alone, what is new is written, what cannot be is
told. Between two transactions others write; killed anywhere, the same again goes on from there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..base import arguments
from ..base.exact_json import check_name
from ..core import read, session_facts
from ..core.read import natives
from ..core.read.natives import Key
from ..core.runtime import Runtime
from ..core.verbs import create, graft
from ..core.verbs.graft import Moved, NewTurn, Stale
from ..db.engine import Database
from ..errors import BadValue, GraftRefused, PalaverError, SessionArchived, SessionDeleted, SessionNotFound, StoreError
from . import preparing
from .values import (
    GraftedSession,
    GraftItem,
    GraftMove,
    GraftProblem,
    GraftProgress,
    GraftReport,
    GraftSession,
    GraftTurn,
)

TURNS = 200  # of a batch,
BYTES = 1 << 20  # and what its items may hold
_REMEMBERED = 50_000  # items of a session whose turns are in memory; others are looked for
Step = GraftTurn | GraftMove
Progress = Callable[[GraftProgress], None]


def bring_in(
    db: Database, runtime: Runtime, given: GraftSession | Iterable[GraftSession], progress: Progress | None
) -> GraftReport:
    sessions = [given] if isinstance(given, GraftSession) else arguments.several("sessions", given)
    run = _Run(db, runtime, progress)
    for session in sessions:
        if not isinstance(session, GraftSession):
            raise BadValue(f"what is grafted is GraftSessions, not {type(session).__name__}")
        run.bring_in(session)
    report = GraftReport(run.sessions, run.problems)
    if report.problems:
        raise GraftRefused(report, len(report.problems), str(report.problems[0]))
    return report


class _Run:
    """One call: what came of it so far."""

    def __init__(self, db: Database, runtime: Runtime, progress: Progress | None) -> None:
        self.db = db
        self.runtime = runtime
        self.sessions: list[GraftedSession] = []
        self.problems: list[GraftProblem] = []
        self._progress = progress
        self._turns = self._items = self._bytes = 0

    def bring_in(self, given: GraftSession) -> None:
        source = _Source(self, given)
        try:
            source.bring_in()
        except (SessionArchived, SessionDeleted) as error:
            source.skipped = "archived" if isinstance(error, SessionArchived) else "deleted"
        except StoreError:
            raise
        except PalaverError as error:  # of the session itself, or of the reader of its file
            source.refuse(None, error)
        self.sessions.append(source.outcome())

    def tell(self, turns: int, items: int, size: int) -> None:
        self._turns, self._items, self._bytes = self._turns + turns, self._items + items, self._bytes + size
        if self._progress is not None:
            self._progress(GraftProgress(len(self.sessions) + 1, self._turns, self._items, self._bytes))


class _Source:
    """One session of the source on its way in."""

    def __init__(self, run: _Run, given: GraftSession) -> None:
        self._run = run
        self._given = given
        self._origin = given.origin
        self._session_id: str | None = None
        self._count = 0  # items so far: the place of the next one that has no id
        self._digests: OrderedDict[str, bytes] = OrderedDict()  # of the items that have one
        self._ends: OrderedDict[str, str] = OrderedDict()  # item -> the turn that ends with it
        self._previous: str | None = None  # the turn that came just before
        self._orphans: list[_Place] = []  # turns whose parent has not come yet
        self._target: Moved | None = None  # where the source's head stands; None: on what was written last
        self.skipped: str | None = None
        self._is_new = False
        self._turns = self._items = self._known = self._beside = self._homeless = 0

    def outcome(self) -> GraftedSession:
        about = (self._origin, self._given.id, self._session_id, self._is_new)
        return GraftedSession(*about, self._turns, self._items, self._known, self._beside, self._homeless, self.skipped)

    def refuse(self, item: GraftItem | None, error: PalaverError) -> None:
        where = (None, None, None) if item is None else (item.id, item.file, item.place)
        self._run.problems.append(GraftProblem(self._origin, self._given.id, *where, error))

    # ------------------------------------------------------------ the way through

    def bring_in(self) -> None:
        check_name("origin", arguments.text("origin", self._origin))
        check_name("session id", arguments.text("session id", self._given.id))
        if not self._origin or not self._given.id:
            raise BadValue("a session that comes from elsewhere has an origin and an id there; neither can be empty")
        self._find()
        batch, size = list[_Place](), 0
        for place in self._places():
            batch.append(place)
            size += place.size
            if len(batch) >= TURNS or size >= BYTES:
                self._flush(batch)
                batch, size = [], 0
        self._flush(batch)
        self._bring_in_orphans()
        self._go_to_target()

    def _places(self) -> Iterator[_Place]:
        """The steps that can be looked at; a source that breaks off ends there."""
        steps = iter(self._given.turns)
        while True:
            try:
                step = next(steps)
            except StopIteration:
                return
            except StoreError:
                raise
            except PalaverError as error:
                self.refuse(None, error)
                return
            place = self._placed(step)
            if place is not None:
                yield place

    def _find(self) -> None:
        with self._run.db.read() as tx:
            into = self._given.into
            found = graft.find(tx, self._origin, self._given.id) if into is None else read.sessions.resolve(tx, into)
            if into is not None and found is None:
                raise SessionNotFound(into)
            if found is not None:
                graft.refuse_closed(tx, found)
        self._session_id = found

    def _placed(self, step: Step) -> _Place | None:
        """A step, looked at as far as it can be by itself; None: it was refused."""
        if isinstance(step, GraftMove):
            return _Place(step, [])
        if not isinstance(step, GraftTurn):
            raise BadValue(f"a session's turns are GraftTurns and GraftMoves, not {type(step).__name__}")
        try:
            if not step.items:
                raise BadValue("a turn is made of at least one item of its source")
            keys = preparing.keys(step.items, self._count)
            self._refuse_other_content(step, keys)
        except PalaverError as error:
            self.refuse(step.items[0] if step.items else None, error)
            return None
        finally:
            self._count += len(step.items)
        return _Place(step, keys)

    def _refuse_other_content(self, step: GraftTurn, keys: list[Key]) -> None:
        for item, key in zip(step.items, keys, strict=True):
            if item.id is not None and self._digests.get(key.item, key.digest) != key.digest:
                raise BadValue(f"the source has item {key.item!r:.80} twice, and not the same")
        if len({key.item for key in keys}) < len(keys):
            raise BadValue("a turn has an item twice")
        for item, key in zip(step.items, keys, strict=True):
            if item.id is not None:
                _remember(self._digests, key.item, key.digest)

    def _flush(self, batch: list[_Place]) -> None:
        """Match, prepare and write a batch. Again, if somebody else wrote some of it meanwhile; turn by turn, if one of
        them is refused, so that the others come in."""
        before = self._previous, self._target, self._known, len(self._orphans), len(self._run.problems)
        while batch:
            try:
                written = self._write(self._plan(batch))
                self._run.tell(written, sum(len(place.keys) for place in batch), sum(place.size for place in batch))
                return
            except Stale:
                self._take_back(batch, *before)
                self._find()
            except (StoreError, SessionArchived, SessionDeleted):
                raise
            except PalaverError as error:
                self._take_back(batch, *before)
                if len(batch) == 1:
                    step = batch[0].step
                    self.refuse(step.items[0] if isinstance(step, GraftTurn) else None, error)
                    return
                for place in batch:
                    self._flush([place])
                return

    def _take_back(
        self, batch: list[_Place], previous: str | None, target: Moved | None, known: int, orphans: int, problems: int
    ) -> None:
        """What was planned is not here."""
        self._previous, self._target, self._known = previous, target, known
        del self._orphans[orphans:], self._run.problems[problems:]
        for key in (place.keys[-1] for place in batch if place.keys):
            self._ends.pop(key.item, None)

    # ------------------------------------------------------------ what is new

    def _plan(self, batch: list[_Place]) -> list[NewTurn | Moved]:
        """What there is to do for a batch."""
        steps, made = list[NewTurn | Moved](), set[str]()
        with self._run.db.read() as tx:
            for place in batch:
                step = self._match(tx, place, made)
                if step is not None:
                    steps.append(step)
        return steps

    def _match(self, tx: Any, place: _Place, made: set[str]) -> NewTurn | Moved | None:
        step = place.step
        if isinstance(step, GraftMove):
            return self._moved(tx, step)
        try:
            is_known, parent = self._parent(tx, step)
            if not is_known:
                self._orphans.append(place)
                return None
            new = self._new_turn(tx, step, place.keys, parent, made)
        except PalaverError as error:
            self.refuse(step.items[0], error)
            return None
        return new

    def _new_turn(
        self, tx: Any, step: GraftTurn, keys: list[Key], parent: str | None, made: set[str]
    ) -> NewTurn | None:
        """What is new of a turn: all of it, what follows its first items, or nothing."""
        known = natives.Known(parent, 0)
        if self._session_id is not None and parent not in made:
            known = natives.match(tx, self._session_id, self._origin, parent, keys)
        turn_id, new = known.turn_id, None
        if known.items < len(keys):
            said = step.rest(known.items) if step.rest else None if known.items else step
            if said is None:  # it cannot be divided: all of it comes in again, beside
                known, said = natives.Known(parent, 0), step.rest(0) if step.rest else step
            if said is None:
                raise BadValue("an importer says nothing of a turn that is all new")
            new = self._prepare(tx, step, said, keys, known)
            turn_id = new.id
            made.add(new.id)
        self._known += known.items
        assert turn_id is not None
        self._previous = turn_id
        self._target = Moved(turn_id, None, None) if new is None else None
        _remember(self._ends, keys[-1].item, turn_id)
        return new

    def _prepare(self, tx: Any, step: GraftTurn, said: GraftTurn, keys: list[Key], known: natives.Known) -> NewTurn:
        kept = [preparing.native(item, key) for item, key in zip(step.items, keys, strict=True)][known.items :]
        keep_from = None
        if said.compaction is not None and said.compaction.keep_from is not None:
            keep_from = self._ending(tx, said.compaction.keep_from)
        return preparing.turn(said, known.turn_id, kept, self._origin, keep_from)

    # ------------------------------------------------------------ where it belongs

    def _parent(self, tx: Any, step: GraftTurn) -> tuple[bool, str | None]:
        """Whether the turn before is here, and which it is."""
        if step.parent is None:
            return True, None
        if step.parent == "previous":
            return True, self._previous
        try:
            return True, self._ending(tx, step.parent)
        except BadValue:
            return False, None

    def _ending(self, tx: Any, item: str) -> str:
        """The turn that ends with an item; an id of a turn of ours stands for itself."""
        arguments.text("parent", item)
        found = self._ends.get(item)
        if found is None and self._session_id is not None:
            found = natives.ending(tx, self._session_id, self._origin, item)
        if found is None and read.turns.is_sealed(tx, item):
            found = item
        if found is None:
            raise BadValue(f"no turn of this source, and none here, ends with {item!r:.80}")
        return found

    def _moved(self, tx: Any, step: GraftMove) -> Moved | None:
        try:
            to = None if step.to is None else self._ending(tx, step.to)
            at = preparing.time("at", step.at)
        except PalaverError as error:
            self.refuse(GraftItem(b"", step.to), error)
            return None
        self._previous, self._target = to, Moved(to, at, step.reason)
        return self._target

    def _bring_in_orphans(self) -> None:
        """Turns that came before their parents, now that all have come; what is left has none."""
        while self._orphans:
            orphans, self._orphans = self._orphans, []
            for begin in range(0, len(orphans), TURNS):
                self._flush(orphans[begin : begin + TURNS])
            if len(self._orphans) == len(orphans):
                break
        waiting = {key.item for place in self._orphans for key in place.keys}
        for place in self._orphans:
            assert isinstance(place.step, GraftTurn)
            parent = place.step.parent
            why = "comes from itself, by a circle of parents" if parent in waiting else "is not in this source"
            what = "the turn" if parent in waiting else f"its parent {parent!r:.80}"
            self.refuse(place.step.items[0], BadValue(f"{what} {why}"))

    # ------------------------------------------------------------ writing

    def _write(self, steps: list[NewTurn | Moved]) -> int:
        turns = [step for step in steps if isinstance(step, NewTurn)]
        if not turns:
            return 0
        while isinstance(steps[-1], Moved):  # where it ends is seen to when all has come
            del steps[-1]
        written, session_id, is_new = self._in_one_transaction(steps)
        self._session_id, self._is_new = session_id, self._is_new or is_new
        self._turns += written.turns
        self._beside += written.beside
        self._items += sum(len(turn.natives) for turn in turns)
        self._homeless += sum(len(turn.facts.get("homeless", ())) for turn in turns)
        return written.turns

    def _in_one_transaction(self, steps: list[NewTurn | Moved]) -> tuple[graft.Written, str, bool]:
        run, session_id = self._run, self._session_id
        with run.db.write(hard=True) as tx:
            if session_id is None:
                session_id = graft.made(
                    tx, self._origin, self._given.id, self._new_session(tx), self._created_at(steps)
                )
            return graft.write(tx, run.runtime, session_id, self._origin, steps), session_id, self._session_id is None

    def _go_to_target(self) -> None:
        """The source's head stands on a turn that was here before: ours follows, if it may."""
        if self._session_id is None:
            self._make_empty()
            return
        if self._target is None:
            return
        with self._run.db.read() as tx:
            head = read.heads.read(tx, self._session_id)
            if head.turn_id == self._target.turn_id or not natives.is_left_alone(tx, head):
                return
        with self._run.db.write(hard=True) as tx:
            graft.write(tx, self._run.runtime, self._session_id, self._origin, [self._target])

    def _make_empty(self) -> None:
        """A session in which nothing was said is one all the same."""
        if self._run.problems and self._run.problems[-1].session == self._given.id:
            return
        with self._run.db.write(hard=True) as tx:
            made = graft.made(tx, self._origin, self._given.id, self._new_session(tx), self._created_at([]))
        self._session_id, self._is_new = made, True

    def _new_session(self, tx: Any) -> create.NewSession:
        given = self._given
        parent = None if given.parent is None else graft.find(tx, self._origin, given.parent) or given.parent
        return create.NewSession(
            agent=given.agent,
            workspace=given.workspace,
            model=given.model,
            title=given.title,
            metadata=given.metadata,
            parent=parent,
            relation=given.relation or ("import" if parent is None else "spawn"),
            call=None,
            facts=session_facts.given("a graft", {}, given.facts),
        ).checked()

    def _created_at(self, steps: list[NewTurn | Moved]) -> int | None:
        """When the source made it: as it says, or when the first thing was said in it."""
        first = next((step for step in steps if isinstance(step, NewTurn)), None)
        known = [self._given.created_at, *([first.started_at, *first.times, first.sealed_at] if first else [])]
        return next((preparing.time("created_at", at) for at in known if at is not None), None)


class _Place:
    """A step of the source, and what its items are known by."""

    __slots__ = ("keys", "size", "step")

    def __init__(self, step: Step, keys: list[Key]) -> None:
        self.step = step
        self.keys = keys
        self.size = sum(len(item.body) for item in step.items) if isinstance(step, GraftTurn) else 0


def _remember(known: OrderedDict[str, Any], name: str, value: Any) -> None:
    known[name] = value
    known.move_to_end(name)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
