"""The model's machine on a store that keeps everything: beside the model, the journal too must say what
the tables say."""

from __future__ import annotations

import os

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

import palaver
from tests.model.judge import Judge
from tests.model.machine import Machine

from .support import untold

EVERY = 6  # steps


class FullMachine(Machine):
    """Sessions that another program began are not in the journal from their beginning; all others are."""

    scans = 0

    def open_writer(self) -> None:
        store = palaver.open(self.path, events="full", save_buffer_ms=0, durability="normal")
        self.writers[f"writer {self.new()}"] = store
        if self.judge is None:
            self.judge = Judge(self.path)
        self.world.recover_everywhere()

    @invariant()
    def the_journal_gives_the_tables(self) -> None:
        self.scans += 1
        if self.judge is not None and self.scans % EVERY == 0:
            self._compare_journal()

    def _last_words(self) -> None:
        super()._last_words()
        if self.writers:
            self._compare_journal()

    def _compare_journal(self) -> None:
        found = self.store.rebuild(fix=False)
        assert untold(self.path) == []
        assert [p for p in found if p.rule != "journal" or not p.where.startswith("other-")] == []


def run(examples: int, steps: int, *phases: Phase) -> None:
    seed = int(os.environ.get("PALAVER_SEED", "20261116"))
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        phases=[Phase.generate, *phases],
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        report_multiple_bugs=False,
    )
    print(f"model with a journal: {examples} examples of {steps} steps, seed {seed}")
    machine = type("SeededMachine", (FullMachine,), {})
    hypothesis.seed(seed)(machine)
    run_state_machine_as_test(machine, settings=chosen)


def test_promise_148_the_journal_and_the_model_agree_with_the_tables() -> None:
    run(8, 40)


@pytest.mark.long
def test_promise_148_the_journal_and_the_model_agree_with_the_tables_for_long() -> None:
    run(200, 60, Phase.shrink)
