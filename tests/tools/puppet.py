"""Child processes: a test starts one, tells it what to do, hears what came of it, and kills it when it likes.

A puppet is a module of jobs, `python -m tests.load.jobs`. Its job and the options are the first line of its standard
input; from then on both ends speak lines of JSON. A job says what happened (`say`), waits for a word (`ready`, `heard`)
or carries out one command after the other (`obey`); what it returns is its last word. A bug that a test names is
planted before the job begins. `Puppet` is the test's end of it: no process outlives its block. Most are forks of a
process that has loaded the library (`warm`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, Self

from . import planting
from .warm import Forked, Job

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0  # seconds after which something hangs
LONG = 1_800.0  # the same for one that has much to do
COLD = {"judge", "write_a_large_output", "stream_many_parts"}  # without the library; how much memory it takes
Report = dict[str, Any]


# ---------------------------------------------------------------- the test's end


class Process:
    """A process that reads lines and writes lines; over when its block is."""

    def __init__(
        self, command: Sequence[str] | Job, env: dict[str, str] | None = None, patience: float = PATIENCE
    ) -> None:
        self._process = Forked(command) if isinstance(command, dict) else _started(command, env)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout.fileno()
        self._rest = b""
        self._alarm = threading.Timer(patience, self._process.kill)
        self._alarm.daemon = True
        self._alarm.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int:
        """How it ended, once it has."""
        return self._process.wait(LONG)

    def is_over(self) -> bool:
        return self._process.poll() is not None

    # ------------------------------------------------------------ lines

    def write(self, line: str) -> None:
        self._in.write(line.encode() + b"\n")
        self._in.flush()

    def line(self) -> str | None:
        """Its next line; None when it has ended. Half a line, cut off by a kill, is none."""
        while b"\n" not in self._rest:
            try:
                more = os.read(self._out, 1 << 16)
            except BlockingIOError:  # it is dead, and that was all
                more = b""
            if not more:
                return None
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def _value(self, line: str) -> Any:
        return line

    def hear(self) -> Any:
        """What it says next; it must say something."""
        line = self.line()
        assert line is not None, f"a process ended early, with status {self.status}"
        return self._value(line)

    def unheard(self) -> list[Any]:
        """All that it says from here to its end."""
        return [self._value(line) for line in iter(self.line, None)]

    # ------------------------------------------------------------ its end

    def send(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    def wait_until_stopped(self) -> None:
        """By a signal."""
        if isinstance(self._process, Forked):
            self._process.wait_until_stopped()
        else:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def kill(self) -> list[Any]:
        """kill -9, now; all that it said and nobody has heard yet."""
        if self._in.closed:
            return []
        self._process.kill()
        self._process.wait(PATIENCE)
        os.set_blocking(self._out, False)  # a copy that it forked may hold the pipe
        return self.unheard()

    def wait(self) -> list[Any]:
        """Let it come to its end, however that is."""
        said = self.unheard()
        self._process.wait(LONG)
        return said

    def finish(self) -> list[Any]:
        """Let it come to its end, which must be a good one."""
        self.hang_up()
        said = self.wait()
        assert self.status == 0, f"a process ended with status {self.status}"
        return said

    def end(self) -> None:
        """Whatever it does, it is over afterwards."""
        self._alarm.cancel()
        self.kill()
        self.hang_up()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def hang_up(self) -> None:
        """Say nothing more: its input ends."""
        with suppress(BrokenPipeError):  # it did not want to hear our last word
            self._in.close()


def _started(command: Sequence[str], env: dict[str, str] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _may_be_warm(env: dict[str, str] | None) -> bool:
    return sys.platform == "linux" and env is None and planting.VARIABLE not in os.environ


class Script(Process):
    """A process that runs a few lines of Python; `sys.argv[1:]` are the arguments."""

    def __init__(self, code: str, *arguments: str, env: dict[str, str] | None = None) -> None:
        if _may_be_warm(env):
            super().__init__({"code": f"import os, sys\n{code}", "arguments": arguments})
        else:
            super().__init__([sys.executable, "-c", f"{_BEGIN}\n{code}", *arguments], env)


_BEGIN = "import os, sys; from tests.tools.planting import plant_from_environment; plant_from_environment()"


def elsewhere(code: str, *arguments: str, status: int = 0) -> list[str]:
    """Run code in another process, which must end so; the lines that it printed."""
    with Script(code, *arguments) as process:
        process.hang_up()
        said = process.wait()
        assert process.status == status, f"it ended with {process.status}"
        return said


def all_at_once(code: str, argument_lists: Sequence[Sequence[str]]) -> list[list[str]]:
    """The same code in several processes: each prints `ready`, and waits at `input()` until all are."""
    with ExitStack() as stack:
        processes = [stack.enter_context(Script(code, *arguments)) for arguments in argument_lists]
        for process in processes:
            assert process.hear() == "ready"
        for process in processes:
            process.write("go")
        return [process.finish() for process in processes]


class Refusal(Exception):
    """What a command raised in the other process; `name` is the class."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(f"{answer['error']}: {answer['said']}")
        self.name = answer["error"]


class Puppet(Process):
    """A process that does one of a module's jobs."""

    def __init__(
        self,
        module: str,
        job: str,
        *,
        env: dict[str, str] | None = None,
        bug: str | None = None,
        patience: float = PATIENCE,
        **options: Any,
    ) -> None:
        env = env if bug is None else {**(os.environ if env is None else env), planting.VARIABLE: bug}
        is_warm = _may_be_warm(env) and job not in COLD
        command = {"module": module, "arguments": []} if is_warm else [sys.executable, "-m", module]
        super().__init__(command, env, patience)
        with suppress(BrokenPipeError):  # it did not even come to its job: whoever listens will notice
            self.tell({"job": job, **options})

    def _value(self, line: str) -> Any:
        return json.loads(line)

    def tell(self, value: Any = "go") -> None:
        self.write(json.dumps(value))

    def __call__(self, command: str, *given: Any, **named: Any) -> Any:
        """Have a command carried out by one that obeys: what it returned; what it raised is raised here."""
        self.ask(command, *given, **named)
        return self.answer()

    def ask(self, command: str, *given: Any, **named: Any) -> None:
        """The same without waiting for the answer."""
        self.tell([command, given, named])

    def answer(self) -> Any:
        told = self.hear()
        if "error" in told:
            raise Refusal(told)
        return told["ok"]

    def report_unless_killed(self) -> Any:
        """What it says; None if it was killed before it had said it. It may also be killed right after that."""
        line = self.line()
        assert self.status in ((0, -signal.SIGKILL) if line is not None else (-signal.SIGKILL,)), self.status
        return None if line is None else self._value(line)


class Crew:
    """Processes whose jobs are those of one module."""

    def __init__(self, module: str, patience: float = PATIENCE) -> None:
        self.module, self._patience = module, patience

    def start(self, job: str, **options: Any) -> Puppet:
        return Puppet(self.module, job, **{"patience": self._patience, **options})

    @contextmanager
    def ready(self, jobs: Sequence[dict[str, Any]]) -> Iterator[list[Puppet]]:
        """Processes that are all ready to begin; none outlives the block."""
        started = [self.start(**job) for job in jobs]
        try:
            for worker in started:
                assert worker.hear() == "ready"
            yield started
        finally:
            for worker in started:
                worker.end()

    def together(self, jobs: Sequence[dict[str, Any]], *, some_are_killed: bool = False) -> list[Any]:
        """Start all at once; what each of them found."""
        with self.ready(jobs) as started:
            for worker in started:
                worker.tell()
            return [worker.report_unless_killed() if some_are_killed else worker.hear() for worker in started]

    def alone(self, job: str, **options: Any) -> Any:
        """One job, from beginning to end, however long it takes: its only word."""
        with self.start(job, **{"patience": LONG, **options}) as worker:
            (said,) = worker.finish()
            return said


@contextmanager
def starting(kind: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A way to start processes of a kind; all of them are over at the end of the block."""
    with ExitStack() as stack:
        yield lambda *given, **named: stack.enter_context(kind(*given, **named))


# ---------------------------------------------------------------- the other end


def play() -> None:
    """The whole of a puppet: call the function of its module that the first line names; what that returns is said."""
    planting.plant_from_environment()
    given = json.loads(sys.stdin.readline())
    returned = getattr(sys.modules["__main__"], given.pop("job"))(**given)
    if returned is not None:
        say(returned)


def say(value: Any) -> None:
    os.write(1, json.dumps(value).encode() + b"\n")


def ready() -> None:
    """Say so, and wait for a word."""
    say("ready")
    sys.stdin.readline()


def heard() -> Iterator[Any]:
    """What we are told, until nobody is there any more."""
    return (json.loads(line) for line in iter(sys.stdin.readline, ""))


def obey(target: Any) -> None:
    """Every command is a method of the target; its answer is what that returned, or what it raised."""
    for command, given, named in heard():
        try:
            answer: dict[str, Any] = {"ok": getattr(target, command)(*given, **named)}
        except Exception as error:
            answer = {"error": type(error).__name__, "said": str(error)}
        say(answer)


def die() -> NoReturn:
    """kill -9, by our own hand."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


# ---------------------------------------------------------------- forks


def in_a_fork(work: Callable[[], Any], patience: int = 60) -> Any:
    """What a forked copy of this process answers; None if it was killed. It may not wait for ever."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        last_act(work, writer, patience)
    os.close(writer)
    with os.fdopen(reader) as answer:
        said = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"a forked child ended with {code}")
    return json.loads(said) if code == 0 else None


def last_act(work: Callable[[], Any], writer: int, patience: int = 60) -> NoReturn:
    """The rest of a forked child: never back into the code of its parent."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(patience)
        os.write(writer, json.dumps(work()).encode())
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
