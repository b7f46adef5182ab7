"""The repository keeps its own promises: exported names, named SQL, links that lead somewhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.db import schema
from palaver.db.queries import Q, Queries

REPO = Path(__file__).parent.parent.parent
SOURCE = Path(palaver.__file__).parent


def test_exported_names_are_sorted_and_complete() -> None:
    assert palaver.__all__ == sorted(palaver.__all__)
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    ours = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    seen_by_type_checkers = {alias.asname: node.module for node in ours for alias in node.names}
    assert seen_by_type_checkers == palaver._HOME
    assert {alias.name for node in ours for alias in node.names} == set(palaver.__all__) == set(palaver._HOME)
    assert all(getattr(palaver, name) is not None for name in palaver.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        palaver.nonsense  # noqa: B018


def test_every_statement_that_code_names_exists_and_every_statement_is_used() -> None:
    named = set()
    for path in [*SOURCE.rglob("*.py"), *(REPO / "bench").rglob("*.py"), *(REPO / "tests").rglob("*.py")]:
        named |= set(re.findall(r"\b(?:Q\.|Select\(\")([a-z][a-z_]*)", path.read_text()))
    existing = set(dir(Q))
    assert named - existing <= {"name", "x"}, "named but not there"
    assert existing <= named, "there but not named"


MADE_ANEW = ("make_words_table",)


def test_every_statement_compiles_on_the_schema() -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(schema.text())
    for query in Q:
        if query.name not in MADE_ANEW:
            connection.execute("EXPLAIN " + query.text, (None,) * len(query.names)).fetchall()
    connection.execute("DROP TABLE document_words")
    for name in MADE_ANEW:
        connection.execute("EXPLAIN " + getattr(Q, name).text).fetchall()


def test_two_statements_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        Queries("-- name: twice\nSELECT 1;\n-- name: twice\nSELECT 2;\n")


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def test_links_in_the_pages_lead_somewhere() -> None:
    for page in [*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md")]:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", without_code(page)):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} → {target}"
            assert not anchor or anchor in anchors(there), f"{page.name} → {target}#{anchor}"


def test_no_pickle_eval_or_exec_in_the_product() -> None:
    for path in SOURCE.rglob("*.py"):
        calls = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not calls & {"eval", "exec"}, path
        assert "pickle" not in path.read_text(), path
