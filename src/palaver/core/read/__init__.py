"""Reading: what a session, a turn, an event looks like to a caller. Nothing here writes, or imports what does."""

from ...base.lazy_import import on_demand

__all__ = [
    "context",
    "entries",
    "events",
    "family",
    "find_session",
    "heads",
    "loose_rows",
    "places",
    "previews",
    "replay",
    "sessions",
    "summaries",
    "system_prompts",
    "transcript",
    "turns",
    "unsettled",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import (
        context,
        entries,
        events,
        family,
        find_session,
        heads,
        loose_rows,
        places,
        previews,
        replay,
        sessions,
        summaries,
        system_prompts,
        transcript,
        turns,
        unsettled,
    )
else:
    __getattr__ = on_demand(__name__)
