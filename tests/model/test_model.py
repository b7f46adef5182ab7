"""A store driven at random reads, after every step, as its model does: through our API and through plain SQL."""

from __future__ import annotations

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import Machine


def run(examples: int, steps: int = 50, *, shrink: bool = True, seed: int | None = None) -> None:
    """The same examples each time: derandomized or with a seed, no database."""
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=seed is None,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        report_multiple_bugs=False,
    )
    print(f"model: seed {seed}, {chosen}")
    machine = type("Seeded", (Machine,), {})
    if seed is not None:
        hypothesis.seed(seed)(machine)
    run_state_machine_as_test(machine, settings=chosen)
