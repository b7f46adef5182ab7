"""A process that is forked from one that has loaded the library is, to a test, as one that was started."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import ExitStack

import pytest

from .puppet import ROOT, Script, elsewhere

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each is started")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError", 1),
        ("os._exit(9)", 9),
        ("os.kill(os.getpid(), 9)", -9),
        ("os.kill(os.getpid(), 2)", -2),
    ],
)
def test_how_it_ended_is_known(code: str, status: int) -> None:
    elsewhere(code, status=status)


def test_it_has_loaded_the_library_and_no_module_of_a_test() -> None:
    code = "print('palaver.core.turn.seal' in sys.modules, sorted(n for n in sys.modules if n.startswith('tests.')))"
    assert elsewhere(code) == ["True ['tests.tools', 'tests.tools.eager']"]


def test_it_has_the_environment_and_the_arguments_of_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere("pass")  # the parent of both was there before
    monkeypatch.setenv("PALAVER_TEST_WORD", "said")
    code = "import json; print(json.dumps([os.environ['PALAVER_TEST_WORD'], sys.argv[1:], os.getcwd()]))"
    assert json.loads(elsewhere(code, "a", "b c")[0]) == ["said", ["a", "b c"], str(ROOT)]


def test_it_holds_nothing_of_the_others() -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(Script("print(len(os.listdir('/proc/self/fd'))); input()")) for _ in "ab")
        assert first.hear() == second.hear() == "4"  # its three, and the folder that it lists
        first.hang_up()
        assert first.status == 1  # the end of its input, though the second still has one
        assert not second.is_over()


def test_its_stop_and_its_death_are_told() -> None:
    with Script("print(os.getpid()); input()") as process:
        assert process.hear() == str(process.pid)
        process.send(signal.SIGSTOP)
        process.wait_until_stopped()
        os.kill(process.pid, signal.SIGKILL)
        assert process.status == -signal.SIGKILL
