"""A writer in a process of its own: it begins turns of one session, streams, seals, or dies, when it is told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..tools.chunks import START, delta
from ..tools.puppet import ROOT
from ..tools.puppet import Puppet as Process


class Puppet(Process):
    def __init__(self, path: Path | str, session: str, env: dict[str, str]) -> None:
        super().__init__("tests.tools.actor", "act", path=str(path), env={**env, "PYTHONPATH": str(ROOT)})
        self._session = session

    def do(self, verb: str, *given: Any) -> None:
        """A verb of the turn."""
        self("call", self._turn, verb, *given)

    def say(self, text: str) -> None:
        self.do("write", delta(text))

    def begin(self, question: str) -> None:
        """Begin a turn and the answer's first part."""
        self._turn = self("begin", self._session, question)
        self.do("append", [START, {"type": "text-start", "id": "t"}])
