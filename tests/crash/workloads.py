"""What the processes do that get killed: the job `run` of `python -m tests.crash.workloads`.

Every workload goes on for ever unless `turns` bounds it, finds its session again when it is started on a store that
was killed before, and reports each call to the history. Texts are unique, so that whatever is found in the store can
be traced to the call that wrote it.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import palaver
from palaver.background import jobs
from palaver.base import clock
from palaver.db.sqlite import checkpoint

from ..tools.puppet import play
from ..tools.talk import lines
from . import vfs
from .history import Log

WORDS = ["the", "quick", "fox", "über", "„naïve“", "漢字", "\N{FOX FACE}", "\\", '"', "\n\t", "{}", "'", "\x7f"]
OPEN = ("durability", "save_buffer_ms", "trim_after")
Chunk = dict[str, Any]


class Worker:
    """A store, a history, and the verbs, each reported."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.log = Log(options["acks"])
        self.random = random.Random(options["seed"])
        self.sizes = options.get("chunks", 40)
        self.log.mark("opening")
        self.store: palaver.Store = self.log.call(
            "open", lambda: palaver.open(options["path"], **{k: options[k] for k in OPEN if k in options})
        )
        self._tag = f"{os.getpid()}.{options['seed']}"
        self._names = 0
        self._guard = threading.Lock()

    def name(self, what: str) -> str:
        with self._guard:
            self._names += 1
            return f"{what} {self._tag}.{self._names}"

    def rounds(self) -> Iterator[int]:
        return iter(range(self.options.get("turns", 10**9)))

    # ------------------------------------------------------------ verbs

    def session(self, number: int, **given: Any) -> palaver.Session:
        """The session of this workload: always the same id, whoever comes first makes it."""
        wanted = f"ses_{number:014x}000000000000"
        try:
            return self.store.sessions.get(wanted)
        except palaver.SessionNotFound:
            pass
        made = self.log.call(
            "create",
            lambda: self.store.sessions.create(agent=self.options["workload"], id=wanted, **given),
            refused=palaver.BadValue,
            session=wanted,
        )
        return self.store.sessions.get(wanted) if isinstance(made, palaver.BadValue) else made

    def begin(self, session: palaver.Session, **given: Any) -> Any:
        said = self.name("question")
        return self.log.call(
            "begin",
            lambda: session.turn(said, **given),
            lambda turn: {"turn": turn.id},
            refused=palaver.HeadConflict,
            session=session.id,
            said=said,
        )

    def write(self, turn: palaver.Turn, *given: Chunk) -> None:
        self.log.call("write", lambda: turn.append(given), turn=turn.id, chunks=list(given))

    def write_all(self, turn: palaver.Turn, stream: Iterator[Chunk]) -> None:
        for chunk in stream:
            if chunk["type"] == "text-delta" and self.random.random() < 0.05:
                self.write(turn, chunk, {**chunk, "delta": chunk["delta"].upper()})
            else:
                self.write(turn, chunk)

    def usage(self, turn: palaver.Turn) -> None:
        counts = {"input": self.random.randrange(1, 900), "output": self.random.randrange(1, 90), "cache_read": 7}
        self.log.call("usage", lambda: turn.usage(**counts), turn=turn.id, usage=counts)

    def seal(self, turn: palaver.Turn, status: str = "completed") -> Any:
        return self.log.call(
            "seal", lambda: turn.seal(status), refused=palaver.HeadConflict, turn=turn.id, status=status
        )

    def resolve(self, turn: palaver.Turn, call: str, **answer: Any) -> Any:
        return self.log.call(
            "resolve",
            lambda: turn.resolve(call, **answer),
            refused=palaver.TurnSealed,
            turn=turn.id,
            call=call,
            **answer,
        )

    def commit(self, session: palaver.Session, expected: int | None = None) -> Any:
        said, text = self.name("question"), self.name("answer")
        messages = [
            {"role": "user", "parts": [{"type": "text", "text": said}]},
            {"role": "assistant", "parts": [{"type": "text", "text": text, "state": "done"}]},
        ]
        return self.log.call(
            "commit",
            lambda: session.commit(messages, expected=expected),
            lambda turn: {"turn": turn.id, "revision": turn.base_revision + 1},
            refused=palaver.HeadConflict,
            session=session.id,
            said=said,
            answered=text,
        )

    def move(self, verb: str, session: palaver.Session, work: Callable[[], Any]) -> Any:
        """A move of the head by the only writer of its session; then what a client reads there."""
        result = self.log.call(verb, work, _named, refused=palaver.NothingToUndo, session=session.id)
        self.look(session)
        return result

    def look(self, session: palaver.Session) -> None:
        def read() -> dict[str, Any]:
            info = session.info
            return {"turn": info.turn_id, "revision": info.revision, "texts": lines(session)}

        self.log.call("look", read, lambda seen: seen, session=session.id)

    def answer(self, session: palaver.Session, turn: palaver.Turn) -> None:
        self.write_all(turn, answer(self.random, self.name("answer"), self.random.randrange(2, self.sizes)))
        self.usage(turn)
        self.seal(turn)


def _named(result: Any) -> dict[str, Any]:
    if isinstance(result, palaver.Turn):
        return {"turn": result.id}
    return {"made": result.id} if isinstance(result, palaver.Session) else {}


# ---------------------------------------------------------------- streams


def answer(rnd: random.Random, name: str, count: int, *, start: bool = True) -> Iterator[Chunk]:
    """Reasoning, then text, in small pieces."""
    if start:
        yield {"type": "start", "messageId": f"client-{name}"}
    yield {"type": "start-step"}
    yield {"type": "reasoning-start", "id": "r"}
    for _ in range(count // 3):
        yield {"type": "reasoning-delta", "id": "r", "delta": rnd.choice(WORDS) + " "}
    yield {"type": "reasoning-end", "id": "r"}
    yield {"type": "text-start", "id": "t"}
    yield {"type": "text-delta", "id": "t", "delta": name}
    for _ in range(count):
        yield {"type": "text-delta", "id": "t", "delta": " ".join(rnd.choices(WORDS, k=rnd.randrange(1, 9)))}
    yield {"type": "text-end", "id": "t"}
    yield {"type": "finish-step"}
    yield {"type": "finish", "finishReason": "stop"}


def tool_input(rnd: random.Random, call: str, pieces: int) -> Iterator[Chunk]:
    """A tool's input as a model streams it: JSON in pieces, then whole."""
    given = {"path": f"/tmp/{call}", "lines": [rnd.randrange(1000) for _ in range(pieces * 4)]}
    text = json.dumps(given)
    yield {"type": "tool-input-start", "toolCallId": call, "toolName": "edit"}
    for at in range(0, len(text), 16):
        yield {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": text[at : at + 16]}
    yield {"type": "tool-input-available", "toolCallId": call, "toolName": "edit", "input": given}


# ---------------------------------------------------------------- the workloads


def stream(worker: Worker) -> None:
    """Long answers, one after the other."""
    session = worker.session(1, title="stream")
    for _ in worker.rounds():
        worker.answer(session, worker.begin(session))


def tools(worker: Worker) -> None:
    """An agent's loop: several steps, each with a tool whose input streams and whose output comes back."""
    session = worker.session(2)
    for _ in worker.rounds():
        turn = worker.begin(session, system_prompt="You edit files.", model="a/b")
        worker.write(turn, {"type": "start"})
        for _ in range(worker.random.randrange(1, worker.options.get("steps", 4))):
            one_step(worker, turn)
        worker.write_all(turn, answer(worker.random, worker.name("answer"), worker.sizes // 8, start=False))
        worker.seal(turn)


def one_step(worker: Worker, turn: palaver.Turn) -> None:
    call = worker.name("call")
    worker.write(turn, {"type": "start-step"})
    worker.write_all(turn, tool_input(worker.random, call, worker.options.get("pieces", 5)))
    if worker.random.random() < 0.2:
        worker.write(turn, {"type": "tool-output-error", "toolCallId": call, "errorText": f"no {call}"})
    else:
        worker.write(turn, {"type": "tool-output-available", "toolCallId": call, "output": {"done": call}})
    worker.usage(turn)
    worker.write(turn, {"type": "finish-step"})


def race(worker: Worker) -> None:
    """Two threads (of each process) that all want the same head. Losing is an answer, not a failure."""
    session = worker.session(3)

    def compete(rnd: random.Random) -> None:
        for _ in worker.rounds():
            revision = session.revision
            if rnd.random() < 0.5:
                worker.commit(session, expected=revision)
                continue
            turn = worker.begin(session, expected=revision)
            if isinstance(turn, palaver.Turn):
                worker.write_all(turn, answer(rnd, worker.name("answer"), 3))
                worker.seal(turn)

    seed = worker.options["seed"]
    threads = [threading.Thread(target=compete, args=(random.Random(f"{seed}/{n}"),)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tree(worker: Worker) -> None:
    """Fork, regenerate, edit, rewind, undo, redo, in any order, on a session and its forks."""
    sessions = [worker.session(4)]
    for _ in worker.rounds():
        session = worker.random.choice(sessions)
        if not session.path():
            worker.commit(session)
        steps = [fork, regenerate, edit, rewind, undo, redo, commit]
        made = worker.random.choice(steps)(worker, session)
        if isinstance(made, palaver.Session) and len(sessions) < 5:
            sessions.append(made)


def commit(worker: Worker, session: palaver.Session) -> None:
    worker.commit(session)
    worker.look(session)


def fork(worker: Worker, session: palaver.Session) -> Any:
    place = worker.random.choice(session.messages())["id"]
    return worker.move("fork", session, lambda: session.fork(at=place))


def regenerate(worker: Worker, session: palaver.Session) -> None:
    turn = worker.log.call("regenerate", session.regenerate, _named, session=session.id)
    worker.answer(session, turn)
    worker.look(session)


def edit(worker: Worker, session: palaver.Session) -> None:
    asked = worker.random.choice([m for m in session.messages() if m["role"] == "user"])["id"]
    said = worker.name("edited question")
    turn = worker.log.call("edit", lambda: session.edit(asked, said), _named, session=session.id, said=said)
    worker.answer(session, turn)
    worker.look(session)


def rewind(worker: Worker, session: palaver.Session) -> None:
    messages = session.messages()
    place = worker.random.choice([m["id"] for m in messages] + [t.id for t in session.path()])
    worker.move("rewind", session, lambda: session.rewind(to=place))


def undo(worker: Worker, session: palaver.Session) -> None:
    worker.move("undo", session, session.undo)
    if not session.path():  # all the way back to the empty beginning
        worker.move("redo", session, session.redo)


def redo(worker: Worker, session: palaver.Session) -> None:
    worker.move("redo", session, session.redo)


def waiting(worker: Worker) -> None:
    """A tool that asks first: the turn waits, is resumed (maybe by another process), answered, or left behind."""
    session = worker.session(5)
    for _ in worker.rounds():
        for left in session.waiting():
            go_on(worker, session, left.id)
        turn = ask(worker, session)
        choice = worker.random.random()
        if choice < 0.7:
            go_on(worker, session, turn.id, turn if choice < 0.3 else None)
        elif choice < 0.85:  # the user moves on; then the answer comes, too late
            worker.answer(session, worker.begin(session))
            worker.resolve(turn, call_of(turn), **worker.random.choice([{"output": "late"}, {"approved": True}]))


def call_of(turn: palaver.Turn) -> str:
    calls = [part["toolCallId"] for part in turn.message()["parts"] if part["type"].startswith("tool-")]
    return str(calls[-1])


def ask(worker: Worker, session: palaver.Session) -> palaver.Turn:
    call = worker.name("call")
    turn: palaver.Turn = worker.begin(session)
    worker.write(turn, {"type": "start"})
    worker.write(turn, {"type": "start-step"})
    worker.write_all(turn, tool_input(worker.random, call, 1))
    worker.write(turn, {"type": "tool-approval-request", "toolCallId": call, "approvalId": f"ask {call}"})
    worker.write(turn, {"type": "finish-step"})
    if worker.random.random() < 0.5:
        worker.write(turn, {"type": "finish", "finishReason": "tool-calls"})  # waits by itself
    else:
        worker.log.call("wait", turn.wait, turn=turn.id)
    return turn


def go_on(worker: Worker, session: palaver.Session, turn_id: str, held: palaver.Turn | None = None) -> None:
    """Approve (before the resume, if we still hold the turn), run the tool, finish."""
    if held is not None:
        worker.resolve(held, call_of(held), approved=True)
    turn: palaver.Turn = worker.log.call("resume", lambda: session.resume(turn_id), turn=turn_id)
    tool = next(p for p in reversed(turn.message()["parts"]) if p["type"].startswith("tool-"))
    if tool["state"] == "approval-requested":
        worker.resolve(turn, tool["toolCallId"], approved=True)
    if tool["state"] != "output-available":
        worker.resolve(turn, tool["toolCallId"], output={"approved": worker.name("result")})
    worker.write_all(turn, answer(worker.random, worker.name("answer"), 4, start=False))
    worker.seal(turn)


def spawn(worker: Worker) -> None:
    """A tool call that is a whole session of its own: both turns are open at once."""
    session = worker.session(6)
    for _ in worker.rounds():
        call = worker.name("call")
        turn = worker.begin(session)
        worker.write(turn, {"type": "start"})
        worker.write(turn, {"type": "start-step"})
        worker.write_all(turn, tool_input(worker.random, call, 1))
        agent: palaver.Session = worker.log.call(
            "spawn",
            lambda session=session, call=call: worker.store.sessions.create(
                "helper", parent=session, tool_call_id=call
            ),
            lambda made: {"made": made.id},
            session=session.id,
        )
        worker.answer(agent, worker.begin(agent))
        worker.write(turn, {"type": "tool-output-available", "toolCallId": call, "output": agent.id})
        worker.write(turn, {"type": "finish-step"})
        worker.write(turn, {"type": "finish"})
        worker.seal(turn)


def first(worker: Worker) -> None:
    """The first open of a file, and the first things in it."""
    session = worker.session(7, workspace="/somewhere", model="a/b", metadata={"k": [1.10, None]})
    worker.commit(session)
    worker.answer(session, worker.begin(session))


def short(worker: Worker) -> None:
    """A little of everything, for trying every single write of it."""
    session = worker.session(8)
    worker.commit(session)
    turn = worker.begin(session)
    worker.write(turn, {"type": "start"})
    one_step(worker, turn)
    worker.write(turn, {"type": "start-step"})
    worker.write(turn, {"type": "text-start", "id": "t"})
    worker.write(turn, {"type": "text-delta", "id": "t", "delta": "a word"})
    worker.write(turn, {"type": "text-end", "id": "t"})
    worker.write(turn, {"type": "finish-step"})
    worker.seal(turn)
    worker.move("undo", session, session.undo)


def left_open(worker: Worker) -> None:
    """What a recovery has to do: two turns left open, one of them with a tool running; then the end of the process."""
    session = worker.session(9)
    for call in ("c1", "c2"):
        turn = worker.begin(session)
        worker.write(turn, {"type": "start"})
        worker.write(turn, {"type": "text-start", "id": "t"})
        worker.write(turn, {"type": "text-delta", "id": "t", "delta": "half a sen"})
        worker.write(turn, {"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {"a": 1}})
        worker.usage(turn)
    os._exit(0)


def cut_off(worker: Worker) -> None:
    """An answer of which ten words came; then the end of the process."""
    turn = worker.begin(worker.session(10))
    worker.write(turn, {"type": "start"}, {"type": "text-start", "id": "t"})
    for number in range(10):
        worker.write(turn, {"type": "text-delta", "id": "t", "delta": f"word {number} "})
    os._exit(0)


def just_open(worker: Worker) -> None:
    """Nothing but the open, and what it repairs."""


_ALL = (stream, tools, race, tree, waiting, spawn, first, short, left_open, cut_off, just_open)
WORKLOADS: dict[str, Callable[[Worker], None]] = {work.__name__: work for work in _ALL}


def write_the_same_pages() -> None:
    """Two runs write the same number of pages: the clock goes on by 1 ms with each look, the process id is as long, and
    nothing is indexed before the store is closed, however slow the machine is."""
    jobs.Index._AFTER = 3_600.0
    clock._now_ns = itertools.count(1_700_000_000_000_000_000, 1_000_000).__next__
    os.getpid = lambda: 4_000_000


def run(options: dict[str, Any]) -> None:
    """One run, up to its end; `kill_at` kills this process before that write."""
    if "kill_at" in options:
        vfs.count_writes(options["kill_at"])
    if "checkpoint_pages" in options:
        checkpoint.CHECKPOINT_PAGES = options["checkpoint_pages"]
    if options.get("repeatable"):
        write_the_same_pages()
    worker = Worker(options)
    WORKLOADS[options["workload"]](worker)
    worker.log.call("close", worker.store.close)


if __name__ == "__main__":
    play()
