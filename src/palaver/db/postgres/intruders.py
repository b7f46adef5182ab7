"""What another program may not have put into a space (see sqlite/intruders.py): read in the catalogue at each open."""

from __future__ import annotations

from typing import Any

import psycopg

from ..sqlite import intruders

_FOUND = """
SELECT c.relname, c.relkind::text, r.rulename, t.tgname, p.prosrc
  FROM pg_class c
  LEFT JOIN pg_rewrite r ON r.ev_class = c.oid AND r.rulename <> '_RETURN'
  LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal AND NOT EXISTS (
       SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = t.tgfoid AND d.deptype = 'e')
  LEFT JOIN pg_proc p ON p.oid = t.tgfoid
 WHERE c.relnamespace = to_regnamespace(%s) AND c.relname = ANY(%s)
   AND (c.relkind NOT IN ('r', 'p') OR t.oid IS NOT NULL OR r.oid IS NOT NULL)
"""
_KINDS = {"v": "a view", "m": "a materialised view", "f": "a foreign table"}


def refuse(connection: psycopg.Connection[Any], name: str, schema: str) -> None:
    ours = intruders.tables()
    for table, kind, rule, trigger, body in connection.execute(_FOUND, (f'"{schema}"', sorted(ours))).fetchall():
        if kind not in "rp":
            raise intruders.in_the_place(name, _KINDS.get(kind, "something else"), table)
        if rule is not None:
            raise intruders.ruled(name, rule, table)
        intruders.refuse_trigger(name, trigger, table, body, ours)
