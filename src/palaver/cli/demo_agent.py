"""The agent of the demo: a process of its own that writes into a store until it ends, or is killed.

It prints every word after the store acknowledged it: what a client would have seen.
"""

from __future__ import annotations

import sys
import time

import palaver

PLAN = (
    "I will look at the failing test first, then at the linker flags, then at the cache, and I will write down "
    "everything I find on the way so that nobody has to look for it twice"
)


def main(path: str, session_id: str, question: str) -> None:
    with palaver.open(path) as store, store.sessions.get(session_id).turn(question) as turn:
        turn.reasoning("The build fails since this morning.")
        turn.tool("read", {"path": "Makefile"})
        for word in PLAN.split():
            turn.text(word + " ")
            print(word, flush=True)
            time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
