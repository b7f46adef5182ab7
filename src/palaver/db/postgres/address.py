"""Where a server is: its address as it may be shown, and how it is connected to."""

from __future__ import annotations

import re
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ...errors import BadValue
from ..engine import Row

_EXAMPLE = "postgresql://user@host/database"
_UNKNOWN = re.compile(r'invalid URI query parameter: "(?P<name>[^"]*)"')


class Address:
    """`name` says it without secrets, and can be used as an address."""

    def __init__(self, dsn: str, *, readonly: bool = False) -> None:
        try:
            self._parts = conninfo_to_dict(dsn)
        except psycopg.Error as error:
            raise BadValue(f"this is not a Postgres address{_why(error)}; {_EXAMPLE} is one") from None
        self._dsn = dsn
        self._check_ports()
        self.name = self._named()
        several = len(self._hosts()) > 1
        usual = "any" if readonly and not several else "read-write"  # of several hosts, the leader
        self._wanted = self._parts.get("target_session_attrs") or usual

    def _check_ports(self) -> None:
        """Refused at once: to the driver it would look like a server that is away."""
        for port in filter(None, self._part("port").split(",")):
            if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
                raise BadValue(f"{port!r:.40} is no port; {_EXAMPLE} is an address")

    def _named(self) -> str:
        """Who, where and what: two servers on one machine are told apart by their ports."""
        user = quote(self._part("user"), safe="")
        who, database = f"{user}@" if user else "", quote(self._part("dbname"), safe="")
        hosts, ports = self._hosts(), self._part("port").split(",")
        if hosts[0].startswith("/"):
            more = f"&port={ports[0]}" if ports[0] else ""
            return f"postgresql://{who}/{database}?host={','.join(hosts)}{more}"
        named = zip(hosts, ports if len(ports) == len(hosts) else ports[:1] * len(hosts), strict=True)
        where = ",".join(_bracketed(host) + (f":{port}" if port else "") for host, port in named)
        return f"postgresql://{who}{where}/{database}"

    def _hosts(self) -> list[str]:
        return (self._part("host") or self._part("hostaddr") or "localhost").split(",")

    def _part(self, name: str) -> str:
        return str(self._parts.get(name) or "")

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


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _why(error: psycopg.Error) -> str:
    """What is wrong with it, where that cannot be a secret."""
    found = _UNKNOWN.search(str(error))
    return f": it has no option {found['name']!r:.40}" if found else ""
