"""What a handle calls that writes: each verb takes a transaction, the runtime and a session's id.

The modules are imported when they are first asked for. What callers give and what a verb does first is reached through
here, too.
"""

from ...base.lazy_import import on_demand

__all__ = [
    "answer",
    "begin",
    "commit",
    "compaction",
    "create",
    "facts",
    "foreign_ids",
    "late_result",
    "lifecycle",
    "mid_turn",
    "moves",
    "names",
    "preflight",
    "pruning",
    "queue",
    "recovery",
    "results",
    "rules",
    "session_usage",
    "siblings",
    "stop",
    "unanswered",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settle import preflight, recovery
    from . import (
        answer,
        begin,
        commit,
        compaction,
        create,
        facts,
        foreign_ids,
        late_result,
        lifecycle,
        mid_turn,
        moves,
        names,
        pruning,
        queue,
        results,
        rules,
        session_usage,
        siblings,
        stop,
        unanswered,
    )
else:
    _CORE, _, _ = __name__.rpartition(".")
    __getattr__ = on_demand(
        __name__,
        {
            "preflight": f"{_CORE}.settle.preflight",
            "recovery": f"{_CORE}.settle.recovery",
        },
    )
