"""Everything that can go wrong, as one tree. A name says what happened, the
attributes carry the facts, the sentence tells the person what to do.

PalaverError
├── BadValue                 a value that cannot be kept exactly (NaN, depth > 1,000, a NUL in a title …)
│   ├── ReservedKey          a metadata key that the store owns
│   └── BadRule              a permission rule that is not shaped as the contract says
├── ChunkError               a chunk that does not fit the stream so far
├── GraftRefused             some of a source could not be brought in; the rest is here
├── NotFound
│   ├── SessionNotFound
│   ├── TurnNotFound
│   └── MessageNotFound
├── Refused                  the request is understood and not allowed in this state
│   ├── SessionArchived
│   ├── SessionDeleted
│   ├── TurnSealed
│   ├── TurnWaiting
│   ├── TurnUnsealable       what a dead writer left cannot be sealed; it is set aside
│   ├── NotOnPath
│   ├── NothingToUndo
│   ├── UsageConflict
│   ├── ChunkGap
│   ├── AliasTaken
│   ├── QueueConflict        the same id was enqueued before, with another content
│   ├── MessageCancelled     the queued message was taken back
│   ├── MessageFired         the queued message was started already
│   ├── TriggerFired         this delivery has begun its turn already
│   └── TriggerConflict      this delivery came before, with another content
├── HeadConflict             another writer moved the head first; never retried inside
└── StoreError               the store itself
    ├── StoreBusy            a lock was not to be had in time; retried inside until the deadline
    ├── StoreTimeout         a statement took longer than it may; nothing was locked
    ├── StoreUnavailable     the server cannot be reached, or was lost on the way
    ├── StoreReadOnly        the file or its directory cannot be written, or readonly=True; `verb` was refused
    ├── StoreFull
    ├── StoreCorrupt
    ├── IndexDamaged         only search is affected; reindex() makes the index again
    ├── StoreClosed
    ├── StoreGone            its file was removed, moved or replaced while it was open
    ├── NotAStore            the path is a directory, a text file, another program's database
    ├── TooManyFiles         this process may open no more files
    ├── SchemaTooNew
    ├── SchemaMismatch
    └── UnsafeFileSystem
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Any

    from .grafts.values import GraftReport


class PalaverError(Exception):
    """The root: catch this to catch everything Palaver raises."""


class BadValue(PalaverError, ValueError):
    """A value cannot be stored so that it comes back exactly as given."""


class UsageKeyTaken(BadValue):
    """A response that was counted before, told again with other counts."""

    def __init__(self, session_id: str, key: str) -> None:
        super().__init__(f"usage {key!r:.60} of session {session_id} was counted before, and said something else")
        self.session_id = session_id
        self.key = key


class SessionExists(BadValue):
    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} exists already; get() opens it, get_or_create() either way")
        self.session_id = session_id


class ReservedKey(BadValue):
    def __init__(self, key: str) -> None:
        super().__init__(f"metadata key {key!r} belongs to the store; leave it out")
        self.key = key


class BadRule(BadValue):
    """A permission rule has exactly the contract's fields, with values it allows."""


class ChunkError(PalaverError, ValueError):
    """A chunk does not fit the sequence before it. `message` is the state before that chunk."""

    def __init__(
        self,
        reason: str,
        *,
        chunk_index: int = -1,
        message: dict[str, object] | None = None,
        chunk_type: str | None = None,
        chunk_id: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.chunk_index = chunk_index
        self.message: Any = message
        self.chunk_type = chunk_type
        self.chunk_id = chunk_id


class GraftRefused(PalaverError):
    """Some of what a source has could not be brought in; the rest is here. `report` says what became of it all."""

    def __init__(self, report: object, problems: int, first: str) -> None:
        more = f" (and {problems - 1} more)" if problems > 1 else ""
        super().__init__(f"not everything came in; {first}{more}. The rest is kept: mend the source and graft it again")
        self.report: GraftReport = report  # type: ignore[assignment]  # who is asked for the types here loads no grafts


class NotFound(PalaverError, LookupError):
    noun = "thing"

    def __init__(self, wanted: str, hint: str = "", *, sentence: str | None = None) -> None:
        super().__init__(sentence or f"no {self.noun} {wanted!r} in this store{'; ' + hint if hint else ''}")
        self.wanted = wanted


class SessionNotFound(NotFound):
    noun = "session"


class TurnNotFound(NotFound):
    noun = "turn"


class MessageNotFound(NotFound):
    noun = "message"


class Refused(PalaverError):
    """The request is clear, but the session or turn is not in a state that allows it."""


class ContextTooLarge(Refused):
    """Not even the newest exchange fits into the budget."""

    def __init__(self, max_tokens: int, needed: int) -> None:
        super().__init__(
            f"the system prompt, the summary, the newest question and the last step need {needed:,} tokens, and "
            f"max_tokens is {max_tokens:,}; give it more room, or prune() and compact() first"
        )
        self.max_tokens = max_tokens
        self.needed = needed


class SessionArchived(Refused):
    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} is archived and read-only; call unarchive() first")
        self.session_id = session_id


class SessionDeleted(Refused):
    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} was deleted; undelete() brings it back")
        self.session_id = session_id


class TurnSealed(Refused):
    """The turn is closed for good. `late` names the stray that kept a result which came too late."""

    def __init__(self, turn_id: str, status: str | None = None, late: str | None = None) -> None:
        tail = f"; the late result is kept in turn {late}" if late else "; begin a new turn"
        super().__init__(f"turn {turn_id} is sealed ({status or 'unknown'}){tail}")
        self.turn_id = turn_id
        self.status = status
        self.late = late


class TurnStopped(TurnSealed):
    """Somebody stopped the turn (`session.stop`): what was on disk is sealed, as aborted."""

    def __init__(self, turn_id: str, reason: str | None = None) -> None:
        super().__init__(turn_id, "aborted")
        why = f": {reason}" if reason else ""
        self.args = (f"turn {turn_id} was stopped{why}; end the model's call, and begin a new turn",)
        self.reason = reason


class TurnWaiting(Refused):
    def __init__(self, turn_id: str) -> None:
        super().__init__(f"turn {turn_id} is waiting; continue it with session.resume({turn_id!r})")
        self.turn_id = turn_id


class TurnUnsealable(Refused):
    """A turn that a dead writer left cannot be sealed: a row of it is damaged. The store sets it aside, with everything
    that is there, and goes on; a caller meets this only if that cannot be written."""

    def __init__(self, session_id: str, turn_id: str, why: str, *, fence: int = 0) -> None:
        super().__init__(
            f"turn {turn_id} of session {session_id} cannot be sealed ({why}); verify() says what is wrong"
        )
        self.session_id = session_id
        self.turn_id = turn_id
        self.why = why
        self.fence = fence


class NotOnPath(Refused):
    def __init__(self, wanted: str, session_id: str) -> None:
        super().__init__(f"{wanted} is not on the path of session {session_id}; fork(at=…) reaches other branches")
        self.wanted = wanted
        self.session_id = session_id


class NothingToUndo(Refused):
    def __init__(self, session_id: str, verb: str = "undo") -> None:
        super().__init__(f"nothing to {verb} in session {session_id}")
        self.session_id = session_id


class UsageConflict(Refused):
    def __init__(self, turn_id: str) -> None:
        super().__init__(
            f"turn {turn_id} already has usage in its message metadata; report it there or with turn.usage(), not both"
        )
        self.turn_id = turn_id


class ChunkGap(Refused):
    """append(at=n) named a place that the stored chunks do not reach, or that holds another chunk."""

    def __init__(self, turn_id: str, at: int, stored: int, why: str) -> None:
        super().__init__(f"turn {turn_id} holds {stored} chunks; at={at} {why}")
        self.turn_id = turn_id
        self.at = at
        self.stored = stored


class AliasTaken(Refused):
    def __init__(self, namespace: str, name: str, session_id: str) -> None:
        super().__init__(f"{namespace} {name!r} already names session {session_id}; choose another name")
        self.namespace = namespace
        self.name = name
        self.session_id = session_id


class QueueConflict(Refused):
    def __init__(self, session_id: str, id: str) -> None:
        super().__init__(f"message {id!r} was enqueued before with another content; give the new one its own id")
        self.session_id = session_id
        self.id = id


class MessageCancelled(Refused):
    def __init__(self, id: str) -> None:
        super().__init__(f"message {id!r} was cancelled; enqueue it again under another id")
        self.id = id


class MessageFired(Refused):
    def __init__(self, id: str, turn_id: str) -> None:
        super().__init__(f"message {id!r} was fired already, in turn {turn_id}")
        self.id = id
        self.turn_id = turn_id


class TriggerFired(Refused):
    """The same delivery came again. Nothing is to be done: `turn_id` is the turn it began."""

    def __init__(self, source: str, delivery_id: str, turn_id: str) -> None:
        super().__init__(f"{source} delivery {delivery_id!r} has fired already, in turn {turn_id}; nothing was changed")
        self.source = source
        self.delivery_id = delivery_id
        self.turn_id = turn_id


class TriggerConflict(Refused):
    def __init__(self, source: str, delivery_id: str, turn_id: str) -> None:
        super().__init__(
            f"{source} delivery {delivery_id!r} came before with another content (turn {turn_id}); nothing was changed"
        )
        self.source = source
        self.delivery_id = delivery_id
        self.turn_id = turn_id


class HeadConflict(PalaverError):
    """Another writer moved the head since you read it. Nothing of yours is on the path; `stray` names the
    turn that kept your work, if there was any. `settled`: what a dead writer or another program had left was put on the
    path first, and stays there."""

    code = "store_commit_failed"

    def __init__(
        self, session_id: str, expected: int | None, actual: int, stray: str | None = None, *, settled: bool = False
    ) -> None:
        kept = f"; your turn is kept as {stray}, rescue it with fork(at={stray!r})" if stray else ""
        super().__init__(
            f"session {session_id} is at revision {actual}, not {expected}: another writer was first; "
            f"read it again and decide{kept}"
        )
        self.session_id = session_id
        self.expected = expected
        self.actual = actual
        self.stray = stray
        self.settled = settled


def is_settled(error: BaseException | None) -> bool:
    """Whether the transaction that ends with this error is committed all the same, and the error raised afterwards.
    Taken back, the caller would be told of the same dead writer, or the same rows, for ever."""
    return isinstance(error, HeadConflict) and error.settled


class StoreError(PalaverError):
    """The store itself cannot do it."""


class StoreBusy(StoreError):
    def __init__(self, path: str, holder: str | None, waited: float) -> None:
        who = f" by {holder}" if holder else ""
        super().__init__(f"{path} was locked{who} for {waited:.1f} s; try again, or raise `timeout`")
        self.path = path
        self.holder = holder
        self.waited = waited


class StoreTimeout(StoreError):
    """The server was stopped in the middle of a long answer. Nobody held a lock: the same again takes as long."""

    def __init__(self, path: str, allowed: float) -> None:
        super().__init__(
            f"{path} was asked for something that takes longer than {allowed:.1f} s (nothing was locked, nothing was "
            "changed); ask for less at a time, or raise `timeout`"
        )
        self.path = path
        self.allowed = allowed


class StoreUnavailable(StoreError):
    """The server cannot be reached, or the connection to it was lost."""


class StoreReadOnly(StoreError):
    """The file or its directory cannot be written; or the store was opened to be read only."""

    verb: str | None = None

    @classmethod
    def by_verb(cls, verb: str) -> StoreReadOnly:
        made = cls(f"{verb} writes; this store was opened with readonly=True")
        made.verb = verb
        return made


class StoreFull(StoreError):
    """The disk is full; nothing acknowledged was lost. Free some space and go on, no restart needed."""


class StoreCorrupt(StoreError):
    """The file is damaged. Reads and writes are refused rather than answered wrongly."""


class IndexDamaged(StoreError):
    """The search index does not hold together. Everything else is as it was: the index is made of the record."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the search index is damaged ({why}); make it again with reindex(), nothing else is affected")


class StoreClosed(StoreError):
    """The store was closed, or this process was forked from the one that opened it."""

    @classmethod
    def by_fork(cls) -> StoreClosed:
        return cls("this store was opened before fork(); open it again in the child process")


class StoreGone(StoreError):
    """The store's file, or its log, was removed, moved or replaced while it was open. Reading still works in this
    process, so what was acknowledged can be saved."""

    def __init__(self, path: str, file: str) -> None:
        super().__init__(
            f"{file} was removed, moved or replaced while the store {path} was open; nothing more is written to it. "
            "Put the file back, or save what this process can still read, then open the store again"
        )
        self.path = path
        self.file = file


class NotAStore(StoreError):
    """The path does not hold a database that Palaver can use."""


class TooManyFiles(StoreError):
    """This process, or the whole system, may open no more files. Nothing was changed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} cannot be opened: too many files are open; close some, or raise the limit (`ulimit -n`). "
            "Nothing was changed"
        )
        self.name = name


class SchemaTooNew(StoreError):
    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(
            f"{path} has schema {found}, this Palaver knows up to {known}; upgrade Palaver (nothing was changed)"
        )
        self.found = found
        self.known = known


class SchemaMismatch(StoreError):
    """A table is not shaped as the contract says, in a way that cannot be worked around."""


class UnsafeFileSystem(StoreError):
    """WAL needs shared memory and real locks, which network and FUSE file systems do not give."""
