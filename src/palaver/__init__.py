"""Palaver: the permanent record of AI agents' conversations.

import palaver

store = palaver.open("talks.db")
session = store.sessions.create(agent="coder")
with session.turn("Hello?") as turn:
    for chunk in model_stream:
        turn.write(chunk)          # on disk when this returns
"""

from .canonical import Raw
from .errors import (
    AliasTaken,
    BadValue,
    ChunkError,
    ChunkGap,
    HeadConflict,
    MessageNotFound,
    NotAStore,
    NotFound,
    NothingToUndo,
    NotOnPath,
    PalaverError,
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
    StoreReadOnly,
    TurnNotFound,
    TurnSealed,
    TurnWaiting,
    UnsafeFileSystem,
    UsageConflict,
)
from .folding import fold
from .model import Event, Line, Page, Problem, SessionInfo, TurnInfo, Usage
from .recorder import Turn
from .session import Moment, Session
from .store import Sessions, Store, open

__version__ = "0.1.0"

__all__ = [
    "AliasTaken",
    "BadValue",
    "ChunkError",
    "ChunkGap",
    "Event",
    "HeadConflict",
    "Line",
    "MessageNotFound",
    "Moment",
    "NotAStore",
    "NotFound",
    "NotOnPath",
    "NothingToUndo",
    "Page",
    "PalaverError",
    "Problem",
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
    "Store",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "Turn",
    "TurnInfo",
    "TurnNotFound",
    "TurnSealed",
    "TurnWaiting",
    "UnsafeFileSystem",
    "Usage",
    "UsageConflict",
    "fold",
    "open",
]
