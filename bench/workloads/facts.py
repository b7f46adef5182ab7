"""The newest 50 sessions of a project, whether nearly all sessions are in it or only three: beside the plain list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palaver.db.queries import Query

from .. import measure

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker

SHARES = {"most": 900, "tenth": 90, "hundredth": 9, "thousandth": 1}  # of a thousand; and three of all
VALUES = (*SHARES, "three")
NUMBERS = "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < {count} - 1) "
SESSIONS = """INSERT INTO chat_sessions (id, agent, workspace_root, model_json, created_at, updated_at)
SELECT 'ses_' || CAST(1000000 + i AS TEXT), 'bench', '/w', '{{}}', 1760000000000 + i,
       1760000000000 + i * 7919 % {count} FROM c;"""
HEADS = """INSERT INTO heads (session_id, revision, event_seq, last_at, relation)
SELECT id, 0, 1, 0, 'root' FROM chat_sessions;"""
FACTS = """INSERT INTO session_facts (name, value, created_at, session_id)
SELECT 'project', CASE WHEN i IN (7, {count} / 2, {count} - 9) THEN 'three' {cases} END, s.created_at, s.id
  FROM c JOIN chat_sessions s ON s.id = 'ses_' || CAST(1000000 + i AS TEXT);"""


def run(lab: Lab) -> None:
    with lab.columns("ours") as columns:
        compare(lab, columns, "own", "ours")


def compare(lab: Lab, columns: list, group: str, column: str) -> None:
    columns[0]("facts.fill", count=lab.scale.sessions)
    found = lab.blocks(columns[:1], "facts.block")
    for value in VALUES:
        lab.versus(f"{group}.facts.{value}", found, value, column, column, against="plain")


def fill(worker: Worker, count: int) -> None:
    """Rows at once, not session by session; who has which project is spread over all of them."""
    below, cases = 0, []
    for value, share in SHARES.items():
        below += share
        cases.append(f"WHEN i * 7919 % 1000 < {below} THEN '{value}'")
    with worker.store().store.db.write() as tx:
        for name, text in {"sessions": NUMBERS + SESSIONS, "heads": HEADS, "facts": NUMBERS + FACTS}.items():
            tx.run(Query(f"fill_{name}", text.format(count=count, cases=" ".join(cases))))


def block(worker: Worker, repeat: int) -> dict[str, float]:
    listed = worker.store().store.sessions.list
    spent = {"plain": measure.median(lambda: listed(limit=50).sessions, most=100)["ms"]}
    for value in VALUES:
        found = measure.median(lambda value=value: listed(project=value, limit=50).sessions, most=100)
        if found["n"] != (3 if value == "three" else 50):
            raise RuntimeError(f"listed {found['n']} sessions of {value}")
        spent[value] = found["ms"]
    return spent
