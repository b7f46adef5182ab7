"""A store driven at random reads, after every step, as its model does: through our API and through plain SQL."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import Machine


def run(examples: int, steps: int = 40, *, shrink: bool = True) -> None:
    """The same examples each time: derandomized, no database."""
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        report_multiple_bugs=False,
    )
    print(f"model: {chosen}")
    run_state_machine_as_test(Machine, settings=chosen)
