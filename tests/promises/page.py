"""docs/promises.md: which test holds which promise. `python -m tests.promises.page` writes the last column again."""

from __future__ import annotations

import ast
import re
from pathlib import Path

REPO = Path(__file__).parent.parent.parent
PAGE = REPO / "docs" / "promises.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.*?) \|$", re.MULTILINE)


def tests() -> dict[int, list[str]]:
    """Every function named after a promise, as `file::test`."""
    found: dict[int, list[str]] = {}
    for path in sorted((REPO / "tests").rglob("test_*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "test_promise_" in text else ():
            if isinstance(node, ast.FunctionDef) and (match := re.match(r"test_promise_(\d{3})_", node.name)):
                found.setdefault(int(match[1]), []).append(f"{path.relative_to(REPO / 'tests')}::{node.name}")
    return found


def rows(text: str) -> dict[int, tuple[str, list[str]]]:
    """Promise number → (its words, the tests that the page names)."""
    return {int(n): (words, re.findall(r"`([^`]+)`", cell)) for n, words, cell in ROW.findall(text)}


def write() -> None:
    held = tests()

    def fill(match: re.Match[str]) -> str:
        cell = "<br>".join(f"`{name}`" for name in held.get(int(match[1]), []))
        return f"| {match[1]} | {match[2]} | {cell} |"

    PAGE.write_text(ROW.sub(fill, PAGE.read_text()))


if __name__ == "__main__":
    write()
