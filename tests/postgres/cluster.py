"""Three Postgres nodes that Patroni keeps as one: a leader, and two that follow it until one of them has to lead.

etcd, which says who leads, and the nodes run unprivileged in rooms of their own, on loopback ports that were free a
moment ago. While they run, whoever is on this machine may connect. They end with this process, however that ends.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import psycopg

from .binaries import NoPostgres, find_binaries
from .room import PATIENCE_S, Room

HOST = "127.0.0.1"
DATABASE = USER = "palaver"
TTL_S = 20  # how long a leader that is silent is still the leader: the least that Patroni takes
READY_S = 50.0
GUARD = 'read -r word || kill -KILL "$1"'  # `read` fails when this process has ended without a word
TRUST = ["local all all trust", f"host all all {HOST}/32 trust", f"host replication all {HOST}/32 trust"]


class Missing(Exception):
    """A program that the cluster is made of is not here, and how to get it."""


class ClusterFailed(Exception):
    """The cluster did not come to what was waited for; the logs say why."""


class Programs:
    def __init__(self) -> None:
        self.patroni = _found("patroni", "pip install 'patroni[etcd3]' 'psycopg[binary]' (here, or anywhere on PATH)")
        self.etcd = _found("etcd", "apt-get install etcd-server (or put the program on PATH)")
        try:
            self.postgres = find_binaries()
        except NoPostgres as error:
            raise Missing(str(error)) from None
        if not (self.postgres / "pg_basebackup").exists():
            raise Missing("this Postgres is without pg_basebackup: name one that has it in PALAVER_TEST_PG_BIN")
        _refuse_closed(self.patroni, self.etcd)


def _found(name: str, way: str) -> Path:
    beside = Path(sys.executable).parent / name
    path = str(beside) if beside.exists() else shutil.which(name)
    if path is None:
        raise Missing(f"the program {name} is missing: {way}")
    return Path(path)


def _refuse_closed(*programs: Path) -> None:
    with closing(Room()) as room:
        for program in programs:
            status, said = room.run([program, "--version"])
            if status != 0:
                who = room.user.pw_name if room.user else "this user"
                raise Missing(
                    f"{who} cannot run {program}: install it, with its Python, where everyone may read. {said}"
                )


class Program:
    """It runs in a room until it is killed, or this process is gone."""

    def __init__(self, room: Room, command: Sequence[str | Path]) -> None:
        self._log = room.path / "log"
        with self._log.open("w") as log:
            self._process = room.start(command, stdout=log)
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", str(self._process.pid)],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        if self._guard.poll() is None:
            self._guard.communicate(b"done\n", timeout=PATIENCE_S)


class Node:
    """One Patroni and its Postgres."""

    def __init__(self, name: str, port: int, api: int, etcd: int, programs: Programs, *, synchronous: bool) -> None:
        self.port, self.api = port, api
        self._room = Room()
        self._data = self._room.path / "data"  # where the room's guard looks for a server
        config = self._room.path / "patroni.json"
        config.write_text(json.dumps(self._config(name, etcd, programs.postgres, synchronous)))
        self.patroni = Program(self._room, _with_libraries(programs.postgres, [programs.patroni, config]))

    def pids(self) -> list[int]:
        """The postmaster's, and those of its processes."""
        first = self._pid_file()[:1]
        return [int(first[0]), *_children(int(first[0]))] if first else []

    def kill(self) -> None:
        """As if its machine had lost its power."""
        self.patroni.kill()
        segment = self._segment()
        for pid in self.pids():
            _signal(pid, signal.SIGKILL)
        if segment:  # the one thing that a Postgres leaves behind outside its directories
            subprocess.run(["ipcrm", "-m", segment], capture_output=True, timeout=PATIENCE_S, check=False)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def close(self) -> None:
        self.patroni.kill()
        for pid in self.pids()[:1]:
            _signal(pid, signal.SIGQUIT)
        with suppress(ClusterFailed):
            wait_until(lambda: not self._pid_file(), 5.0, "a server that ends")
        self.kill()
        self._room.close()

    def _pid_file(self) -> list[str]:
        with suppress(OSError):
            return (self._data / "postmaster.pid").read_text().splitlines()
        return []

    def _segment(self) -> str | None:
        lines = self._pid_file()
        return lines[6].split()[-1] if len(lines) > 6 and lines[6].split() else None

    def _config(self, name: str, etcd: int, binaries: Path, synchronous: bool) -> dict[str, Any]:
        settings = {
            "dynamic_shared_memory_type": "mmap",  # inside the data directory: a server that is killed leaves none
            "fsync": "off",  # no machine really loses its power
            "unix_socket_directories": str(self._room.path),
        }
        return {
            "scope": "palaver",
            "name": name,
            "etcd3": {"host": f"{HOST}:{etcd}"},
            "restapi": {"listen": f"{HOST}:{self.api}", "connect_address": f"{HOST}:{self.api}"},
            "bootstrap": {
                "dcs": {"ttl": TTL_S, "loop_wait": 2, "retry_timeout": 5, "synchronous_mode": synchronous},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
            },
            "postgresql": {
                "listen": f"{HOST}:{self.port}",
                "connect_address": f"{HOST}:{self.port}",
                "data_dir": str(self._data),
                "bin_dir": str(binaries),
                "pgpass": str(self._room.path / "pgpass"),
                "authentication": {"superuser": {"username": USER}, "replication": {"username": "follower"}},
                "basebackup": [{"checkpoint": "fast"}],
                "parameters": settings,
                "pg_hba": TRUST,
            },
        }


class Cluster:
    """`dsn` names all nodes; who leads is found out by connecting."""

    def __init__(self, programs: Programs, *, synchronous: bool = True) -> None:
        self._synchronous = synchronous
        self._is_ended = False
        peer, client, *ports = _free_ports(8)
        addresses = list(zip(ports[:3], ports[3:], strict=True))
        self.dsn = f"postgresql://{USER}@{','.join(f'{HOST}:{port}' for port, _ in addresses)}/{DATABASE}"
        self.nodes: list[Node] = []
        self._open = ExitStack()
        with ExitStack() as undo:
            undo.callback(self.close)
            self._etcd = self._start_etcd(programs.etcd, peer, client)
            for number, (port, api) in enumerate(addresses):
                node = Node(f"node{number}", port, api, client, programs, synchronous=synchronous)
                self.nodes.append(node)
                self._open.callback(node.close)
            self._wait_until_ready()
            undo.pop_all()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._is_ended = True
        self._open.close()

    def leader(self) -> Node | None:
        """Who can be written to."""
        if self._is_ended:
            raise ClusterFailed("there is no leader to wait for: the cluster was ended")
        try:
            with closing(_connect(self.dsn, target_session_attrs="read-write")) as db:
                return next(node for node in self.nodes if node.port == db.info.port)
        except psycopg.OperationalError:
            return None

    def silence(self, node: Node) -> None:
        """It takes commits, and those who follow it hear nothing of them any more."""
        with closing(_connect(f"postgresql://{USER}@{HOST}:{node.port}/{DATABASE}")) as db:
            senders = db.execute("SELECT pid FROM pg_stat_replication WHERE state = 'streaming'").fetchall()
        assert len(senders) == len(self.nodes) - 1
        for (pid,) in senders:
            os.kill(pid, signal.SIGSTOP)

    def _start_etcd(self, program: Path, peer: int, client: int) -> Program:
        room = Room()
        self._open.callback(room.close)
        peers, clients = f"http://{HOST}:{peer}", f"http://{HOST}:{client}"
        options = {
            "data-dir": room.path / "etcd",
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
        }
        etcd = Program(room, [program, *(f"--{name}={value}" for name, value in options.items())])
        self._open.callback(etcd.kill)
        return etcd

    def _wait_until_ready(self) -> None:
        wanted = [
            "leader running",
            "replica streaming",
            f"{'sync_standby' if self._synchronous else 'replica'} streaming",
        ]
        self._wait_until(lambda: self._roles() == wanted, "one leader and two that follow it")
        first = f"postgresql://{USER}@{','.join(f'{HOST}:{node.port}' for node in self.nodes)}/postgres"
        with closing(_connect(first, target_session_attrs="read-write")) as db:
            db.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0")

    def _wait_until(self, true: Callable[[], bool], what: str) -> None:
        programs = [self._etcd, *(node.patroni for node in self.nodes)]
        try:
            wait_until(lambda: true() or not all(one.is_running for one in programs), READY_S, what)
            if not true():
                raise ClusterFailed(f"a program ended while we waited for {what}")
        except ClusterFailed as error:
            raise ClusterFailed("\n".join([str(error), *(one.log() for one in programs)])) from None

    def _roles(self) -> list[str]:
        """As Patroni names them."""
        for node in self.nodes:
            with (
                suppress(OSError, ValueError),
                _straight.open(f"http://{HOST}:{node.api}/cluster", timeout=5) as answer,
            ):
                members = json.load(answer)["members"]
                return sorted(f"{one['role']} {one['state']}" for one in members)
        return []


_straight = build_opener(ProxyHandler({}))  # whatever proxy the environment names: these addresses are here


def wait_until(true: Callable[[], bool], seconds: float, what: str) -> float:
    """How long it took."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise ClusterFailed(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.1)
    return time.monotonic() - began


def _connect(dsn: str, **options: str) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(dsn, autocommit=True, connect_timeout=5, options="-c statement_timeout=30s", **options)


def _free_ports(count: int) -> list[int]:
    """All held at once, so that no two are the same."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _with_libraries(binaries: Path, command: list[Path]) -> list[str | Path]:
    """Patroni hands its environment on to Postgres, and an unpacked one looks there for its libraries."""
    return ["/usr/bin/env", f"LD_LIBRARY_PATH={binaries.parent / 'lib'}", *command]


def _children(parent: int) -> list[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, timeout=10, check=True)
    pairs = (line.split() for line in listed.stdout.splitlines())
    return [int(pid) for pid, ppid in pairs if int(ppid) == parent]


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
