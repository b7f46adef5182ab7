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
README, QUICKSTART = REPO / "README.md", REPO / "docs" / "quickstart.md"
PAGES = [README, *(p for p in sorted((REPO / "docs").glob("*.md")) if "```python" in p.read_text())]
BLOCK = re.compile(r"```(python|sh)\n(.*?)```(?:\n+```output\n(.*?)```)?", re.DOTALL)
EXAMPLES = {
    "record_a_stream.py": (
        "user ['What time is it?']\nassistant ['step-start', '12:00', 'It is noon.']\n"
        "11 chunks, 20 tokens, finished with stop\n"
    ),
    "fork_and_compare.py": (
        "session ['Name a colour.', 'Green.', 'Another?', 'Blue.']\n"
        "fork    ['Name a colour.', 'Green.', 'Another?', 'Red.']\n"
        "1 turn is shared, and its digest is the same\n"
    ),
    "two_writers.py": (
        "told: it began on revision 0, and the session is at 1 by now\n"
        "session: ['from here']\nrescued: ['from there']\n"
        "refused: ['from here', 'somebody else was faster']\n"
    ),
    "send_while_it_runs.py": (
        "waiting: ['And run the tests.']\na model sees:\n"
        "  system The build was fixed.\n  user And run the tests.\n  assistant They pass.\n"
    ),
    "record_with_asyncio.py": "the client has gone\nkept: Every word is kept . \n",
    "stop_generating.py": (
        "browser: text-start\nbrowser: One, \nbrowser: two, \nbrowser: three, \nmodel: nobody wants more\n"
        "kept: 'One, two, three, ' (aborted: the user pressed stop)\n"
    ),
    "context_budget.py": (
        "1: 1 messages, 8 tokens, 0 left out\n2: 3 messages, 120 tokens, 0 left out\n"
        "3: 5 messages, 232 tokens, 0 left out\n4: 7 messages, 344 tokens, 0 left out\n"
        "5: 9 messages, 456 tokens, 0 left out\n6: 11 messages, 568 tokens, 0 left out\n"
        "   compacted: Question 1? Question 2? Question 3? Question 4? Question 5?\n"
        "7: 4 messages, 144 tokens, 0 left out\n8: 6 messages, 256 tokens, 0 left out\n"
        "nothing went: 17 messages are in the transcript, the summary too\n"
    ),
    "agent_loop.py": "waiting | tool-clean approval-requested\ncompleted | Two files are gone.\n",
    "agent_killed.py": (
        "ask ended with 0\napprove was killed\ngo-on ended with 0\n"
        "user ['Clean up.']\nassistant ['tool-look', 'tool-clean', 'Two files ']\nassistant ['are gone.']\n"
    ),
    "resume_after_a_crash.py": (
        "killed:      aborted ['Tell me a story.', 'Once upon a ']\n"
        "gone on:     completed ['Tell me a story.', 'Once upon a ', 'time.']\n"
        "asked again: completed ['Tell me a story.', 'There was a king.']\n"
    ),
}


def ran(code: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | environment
    out = subprocess.run([sys.executable, *code], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr
    return out


@pytest.mark.parametrize("page", sorted((REPO / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_a_page_says_what_is_missing_by_its_name_not_by_a_step_of_a_plan(page: Path) -> None:
    assert not re.search(r"\bsteps?\s+\d", page.read_text(), re.IGNORECASE)


def run_block(kind: str, code: str, folder: Path) -> str:
    """What a block of a page prints, in a folder where the blocks before it have been run."""
    if kind == "python":
        return ran(["-c", code], folder).stdout
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = ["sh", "-c", code]
    done = subprocess.run(shell, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, timeout=60)
    assert done.returncode in (0, -9, 137), done.stderr  # 137: the one that kills itself
    return done.stdout.decode()


def is_as_shown(printed: str, shown: str, folder: Path) -> bool:
    """Word by word the same, but for ids and digests of the store, sizes, and dates."""
    with palaver.open(folder / "talks.db", readonly=True) as store:
        turns = [turn for info in store.sessions for turn in store.sessions.get(info.id).tree()]
        ids = [info.id for info in store.sessions] + [turn.id for turn in turns]
        differ = {*ids, *(one[-6:] for one in ids), *(turn.digest.hex()[:7] for turn in turns if turn.digest)}
    here, there = (re.split(r"(\s+)", text) for text in (printed, shown))
    return len(here) == len(there) and all(
        one == other or (one in differ and len(one) == len(other)) or (one.isdigit() and other.isdigit())
        for one, other in zip(here, there, strict=True)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    for kind, code, output in BLOCK.findall(page.read_text()):
        if kind == "sh" and page not in (README, QUICKSTART):
            continue
        printed = run_block(kind, code, tmp_path)
        same = printed == output if kind == "python" else is_as_shown(printed, output, tmp_path)
        assert not output or same, printed


def test_the_commands_of_the_readme_work_as_they_are_printed(tmp_path: Path) -> None:
    (_, code, _), *_ = BLOCK.findall(README.read_text())
    run_block("python", code, tmp_path)
    commands = re.findall(r"^    (palaver --store talks.db .+)$", README.read_text(), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        run_block("sh", command.replace("tail -f", "tail"), tmp_path)  # with -f it would go on for ever
    assert (tmp_path / "talks.jsonl").exists()


def test_the_first_part_of_the_quickstart_may_be_run_twice_and_the_rest_is_as_printed(tmp_path: Path) -> None:
    blocks = [(code, output) for kind, code, output in BLOCK.findall(QUICKSTART.read_text()) if kind == "python"]
    for code, output in [blocks[0], *blocks[:4]]:
        assert ran(["-c", code], tmp_path).stdout == output


def test_every_example_is_run_here_and_is_short() -> None:
    found = {path.name: path.read_text() for path in (REPO / "examples").glob("*.py")}
    assert set(found) == set(EXAMPLES)
    assert {name for name, text in found.items() if len(text.splitlines()) > 64} == set()


def test_an_example_writes_into_the_store_that_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    out = ran([str(REPO / "examples" / "fork_and_compare.py"), str(path)], tmp_path)
    assert (out.stdout, out.stderr) == (EXAMPLES["fork_and_compare.py"], f"The store is {path}\n")
    with palaver.open(path, create=False) as store:
        assert len(list(store.sessions)) == 2


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
