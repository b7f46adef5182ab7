"""The agent's loop of the library page is the one that is run here. It is killed in mid-sentence after its tool ran;
another process goes on, sees what the tool said, and does not run it again."""

from __future__ import annotations

import ast
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import palaver

REPO = Path(__file__).parent.parent.parent
EXAMPLES = REPO / "examples"
PAGE = (REPO / "docs" / "library.md").read_text()


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy, so that a bug can be planted in it."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__")))


def run(examples: Path, path: str, step: str) -> int:
    """One step in a process of its own; how it ended."""
    command = [sys.executable, str(examples / "agent_killed.py"), path, step]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in out.stderr, out.stderr
    return out.returncode


def killed(examples: Path, path: str) -> int:
    """Asked in one process, approved in a second, which is killed: how that one ended."""
    with palaver.open(path) as store:
        store.sessions.create(agent="cleaner", id="chat")
    assert run(examples, path, "ask") == 0
    return run(examples, path, "approve")


def times_it_ran(path: str) -> int:
    return len(Path(path + ".ran").read_text().splitlines())


def told(session: palaver.Session) -> str:
    """All that the agent said, in one text."""
    parts = [part for message in session.messages() for part in message["parts"] if message["role"] == "assistant"]
    return "".join(part["text"] for part in parts if part["type"] == "text")


def goes_on_without_running_it_again(examples: Path, path: str) -> None:
    assert run(examples, path, "go-on") == 0
    assert times_it_ran(path) == 1
    with palaver.open(path) as store:
        session = store.sessions.get("chat")
        assert told(session) == "Two files are gone."
        assert [turn.status for turn in session.path()] == ["aborted", "completed"]
        assert session.waiting() == session.live() == session.strays() == []
        assert store.verify() == []


def test_killed_in_mid_sentence_the_loop_goes_on_in_another_process_and_the_tool_has_run_once(
    examples: Path, path: str
) -> None:
    assert killed(examples, path) == -signal.SIGKILL
    assert times_it_ran(path) == 1
    goes_on_without_running_it_again(examples, path)


def test_who_goes_on_sees_the_question_the_tools_results_and_half_a_sentence(examples: Path, path: str) -> None:
    killed(examples, path)
    with palaver.open(path) as store, store.sessions.get("chat").turn([]) as turn:
        question, looks, looked, cleans, cleaned, half = turn.model_messages()
    assert question == {"role": "user", "content": [{"type": "text", "text": "Clean up."}]}
    assert [looks["content"][0]["toolName"], cleans["content"][0]["toolName"]] == ["look", "clean"]
    assert looked["content"][0]["output"] == {"type": "json", "value": ["a.o", "b.o"]}
    [asked] = [piece["approvalId"] for piece in cleans["content"] if piece["type"] == "tool-approval-request"]
    assert cleaned["content"][0] == {"type": "tool-approval-response", "approvalId": asked, "approved": True}
    assert cleaned["content"][1]["output"] == {"type": "text", "value": "2 files removed"}
    assert half == {"role": "assistant", "content": [{"type": "text", "text": "Two files "}]}


def test_a_tool_that_is_not_approved_does_not_run_and_the_model_is_told(examples: Path, path: str) -> None:
    says_no = (examples / "agent_killed.py").read_text().replace("approved=True", 'approved=False, reason="Not today."')
    (examples / "agent_killed.py").write_text(says_no)
    killed(examples, path)
    assert not Path(path + ".ran").exists()
    with palaver.open(path) as store:
        [answer, output] = store.sessions.get("chat").model_messages()[4]["content"]
        assert (answer["approved"], output["output"]) == (False, {"type": "error-text", "value": "Not today."})


@pytest.mark.parametrize("wrong", ["session.regenerate()", 'session.turn("Clean up.")'])
def test_going_on_by_asking_again_is_found(examples: Path, path: str, wrong: str) -> None:
    killed(examples, path)
    text = (examples / "agent_killed.py").read_text()
    assert text.count("session.turn([])") == 1
    (examples / "agent_killed.py").write_text(text.replace("session.turn([])", wrong))
    with pytest.raises(AssertionError):
        goes_on_without_running_it_again(examples, path)


def functions(code: str) -> dict[str, str]:
    return {node.name: ast.unparse(node) for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}


def test_the_loop_on_the_library_page_is_the_one_that_is_run_here() -> None:
    [page] = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def go_on" in code]
    shown, run_here = functions(page), functions((EXAMPLES / "agent_loop.py").read_text())
    assert {"go_on", "run_what_was_answered", "calls"} <= set(shown)
    assert {name: text for name, text in shown.items() if run_here.get(name) != text} == {}
