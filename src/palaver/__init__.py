"""Palaver: the permanent record of AI agents' conversations.

import palaver

store = palaver.open("talks.db")
session = store.sessions.create(agent="coder")
with session.turn("Hello?") as turn:
    for chunk in model_stream:
        turn.write(chunk)          # on disk when this returns
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .canonical import Raw as Raw
    from .errors import (
        AliasTaken as AliasTaken,
    )
    from .errors import (
        BadValue as BadValue,
    )
    from .errors import (
        ChunkError as ChunkError,
    )
    from .errors import (
        ChunkGap as ChunkGap,
    )
    from .errors import (
        HeadConflict as HeadConflict,
    )
    from .errors import (
        MessageNotFound as MessageNotFound,
    )
    from .errors import (
        NotAStore as NotAStore,
    )
    from .errors import (
        NotFound as NotFound,
    )
    from .errors import (
        NothingToUndo as NothingToUndo,
    )
    from .errors import (
        NotOnPath as NotOnPath,
    )
    from .errors import (
        PalaverError as PalaverError,
    )
    from .errors import (
        Refused as Refused,
    )
    from .errors import (
        ReservedKey as ReservedKey,
    )
    from .errors import (
        SchemaMismatch as SchemaMismatch,
    )
    from .errors import (
        SchemaTooNew as SchemaTooNew,
    )
    from .errors import (
        SessionArchived as SessionArchived,
    )
    from .errors import (
        SessionDeleted as SessionDeleted,
    )
    from .errors import (
        SessionNotFound as SessionNotFound,
    )
    from .errors import (
        StoreBusy as StoreBusy,
    )
    from .errors import (
        StoreClosed as StoreClosed,
    )
    from .errors import (
        StoreCorrupt as StoreCorrupt,
    )
    from .errors import (
        StoreError as StoreError,
    )
    from .errors import (
        StoreFull as StoreFull,
    )
    from .errors import (
        StoreReadOnly as StoreReadOnly,
    )
    from .errors import (
        TurnNotFound as TurnNotFound,
    )
    from .errors import (
        TurnSealed as TurnSealed,
    )
    from .errors import (
        TurnWaiting as TurnWaiting,
    )
    from .errors import (
        UnsafeFileSystem as UnsafeFileSystem,
    )
    from .errors import (
        UsageConflict as UsageConflict,
    )
    from .folding import fold as fold
    from .model import (
        Event as Event,
    )
    from .model import (
        Line as Line,
    )
    from .model import (
        Page as Page,
    )
    from .model import (
        Problem as Problem,
    )
    from .model import (
        SessionInfo as SessionInfo,
    )
    from .model import (
        TurnInfo as TurnInfo,
    )
    from .model import (
        Usage as Usage,
    )
    from .recorder import Turn as Turn
    from .session import Moment as Moment
    from .session import Session as Session
    from .session import StoredMessage as StoredMessage
    from .store import Sessions as Sessions
    from .store import Store as Store
    from .store import open as open

__version__ = "0.1.0"

# Each name is loaded when it is first used, so that `import palaver` costs next to nothing.
_HOMES = {
    "canonical": "Raw",
    "errors": "AliasTaken BadValue ChunkError ChunkGap HeadConflict MessageNotFound NotAStore NotFound NotOnPath NothingToUndo PalaverError Refused ReservedKey SchemaMismatch SchemaTooNew SessionArchived SessionDeleted SessionNotFound StoreBusy StoreClosed StoreCorrupt StoreError StoreFull StoreReadOnly TurnNotFound TurnSealed TurnWaiting UnsafeFileSystem UsageConflict",
    "folding": "fold",
    "model": "Event Line Page Problem SessionInfo TurnInfo Usage",
    "recorder": "Turn",
    "session": "Moment Session StoredMessage",
    "store": "Sessions Store open",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

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
    "StoredMessage",
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


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'palaver' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
