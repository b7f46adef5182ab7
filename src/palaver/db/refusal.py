"""What a store that was opened to be read says to a verb that writes: its name, and why not."""

from __future__ import annotations

import sys

from ..errors import StoreReadOnly

_OURS = "palaver."
_CALLERS = ("palaver.cli", "palaver.testing")  # ours, too, but they call the library as everybody does


def refusal() -> StoreReadOnly:
    return StoreReadOnly.by_verb(_verb())


def _verb() -> str:
    """The verb that the caller called: the outermost function of ours on this thread's stack. So no verb has to say of
    itself that it writes, and none can be forgotten."""
    frame, name = sys._getframe(2), "this"
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        if not frame.f_code.co_name.startswith(("_", "<")):
            name = frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    return name


def _is_ours(module: str) -> bool:
    return module.startswith(_OURS) and not module.startswith(_CALLERS)
