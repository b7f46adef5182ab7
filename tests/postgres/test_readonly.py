"""On a server, too, `readonly=True` makes nothing, leases nothing, recovers nothing, and says which verb it refused."""

from __future__ import annotations

import psycopg
import pytest

import palaver
from palaver.db.migrate import VERSION
from palaver.db.postgres.transactions import Write


def test_reading_writes_nothing_at_all(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with palaver.open(dsn) as writer:
        session = writer.sessions.create("coder")
        session.commit(["Why?", {"role": "assistant", "parts": []}])
        turn = session.turn("And?")
        monkeypatch.setattr(Write, "__enter__", lambda self: pytest.fail("a transaction that may write"))
        with palaver.open(dsn, readonly=True) as reader:
            found = reader.sessions.get(session.id)
            assert (len(found.messages()), reader.verify(), reader.abandoned()) == (3, [], set())
            assert list(found.follow(0, timeout=0))
        monkeypatch.undo()
        turn.seal()


def test_what_a_dead_writer_left_is_shown_and_not_recovered(dsn: str) -> None:
    writer = palaver.open(dsn, lease=0.2)
    session = writer.sessions.create("coder")
    turn = session.turn("And?")
    writer._background.maintenance.end()  # its lease is not renewed any more
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute("SELECT pg_sleep(0.3)")
    with palaver.open(dsn, readonly=True) as reader:
        assert reader.abandoned() == {turn.id}
        assert [each.status for each in reader.sessions.get(session.id).tree()] == ["streaming"]
    writer.db.close()


def test_a_verb_that_writes_is_refused_by_its_name(dsn: str) -> None:
    with palaver.open(dsn) as writer:
        session_id = writer.sessions.create("coder").id
    with palaver.open(dsn, readonly=True) as reader:
        session = reader.sessions.get(session_id)
        for verb, call in {
            "commit": lambda: session.commit("x"),
            "turn": lambda: session.turn("x"),
            "create": lambda: reader.sessions.create(),
            "recover": lambda: reader.recover(),
        }.items():
            with pytest.raises(palaver.StoreReadOnly) as caught:
                call()
            assert str(caught.value) == f"{verb} writes; this store was opened with readonly=True"


def test_a_space_that_is_not_there_is_not_made(dsn: str) -> None:
    for space in ("default", "acme"):
        with pytest.raises(palaver.NotAStore, match="no such space"):
            palaver.open(dsn, space, readonly=True)
    assert palaver.spaces(dsn).list() == []


def test_an_older_space_is_not_migrated(dsn: str) -> None:
    palaver.open(dsn).close()
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute("UPDATE palaver.spaces SET version = %s", (VERSION - 1,))
    with pytest.raises(palaver.SchemaMismatch, match="palaver space migrate"):
        palaver.open(dsn, readonly=True)
    [space] = palaver.spaces(dsn).list()
    assert space.version == VERSION - 1


def test_a_follower_sees_what_a_writer_acknowledges(dsn: str) -> None:
    with palaver.open(dsn) as writer, palaver.open(dsn, readonly=True) as reader:
        session = writer.sessions.create("coder")
        found = reader.sessions.get(session.id)
        events = found.follow(found.cursor(), timeout=10)
        session.commit("x")
        assert next(events).kind in ("begin", "seal")


@pytest.mark.usefixtures("ours")  # a role is one of all databases
def test_who_may_only_select_can_read(dsn: str) -> None:
    """A role for reports: it could not renew a lease, recover or migrate, and need not."""
    with palaver.open(dsn) as writer:
        session_id = writer.sessions.create("coder").id
        writer.sessions.get(session_id).commit("x")
    with psycopg.connect(dsn, autocommit=True) as server:
        [(schema,)] = server.execute("SELECT schema_name FROM palaver.spaces").fetchall()
        server.execute("ALTER ROLE CURRENT_USER SET default_transaction_read_only = on")
        try:
            with palaver.open(dsn, readonly=True) as reader:
                assert len(reader.sessions.get(session_id).messages()) == 1
                assert list(reader.sessions.get(session_id).follow(0, timeout=0))
        finally:
            server.execute("SET default_transaction_read_only = off")
            server.execute("ALTER ROLE CURRENT_USER RESET default_transaction_read_only")
    assert schema
