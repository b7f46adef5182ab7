"""The store: one space, its sessions, and what spans them. Each verb is one call into the core."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from types import TracebackType

import palaver  # handles that are loaded when they are needed

from .background.background import Background
from .base import arguments
from .base.exact_json import check_name
from .core import read, verbs
from .core.upkeep import every_session, owners, retention, trim_slices
from .db.engine import Database, Engine
from .db.refusal import refusal
from .db.sqlite.engine import SqliteDatabase
from .errors import Refused, TurnNotFound
from .model import Problem
from .sessions import Sessions
from .streaming.save_policy import SavePolicy


class Store:
    """Everything kept in one place. Safe to share between threads; not across fork()."""

    sessions: Sessions
    path: str
    readonly: bool
    notes: list[str]
    db: Database

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
        self._engine = engine
        policy = SavePolicy(save_on, save_buffer_ms, save_buffer_size)  # refused before anything is written
        self.db = _keeping(engine, events)
        self._background = Background(self.db, engine.life, policy, trim_after=trim_after, recover_every=recover_every)
        self._runtime = self._background.runtime
        self.sessions = Sessions(self)
        self._pid, self._is_closed, self._closing = os.getpid(), False, threading.RLock()
        if not self.readonly:
            self._background.recover_at_opening()

    def close(self) -> None:
        """Seal, as aborted, what this process left open, and let go of the file. A second time does nothing."""
        if os.getpid() != self._pid:  # a forked child leaves everything to its parent
            self.db.close()
            return
        with self._closing:  # of two threads that close it, the second waits for the first
            is_over, self._is_closed = self._is_closed, True
            if not is_over:
                self._background.end()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self.path}>"

    # ------------------------------------------------------------ upkeep

    def recover(self) -> int:
        """Seal what dead writers left open, in every session; how many sessions had some."""
        self._refuse_if_readonly()
        return self._background.recover()

    def abandoned(self) -> set[str]:
        """The open turns that nobody writes any more; `recover` would seal them. For who may only look."""
        with self.db.read() as tx:
            return {turn.id for turn in owners.abandoned(tx, self._background.owner.is_dead)}

    def trim(self, older_than: float | None = None) -> int:
        """Take away the chunks of turns sealed longer ago than so many seconds (default: `trim_after`); how many. Their
        parts hold what they said. Done by itself a little after each seal."""
        self._refuse_if_readonly()
        wait = self._background.trim_after if older_than is None else arguments.number("older_than", older_than)
        return trim_slices.trim(self.db, wait)

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

    def rebuild(self, session_id: str | None = None, *, fix: bool = True) -> list[Problem]:
        """In a store that keeps everything (`events="full"`): make the rows of one session, or of all, again from the
        journal; what was missing or said something else. `fix=False` only compares."""
        from .core.upkeep.rebuild_sessions import rebuild_sessions

        arguments.text_or_none("session_id", session_id)
        if arguments.flag("fix", fix):
            self._refuse_if_readonly()
        if self.db is self._engine:
            raise Refused('this store keeps no journal; one that is begun with events="full" does')
        return rebuild_sessions(self._engine, session_id, lambda: SqliteDatabase(":memory:"), fix=fix)

    def adopt(self) -> int:
        """Look everywhere for rows of other programs and make them turns; how many sessions had some."""
        self._refuse_if_readonly()
        return every_session.adopt(self.db, self._runtime)

    def reindex(self, *, only_missing: bool = False, progress: Callable[[int, int], None] | None = None) -> int:
        """Make the search index again, from the record; how many turns. `only_missing`: go on with what is not indexed
        yet, as maintenance does by itself. Killed on the way, it is gone on with by whoever opens the store next."""
        from .core.upkeep import indexing

        arguments.function("progress", progress)
        only_missing = arguments.flag("only_missing", only_missing)
        self._refuse_if_readonly()
        if not only_missing:
            indexing.begin_again(self.db)
        return indexing.index_all(self.db, progress)

    def _refuse_if_readonly(self) -> None:
        """Also where there would be nothing to do: what is refused does not depend on what others did."""
        if self.readonly:
            raise refusal()

    # ------------------------------------------------------------ search

    def search(
        self,
        query: str,
        *,
        order: str = "rank",
        limit: int = 20,
        after: str | None = None,
        per_session: bool = False,
        archived: bool = False,
        hidden: bool = False,
    ) -> palaver.SearchPage:
        """Find what was ever said: words (all of them), "phrases", OR, NOT or -word, prefix*, parentheses, and fields
        like role: agent: tool: file: before: after: session: is:error has:file. The best first, or order="newest".
        `per_session`: the best hit of each session; `archived`: also in archived sessions; `hidden`: also what was
        rewound, waits in a queue or is a stray. What was deleted is never found."""
        from .core.search import finding

        flags = {"per_session": per_session, "archived": archived, "hidden": hidden}
        wanted = finding.Wanted.of(query, order, limit, **flags)
        with self.db.read() as tx:
            found = finding.page(tx, wanted, arguments.text_or_none("after", after), self._background.checks)
        if found.indexed_through is not None and not self.readonly:
            self._background.index_soon()
        return found

    # ------------------------------------------------------------ history from elsewhere

    def graft(
        self,
        sessions: palaver.GraftSession | Iterable[palaver.GraftSession],
        *,
        progress: Callable[[palaver.GraftProgress], None] | None = None,
    ) -> palaver.GraftReport:
        """Bring in what happened elsewhere, with its own times: what is here already is known by the SHA-256 of its
        items and left alone. What cannot be brought in is told by GraftRefused, when all the rest is here."""
        from .grafts import driver

        self._refuse_if_readonly()
        report = driver.bring_in(self.db, self._runtime, sessions, arguments.function("progress", progress))
        self._background.index_soon()
        return report

    def natives(self, turn_id: str) -> list[palaver.Native]:
        """The items that a turn was made of, exactly as they were given; empty if it came by no graft."""
        from .grafts import preparing

        arguments.text("turn_id", turn_id)
        with self.db.read() as tx:
            return preparing.natives_of(tx, turn_id)

    # ------------------------------------------------------------ ids and texts that are no session's own

    def put_foreign_id(self, origin: str, foreign_id: str, ours: str, scope: str = "") -> str:
        """Remember which of our ids another system's id stands for. The first answer stays; it is returned."""
        for label, text in (("origin", origin), ("foreign id", foreign_id), ("id", ours), ("scope", scope)):
            check_name(label, arguments.text(label, text))
        with self.db.write(hard=True) as tx:
            return verbs.foreign_ids.put(tx, origin=origin, scope=scope, foreign=foreign_id, ours=ours)

    def find_foreign_id(self, origin: str, foreign_id: str, scope: str = "") -> str | None:
        for label, text in (("origin", origin), ("foreign id", foreign_id), ("scope", scope)):
            arguments.text(label, text)
        with self.db.read() as tx:
            return verbs.foreign_ids.find(tx, origin=origin, scope=scope, foreign=foreign_id)

    def system_prompt(self, digest: str) -> str | None:
        arguments.text("digest", digest)
        with self.db.read() as tx:
            return read.system_prompts.body(tx, digest)

    def open_turn(self, turn_id: str) -> palaver.Turn:
        """The turn that this process has open under this id; TurnNotFound if it has none."""
        found = self._background.turns.get(arguments.text("turn_id", turn_id))
        if found is None:
            raise TurnNotFound(turn_id, "this process has no such turn open")
        return found

    def body(self, digest: str) -> str | None:
        """The definitions of a turn's tools, or its settings, as JSON text, by the digest in its `TurnInfo`."""
        arguments.text("digest", digest)
        with self.db.read() as tx:
            return read.system_prompts.stored_body(tx, digest)


def _keeping(engine: Engine, events: str | None) -> Database:
    """The engine, under a journal if the store keeps everything."""
    mode = retention.choose(engine, events)
    engine.expect_setting("events", mode, retention.LIVE)
    if mode != retention.FULL:
        return engine
    from .core.upkeep.journal import JournaledDatabase

    return JournaledDatabase(engine)
