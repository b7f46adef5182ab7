"""How the machine is run: settings that are the same everywhere, printed so that a run can be repeated."""

from __future__ import annotations

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import Machine


def run(examples: int, steps: int = 50, *, shrink: bool = True, seed: int | None = None) -> None:
    """Derandomized (the same examples every time) unless a seed is given."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=seed is None,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        report_multiple_bugs=False,
    )
    print(f"model: {examples} examples of {steps} steps, seed {seed} (None: derandomized)")
    run_state_machine_as_test(_seeded(seed), settings=chosen)


def _seeded(seed: int | None) -> type[Machine]:
    if seed is None:
        return Machine
    machine = type("SeededMachine", (Machine,), {})
    hypothesis.seed(seed)(machine)
    return machine
