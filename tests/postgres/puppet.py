"""A writer in a process of its own, for tests that kill or pause it."""

from __future__ import annotations

from ..tools.puppet import Puppet, Refusal


class Writer(Puppet):
    """It has begun a turn; every text is a chunk more of it."""

    def __init__(self, dsn: str, lease: float) -> None:
        super().__init__("tests.tools.actor", "act", path=dsn, lease=lease, recover_every=None)
        self.session_id, self._turn = self("begin_anew", "go")

    def write_text(self, text: str) -> str:
        """`ok`, or the name of the error."""
        try:
            self("say", self._turn, f"{text} ")
        except Refusal as refused:
            return str(refused.name)
        return "ok"
