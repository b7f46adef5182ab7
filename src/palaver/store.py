"""The store: one space, its sessions, and what spans them."""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .base import address, arguments, exact_json, ids
from .base.clock import monotonic, now_ms
from .base.exact_json import LONGEST_KEY, check_column, check_name, check_title, size_of
from .base.lazy_import import later
from .core import heads, metadata
from .core.settle import preflight
from .core.settle.preflight import Runtime
from .core.upkeep import retention, trimming
from .core.verbs import sessions
from .db.engine import Database, Engine, Life, Tx
from .db.queries import Q
from .db.refusal import refusal
from .db.sqlite import filesystem
from .db.sqlite.engine import SqliteDatabase
from .db.sqlite.readonly import ReadOnlyDatabase
from .errors import (
    BadValue,
    HeadConflict,
    PalaverError,
    Refused,
    SessionNotFound,
    StoreError,
    StoreFull,
    TurnSealed,
    TurnUnsealable,
)
from .maintenance import Worker, say
from .model import Page, Problem, SessionInfo
from .session import Session
from .streaming.save_policy import SavePolicy

if TYPE_CHECKING:
    from .core.settle import recovery
    from .core.turn.open_turn import OpenTurn
    from .core.upkeep import journal
    from .turn import Turn
else:
    later(globals(), ".core.upkeep.journal", ".core.settle.recovery")

_ENGINE = ("create", "durability", "readonly", "timeout")
_POSTGRES = ("lease", "pooler")
_CLOSING = 0.1  # seconds that `close` trims for
_REST = 0.005  # between two slices of a trim
_STORE = ("save_on", "save_buffer_ms", "save_buffer_size", "events", "trim_after", "recover_every")


def open(url: str | bytes | os.PathLike[str] | os.PathLike[bytes], space: str | None = None, **options: Any) -> Store:
    """Open a store: a path, ":memory:", or a Postgres address and a space on it. It is made if it is not there, unless
    `create=False`. With `readonly=True` nothing of it is changed, made, recovered or adopted."""
    store = open_quietly(url, space, **options)
    for note in store.notes:
        say(note)
    return store


def open_quietly(url: str | bytes | os.PathLike[str] | os.PathLike[bytes], space: str | None, **options: Any) -> Store:
    """`open`, for who says by itself what there is to say (`store.notes`)."""
    path = _path(url)
    is_postgres = address.is_server(path)
    known = {*_ENGINE, *_STORE, *(_POSTGRES if is_postgres else ())}
    unknown = set(options) - known
    if unknown:
        raise TypeError(f"open() has no option {sorted(unknown)[0]!r}; there are {', '.join(sorted(known))}")
    for name, least in (("timeout", 0), ("lease", 0.1)):
        if name in options:
            arguments.number(name, options[name], least=least)
    for name in ("create", "readonly", "pooler"):
        if name in options:
            arguments.flag(name, options[name])
    chosen = {name: options.pop(name) for name in (*_ENGINE, *_POSTGRES) if name in options}
    return _open_on(_server(path, space, chosen) if is_postgres else _file(path, space, chosen), options)


def _path(url: Any) -> str:
    if not isinstance(url, str | bytes | os.PathLike):
        raise BadValue(
            f"a store is opened by a path, ':memory:' or a postgresql:// address, not {arguments.shown(url)}"
        )
    return os.fsdecode(url)


def _server(url: str, space: str | None, chosen: dict[str, Any]) -> Engine:
    url, named = address.split(url)
    if space is not None and named and space != named:
        raise BadValue(f"the address names the space {named!r}, and `space` {space!r}; leave one of them out")
    return _postgres(url, (named or "default") if space is None else space, chosen)


def _file(path: str, space: str | None, chosen: dict[str, Any]) -> Engine:
    if space is not None:
        raise BadValue("a file is one space by itself; leave `space` out")
    if "://" in path:
        raise BadValue(
            f"{path.partition('://')[0]}:// stores are not supported; give a path, ':memory:' or postgresql://"
        )
    path = path if path == ":memory:" else filesystem.locate(path)
    if chosen.pop("readonly", False):
        return ReadOnlyDatabase(path, timeout=chosen.get("timeout", 30.0))
    return SqliteDatabase(path, **chosen)


def _open_on(engine: Engine, options: dict[str, Any]) -> Store:
    try:
        return Store(engine, **options)
    except BaseException:
        engine.close()
        raise


def _postgres(url: str, space: str, options: dict[str, Any]) -> Engine:
    try:
        from .db.postgres.engine import PostgresDatabase
    except ModuleNotFoundError as error:
        raise StoreError(f"Postgres needs {error.name}; pip install 'palaver-store[postgres]'") from None
    return PostgresDatabase(url, space, **options)


class Store:
    """Everything kept in one place. Safe to share between threads; not across fork()."""

    def __init__(
        self,
        engine: Engine,
        *,
        save_on: str = "chunk",
        save_buffer_ms: float | None = None,
        save_buffer_size: int | None = None,
        events: str | None = None,
        trim_after: float = 5.0,
        recover_every: float | None = 30.0,
    ) -> None:
        arguments.number("trim_after", trim_after)
        if recover_every is not None:
            arguments.number("recover_every", recover_every, least=0.01)
        self.path = engine.name
        self.readonly, self.notes = engine.readonly, engine.notes
        self._policy = SavePolicy(save_on, save_buffer_ms, save_buffer_size)
        self._trim_after, self._recover_every = trim_after, recover_every
        self._engine = engine
        self.db: Database = engine
        self._owner = Owner(engine.life)
        self.runtime = Runtime(self._owner.is_dead)
        self.sessions = Sessions(self)
        self._open: dict[str, Turn] = {}
        self._closed = False
        self._pid = os.getpid()
        self._has_streamed = False
        self._maintenance = Worker(self._chores)
        self._recovered_at = self._renewed_at = monotonic()
        self._trim_at: float | None = None
        self._due: builtins.list[trimming.Due] = []  # for the keeper: what it is trimming
        self._begin(events)

    def _begin(self, events: str | None) -> None:
        try:
            mode = retention.choose(self.db, events)
            self._engine.expect_setting("events", mode, retention.LIVE)
            if mode == retention.FULL:
                self.db = journal.JournaledDatabase(self.db)
            if not self.readonly:
                self._recover_at_opening()
        except BaseException:
            self.db.close()
            raise

    def _recover_at_opening(self) -> None:
        """A full disk does not keep anybody from reading; the next turn in a session recovers what is left there."""
        try:
            self.recover()
        except StoreFull as error:
            self._maintenance.put_off(error)

    def close(self) -> None:
        """Seal, as aborted, what this process left open, and let go of the file. A second time does nothing."""
        if self._closed or os.getpid() != self._pid:  # a forked child leaves everything to its parent
            self._closed = True
            self.db.close()
            return
        self._closed = True
        self._maintenance.end()
        with ExitStack() as stack:  # whatever fails, everything is let go of
            stack.callback(self.db.close)
            stack.callback(self._owner.leave, self.db)
            if self._has_streamed:
                stack.callback(self._trim, self._trim_after, _CLOSING)  # what is left is the next one's work
            begun = sorted(self._open.values(), key=lambda turn: turn._began)  # which is not as they were taken up
            for turn in reversed(begun):  # a stack: the first begun is the first to end
                stack.callback(_abort, turn)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self.path}>"

    def recover(self) -> int:
        """Seal what dead writers left open, in every session; how many sessions had some."""
        self._refuse_if_readonly()
        with self.db.read() as tx:
            dead = {
                session
                for session, _, status, owner in tx.all(Q.all_open_turns)
                if status == "streaming" and (owner is None or self._owner.is_dead(tx, owner))
            }
        for session_id in sorted(dead):
            self._recover(session_id)
        self._bury()
        return len(dead)

    def _recover(self, session_id: str) -> None:
        """One turn that cannot be sealed stops neither the others nor whoever opens the store."""
        while True:
            try:
                with self.db.write(hard=True) as tx:
                    preflight.settle(tx, self.runtime, heads.lock(tx, session_id, timestamps=0))
                return
            except TurnUnsealable as stuck:
                self._set_aside(stuck)

    def _set_aside(self, stuck: TurnUnsealable) -> None:
        with self.db.write(hard=True) as tx:
            recovery.set_aside(tx, stuck)

    def abandoned(self) -> set[str]:
        """The open turns that nobody writes any more; `recover` would seal them. For who may only look."""
        with self.db.read() as tx:
            return {
                turn
                for _, turn, status, owner in tx.all(Q.all_open_turns)
                if status == "streaming" and (owner is None or self._owner.is_dead(tx, owner))
            }

    def _refuse_if_readonly(self) -> None:
        """Also where there would be nothing to do: what is refused does not depend on what others did."""
        if self.readonly:
            raise refusal()

    def _bury(self) -> None:
        """Nothing is left to do for a dead owner: its file and its row go."""
        with self.db.read() as tx:
            dead = [row[0] for row in tx.all(Q.idle_owners) if self._owner.is_dead(tx, row[0])]
        if dead:
            with self.db.write() as tx:
                for owner in dead:
                    tx.defer(Q.drop_owner, id=owner)
            self._owner.forget(dead)

    def trim(self, older_than: float | None = None) -> int:
        """Take away the chunks of turns sealed longer ago than so many seconds (default: `trim_after`); how many. Their
        parts hold what they said. Done by itself a little after each seal."""
        self._refuse_if_readonly()
        wait = self._trim_after if older_than is None else arguments.number("older_than", older_than)
        return self._trim(wait)

    def _trim(self, older_than: float, seconds: float | None = None) -> int:
        """Slice after slice, until nothing is due, or so long."""
        began, before, gone = monotonic(), now_ms() - round(older_than * 1000), 0
        while True:
            with self.db.read() as tx:
                found = trimming.due(tx, before)
            if not found:
                return gone
            while found:
                if seconds is not None and monotonic() - began >= seconds:
                    return gone
                with self.db.write() as tx:
                    gone += trimming.trim_some(tx, found)

    def verify(self, *, fix: bool = False, progress: Callable[[int, int], None] | None = None) -> list[Problem]:
        """Recompute every digest and every derived copy; what does not fit. `fix` rewrites copies, never truth.
        `progress` is called now and then, with how many turns and sessions were looked at."""
        from .core.upkeep import verify

        arguments.function("progress", progress)
        arguments.flag("fix", fix)
        if fix:
            self._refuse_if_readonly()
            return verify.fix(self.db, progress)
        with self.db.read() as tx:
            return verify.check(tx, progress)

    def rebuild(self, session_id: str | None = None, *, fix: bool = True) -> builtins.list[Problem]:
        """In a store that keeps everything (`events="full"`): make the rows of one session, or of all, again from the
        journal; what was missing or said something else. `fix=False` only compares."""
        from .core.upkeep import rebuild

        arguments.text_or_none("session_id", session_id)
        if arguments.flag("fix", fix):
            self._refuse_if_readonly()
        if self.db is self._engine:
            raise Refused('this store keeps no journal; one that is begun with events="full" does')
        with self.db.read() as tx:
            wanted = rebuild.sessions(tx) if session_id is None else [rebuild.named(tx, session_id)]
        found = []
        for each in wanted:
            found += self._rebuild(each, fix)
        return found

    def _rebuild(self, session_id: str, fix: bool) -> builtins.list[Problem]:
        from .core.upkeep import rebuild

        scratch = SqliteDatabase(":memory:")
        try:
            with self._engine.write(hard=True) if fix else self._engine.read() as tx:
                problem = rebuild.replay(tx, session_id, scratch, journal.LOGGED)
                with scratch.read() as made:
                    return [problem] if problem else list(rebuild.compare(tx, session_id, made, fix=fix))
        finally:
            scratch.close()

    def adopt(self) -> int:
        """Look everywhere for rows of other programs and make them turns; how many sessions had some."""
        self._refuse_if_readonly()
        with self.db.read() as tx:
            found = [row[0] for row in tx.all(Q.sessions_with_loose_rows)]
        moved = 0
        for session_id in found:
            with self.db.write(hard=True) as tx:
                moved += preflight.settle_open(tx, self.runtime, session_id, everywhere=True)
        return moved

    def put_foreign_id(self, origin: str, foreign_id: str, ours: str, scope: str = "") -> str:
        """Remember which of our ids another system's id stands for. The first answer stays; it is returned."""
        for label, text in (("origin", origin), ("foreign id", foreign_id), ("id", ours), ("scope", scope)):
            check_name(label, arguments.text(label, text))
        with self.db.write(hard=True) as tx:
            tx.run(Q.put_foreign_id, origin=origin, scope=scope, foreign=foreign_id, id=ours)
            row = tx.one(Q.find_foreign_id, origin=origin, scope=scope, foreign=foreign_id)
        assert row is not None
        return str(row[0])

    def find_foreign_id(self, origin: str, foreign_id: str, scope: str = "") -> str | None:
        for label, text in (("origin", origin), ("foreign id", foreign_id), ("scope", scope)):
            arguments.text(label, text)
        with self.db.read() as tx:
            row = tx.one(Q.find_foreign_id, origin=origin, scope=scope, foreign=foreign_id)
        return row[0] if row else None

    def system_prompt(self, digest: str) -> str | None:
        arguments.text("digest", digest)
        with self.db.read() as tx:
            row = tx.one(Q.get_prompt, digest=digest)
        return row[0] if row else None

    # ------------------------------------------------------------ open turns of this process

    def owner(self) -> str:
        return self._owner.sign_in()

    def track(self, state: OpenTurn, *, resumed: bool = False) -> Turn:
        from .turn import Turn

        turn = Turn(
            self.db,
            self.runtime,
            state,
            policy=self._policy,
            on_end=self._forget,
            on_hold=self._maintenance.wake,
            on_begin=self._remember,
            resumed=resumed,
        )
        self._remember(turn)
        return turn

    def _remember(self, turn: Turn) -> None:
        self._open[turn.id] = turn
        if not self._has_streamed:  # a store that only reads leaves everything as it is
            self._has_streamed = True
            self._trim_at = monotonic()
            self._maintenance.wake()

    def _forget(self, turn: Turn) -> None:
        self._open.pop(turn.id, None)
        if self._trim_at is None:
            self._trim_at = monotonic() + self._trim_after
            self._maintenance.wake()

    def _chores(self, now: float) -> float | None:
        """For the keeper: do what is due; in how many seconds there is more."""
        waits = [self._flush_old(turn) for turn in list(self._open.values())]
        before = (self._renewed_at, self._trim_at, self._recovered_at)
        try:
            self._tidy(now)
            if before != (self._renewed_at, self._trim_at, self._recovered_at):  # something was due, and is done
                self._maintenance.has_worked()
        except PalaverError as error:  # a stream that holds chunks back is looked at in time all the same
            self._maintenance.put_off(error)
            waits.append(1.0)
            return min(left for left in waits if left is not None)
        if self._trim_at is not None:
            waits.append(max(0.0, self._trim_at - monotonic()))
        if self._recover_every is not None:
            waits.append(max(0.0, self._recovered_at + self._recover_every - monotonic()))
        if self._owner.every is not None:
            waits.append(max(0.0, self._renewed_at + self._owner.every - monotonic()))
        return min((left for left in waits if left is not None), default=None)

    def _tidy(self, now: float) -> None:
        if self._owner.every is not None and now - self._renewed_at >= self._owner.every:
            self._renewed_at = now
            self._owner.renew()
        if self._trim_at is not None and now >= self._trim_at and self._trim_slice():
            self._trim_at = None
            self._trim_later()
        if self._recover_every is not None and now - self._recovered_at >= self._recover_every:
            self.recover()
            self._recovered_at = monotonic()
            self._trim_later()

    def _trim_slice(self) -> bool:
        """One short transaction of trimming; True: nothing is due any more."""
        due, self._due = self._due, []  # if it fails, it is looked for again
        if not due:
            with self.db.read() as tx:
                due = trimming.due(tx, now_ms() - round(self._trim_after * 1000))
        if not due:
            return True
        with self.db.write() as tx:
            trimming.trim_some(tx, due)
        self._due, self._trim_at = due, monotonic() + _REST
        return False

    def _flush_old(self, turn: Turn) -> float | None:
        """One turn that cannot be written does not keep the others waiting; its own writer meets the error."""
        try:
            return turn._flush_old()
        except PalaverError as error:
            self._maintenance.put_off(error)
            return 1.0

    def _trim_later(self) -> None:
        if self._trim_at is None and self._has_chunks_left():
            self._trim_at = monotonic() + self._trim_after

    def _has_chunks_left(self) -> bool:
        with self.db.read() as tx:
            return bool(trimming.due(tx, now_ms(), limit=1))


def _abort(turn: Turn) -> None:
    if turn.status != "streaming":
        return
    try:
        if turn.give_back():
            return
        turn.abort("the store was closed")
    except (HeadConflict, TurnSealed):  # it is kept as a stray, or somebody else sealed it
        pass


class Owner:
    """This store's sign of life, as its engine keeps one, and its name. Made with the first turn."""

    def __init__(self, life: Life) -> None:
        self.id = _new_owner()
        self._life = life
        self._signed = False
        self._guard = threading.Lock()

    @property
    def every(self) -> float | None:
        """In how many seconds it is to be renewed; None: never, or not yet."""
        return self._life.every if self._signed else None

    def sign_in(self) -> str:
        with self._guard:
            if self._signed and not self._life.holds():  # we look dead to others
                self._life.end(self.id)
                self._signed, self.id = False, _new_owner()
            if not self._signed:
                self._life.begin(self.id)
                self._signed = True
        return self.id

    def renew(self) -> None:
        self._life.renew(self.id)

    def is_dead(self, tx: Tx, owner: str) -> bool:
        return owner != self.id and self._life.is_dead(tx, owner)

    def forget(self, owners: builtins.list[str]) -> None:
        self._life.forget(owners)

    def leave(self, db: Database) -> None:
        is_clean = False
        try:
            if self._signed:
                self._signed = False
                with db.write() as tx:
                    tx.defer(Q.drop_owner, id=self.id)
            is_clean = True
        finally:
            self._life.end(self.id, is_clean=is_clean)


def _new_owner() -> str:
    return f"{os.getpid()}-{ids.mint('own_')}"


class Sessions:
    """Finding and making sessions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(
        self,
        agent: str = "default",
        *,
        workspace: str | None = None,
        model: Any = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: Session | str | None = None,
        tool_call_id: str | None = None,
        id: str | None = None,
    ) -> Session:
        """A new session. With `parent` it is a sub-agent's, spawned from there (by a tool call, if given)."""
        check_name("agent", agent)
        if not agent:
            raise BadValue("agent is the name of who talks; it cannot be empty")
        check_title(title)
        check_name("tool_call_id", tool_call_id)
        _check_workspace(workspace)
        with self._store.db.write(hard=True) as tx:
            session_id = sessions.create(
                tx,
                agent=agent,
                workspace=workspace,
                model=model,
                title=title,
                metadata_text=_metadata(metadata),
                parent=_id_of(parent),
                parent_call=tool_call_id,
                session_id=id,
            )
        return Session(self._store, session_id)

    def get(self, session_id: str, *, deleted: bool = False) -> Session:
        """The session with this id, ours or the one given to create(); SessionNotFound if none, or it was deleted."""
        arguments.flag("deleted", deleted)
        with self._store.db.read() as tx:
            ours = sessions.resolve(tx, arguments.text("a session's id", session_id))
            row = tx.one(Q.session_stamps, session=ours) if ours else None
        if ours is None or row is None or (row[2] is not None and not deleted):
            raise SessionNotFound(session_id, "list() shows what there is")
        return Session(self._store, ours)

    def find(self, name: str, namespace: str | None = None) -> Session:
        """By id, or by an alias (in one namespace, or in any if it is clear)."""
        arguments.text("name", name)
        arguments.text_or_none("namespace", namespace)
        with self._store.db.read() as tx:
            if namespace is None:
                ours = sessions.resolve(tx, name)
                row = tx.one(Q.session_stamps, session=ours) if ours else None
                if ours is not None and row is not None and row[2] is None:
                    return Session(self._store, ours)
                found = {r[0] for r in tx.all(Q.find_alias_anywhere, name=name)}
            else:
                found = {r[0] for r in tx.all(Q.find_alias, namespace=namespace, name=name)}
            found = {each for each in found if (tx.one(Q.session_stamps, session=each) or (0, 0, 0))[2] is None}
        if len(found) > 1:
            raise BadValue(f"{name!r} names {len(found)} sessions; say which namespace you mean")
        if not found:
            raise SessionNotFound(name)
        return Session(self._store, found.pop())

    def match(self, name: str, *, deleted: bool = False) -> builtins.list[SessionInfo]:
        """What a person may mean by a name: an id (ours or the application's), an alias, an exact title; failing these,
        the sessions whose id begins with it (with or without `ses_`) or, from four characters on, ends with it."""
        arguments.flag("deleted", deleted)
        check_column("name", arguments.text("name", name))
        with self._store.db.read() as tx:
            return sessions.match(tx, name, deleted=deleted)

    def list(
        self,
        *,
        agent: str | None = None,
        workspace: str | None = None,
        parent: Session | str | None = None,
        archived: bool = False,
        order: str = "updated",
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """One page, newest first: by last update, or by creation (order="created"), where rows never move. `after` is
        the `next` of the page before; `archived=True` includes those too."""
        arguments.flag("archived", archived)
        for label, text in (("agent", agent), ("workspace", workspace), ("after", after)):
            arguments.text_or_none(label, text)
        arguments.whole("limit", limit, least=1, most=10_000)
        with self._store.db.read() as tx:
            return sessions.list_page(
                tx,
                agent=agent,
                workspace=workspace,
                parent=_id_of(parent),
                archived=archived,
                order=order,
                limit=limit,
                after=after,
            )

    def __iter__(self) -> Iterator[SessionInfo]:
        """All sessions that are not archived, page by page."""
        after = None
        while True:
            page = self.list(order="created", limit=500, after=after)
            yield from page.sessions
            after = page.next
            if after is None:
                return


def _id_of(session: Session | str | None) -> str | None:
    return session.id if isinstance(session, Session) else arguments.text_or_none("parent", session)


def _check_workspace(given: str | None) -> None:
    check_column("workspace", given)
    if given is not None and size_of(given) > LONGEST_KEY:
        raise BadValue(f"workspace has {size_of(given):,} bytes; {LONGEST_KEY:,} are the most")


def _metadata(given: dict[str, Any] | None) -> str:
    text = metadata.as_given(given)
    if '"deleted_at"' in text and "deleted_at" in exact_json.parse(text):
        raise BadValue("session metadata key 'deleted_at' belongs to the store; leave it out")
    return text
