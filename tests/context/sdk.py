"""The real AI SDK as a judge: its `convertToModelMessages` alone, and the whole way into a model call."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from ..fold.sdk import NODE, Oracle, _environment

SCRIPT = Path(__file__).with_name("convert.mjs")
UI = list[dict[str, Any]]


class Judge(Oracle):
    """`convert` is a script of ours; every other mode is the oracle's own."""

    def _process(self, mode: str) -> subprocess.Popen[bytes]:
        if mode == "convert" and mode not in self.processes:
            self.processes[mode] = subprocess.Popen(
                [str(NODE), "--input-type=module", "-e", SCRIPT.read_text()],  # imports are looked up from cwd
                cwd=self.root,
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return super()._process(mode)

    def converted(self, many: list[UI]) -> list[UI]:
        """The model messages of each list of UIMessages."""
        answers = self.ask_many("convert", many)
        for given, answer in zip(many, answers, strict=True):
            assert "error" not in answer, (given, answer)
        return [answer["messages"] for answer in answers]

    def accepts(self, many: list[UI]) -> list[UI]:
        """Each list is validated, converted and taken by a (stub) model, which refuses a call without a result. The
        model messages."""
        answers = self.ask_many("validate", many)
        for given, answer in zip(many, answers, strict=True):
            assert answer["ok"], ({k: v for k, v in answer.items() if k != "messages"}, given)
        return [answer["modelMessages"] for answer in answers]
