"""The queries that Hermes' documentation prints run on the file that goes out, and the store answers the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.dialects.hermes import queries
from palaver.dialects.hermes.exporting import export_file
from palaver.dialects.hermes.importing import import_file

from .files import Said, T, made, session
from .talks import FILES, details, rows_of_6, sessions_of_6

ANCESTORS = """
WITH RECURSIVE lineage AS (
SELECT * FROM sessions WHERE id = ?
UNION ALL
SELECT s.* FROM sessions s
JOIN lineage l ON s.id = l.parent_session_id
)
SELECT id, title, started_at, parent_session_id FROM lineage;
"""
DESCENDANTS = """
WITH RECURSIVE descendants AS (
SELECT * FROM sessions WHERE id = ?
UNION ALL
SELECT s.* FROM sessions s
JOIN descendants d ON s.parent_session_id = d.id
)
SELECT id, title, started_at FROM descendants;
"""
RECENT = """
SELECT s.*,
COALESCE(
(SELECT SUBSTR(m.content, 1, 63)
FROM messages m
WHERE m.session_id = s.id AND m.role = 'user' AND m.content IS NOT NULL
ORDER BY m.timestamp, m.id LIMIT 1),
''
) AS preview,
COALESCE(
(SELECT MAX(m2.timestamp) FROM messages m2 WHERE m2.session_id = s.id),
s.started_at
) AS last_active
FROM sessions s
ORDER BY s.started_at DESC
LIMIT 20;
"""
BY_MODEL = """
SELECT model,
COUNT(*) as session_count,
SUM(input_tokens) as total_input,
SUM(output_tokens) as total_output,
SUM(estimated_cost_usd) as total_cost
FROM sessions
WHERE model IS NOT NULL
GROUP BY model
ORDER BY total_cost DESC;
"""
HIGHEST = """
SELECT id, title, model, input_tokens + output_tokens AS total_tokens,
estimated_cost_usd
FROM sessions
ORDER BY total_tokens DESC
LIMIT 10;
"""


def asked(path: Path, sql: str, *given: Any) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql, given)]


def same_but_for_ties(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], column: str) -> None:
    """SQL leaves open in which order rows come that are equal by what they are ordered by."""
    assert [row[column] for row in ours] == [row[column] for row in theirs]
    assert sorted(map(str, ours)) == sorted(map(str, theirs))


@pytest.fixture
def filled(store: palaver.Store, tmp_path: Path) -> palaver.Store:
    more = [
        session(
            "s3", parent_session_id="s2", started_at=T + 60, model="gpt-5", output_tokens=9, estimated_cost_usd=0.5
        ),
        session("s4", parent_session_id="s2", started_at=T + 61, model="gpt-5", title="Other", estimated_cost_usd=0.25),
        session("s5", started_at=T + 62, model="small", input_tokens=3),
    ]
    said = Said("s5", T + 62)("assistant", "Hm.")("user", "x" * 100)
    rows = rows_of_6() + details() + said.rows
    import_file(store, made(tmp_path / "state.db", sessions_of_6() + more, rows))
    mine = store.sessions.create("coder", id="mine", title="Other", source="web", model="a/b")
    mine.commit(["Mine?", {"role": "assistant", "content": "Yes."}], usage={"input": 70_000, "output": 1}, cost_usd=1.0)
    mine.fork(title="Fork").commit("More.")
    return store


def test_every_query_of_the_documentation_has_the_same_rows(filled: palaver.Store, tmp_path: Path) -> None:
    out = tmp_path / "out.db"
    export_file(filled, out)
    for name in ("s1", "s2", "s3", "s4", "empty", "mine", "nobody"):
        assert queries.ancestors(filled, name) == asked(out, ANCESTORS, name)
        assert queries.descendants(filled, name) == asked(out, DESCENDANTS, name)
    same_but_for_ties(queries.tokens_by_model(filled), asked(out, BY_MODEL), "total_cost")
    same_but_for_ties(queries.highest_usage(filled), asked(out, HIGHEST), "total_tokens")
    recent, expected = queries.recent(filled), asked(out, RECENT)
    assert recent == expected and list(recent[0]) == list(expected[0])
    assert {row["preview"][:6] for row in recent} >= {"xxxxxx", "Mine?", ""}


@pytest.mark.parametrize("version", ["6", "22"])
def test_they_run_on_the_file_of_any_version(store: palaver.Store, tmp_path: Path, version: str) -> None:
    import_file(store, FILES[version](tmp_path / "state.db"))
    out = tmp_path / "out.db"
    export_file(store, out)
    for row, expected in zip(queries.recent(store), asked(out, RECENT), strict=True):
        assert {name: value for name, value in expected.items() if value not in (None, 0)} == {
            name: value for name, value in row.items() if value not in (None, 0)
        }
    same_but_for_ties(queries.highest_usage(store), asked(out, HIGHEST), "total_tokens")
