"""Reading: what a session, a turn, an event looks like to a caller. Nothing here writes, or imports what does."""

from ...base.lazy_import import on_demand

__all__ = [
    "context",
    "entries",
    "events",
    "family",
    "find_session",
    "heads",
    "jumps",
    "lineage",
    "loose_rows",
    "pages",
    "places",
    "previews",
    "replay",
    "session_list",
    "sessions",
    "summaries",
    "system_prompts",
    "titles",
    "transcript",
    "turns",
    "unsettled",
    "usage",
    "windows",
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
        jumps,
        lineage,
        loose_rows,
        pages,
        places,
        previews,
        replay,
        session_list,
        sessions,
        summaries,
        system_prompts,
        titles,
        transcript,
        turns,
        unsettled,
        usage,
        windows,
    )
else:
    __getattr__ = on_demand(__name__)
