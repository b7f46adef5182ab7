"""The directory of spaces on Citus: a reference table, which every node holds.

Left to itself Citus would take the schema `palaver` for one more space and put it on a single worker; with that one
away no space on any worker could be opened. A directory that was made so is turned into a reference table by whoever
may.
"""

from __future__ import annotations

import psycopg

from ..engine import Row

NOT_SHARDED = "SELECT set_config('citus.enable_schema_based_sharding', 'off', true)"
EVERYWHERE = "SELECT create_reference_table('palaver.spaces')"
_WAIT = "SELECT set_config('lock_timeout', '10s', true)"
_LOCK = "LOCK TABLE palaver.spaces IN SHARE ROW EXCLUSIVE MODE"
_ON_ONE_NODE = "SELECT citus_schema_undistribute('palaver')"
# Only its owner may, only the coordinator can, and only where nothing else is in the schema.
_STATE = """
SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = c.oid AND repmodel = 't'),
       pg_has_role(c.relowner, 'USAGE') AND citus_is_coordinator() AND NOT EXISTS (SELECT 1 FROM pg_class o
           WHERE o.relnamespace = c.relnamespace AND o.relkind IN ('r', 'p') AND o.oid <> c.oid),
       EXISTS (SELECT 1 FROM pg_dist_schema WHERE schemaid = c.relnamespace)
  FROM pg_class c WHERE c.oid = 'palaver.spaces'::regclass
"""


def share(connection: psycopg.Connection[Row]) -> None:
    """Turn one that lies on a single node into a reference table, if that is safe; its rows and rights stay."""
    is_shared, is_ours, _ = _state_of(connection)
    if is_shared or not is_ours:
        return
    with connection.transaction():
        connection.execute(_WAIT)
        connection.execute(_LOCK)
        is_shared, _, is_sharded = _state_of(connection)  # others may have done it while we waited
        if not is_shared:
            if is_sharded:
                connection.execute(_ON_ONE_NODE)
            connection.execute(EVERYWHERE)


def _state_of(connection: psycopg.Connection[Row]) -> tuple[bool, bool, bool]:
    row = connection.execute(_STATE).fetchone()
    assert row is not None
    is_shared, is_ours, is_sharded = row
    return is_shared, is_ours, is_sharded
