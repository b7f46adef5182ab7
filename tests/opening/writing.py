"""A process that writes to a store beside the one that checks it: `python -m tests.opening.writing '{"job": …}'`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import palaver


def commit(session: palaver.Session) -> None:
    usage = {"input": 3, "output": 5}
    answer = {"role": "assistant", "metadata": {"usage": usage}, "parts": [{"type": "text", "text": "and on"}]}
    session.commit([{"role": "user", "parts": [{"type": "text", "text": "go on"}]}, answer])


def sway(session: palaver.Session) -> None:
    """One turn back, and the next time forward again."""
    if session.history()[-1].kind == "rewind":
        session.undo()
    else:
        session.rewind(to=session.path()[-2])


def resolve(session: palaver.Session) -> None:
    """What waits gets its result, and its turn goes on; the second time nothing waits."""
    for waiting in session.waiting():
        with session.resume(waiting.id) as turn:
            turn.resolve("c", output=42)


VERBS: dict[str, Callable[[palaver.Session], None]] = {verb.__name__: verb for verb in (commit, sway, resolve)}


def obey(url: str, session: str) -> None:
    """A verb for each line; its answer when it is done."""
    with palaver.open(url) as store:
        talk = store.sessions.get(session)
        print("ready", flush=True)
        for line in sys.stdin:
            VERBS[line.strip()](talk)
            print("done", flush=True)


def go_on(url: str, session: str) -> None:
    """Commit and sway until told to stop; how often, and what went wrong."""
    import threading

    over, errors, count = threading.Event(), list[str](), 0
    with palaver.open(url) as store:
        talk = store.sessions.get(session)
        print("ready", flush=True)
        sys.stdin.readline()
        threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
        while not over.is_set():
            try:
                commit(talk)
                sway(talk)
                count += 1
            except palaver.PalaverError as error:
                errors.append(repr(error))
    print(json.dumps({"count": count, "errors": errors}), flush=True)


JOBS: dict[str, Callable[..., Any]] = {"obey": obey, "go_on": go_on}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    JOBS[given.pop("job")](**given)
