"""The same on Postgres."""

from __future__ import annotations

from .ours_postgres import Store as _OnPostgres
from .ours_unindexed import Unindexed


class Store(Unindexed, _OnPostgres):
    pass
