"""Palaver: the permanent record of AI agents' conversations.

import palaver

store = palaver.open("talks.db")
session = store.sessions.create(agent="coder")
with session.turn("Hello?") as turn:
    for chunk in model_stream:
        turn.write(chunk)          # on disk when this returns
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Any

    from .aisdk.budget import Context as Context
    from .aisdk.folding import fold as fold
    from .base.exact_json import Raw as Raw
    from .copying import CopyProblem as CopyProblem, CopyReport as CopyReport, copy as copy
    from .directory import Migrated as Migrated, SpaceInfo as SpaceInfo, Spaces as Spaces, spaces as spaces
    from .errors import (
        AliasTaken as AliasTaken,
        BadRule as BadRule,
        BadValue as BadValue,
        ChunkError as ChunkError,
        ChunkGap as ChunkGap,
        ContextTooLarge as ContextTooLarge,
        GraftRefused as GraftRefused,
        HeadConflict as HeadConflict,
        IndexDamaged as IndexDamaged,
        MessageCancelled as MessageCancelled,
        MessageFired as MessageFired,
        MessageNotFound as MessageNotFound,
        NotAStore as NotAStore,
        NotFound as NotFound,
        NothingToUndo as NothingToUndo,
        NotOnPath as NotOnPath,
        PalaverError as PalaverError,
        QueueConflict as QueueConflict,
        Refused as Refused,
        ReservedKey as ReservedKey,
        SchemaMismatch as SchemaMismatch,
        SchemaTooNew as SchemaTooNew,
        SessionArchived as SessionArchived,
        SessionDeleted as SessionDeleted,
        SessionExists as SessionExists,
        SessionNotFound as SessionNotFound,
        StoreBusy as StoreBusy,
        StoreClosed as StoreClosed,
        StoreCorrupt as StoreCorrupt,
        StoreError as StoreError,
        StoreFull as StoreFull,
        StoreGone as StoreGone,
        StoreReadOnly as StoreReadOnly,
        StoreTimeout as StoreTimeout,
        StoreUnavailable as StoreUnavailable,
        TooManyFiles as TooManyFiles,
        TriggerConflict as TriggerConflict,
        TriggerFired as TriggerFired,
        TurnNotFound as TurnNotFound,
        TurnSealed as TurnSealed,
        TurnStopped as TurnStopped,
        TurnUnsealable as TurnUnsealable,
        TurnWaiting as TurnWaiting,
        UnsafeFileSystem as UnsafeFileSystem,
        UsageConflict as UsageConflict,
        UsageKeyTaken as UsageKeyTaken,
    )
    from .grafts.values import (
        GraftCompaction as GraftCompaction,
        GraftedSession as GraftedSession,
        GraftItem as GraftItem,
        GraftMove as GraftMove,
        GraftProblem as GraftProblem,
        GraftProgress as GraftProgress,
        GraftReport as GraftReport,
        GraftSession as GraftSession,
        GraftTurn as GraftTurn,
        GraftUsage as GraftUsage,
        Native as Native,
    )
    from .model import (
        Event as Event,
        Hit as Hit,
        Line as Line,
        Page as Page,
        Problem as Problem,
        Queued as Queued,
        SearchPage as SearchPage,
        SessionInfo as SessionInfo,
        TurnError as TurnError,
        TurnInfo as TurnInfo,
        Usage as Usage,
        UsageEntry as UsageEntry,
        Window as Window,
        WindowText as WindowText,
    )
    from .opening import open as open
    from .permissions import Answer as Answer
    from .session import Moment as Moment, Session as Session, StoredMessage as StoredMessage
    from .session_rules import SessionRules as SessionRules
    from .sessions import Sessions as Sessions
    from .store import Store as Store
    from .tool_call import ToolCall as ToolCall
    from .turn import Turn as Turn


__version__ = "0.1.0"

# Each name is loaded when it is first used, so that `import palaver` costs next to nothing. Type checkers read the
# imports above; a test holds the two to each other.
_HOMES = {
    "base.exact_json": "Raw",
    "copying": "CopyProblem CopyReport copy",
    "directory": "Migrated SpaceInfo Spaces spaces",
    "errors": (
        "AliasTaken BadRule BadValue ChunkError ChunkGap ContextTooLarge GraftRefused HeadConflict IndexDamaged "
        "MessageCancelled MessageFired MessageNotFound NotAStore NotFound "
        "NotOnPath NothingToUndo PalaverError QueueConflict Refused ReservedKey SchemaMismatch SchemaTooNew "
        "SessionArchived SessionDeleted SessionExists SessionNotFound StoreBusy StoreClosed StoreCorrupt "
        "StoreError StoreFull StoreGone StoreReadOnly StoreTimeout StoreUnavailable TooManyFiles TriggerConflict "
        "TriggerFired TurnNotFound TurnSealed TurnStopped TurnUnsealable TurnWaiting UnsafeFileSystem "
        "UsageConflict UsageKeyTaken"
    ),
    "aisdk.budget": "Context",
    "grafts.values": (
        "GraftCompaction GraftItem GraftMove GraftProblem GraftProgress GraftReport GraftSession GraftTurn GraftUsage "
        "GraftedSession Native"
    ),
    "aisdk.folding": "fold",
    "model": (
        "Event Hit Line Page Problem Queued SearchPage SessionInfo TurnError TurnInfo Usage UsageEntry Window "
        "WindowText"
    ),
    "permissions": "Answer",
    "tool_call": "ToolCall",
    "turn": "Turn",
    "session": "Moment Session StoredMessage",
    "session_rules": "SessionRules",
    "store": "Store",
    "sessions": "Sessions",
    "opening": "open",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'palaver' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"annotations", "TYPE_CHECKING"})
