"""Where a server is: its address as it may be shown, and how it is connected to."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ...errors import BadValue
from ..engine import Row


class Address:
    """`name` says it without secrets."""

    def __init__(self, dsn: str, *, readonly: bool = False) -> None:
        try:
            self._parts = conninfo_to_dict(dsn)
        except psycopg.Error:
            raise BadValue("this is not a Postgres address; postgresql://user@host/database is one") from None
        self._dsn = dsn
        self.name = f"postgresql://{self._hosts()}/{self._parts.get('dbname') or ''}"
        usual = "any" if readonly and "," not in self._hosts() else "read-write"  # of several hosts, the leader
        self._wanted = self._parts.get("target_session_attrs") or usual

    def _hosts(self) -> str:
        hosts = str(self._parts.get("host") or self._parts.get("hostaddr") or "localhost").split(",")
        ports = str(self._parts.get("port") or "").split(",") if len(hosts) > 1 else [""]
        named = zip(hosts, ports * len(hosts), strict=False)
        return ",".join(f"{host}:{port}" if port else host for host, port in named)

    def connect(self, seconds: float) -> psycopg.Connection[Row]:
        """Nothing is prepared by itself: there may be a pooler on the way."""
        return psycopg.connect(
            self._dsn,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=max(2, round(min(seconds, 10))),
            application_name="palaver",
            client_encoding="utf8",
            target_session_attrs=self._wanted,
        )
