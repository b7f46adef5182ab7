"""So many random calls from one seed. `python -m tests.fuzz.run SEED CALLS` tells all that it finds, and
`python -m tests.fuzz.run SEED/WORLD` makes one world again and says every call.

A world is a small store, and the calls that are made on it, one after the other; some are made by four threads at once,
some in asyncio. After each call the file is opened anew and its newest session read; after each batch it is verified,
every session read in every way, exported, and taken in elsewhere, where each goes on. Where a batch finds something,
the same world is made again with that check after each call, which names the one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import random
import sys
import tempfile
import threading
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import palaver
from palaver import PalaverError, Session, Store, aio
from palaver.recording import Recording

from ..tools.waiting import in_threads
from . import values, world
from .calls import Verb, catalogue
from .plausible import argument
from .world import World

CALLS_OF_A_WORLD, BATCH, THREADS = 40, 20, 4
VERBS = catalogue()
SUBJECTS = {"Store", "Sessions", "Session", "Moment", "Turn", "ToolCall", "SessionRules", "Recording"}
AWAITED = [
    verb
    for verb in VERBS
    if verb.noun in ("Store", "Sessions", "Session", "Turn", "SessionRules")
    and verb.kind == "method"
    and verb.name[0] != "_"
]
# Called by the interpreter, with what it makes itself.
NOT_GIVEN = {("Turn.__exit__", "*")}
WEIGHTS = {
    **dict.fromkeys(("Turn.write", "Turn.append"), 10.0),
    **dict.fromkeys(("Session.turn", "Session.commit", "Session.enqueue", "Sessions.create"), 6.0),
    **dict.fromkeys(("Session.edit", "Session.regenerate", "Session.compact", "Turn.compact", "Turn.resolve"), 4.0),
    **dict.fromkeys(("SessionRules.add", "recording.record", "Session.claim", "Session.alias", "Session.title"), 3.0),
    **dict.fromkeys(("Session.fork", "Session.rewind", "Session.undo", "Turn.used", "Turn.abort"), 2.0),
}
CALLBACKS = ("count", "progress", "on_refused", "on_cut", "on_broken")


class Failure(Exception):
    """What the fuzz is there to find."""


class Call(NamedTuple):
    verb: Verb
    subject: Any
    given: dict[str, Any]
    misnamed: bool  # an argument is missing, or has a name that is not there
    is_quick: bool  # nothing in it waits for longer than a moment
    awaited: bool

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_shown(value)}" for name, value in self.given.items())
        return f"{'await ' * self.awaited}{_shown(self.subject)}.{self.verb.full}({given}) [{self.verb.kind}]"


def _shown(value: Any) -> str:
    try:
        return f"{value!a:.200}"
    except Exception:  # deep, long, closed, or rude
        return f"<{type(value).__name__}>"


# ---------------------------------------------------------------- making a call up


def make(here: World, rng: random.Random, only: Container[str] | None = None) -> Call:
    """A call, of any verb or of some."""
    awaited = only is None and rng.random() < 0.05
    choice = AWAITED if awaited else [verb for verb in VERBS if only is None or verb.full in only]
    (verb,) = rng.choices(choice, [_weight(verb) for verb in choice])
    names = [*verb.required, *(name for name in verb.optional if rng.random() < 0.3)]
    given = {name: argument(here, rng, verb, name) for name in names}
    if verb.full == "Turn.resolve" and given.keys().isdisjoint(("output", "error", "approved")):
        given["output"] = argument(here, rng, verb, "output")
    _spoil(here, rng, verb, given)
    misnamed = rng.random() < 0.02
    if misnamed and given and rng.random() < 0.5:
        misnamed = given.popitem()[0] in verb.required
    elif misnamed:
        given["bogus"] = 1
    return Call(verb, _subject(here, rng, verb), given, misnamed, _is_quick(verb, given), awaited)


def _weight(verb: Verb) -> float:
    """What can be given much is called more often; what keeps it, most."""
    return WEIGHTS.get(verb.full, 0.4 if not verb.required + verb.optional else 1.0)


def _spoil(here: World, rng: random.Random, verb: Verb, given: dict[str, Any]) -> None:
    """One or two of the arguments are replaced, or something inside them."""
    names = [name for name in (*verb.required, *verb.optional) if not _is_left_out(verb, name)]
    for _ in range(rng.choices((0, 1, 2), (25, 60, 15))[0] if names else 0):
        name = rng.choice(names)
        inside = isinstance(given.get(name), dict | list) and rng.random() < 0.7
        wanted = given[name] if name in given else argument(here, rng, verb, name)
        given[name] = values.spoilt(rng, given[name]) if inside else values.hostile(rng, like=wanted)
        if name in CALLBACKS and callable(given[name]):  # what a caller's own function raises is the caller's
            given[name] = 7


def _is_left_out(verb: Verb, name: str) -> bool:
    return not {(verb.full, name), ("*", name), (verb.full, "*")}.isdisjoint(NOT_GIVEN)


def _subject(here: World, rng: random.Random, verb: Verb) -> Any:
    if verb.noun not in SUBJECTS:
        return None
    dead = [each for each in here.dead if type(each).__name__ == verb.noun]
    if dead and rng.random() < 0.05:
        return dead[0]
    session = here.session(rng)
    match verb.noun:
        case "Store":
            return here.other if verb.name == "close" else here.store
        case "Sessions":
            return here.store.sessions
        case "Moment":
            return here.sessions[0].at(10**13)
        case "Turn":
            return here.turn(rng)
        case "ToolCall":
            return palaver.ToolCall(here.turn(rng), rng.choice(("c1", "c2")), "look")
        case "SessionRules":
            return session.permissions
        case "Recording":
            return palaver.recording.record(here.store.sessions.create("r"), "Hello?", [values.chunk(rng)])
    return Session(here.store, rng.choice(values.TEXTS)()) if rng.random() < 0.03 else session


def _is_quick(verb: Verb, given: dict[str, Any]) -> bool:
    if verb.name != "follow":
        return True
    timeout = given.get("timeout")
    return type(timeout) in (int, float) and timeout < 0.1


# ---------------------------------------------------------------- making it


def perform(here: World, call: Call) -> None:
    """Anything but a PalaverError, or a TypeError of a name that is not there, is what we look for."""
    try:
        found = asyncio.run(_await(here, call)) if call.awaited else _do(here, call)
        _use(here, call, found)
    except (PalaverError, values.Own):
        pass
    except TypeError as error:
        if not call.misnamed:
            raise Failure(f"{call}\n  {type(error).__name__}: {error}") from error
    except Exception as error:
        if isinstance(error, ValueError) and str(error) == "their own":
            return
        raise Failure(f"{call}\n  {type(error).__name__}: {error!s:.300}") from error


def _do(here: World, call: Call) -> Any:
    if call.verb.kind == "property":
        return getattr(call.subject, call.verb.name)
    if call.verb.kind == "setter":
        return setattr(call.subject, call.verb.name, *(call.given.values() or (None,)))
    if call.verb.full == "aio.record":
        return _record(here, call)
    if call.verb.kind == "function":
        assert call.verb.function is not None
        return call.verb.function(**call.given)
    return getattr(call.subject, call.verb.name)(**call.given)


def _use(here: World, call: Call, found: Any) -> None:
    """What came back is looked at: an iterator is gone through, a handle is kept."""
    if inspect.iscoroutine(found):
        asyncio.run(_settle(found))
    elif isinstance(found, Iterator):
        list(islice(found, 50 if call.is_quick else 0))
    elif isinstance(found, Recording):
        list(found)
        found.wait()
    elif isinstance(found, palaver.Moment):
        found.messages()
    elif isinstance(found, Store) and found is not here.store:
        found.close()
    else:
        here.keep(found)


async def _record(here: World, call: Call) -> None:
    """An async stream of the same chunks, in a session of an aio store."""
    given = dict(call.given)
    async with await aio.open(here.path, **here.options) as store:
        if isinstance(given.get("session"), Session):
            given["session"] = await store.sessions.get(here.sessions[0].id)
        if isinstance(given.get("stream"), list | Iterator):
            given["stream"] = _trickle(given["stream"])
        recorded = await aio.record(**given)
        async for _ in recorded:
            pass
        await recorded.wait()


async def _trickle(chunks: Any) -> Any:
    for chunk in chunks:
        yield chunk


async def _settle(work: Any) -> None:
    """What `aio.open` and `aio.record` give."""
    found = await work
    if isinstance(found, aio.AsyncStore):
        await found.close()


async def _await(here: World, call: Call) -> None:
    """The same verb on the same file, through asyncio."""
    async with await aio.open(here.path, **here.options) as store:
        subject = await _awaited_subject(here, store, call)
        found = getattr(subject, call.verb.name)(**call.given)
        found = await found if inspect.iscoroutine(found) else found
        if hasattr(found, "__anext__"):
            with suppress(TimeoutError):  # it may wait for an event that never comes
                await asyncio.wait_for(anext(found, None), 5.0 if call.is_quick else 0.1)
        if isinstance(found, aio.AsyncTurn):
            await found.abort()


async def _awaited_subject(here: World, store: Any, call: Call) -> Any:
    match call.verb.noun:
        case "Store":
            return store
        case "Sessions":
            return store.sessions
    session = await store.sessions.get(here.sessions[0].id)
    if call.verb.noun == "Turn":
        return await session.turn("In another way.")
    return session.permissions if call.verb.noun == "SessionRules" else session


# ---------------------------------------------------------------- a world, and many


@contextmanager
def listening() -> Iterator[list[str]]:
    """What threads of the library say went wrong."""
    heard: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                heard.append(f"{record.getMessage()}: {record.exc_info[1]!r}")

    ear, hook = Ear(), threading.excepthook
    threading.excepthook = lambda told: heard.append(f"a thread ended: {told.exc_value!r}")
    logging.getLogger("palaver").addHandler(ear)
    try:
        yield heard
    finally:
        logging.getLogger("palaver").removeHandler(ear)
        threading.excepthook = hook


def run_world(seed: str, calls: int, *, batch: int = BATCH, only: Container[str] | None = None, say: Any = None) -> int:
    """How many calls were made. `batch`: after so many, everything is looked at."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, listening() as heard:
        here = World(Path(folder), rng)
        done = looked = 0
        try:
            while done < calls:
                several = [make(here, rng, only) for _ in range(THREADS if rng.random() < 0.06 else 1)]
                if say:
                    say("\n".join(f"{seed} {call}" for call in several))
                _perform_all(here, several)
                done += len(several)
                _still(world.opens, here, several)
                if done - looked >= batch or done >= calls:
                    looked = done
                    _still(world.holds, here, several)
                if heard:
                    raise Failure(f"{several[-1]}\n  {heard}")
        finally:
            here.close()
        _still(world.holds, here, ["closing"])
    return done


def _perform_all(here: World, calls: list[Call]) -> None:
    if len(calls) == 1:
        perform(here, calls[0])
        return
    failures: list[Failure] = []
    start = threading.Barrier(len(calls))

    def work(call: Call) -> None:
        start.wait()
        try:
            perform(here, call)
        except Failure as failure:
            failures.append(failure)

    in_threads(work, calls)
    if failures:
        raise failures[0]


def _still(check: Any, here: World, calls: Any) -> None:
    try:
        check(here.path)
    except Exception as error:
        said = "\n  ".join(str(call) for call in calls)
        raise Failure(f"after {said}\n  {check.__name__}: {type(error).__name__}: {error!s:.500}") from error


def run(seed: int, calls: int, only: Container[str] | None = None) -> int:
    """From world to world; where a batch fails, the same world again, step by step."""
    done = place = 0
    while done < calls:
        name = f"{seed}/{place}"
        try:
            done += run_world(name, CALLS_OF_A_WORLD, only=only)
        except Failure as failure:
            raise Failure(f"world {name}: {_closer(name, failure, only)}") from failure
        place += 1
    return done


def _closer(name: str, failure: Failure, only: Container[str] | None = None) -> Failure:
    if not str(failure).startswith("after"):
        return failure
    try:
        run_world(name, CALLS_OF_A_WORLD, batch=1, only=only)
    except Failure as found:
        return found
    return failure


def survey(seed: int, calls: int) -> dict[str, list[str]]:
    """All that is found, one world after the other, by its last line."""
    found: dict[str, list[str]] = {}
    for place in range(calls // CALLS_OF_A_WORLD):
        try:
            run_world(f"{seed}/{place}", CALLS_OF_A_WORLD)
        except Failure as failure:
            closer = str(_closer(f"{seed}/{place}", failure))
            found.setdefault(closer.splitlines()[-1][:160], []).append(f"{seed}/{place}: {closer}")
    return found


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # a hostile path is one below this folder
    if "/" in sys.argv[1]:
        run_world(sys.argv[1], CALLS_OF_A_WORLD, batch=1, say=print)
    else:
        for _line, _where in survey(int(sys.argv[1]), int(sys.argv[2])).items():
            print(f"{len(_where)} x {_line}\n    {_where[0][:700]}\n")
