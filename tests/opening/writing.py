"""A process that writes to a store beside the one that checks it: `python -m tests.opening.writing`."""

from __future__ import annotations

import threading

import palaver

from ..tools.puppet import Report, heard, play, ready, say


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


def obey(url: str, session: str) -> None:
    """A verb for each word; its answer when it is done."""
    with palaver.open(url) as store:
        talk = store.sessions.get(session)
        say("ready")
        for verb in heard():
            {"commit": commit, "sway": sway, "resolve": resolve}[verb](talk)
            say("done")


def go_on(url: str, session: str) -> Report:
    """Commit and sway until told to stop; how often, and what went wrong."""
    over, errors, count = threading.Event(), list[str](), 0
    with palaver.open(url) as store:
        talk = store.sessions.get(session)
        ready()
        threading.Thread(target=lambda: (next(heard()), over.set()), daemon=True).start()
        while not over.is_set():
            try:
                commit(talk)
                sway(talk)
                count += 1
            except palaver.PalaverError as error:
                errors.append(repr(error))
    return {"count": count, "errors": errors}


if __name__ == "__main__":
    play()
