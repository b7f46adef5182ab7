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

    from .aisdk.folding import fold
    from .base.exact_json import Raw
    from .copying import CopyProblem, CopyReport, copy
    from .directory import Migrated, SpaceInfo, Spaces, spaces
    from .errors import (
        AliasTaken,
        BadRule,
        BadValue,
        ChunkError,
        ChunkGap,
        HeadConflict,
        MessageCancelled,
        MessageFired,
        MessageNotFound,
        NotAStore,
        NotFound,
        NothingToUndo,
        NotOnPath,
        PalaverError,
        QueueConflict,
        Refused,
        ReservedKey,
        SchemaMismatch,
        SchemaTooNew,
        SessionArchived,
        SessionDeleted,
        SessionNotFound,
        StoreBusy,
        StoreClosed,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreGone,
        StoreReadOnly,
        StoreTimeout,
        StoreUnavailable,
        TooManyFiles,
        TriggerConflict,
        TriggerFired,
        TurnNotFound,
        TurnSealed,
        TurnUnsealable,
        TurnWaiting,
        UnsafeFileSystem,
        UsageConflict,
    )
    from .model import Event, Line, Page, Problem, Queued, SessionInfo, TurnInfo, Usage
    from .opening import open
    from .permissions import Answer
    from .session import Moment, Session, StoredMessage
    from .sessions import Sessions
    from .store import Store
    from .turn import Turn

__version__ = "0.1.0"

# Each name is loaded when it is first used, so that `import palaver` costs next to nothing.
_HOMES = {
    "base.exact_json": "Raw",
    "copying": "CopyProblem CopyReport copy",
    "directory": "Migrated SpaceInfo Spaces spaces",
    "errors": (
        "AliasTaken BadRule BadValue ChunkError ChunkGap HeadConflict "
        "MessageCancelled MessageFired MessageNotFound NotAStore NotFound "
        "NotOnPath NothingToUndo PalaverError QueueConflict Refused ReservedKey SchemaMismatch SchemaTooNew "
        "SessionArchived SessionDeleted SessionNotFound StoreBusy StoreClosed StoreCorrupt "
        "StoreError StoreFull StoreGone StoreReadOnly StoreTimeout StoreUnavailable TooManyFiles TriggerConflict "
        "TriggerFired TurnNotFound TurnSealed TurnUnsealable TurnWaiting UnsafeFileSystem UsageConflict"
    ),
    "aisdk.folding": "fold",
    "model": "Event Line Page Problem Queued SessionInfo TurnInfo Usage",
    "permissions": "Answer",
    "turn": "Turn",
    "session": "Moment Session StoredMessage",
    "store": "Store",
    "sessions": "Sessions",
    "opening": "open",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AliasTaken",
    "Answer",
    "BadRule",
    "BadValue",
    "ChunkError",
    "ChunkGap",
    "CopyProblem",
    "CopyReport",
    "Event",
    "HeadConflict",
    "Line",
    "MessageCancelled",
    "MessageFired",
    "MessageNotFound",
    "Migrated",
    "Moment",
    "NotAStore",
    "NotFound",
    "NotOnPath",
    "NothingToUndo",
    "Page",
    "PalaverError",
    "Problem",
    "QueueConflict",
    "Queued",
    "Raw",
    "Refused",
    "ReservedKey",
    "SchemaMismatch",
    "SchemaTooNew",
    "Session",
    "SessionArchived",
    "SessionDeleted",
    "SessionInfo",
    "SessionNotFound",
    "Sessions",
    "SpaceInfo",
    "Spaces",
    "Store",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreGone",
    "StoreReadOnly",
    "StoreTimeout",
    "StoreUnavailable",
    "StoredMessage",
    "TooManyFiles",
    "TriggerConflict",
    "TriggerFired",
    "Turn",
    "TurnInfo",
    "TurnNotFound",
    "TurnSealed",
    "TurnUnsealable",
    "TurnWaiting",
    "UnsafeFileSystem",
    "Usage",
    "UsageConflict",
    "copy",
    "fold",
    "open",
    "spaces",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'palaver' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
