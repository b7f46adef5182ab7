"""The pages are true: every Python block in them runs, in order, and prints what stands below it; examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import palaver

REPO = Path(__file__).parent.parent.parent
PAGES = [p for p in sorted((REPO / "docs").glob("*.md")) if "```python" in p.read_text()]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```output\n(.*?)```)?", re.DOTALL)
EXAMPLES = {
    "record_a_stream.py": "user ['text']\nassistant ['step-start', 'tool-clock', 'text']\n20 tokens\n",
    "fork_and_compare.py": (
        "session ['Name a colour.', 'Green.', 'Another?', 'Blue.']\n"
        "fork ['Name a colour.', 'Green.', 'Another?', 'Red.']\n"
        "1 turn shared, digest True\n"
    ),
    "two_writers.py": (
        "expected revision 0 found 1\nsession ['from here']\nrescued ['from there']\n"
        "refused: ['from here', 'somebody else was faster']\n"
    ),
    "send_while_it_runs.py": "system The build was fixed.\nuser And run the tests.\nassistant They pass.\n",
    "record_with_asyncio.py": "Every word is kept . \n",
    "agent_loop.py": "completed | Two files are gone.\n",
    "agent_killed.py": (
        "ask ended with 0\napprove was killed\ngo-on ended with 0\n"
        "user ['Clean up.']\nassistant ['tool-look', 'tool-clean', 'Two files ']\nassistant ['are gone.']\n"
    ),
    "resume_after_a_crash.py": "aborted | Once upon a \ncompleted | Once upon a time.\n",
}


def run(code: list[str], folder: Path) -> str:
    return ran(code, folder).stdout


def ran(code: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | environment
    out = subprocess.run([sys.executable, *code], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr
    return out


@pytest.mark.parametrize("page", sorted((REPO / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_a_page_says_what_is_missing_by_its_name_not_by_a_step_of_a_plan(page: Path) -> None:
    assert not re.search(r"\bsteps?\s+\d", page.read_text(), re.IGNORECASE)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    for code, output in BLOCK.findall(page.read_text()):
        printed = run(["-c", code], tmp_path)
        assert not output or printed == output


def test_every_example_runs_and_is_short(tmp_path: Path) -> None:
    assert {p.name for p in (REPO / "examples").glob("*.py")} == set(EXAMPLES)
    for name, expected in EXAMPLES.items():
        path = REPO / "examples" / name
        assert len(path.read_text().splitlines()) <= 64
        assert run([str(path), str(tmp_path / f"{name}.db")], tmp_path) == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_that_is_given_no_store_makes_one_in_a_temporary_folder_and_says_where(
    name: str, tmp_path: Path
) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    out = ran([str(REPO / "examples" / name)], here, TMPDIR=str(temporary))
    assert out.stdout == EXAMPLES[name]
    said = re.fullmatch(r"The store is (.+)\n", out.stderr)
    assert said and Path(said[1]).is_relative_to(temporary) and list(here.iterdir()) == []
    with palaver.open(said[1], create=False) as store:
        assert store.sessions.list().sessions and store.verify() == []
