"""Who waits for a server is told so after a moment: on stderr, with its address, and never with a password.

A server that is away for a while (it is restarted, another one takes over) is tried again for half a minute. A wrong
port looks just so.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..base import address
from .exits import hide_secrets
from .ui.screen import say_aside

_MOMENT = 1.0  # seconds


@contextmanager
def telling(url: str, *, json: bool) -> Iterator[None]:
    """While this block waits for the server."""
    if not address.is_server(url):
        yield
        return
    said = f"waiting for {hide_secrets(url)}, which does not answer yet; Ctrl-C ends it"
    timer = threading.Timer(_MOMENT, say_aside, [said], {"json": json})
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
