"""Imports point one way: cli → handles → streaming, exports → core → db → aisdk, search … → base; so inside core."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import palaver

ROOT = Path(palaver.__file__).parent
LAYERS = [
    {"errors"},
    {"base"},
    {"model", "aisdk", "keywords", "permissions", "search"},
    {"formats"},
    {"db"},
    {"core"},
    {"streaming", "exports", "grafts"},
    {
        *(
            "tool_call",
            "turn",
            "session",
            "session_rules",
            "sessions",
            "store",
            "recording",
            "aio",
            "awaited",
            "copying",
            "directory",
            "marks",
            "numbered",
        ),
        *("opening", "background", "__init__"),
    },
    {"dialects", "importers"},
    {"cli", "testing", "__main__"},
]
HANDLES = LAYERS[-3] | {"model", "aisdk", "formats", "errors", "base"}  # what a dialect and an importer may import
CORE = [
    {"codec", "counting", "damage", "digests", "facts", "metadata", "model_ref", "packing", "rows", "session_facts"},
    {"read", "runtime", "head_cache"},
    {"heads", "search"},
    {"turn"},
    {"foreign"},
    {"settle"},
    {"verbs"},
    {"numbered"},
    {"upkeep"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
CORE_LEVEL = {name: level for level, names in enumerate(CORE) for name in names}
MODULES = {
    ".".join(part.removesuffix(".py") for part in path.relative_to(ROOT).parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}


def imports(name: str, source: str, *, is_package: bool = False) -> Iterator[str]:
    """The modules of ours that a file imports when it runs (for types only: left out), by their full names."""
    tree = ast.parse(source)
    for block in [n for n in ast.walk(tree) if isinstance(n, ast.If) and is_for_types(n.test)]:
        block.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from imported(name, node, is_package)
        elif isinstance(node, ast.Import):
            yield from (a.name.partition(".")[2] or "__init__" for a in node.names if a.name.split(".")[0] == "palaver")


def is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def imported(name: str, node: ast.ImportFrom, is_package: bool) -> Iterator[str]:
    if node.level:
        base = name.split(".") if is_package else name.split(".")[:-1]
        base = base[: len(base) - node.level + 1]
    elif node.module and node.module.split(".")[0] == "palaver":
        base, node.module = [], ".".join(node.module.split(".")[1:])
    else:
        return
    room = ".".join([*base, *([node.module] if node.module else [])])
    for alias in node.names:
        full = f"{room}.{alias.name}" if room else alias.name
        yield full if full in MODULES else room or "__init__"


def arrows_up(name: str, source: str, *, is_package: bool = False) -> list[str]:
    """Imports that point up, between the rooms of the house and between those of core."""
    found = []
    for other in imports(name, source, is_package=is_package):
        mine, theirs = name.split("."), other.split(".")
        for room in (mine[0], theirs[0]):
            assert room in LEVEL, f"{room} is a new room: put it into LAYERS here, and into docs/architecture.md"
        if LEVEL[theirs[0]] > LEVEL[mine[0]]:
            found.append(f"{mine[0]} → {theirs[0]}")
        elif mine[0] == theirs[0] == "core" and len(theirs) > 1 and CORE_LEVEL[theirs[1]] > CORE_LEVEL[mine[1]]:
            found.append(f"core.{mine[1]} → core.{theirs[1]}")
    return found


def test_no_arrow_points_up() -> None:
    for name, path in MODULES.items():
        assert arrows_up(name, path.read_text(), is_package=path.name == "__init__.py") == [], path


def test_an_arrow_that_points_up_is_seen() -> None:
    assert arrows_up("core.planted", "from ..store import Store") == ["core → store"]
    assert arrows_up("base.ids", "from ..aisdk import folding") == ["base → aisdk"]
    assert arrows_up("core.read.planted", "from ..turn import seal") == ["core.read → core.turn"]
    assert arrows_up("core.turn.planted", "from ..verbs.begin import begin") == ["core.turn → core.verbs"]


def below_the_handles(name: str, source: str) -> list[str]:
    """What a dialect or an importer imports that is not for it; of grafts it is the values."""
    mine = name.split(".")[0]
    rooms = HANDLES | {"importers", mine}
    return [
        other
        for other in imports(name, source, is_package=name in ("importers", "dialects"))
        if other.split(".")[0] not in rooms and other != "grafts.values"
    ]


def test_a_dialect_and_an_importer_speak_only_to_the_handles() -> None:
    for name, path in MODULES.items():
        if name.split(".")[0] in ("dialects", "importers"):
            assert below_the_handles(name, path.read_text()) == [], name
    assert below_the_handles("dialects.planted.reader", "from ...core.read import turns") == ["core.read.turns"]
    assert below_the_handles("importers.planted", "from ..grafts import driver") == ["grafts.driver"]
    assert below_the_handles("importers.planted", "from ..grafts.values import GraftTurn") == []


def reached(name: str) -> set[str]:
    """Everything that importing a module imports, of ours."""
    found, queue = {name}, [name]
    for each in queue:
        path = MODULES[each]
        for other in imports(each, path.read_text(), is_package=path.name == "__init__.py"):
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


def test_what_reads_imports_nothing_that_writes() -> None:
    writers = {"heads", "turn", "foreign", "settle", "verbs", "upkeep"}
    for name in MODULES:
        if name.startswith("core.read"):
            rooms = {other.split(".")[1] for other in reached(name) if other.startswith("core.")}
            assert not rooms & writers, name


def test_only_the_engine_knows_the_driver() -> None:
    users = {name.rpartition(".")[0] for name, path in MODULES.items() if "import apsw" in path.read_text()}
    assert users == {"db.sqlite", "db"}


def test_values_and_fold_do_no_input_or_output() -> None:
    forbidden = {"os", "socket", "subprocess", "pathlib", "apsw", "sqlite3", "threading"}
    pure = [name for name in MODULES if name.startswith(("aisdk.", "permissions.", "formats.", "search."))]
    for name in ("model", "base.exact_json", "base.arguments", "core.codec", "core.facts", *pure):
        tree = ast.parse(MODULES[name].read_text())
        named = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        named |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level}
        assert not named & forbidden, name


def test_only_the_command_line_prints_or_reads_the_environment() -> None:
    for name, path in MODULES.items():
        if name.split(".")[0] in ("cli", "testing") or name == "dialects.hermes.place":  # as the original is told
            continue
        text = path.read_text()
        for words in ("os.environ", "print("):
            assert words not in text, f"{path} has {words}: only the command line does that"


def test_importing_palaver_stays_light() -> None:
    heavy = "{'asyncio', 'click', 'rich', 'zstandard', 'starlette', 'psycopg', 'pytest', 'sqlite3'}"
    code = f"import sys, palaver; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "[]"


def test_importing_palaver_imports_nothing_else_and_a_plain_ls_needs_neither_typing_nor_options(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create("a")
    assert imported_by("import palaver") <= {"palaver", "__future__"}
    listed = imported_by("from palaver.cli import main", "-s", str(tmp_path / "talks.db"), "ls", call="main()")
    assert "palaver.cli.fast_ls" in listed and not {"typing", "click", "palaver.keywords", "palaver.session"} & listed


def imported_by(code: str, *args: str, call: str = "") -> set[str]:
    """The modules that running this imports."""
    lines = ["import atexit, sys", "before = set(sys.modules)", "news = lambda: sorted(set(sys.modules) - before)"]
    lines += ["atexit.register(lambda: print('@'.join(news()), file=sys.stderr))", code, call]
    command = [sys.executable, "-c", "\n".join(lines), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return set(done.stderr.splitlines()[-1].split("@"))


def test_a_program_that_reads_starts_without_what_only_writers_need(tmp_path: Path) -> None:
    path = str(tmp_path / "talks.db")
    with palaver.open(path) as store:
        store.sessions.create("a").commit("hello")
    unused = [
        *("turn", "streaming.recorder", "streaming.chunk_writer", "aisdk.folding", "aisdk.chunks", "permissions"),
        *("permissions.globs", "core.heads", "core.turn.open_turn", "core.turn.seal", "core.settle.preflight"),
        *("core.verbs.begin", "core.verbs.commit", "core.foreign.adopt"),
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


def test_a_handle_has_no_sql() -> None:
    for name in ("store", "sessions", "session", "session_rules", "turn", "recording", "aio"):
        text = MODULES[name].read_text()
        assert "db.queries" not in text and "Q." not in text and "SELECT" not in text, name
