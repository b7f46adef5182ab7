"""One session of a source on its way in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..base import arguments, exact_json, ids
from ..base.clock import now_ms
from ..base.exact_json import check_column, check_name
from ..core import read, session_facts
from ..core.read import jumps, natives
from ..core.read.natives import Key
from ..core.verbs import create, graft, lifecycle
from ..core.verbs.graft import Moved, NewTurn, Stale
from ..db.engine import Tx
from ..errors import BadValue, PalaverError, SessionArchived, SessionDeleted, SessionNotFound, StoreError
from . import preparing
from .planning import Plan
from .steps import ROOT, End, Move, Recent, Step, in_order, is_circle
from .values import GraftedSession, GraftItem, GraftMove, GraftProblem, GraftSession, GraftTurn

if TYPE_CHECKING:
    from .driver import Run

TURNS = 200  # of a batch,
BYTES = 1 << 20  # and what its items may hold
_ABOUT_THE_STORE = (StoreError, SessionArchived, SessionDeleted)


class Source:
    """Goes through what the source has, batch by batch, and sees to what is left when all has come."""

    def __init__(self, run: Run, given: GraftSession) -> None:
        self._run = run
        self._given = given
        self._origin = given.origin
        self._session_id: str | None = None
        self._new: create.NewSession | None = None  # what a new session begins with
        self._count = 0  # items so far: the place of the next one that has no id
        self._digests = Recent()  # of the items that have an id
        self._ends: Any = Recent()  # item -> where the turn ends that ends with it
        self._previous = ROOT
        self._orphans: list[Step] = []  # turns whose parent has not come yet,
        self._waiting: set[End] = set()  # and where they end
        self._carried: list[Moved] = []  # moves at the end of a batch: what comes next follows them
        self._has_written = False
        self._head: End | Move = ROOT  # where the source's head stands
        self.skipped: str | None = None
        self._is_new = False
        self._turns = self._items = self._known = self._beside = self._homeless = 0

    def outcome(self) -> GraftedSession:
        about = (self._origin, self._given.id, self._session_id, self._is_new)
        return GraftedSession(*about, self._turns, self._items, self._known, self._beside, self._homeless, self.skipped)

    def refuse(self, item: Any, error: PalaverError) -> None:
        where = (item.id, item.file, item.place) if isinstance(item, GraftItem) else (None, None, None)
        self._run.problems.append(GraftProblem(self._origin, self._given.id, *where, error))

    # ------------------------------------------------------------ the way through

    def bring_in(self) -> None:
        check_name("origin", arguments.text("origin", self._origin))
        check_name("session id", arguments.text("session id", self._given.id))
        if not self._origin or not self._given.id:
            raise BadValue("a session that comes from elsewhere has an origin and an id there; neither can be empty")
        self._check_end()
        self._find()
        broken = self._bring_in_steps()
        self._bring_in_orphans()
        self._follow_head()
        self._end()
        if broken is not None:
            raise broken

    def _check_end(self) -> None:
        given = self._given
        preparing.time("ended_at", given.ended_at)
        if exact_json.check_text("end_reason", given.end_reason) == "":
            raise BadValue("an empty end_reason says nothing; leave it out")
        if given.ended_at is None and given.end_reason is not None:
            raise BadValue("a session with an end_reason has ended at a time; give ended_at, too")

    def _find(self) -> None:
        """The session, if it is here; what a new one would begin with, if not."""
        with self._run.db.read() as tx:
            into = self._given.into
            found = graft.find(tx, self._origin, self._given.id) if into is None else read.sessions.resolve(tx, into)
            if into is not None and found is None:
                raise SessionNotFound(into)
            self._session_id = found
            if found is not None:
                graft.refuse_closed(tx, found)
            elif self._new is None:
                self._new = self._new_session(tx)
                preparing.time("created_at", self._given.created_at)

    def _bring_in_steps(self) -> Exception | None:
        """All that has its place by now; the error that the source broke off with, if it was none of ours."""
        batch, size, broken = list[Step | Move](), 0, None
        steps = self._steps()
        while True:
            try:
                step = next(steps)
            except StopIteration:
                break
            except Exception as error:  # what has come before is kept
                broken = error
                break
            batch.append(step)
            size += step.size if isinstance(step, Step) else 0
            if len(batch) >= TURNS or size >= BYTES:
                self._flush(batch)
                batch, size = [], 0
        self._flush(batch)
        return broken

    def _steps(self) -> Iterator[Step | Move]:
        for given in self._given_steps():
            try:
                found = self._step(given)
            except PalaverError as error:
                items = given.items if isinstance(given, GraftTurn) and isinstance(given.items, (list, tuple)) else ()
                self.refuse(next(iter(items), None), error)
                continue
            if isinstance(found, Step) and (isinstance(found.parent, str) or found.parent in self._waiting):
                self._orphans.append(found)
                self._waiting.add(found.end)
            elif found is not None:
                yield found

    def _given_steps(self) -> Iterator[GraftTurn | GraftMove]:
        try:
            yield from arguments.several("turns", self._given.turns)
        except StoreError:
            raise
        except PalaverError as error:
            self.refuse(None, error)

    # ------------------------------------------------------------ a step by itself

    def _step(self, given: Any) -> Step | Move | None:
        if isinstance(given, GraftMove):
            return self._move(given)
        if not isinstance(given, GraftTurn):
            raise BadValue(f"a session's turns are GraftTurns and GraftMoves, not {type(given).__name__}")
        items = preparing.items(given)
        keys = self._keys(items)
        parent = self._parent(given.parent)
        try:
            self._refuse_other_content(items, keys)
        except PalaverError:
            if isinstance(parent, End):
                self._ends.setdefault(keys[-1].item, parent)  # what follows stands on the turn before
            raise
        step = Step(given, items, keys, parent)
        self._ends.remember(step.last, step.end)
        self._previous = self._head = step.end
        return step

    def _keys(self, items: list[GraftItem]) -> list[Key]:
        first, self._count = self._count, self._count + len(items)
        return preparing.keys(items, first)

    def _refuse_other_content(self, items: list[GraftItem], keys: list[Key]) -> None:
        for item, key in zip(items, keys, strict=True):
            if item.id is not None and self._digests.get(key.item, key.digest) != key.digest:
                raise BadValue(f"the source has item {key.item!r:.80} twice, and not the same")
        if len({key.item for key in keys}) < len(keys):
            raise BadValue("a turn has an item twice")
        for item, key in zip(items, keys, strict=True):
            if item.id is not None:
                self._digests.remember(key.item, key.digest)

    def _parent(self, given: Any) -> End | str:
        if given is None:
            return ROOT
        if given == "previous":
            return self._previous
        return self._end_of(arguments.text("parent", given))

    def _end_of(self, name: str) -> End | str:
        """Where the turn ends that ends with an item of this run; a turn of ours by its id; else the item's name."""
        found: End | None = self._ends.get(name)
        if found is None and ids.is_ours(ids.TURN, name):
            with self._run.db.read() as tx:
                found = End(None, name) if read.turns.is_sealed(tx, name) else None
        return name if found is None else found

    def _move(self, given: GraftMove) -> Move | None:
        check_column("reason", given.reason)
        preparing.time("at", given.at)
        end = ROOT if given.to is None else self._end_of(arguments.text("to", given.to))
        move = Move(given, end)
        self._head = move
        if isinstance(end, End):
            self._previous = end
        return move

    # ------------------------------------------------------------ a batch

    def _flush(self, batch: list[Step] | list[Step | Move]) -> None:
        """Match, prepare and write. Again, if somebody else wrote some of it meanwhile; turn by turn, if one of them is
        refused, so that the others come in."""
        while batch:
            plan = Plan(self._session_id, self._origin, self._end_of, self._carried)
            try:
                self._make(plan, batch)
                written = self._write([*plan.steps])
            except Stale:
                _take_back(batch, plan)
                self._find()
                continue
            except _ABOUT_THE_STORE:
                raise
            except PalaverError as error:
                _take_back(batch, plan)
                self._write_apart(batch, error)
                return
            self._known += plan.known
            steps = [step for step in batch if isinstance(step, Step)]
            self._run.tell(written, sum(len(step.keys) for step in steps), sum(step.size for step in steps))
            return

    def _write_apart(self, batch: list[Step] | list[Step | Move], error: PalaverError) -> None:
        if len(batch) > 1:
            for one in batch:
                self._flush([one])
            return
        (step,) = batch
        if isinstance(step, Step):
            self._leave_out(step, error)
        else:
            self.refuse(None, error)

    def _leave_out(self, step: Step, error: PalaverError) -> None:
        """What follows a turn that is refused stands on the turn before it."""
        self.refuse(step.items[0], error)
        parent = step.parent.actual if isinstance(step.parent, End) else ROOT
        step.end.leave_out(parent)
        if self._head is step.end:
            self._head = parent

    def _make(self, plan: Plan, batch: list[Step] | list[Step | Move]) -> None:
        """Plan what there is to do for a batch. A move before anything was written is no move."""
        with self._run.db.read() as tx:
            for step in batch:
                if isinstance(step, Step):
                    plan.place(tx, step)
                elif self._has_written or plan.steps:
                    plan.move(step)

    def _write(self, steps: list[NewTurn | Moved]) -> int:
        turns = [step for step in steps if isinstance(step, NewTurn)]
        if not turns:
            return 0
        carried = list[Moved]()
        while isinstance(last := steps[-1], Moved):  # what comes next follows them
            carried.insert(0, last)
            del steps[-1]
        written, session_id, is_new = self._in_one_transaction(steps)
        self._session_id, self._is_new, self._has_written = session_id, self._is_new or is_new, True
        self._carried = carried
        self._turns += written.turns
        self._beside += written.beside
        self._items += sum(len(turn.natives) for turn in turns)
        self._homeless += sum(turn.homeless for turn in turns)
        return written.turns

    def _in_one_transaction(self, steps: list[NewTurn | Moved]) -> tuple[graft.Written, str, bool]:
        run, session_id = self._run, self._session_id
        with run.db.write(hard=True) as tx:
            if session_id is None:
                session_id = self._made(tx, self._created_at(steps))
            return graft.write(tx, run.runtime, session_id, self._origin, steps), session_id, self._session_id is None

    # ------------------------------------------------------------ when everything has come

    def _bring_in_orphans(self) -> None:
        """Turns that came before their parents; then those whose parent the source does not have, but the store has."""
        ready, left = in_order(self._orphans, self._ends)
        self._flush_all(ready)
        if left and self._session_id is not None:
            self._look_for_parents(left)
            ready, left = in_order(left, {})
            self._flush_all(ready)
        for step in left:
            self.refuse(step.items[0], self._why(step, left))

    def _flush_all(self, steps: list[Step]) -> None:
        for begin in range(0, len(steps), TURNS):
            self._flush(steps[begin : begin + TURNS])

    def _look_for_parents(self, left: list[Step]) -> None:
        with self._run.db.read() as tx:
            for step in left:
                if isinstance(step.parent, str) and self._session_id is not None:
                    found = natives.ending(tx, self._session_id, self._origin, step.parent)
                    step.parent = step.parent if found is None else End(None, found)

    def _why(self, step: Step, left: list[Step]) -> BadValue:
        if isinstance(step.parent, str):
            return BadValue(f"its parent {step.parent!r:.80} is not in this source: no turn ends with that item")
        if is_circle(step, left):
            return BadValue("the turn comes from itself, by a circle of parents")
        return BadValue("the turn that it comes after could not be brought in")

    def _follow_head(self) -> None:
        """Ours goes where the source's stands, if it may. A source that is only behind does not take it back, unless it
        says so by a move."""
        if self._session_id is None:
            self._make_empty()
            return
        end = self._head.end if isinstance(self._head, Move) else self._head
        end = self._found(end) if isinstance(end, str) else end
        if isinstance(end, str):
            self.refuse(GraftItem(b"", end), BadValue(f"no turn of this source, and none here, ends with {end!r:.80}"))
            return
        end = end.actual
        if end.turn_id is None and not (end is ROOT and isinstance(self._head, Move)):
            return  # nothing has come, or it could not be, or it is the beginning of a longer turn
        said = self._head.given if isinstance(self._head, Move) else None
        with self._run.db.read() as tx:
            head = read.heads.read(tx, self._session_id)
            is_behind = said is None and jumps.is_ancestor(tx, end.turn_id or "", head.turn_id)
            if head.turn_id == end.turn_id or is_behind or not natives.is_left_alone(tx, head):
                return
        moved = Moved(
            end.turn_id, now_ms() if said is None or said.at is None else said.at, said.reason if said else None
        )
        with self._run.db.write(hard=True) as tx:
            graft.write(tx, self._run.runtime, self._session_id, self._origin, [moved])

    def _found(self, item: str) -> End | str:
        """Where the head stands, now that all has come: in this source, or in what came before."""
        known: End | None = self._ends.get(item)
        if known is None and self._session_id is not None:
            with self._run.db.read() as tx:
                turn_id = natives.ending(tx, self._session_id, self._origin, item)
            known = None if turn_id is None else End(None, turn_id)
        return item if known is None else known

    def _end(self) -> None:
        """What is over there is over here, too, unless that was said before."""
        at, session_id = self._given.ended_at, self._session_id
        if at is None or session_id is None:
            return
        with self._run.db.read() as tx:
            if read.sessions.info(tx, session_id).ended_at is not None:
                return
        with self._run.db.write(hard=True) as tx:
            lifecycle.end_at(tx, session_id, at, self._given.end_reason)

    def _make_empty(self) -> None:
        """A session in which nothing was said is one all the same; one of which everything was refused is none."""
        if any((each.origin, each.session) == (self._origin, self._given.id) for each in self._run.problems):
            return
        try:
            with self._run.db.write(hard=True) as tx:
                self._session_id, self._is_new = self._made(tx, self._given.created_at), True
        except Stale:
            self._find()

    def _made(self, tx: Tx, at: int | None) -> str:
        assert self._new is not None
        return graft.made(tx, self._origin, self._given.id, self._new, at)

    def _new_session(self, tx: Tx) -> create.NewSession:
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
        return next((at for at in known if at is not None), None)


def _take_back(batch: list[Step] | list[Step | Move], plan: Plan) -> None:
    """What was planned is not here."""
    for step in batch:
        if isinstance(step, Step):
            step.end.turn_id, step.end.is_inside, step.end.step = None, False, step
    plan.take_back()
