"""The suite as a library: it stands on the public API alone, no test hides another, palaver needs no pytest."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import palaver.testing
from palaver.testing import Conformance

FOLDER = Path(palaver.testing.__file__).parent
MODULES = sorted(path.name for path in FOLDER.glob("*.py"))


def test_no_test_of_one_group_hides_a_test_of_another() -> None:
    names = Counter(name for group in Conformance.__bases__ for name in vars(group) if name.startswith("test_"))
    assert sum(names.values()) > 200
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_the_suite_imports_nothing_but_the_public_api(module: str) -> None:
    foreign = []
    for node in ast.walk(ast.parse((FOLDER / module).read_text())):
        if isinstance(node, ast.Import):
            foreign += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            foreign.append(node.module or "")
    allowed = {"palaver", "palaver.keywords", "pytest"} | set(sys.stdlib_module_names) - {"sqlite3"}
    assert [
        name for name in foreign if name not in allowed and name.partition(".")[0] not in allowed - {"palaver"}
    ] == []


def test_palaver_itself_does_not_import_pytest() -> None:
    code = "import sys, palaver; sys.exit('pytest' in sys.modules or 'palaver.testing' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_a_group_without_an_engine_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("from palaver.testing import Usages\nclass TestMine(Usages):\n    pass\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "NotImplementedError: the engine's test class says how to open a store" in done.stdout
