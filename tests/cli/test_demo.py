"""`palaver demo`: its story, and the store that it leaves with what to try on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import palaver

from .run import Cli, environment

pytestmark = pytest.mark.xdist_group("demo")  # one demo for all of them


class Kept(NamedTuple):
    home: Path
    path: Path
    said: str

    @property
    def commands(self) -> list[str]:
        """What is printed at the end, to be tried."""
        return re.findall(r"^    (palaver .+)$", self.said, re.MULTILINE)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    home = tmp_path_factory.mktemp("kept")
    path = home / "what's left" / "talks.db"
    return Kept(home, path, Cli(home).real.ok("demo", "--keep", str(path)))


def test_the_demo_tells_its_story(kept: Kept) -> None:
    assert "Characters the client saw and the store lost: 0." in kept.said
    assert "recomputed: 0 problems." in kept.said


def test_its_tree_is_the_one_of_palaver_tree(kept: Kept) -> None:
    drawn = Cli(kept.home).ok("--store", str(kept.path), "tree", "Why does the build fail?")
    assert drawn.count("\n") > 7
    assert "".join(f"   {line}\n" for line in drawn.splitlines()) in kept.said


def test_a_kept_store_is_refused_the_next_time_and_stays_as_it_is(kept: Kept) -> None:
    before = kept.path.read_bytes()
    said = Cli(kept.home).refused("demo", "--keep", str(kept.path), code=2)
    assert "what's left/talks.db already" in said
    assert kept.path.read_bytes() == before


@pytest.mark.parametrize("place", ["", "postgresql://localhost/talks"])
def test_what_is_no_file_is_refused(bare: Cli, place: str) -> None:
    assert "a new file" in bare.refused("demo", "--keep", place, code=2)


def test_the_five_commands_that_it_ends_with_work_as_they_are_printed(kept: Kept) -> None:
    assert len(kept.commands) == 5
    env = environment(kept.home)
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    for command in kept.commands:
        done = subprocess.run(command, shell=True, cwd=kept.home, env=env, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout, command
    with palaver.open(kept.path, create=False) as store:
        assert {info.title for info in store.sessions} == {
            *("Why does the build fail?", "Where is zlib?", "Another way", "My own way")
        }
