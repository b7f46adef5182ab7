"""Imports point one way: cli → store → session → open turn → recorder → core → db, all of them → values → leaves."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import palaver

ROOT = Path(palaver.__file__).parent
LAYERS = [
    {"errors", "clock", "later", "places"},
    {"ids", "canonical", "edge"},
    {"model", "chunks", "partial_json"},
    {"folding", "globs", "shellline"},
    {"wrappers"},
    {"permissions", "modelmessages"},
    {"db"},
    {"core"},
    {"saving", "eventlog", "keeper"},
    {"pen"},
    {"holding"},
    {"exports", "recorder", "setup"},
    {"openturn"},
    {"rulebook", "recording", "together"},
    {"session"},
    {"store", "directory"},
    {"aio", "copying", "__init__"},
    {"cli", "testing"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def layer_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports(path: Path, source: str) -> Iterator[str]:
    """The layers of ours that a file imports when it runs (imports for types only are left out)."""
    depth = len(path.relative_to(ROOT).parts)
    tree = ast.parse(source)
    for block in [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]:
        block.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            yield from [node.module.split(".")[0]] if node.module else (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "palaver":
            yield from node.module.split(".")[1:2] or ["__init__"]
        elif isinstance(node, ast.Import):
            yield from ("__init__" for alias in node.names if alias.name.split(".")[0] == "palaver")
    yield from (name.split(".")[1] for name in _named_later(tree) if name.startswith("."))


def _named_later(tree: ast.AST) -> Iterator[str]:
    """What a file imports by `later(globals(), …)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "later":
            yield from (ast.literal_eval(name) for name in node.args[1:])


def arrows_up(path: Path, source: str) -> list[str]:
    own = layer_of(path)
    return [f"{own} → {other}" for other in imports(path, source) if LEVEL[other] > LEVEL[own]]


def test_no_arrow_points_up() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        assert arrows_up(path, path.read_text()) == [], path


def test_an_arrow_that_points_up_is_seen() -> None:
    assert arrows_up(ROOT / "core" / "planted.py", "from ..store import Store") == ["core → store"]
    later = 'later(globals(), "json", ".db.sqlite", ".store")'
    assert arrows_up(ROOT / "core" / "planted.py", later) == ["core → store"]
    assert arrows_up(ROOT / "planted_db.py".replace("planted_db", "ids"), "from . import folding") == ["ids → folding"]


def test_only_the_engine_knows_the_driver() -> None:
    users = {p.relative_to(ROOT).parts[0] for p in ROOT.rglob("*.py") if "import apsw" in p.read_text()}
    assert users == {"db"}


def test_values_and_fold_do_no_input_or_output() -> None:
    forbidden = {"os", "socket", "subprocess", "pathlib", "apsw", "sqlite3", "threading"}
    for name in ("model", "chunks", "folding", "partial_json", "canonical"):
        tree = ast.parse((ROOT / f"{name}.py").read_text())
        named = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        named |= {name for name in _named_later(tree) if not name.startswith(".")}
        named |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level}
        assert not named & forbidden, name


def test_only_the_command_line_prints_or_reads_the_environment() -> None:
    for path in ROOT.rglob("*.py"):
        if layer_of(path) in ("cli", "testing"):
            continue
        text = path.read_text()
        assert "os.environ" not in text and "print(" not in text, path


def test_importing_palaver_stays_light() -> None:
    heavy = "{'asyncio', 'click', 'rich', 'zstandard', 'starlette', 'psycopg', 'pytest', 'sqlite3'}"
    code = f"import sys, palaver; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "[]"


def test_a_program_that_reads_starts_without_what_only_writers_need(tmp_path: Path) -> None:
    path = str(tmp_path / "talks.db")
    with palaver.open(path) as store:
        store.sessions.create("a").commit("hello")
    unused = [
        "openturn",
        "recorder",
        "pen",
        "folding",
        "chunks",
        "permissions",
        "globs",
        "core.whole",
        "core.beginning",
        "core.turns",
        "core.sealing",
    ]
    wanted = {"hashlib", "json", "base64", *(f"palaver.{name}" for name in unused)}
    code = f"""
import sys, palaver
with palaver.open({path!r}) as store:
    [found] = store.sessions.list().sessions
    assert len(store.sessions.get(found.id).messages()) == 1
print(sorted({wanted!r} & set(sys.modules)))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "[]"
