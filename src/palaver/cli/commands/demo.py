"""`palaver demo`: what demo_story.py does, told on the terminal."""

from __future__ import annotations

from ..command import Call, command


@command(
    "demo",
    examples=["palaver demo"],
    keys={"lines": "what the demo said, line by line"},
    store=False,
)
def demo(call: Call) -> None:
    """Record a scripted agent, fork, rewind, and prove that nothing was lost.

    It works on a store of its own, in a temporary directory that it removes."""
    from ..demo_story import run

    if not call.json:
        run(lambda text: call.screen.say(call.screen.sanitized(text, lines=True)))
        return
    lines: list[str] = []
    run(lambda text: lines.extend(text.split("\n")))
    call.screen.json({"lines": lines})
