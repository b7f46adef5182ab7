"""Something else in the place of a table of ours, or a trigger on or writing to one that is Palaver's own.

It is refused by name when the store is opened: a commit would be answered, and be something else."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

import palaver

from ..postgres.conftest import ready, server
from ..postgres.engines import connect

__all__ = ["ready", "server"]

BAD = {
    "a view in the place of a table": (
        "ALTER TABLE turns RENAME TO theirs; CREATE VIEW turns AS SELECT * FROM theirs",
        "a view in the place of the table turns",
    ),
    "a view in the place of a contract table": (
        "ALTER TABLE chat_parts RENAME TO theirs; CREATE VIEW chat_parts AS SELECT * FROM theirs",
        "a view in the place of the table chat_parts",
    ),
    "a virtual table": (
        "DROP TABLE pruned; CREATE VIRTUAL TABLE pruned USING fts5(part_id, session_id, at)",
        "a virtual table in the place of the table pruned",
    ),
    "a trigger on our own table": (
        "CREATE TRIGGER spy AFTER INSERT ON turns BEGIN SELECT 1; END",
        "a trigger spy on turns",
    ),
    "a trigger that writes to our own table": (
        "CREATE TRIGGER wipe AFTER INSERT ON chat_messages BEGIN DELETE FROM turns; END",
        "a trigger wipe that writes to turns",
    ),
    "one without a blank": (
        """CREATE TRIGGER w AFTER INSERT ON chat_messages BEGIN SELECT '--'; DELETE FROM"reflog"; END""",
        "a trigger w that writes to reflog",
    ),
    "one in other words": (
        """CREATE TRIGGER w AFTER INSERT ON chat_messages BEGIN
             INSERT /* x */ OR IGNORE INTO "heads" SELECT * FROM heads; END""",
        "a trigger w that writes to heads",
    ),
}
GOOD = {
    "a view of their own": "CREATE VIEW report AS SELECT count(*) FROM chat_messages",
    "a trigger on the contract's tables": "CREATE TABLE log (n); CREATE TRIGGER t AFTER INSERT ON chat_messages"
    " BEGIN INSERT INTO log SELECT count(*) FROM turns; END",
}


@pytest.fixture
def made(path: str) -> str:
    with palaver.open(path) as store:
        store.sessions.create("a", id="talk").commit("one")
    return path


def run(path: str, script: str) -> None:
    with closing(apsw.Connection(path)) as db:
        db.execute(script)


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_it_is_refused_by_name(made: str, what: str, readonly: bool) -> None:
    script, said = BAD[what]
    run(made, script)
    with pytest.raises(palaver.SchemaMismatch, match=said):
        palaver.open(made, readonly=readonly)


@pytest.mark.parametrize("what", GOOD)
def test_what_leaves_our_tables_alone_may_stay(made: str, what: str) -> None:
    run(made, GOOD[what])
    with palaver.open(made) as store:
        store.sessions.get("talk").commit("two")
        assert store.verify() == []


ON_POSTGRES = {
    "a view in the place of a table": (
        "ALTER TABLE pruned RENAME TO theirs; CREATE VIEW pruned AS SELECT * FROM theirs",
        "a view in the place of the table pruned",
    ),
    "a view that can be written": (
        "ALTER TABLE chat_messages RENAME TO theirs; CREATE VIEW chat_messages AS SELECT * FROM theirs;"
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER t INSTEAD OF INSERT ON chat_messages FOR EACH ROW EXECUTE FUNCTION f()",
        "a view in the place of the table chat_messages",
    ),
    "a rule": (
        "CREATE RULE nothing AS ON INSERT TO reflog DO INSTEAD NOTHING",
        "a rule nothing on reflog",
    ),
    "a trigger on our own table": (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER spy AFTER INSERT ON turns FOR EACH ROW EXECUTE FUNCTION f()",
        "a trigger spy on turns",
    ),
    "a trigger that writes to our own table": (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM turns; RETURN NULL; END';"
        "CREATE TRIGGER wipe AFTER INSERT ON chat_messages FOR EACH ROW EXECUTE FUNCTION f()",
        "a trigger wipe that writes to turns",
    ),
}


@pytest.mark.parametrize("what", ON_POSTGRES)
def test_it_is_refused_by_name_on_a_server_too(ready: str, what: str) -> None:
    script, said = ON_POSTGRES[what]
    with closing(connect(ready, "default")) as db:
        db.execute(script.encode())
    with pytest.raises(palaver.SchemaMismatch, match=said):
        palaver.open(ready)


def test_a_trigger_on_the_contracts_tables_runs_on_a_server_too(ready: str) -> None:
    with closing(connect(ready, "default")) as db:
        db.execute(
            b"CREATE TABLE log (n int);"
            b"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS"
            b" 'BEGIN INSERT INTO log SELECT count(*) FROM turns; RETURN NULL; END';"
            b"CREATE TRIGGER t AFTER INSERT ON chat_messages FOR EACH ROW EXECUTE FUNCTION f()"
        )
    with palaver.open(ready) as store:
        store.sessions.create("a").commit("two")
        assert store.verify() == []
