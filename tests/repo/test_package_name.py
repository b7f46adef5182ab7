"""The package is `palaver-store`; `palaver` on the package index is a stranger's, and nobody is sent there."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import palaver

REPO = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
NOT_OURS = {".git", ".venv", ".cache", "node_modules", "__pycache__", "dist", "build"}
P = "palaver"  # in pieces, so that this file is not found
TOOLS = r"\b(?:pip3?|pipx|uv|uvx|poetry|pdm|hatch|conda)\b"
WORD = r"""[ \t]+['"]?[-\w.,=<>~!/@:\[\]]+['"]?"""
STRANGERS = re.compile(
    rf"""{TOOLS}(?:{WORD})*?[ \t]+(?:install|add|download)(?:{WORD})*?[ \t]+['"]?{P}(?![-\w./])"""  # install it
    rf"""|(?<![-\w./]){P}\["""  # with an extra
    rf"""|(?:package_name=|\b(?:version|metadata|distribution|requires|files)\()['"]{P}['"]""",  # look it up
    re.IGNORECASE,
)


def strangers(text: str) -> list[str]:
    return [found[0] for found in STRANGERS.finditer(text)]


def texts() -> Iterator[tuple[Path, str]]:
    """Every file of the tree that is text."""
    for folder, folders, names in os.walk(REPO):
        folders[:] = sorted({name for name in folders if not name.startswith(".") or name == ".ci"} - NOT_OURS)
        for path in (Path(folder, name) for name in sorted(names)):
            content = path.read_bytes()
            if b"\0" not in content[:8000]:
                yield path, content.decode("utf-8", "replace")


def test_nothing_in_the_tree_sends_anybody_to_the_strangers_package() -> None:
    found = {str(path.relative_to(REPO)): strangers(text) for path, text in texts()}
    assert {"README.md", "pyproject.toml", "Makefile", ".ci/run", "docs/postgres.md", "src/palaver/store.py"} <= set(
        found
    )
    assert {path: told for path, told in found.items() if told} == {}


@pytest.mark.parametrize(
    "line",
    [
        f"pip install {P}",
        f"    pip install '{P}[postgres]'",
        f"pip3 install -U  {P}>=0.1",
        f"python -m pip --quiet install click {P}",
        f"uv add {P}\n",
        f"uv pip install '{P}'",
        f"pipx install {P}`",
        f'    "{P}[postgres]",',
        f"needs {P}[dev]",
        f'click.version_option(package_name="{P}")',
        f"importlib.metadata.version('{P}')",
    ],
)
def test_a_line_that_would_is_seen(line: str) -> None:
    assert strangers(line) != []


@pytest.mark.parametrize(
    "line",
    [
        "pip install palaver-store",
        "pip install 'palaver-store[postgres]'  # then: palaver ls",
        "`pip install palaver-store` gives the command `palaver`",
        "pip install -e ./palaver",
        "uv run palaver ls",
        'prog_name="palaver"',
    ],
)
def test_a_line_that_does_not_is_left_alone(line: str) -> None:
    assert strangers(line) == []


def test_the_distribution_has_its_own_name_and_the_import_and_the_command_keep_theirs() -> None:
    assert PROJECT["name"] == "palaver-store"
    assert PROJECT["scripts"] == {"palaver": "palaver.cli:main"}
    assert metadata.version("palaver-store") == PROJECT["version"] == palaver.__version__


def test_no_requirement_is_the_strangers() -> None:
    wanted = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    names = {re.split(r"[\[<>=!~; ]", each)[0] for each in wanted}
    assert "palaver-store" in names and "palaver" not in names


def test_the_readme_says_how_to_install_it_and_beside_what_not() -> None:
    readme = (REPO / "README.md").read_text()
    assert "    pip install palaver-store\n" in readme
    assert "cannot be installed side by side" in readme
