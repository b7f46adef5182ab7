"""A real Postgres for tests: a cluster of its own in a temporary directory, reached through a socket there.

It takes no port, so any number of servers stand side by side; it runs unprivileged, also for root; and it ends with
this process, however that ends. With `PALAVER_TEST_DSN` set the tests use that server instead, which is not ours:
they may create databases on it, but never stop it.
"""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from .binaries import NoPostgres, find_binaries
from .room import PATIENCE_S, Room

__all__ = ["Given", "NoPostgres", "Server", "ServerFailed", "connect_given", "find_binaries", "rewritten"]

PORT = "5432"  # only a part of the socket's name
SETTINGS = {
    "autovacuum": "off",  # nobody stays long enough to need it
    "checkpoint_timeout": "1h",
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "200",
    "max_wal_size": "4GB",
    "port": PORT,
    "unix_socket_permissions": "0700",  # everyone is trusted, so only we may come in
}
STOPS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class ServerFailed(Exception):
    """The server did not do as it was told; its log says why."""

    def __init__(self, what: str, log: str) -> None:
        super().__init__(f"{what}\n{log}")


class Server:
    """Settings are Postgres' own: `Server(fsync="on")`."""

    is_ours = True

    def __init__(self, binaries: Path | None = None, **settings: str) -> None:
        self.binaries = binaries or find_binaries()
        self._room = Room()
        atexit.register(self.close)
        self._sockets = self._room.folder("s")
        self._settings = SETTINGS | {"unix_socket_directories": str(self._sockets)} | settings
        self._process: subprocess.Popen[str] | None = None
        self.data = self._room.path / "data"
        self.dsn = f"postgresql://palaver@/postgres?host={self._sockets}&port={PORT}"

    def __enter__(self) -> Server:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The postmaster's; None while it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start it unless it runs, and wait until it answers."""
        if not self.data.exists():
            self._make_cluster()
        if self.pid is None:
            self._launch()
        self._wait_for_an_answer()

    def stop(self, mode: str = "fast") -> None:
        """`fast` says goodbye; `immediate` is a crash, and the next start recovers."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(STOPS[mode])
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise ServerFailed(f"still there {PATIENCE_S:.0f} s after a {mode} stop", self.log()) from None

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def kill_backend(self, pid: int) -> None:
        """Kill one of its processes. The server then ends all others and recovers; `start` waits until it has."""
        with closing(_connect(self.dsn)) as db:
            if db.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() is None:
                raise ValueError(f"{pid} is no process of this server")
        os.kill(pid, signal.SIGKILL)
        # Once it is reaped the server knows, and takes no connection before it has recovered.
        if not _wait_until(lambda: not _is_alive(pid)):
            raise ServerFailed(f"process {pid} survived SIGKILL", self.log())

    def create_database(self) -> str:
        """A fresh database; the DSN of it."""
        return create_database(self.dsn)

    def drop_database(self, dsn: str) -> None:
        drop_database(self.dsn, dsn)

    def log(self) -> str:
        path = self._log_path
        return path.read_text(errors="replace") if path.exists() else ""

    def close(self) -> None:
        """End it and clear the directory."""
        atexit.unregister(self.close)
        try:
            self.stop()
        finally:
            self._room.close()

    @property
    def _log_path(self) -> Path:
        return self._room.path / "log"

    def _make_cluster(self) -> None:
        options = ["-A", "trust", "-U", "palaver", "--no-sync", "-E", "UTF8", "--locale=C"]
        status, said = self._room.run([self.binaries / "initdb", "-D", self.data, *options])
        if status != 0:
            raise ServerFailed(f"initdb ended with {status}", said)

    def _launch(self) -> None:
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with self._log_path.open("a") as log:
            self._process = self._room.start([self.binaries / "postgres", "-D", self.data, *settings], stdout=log)

    def _wait_for_an_answer(self) -> None:
        if _wait_until(lambda: self.pid is None or _answers(self.dsn)) and self.pid is not None:
            return
        status = self._process.poll() if self._process else None
        state = f"ended with {status}" if status is not None else f"gave no answer in {PATIENCE_S:.0f} s"
        raise ServerFailed(f"the server {state}", self.log())


class Given:
    """A server that someone else runs."""

    is_ours = False

    def __init__(self, dsn: str) -> None:
        self.dsn = rewritten(dsn)

    def create_database(self) -> str:
        return create_database(self.dsn)

    def drop_database(self, dsn: str) -> None:
        drop_database(self.dsn, dsn)


def connect_given() -> Given | None:
    """The server that `PALAVER_TEST_DSN` names, if it does: where that is a cluster, all of it."""
    dsn = os.environ.get("PALAVER_TEST_DSN")
    if dsn and dsn == os.environ.get("PALAVER_TEST_CITUS_DSN"):
        from .citus import connect_citus  # which stands on this file

        return connect_citus()
    return Given(dsn) if dsn else None


# ---------------------------------------------------------------- databases


def rewritten(dsn: str, **changes: str) -> str:
    """The same connection as a URL, with some of it changed, or left out where the change is empty."""
    parts = {name: str(value) for name, value in {**conninfo_to_dict(dsn), **changes}.items() if value != ""}
    user = quote(parts.pop("user", ""), safe="")
    database = quote(parts.pop("dbname", ""), safe="")
    query = urlencode(parts, safe="/", quote_via=quote)
    return f"postgresql://{user + '@' if user else ''}/{database}?{query}"


def create_database(admin: str) -> str:
    """Copying files would wait for two checkpoints."""
    return _copy_database(admin, "template0", "wal_log")


def clone_database(admin: str, template: str) -> str:
    """On a server that waits for no disk: there it takes half the work."""
    return _copy_database(admin, template, "file_copy")


def _copy_database(admin: str, template: str, strategy: str) -> str:
    name = f"palaver_{secrets.token_hex(6)}"
    with closing(_connect(admin)) as db:
        names = sql.Identifier(name), sql.Identifier(template)
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names)
        if db.info.server_version >= 15_00_00:
            statement += sql.SQL(f" STRATEGY {strategy}")
        db.execute(statement)
    return rewritten(admin, dbname=name)


def has_database(admin: str, name: str) -> bool:
    with closing(_connect(admin)) as db:
        return db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is not None


def rename_database(admin: str, dsn: str, name: str) -> None:
    """Once those who were connected to it are gone."""
    before = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
    with closing(_connect(admin)) as db:
        db.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(before, sql.Identifier(name)))


def drop_database(admin: str, dsn: str) -> None:
    """Drop it, whoever is still connected."""
    name = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
    with closing(_connect(admin)) as db:
        db.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


def _connect(dsn: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Every statement of it is bounded in time."""
    return psycopg.connect(dsn, autocommit=True, connect_timeout=10, options="-c statement_timeout=30s")


# ---------------------------------------------------------------- waiting


def _answers(dsn: str) -> bool:
    try:
        with closing(_connect(dsn)) as db:
            db.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
