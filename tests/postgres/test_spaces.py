"""Spaces: each is a world of its own, made once however many come at once, and gone without a trace."""

from __future__ import annotations

import multiprocessing
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from io import BytesIO
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

import palaver
from palaver import exports
from palaver.db.migrate import VERSION
from palaver.db.postgres import dialect, spaces
from palaver.db.schema import migrations
from palaver.db.schema import text as schema_text
from tests.exports import old_talks, rich

from .engines import Row, connect, schema_of
from .server import Server

MANY = 16
START = multiprocessing.get_context("spawn")


@pytest.fixture
def db(dsn: str) -> Iterator[psycopg.Connection[Row]]:
    with closing(connect(dsn)) as connection:
        yield connection


def talk(store: palaver.Store, words: str, **given: Any) -> palaver.Session:
    session = store.sessions.create("coder", **given)
    with session.turn(words) as turn:
        turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": f"{words}!"}])
        turn.append([{"type": "text-end", "id": "t"}, {"type": "finish"}])
    return session


def exported(store: palaver.Store) -> bytes:
    out = BytesIO()
    exports.write(store.db, out)
    return out.getvalue()


def schemas(db: psycopg.Connection[Row]) -> list[str]:
    rows = db.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'palaver\\_%' ORDER BY 1").fetchall()
    return [row[0] for row in rows]


def at_once(number: int, work: Callable[[int], Any]) -> list[Any]:
    gate = threading.Barrier(number)

    def wait_and_work(which: int) -> Any:
        gate.wait(30)
        return work(which)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(wait_and_work, range(number)))


# ---------------------------------------------------------------- apart


def test_two_spaces_never_see_each_others_sessions(dsn: str) -> None:
    with palaver.open(dsn, space="one") as one, palaver.open(dsn, space="two") as two:
        first = talk(one, "in one", title="The same", id="app-1")
        second = talk(two, "in two", title="The same", id="app-1")
        for session in (first, second):
            session.alias("name", "label")
            session.enqueue("waits", id="q-1")

        for store, ours, theirs in ((one, first, second), (two, second, first)):
            assert [info.id for info in store.sessions] == [ours.id]
            assert store.sessions.find("name", "label").id == ours.id == store.sessions.get("app-1").id
            assert [info.id for info in store.sessions.match("The same")] == [ours.id]
            assert [each.message["parts"][0]["text"] for each in store.sessions.get(ours.id).queue()] == ["waits"]
            with pytest.raises(palaver.SessionNotFound):
                store.sessions.get(theirs.id)
            assert store.verify() == []


def test_the_same_ids_in_two_spaces_go_their_own_ways(dsn: str) -> None:
    with palaver.open(dsn, space="one") as one, palaver.open(dsn, space="two") as two:
        session = talk(one, "shared")
        exports.read(two.db, BytesIO(exported(one)))
        there = two.sessions.get(session.id)
        assert there.messages_json() == session.messages_json()

        session.commit("only here")
        there.delete()
        assert [message["parts"][-1]["text"] for message in session.messages()][-1] == "only here"
        assert [info.id for info in one.sessions] == [session.id]
        assert [info.id for info in two.sessions] == []
        assert (one.verify(), two.verify()) == ([], [])


def test_a_writer_of_one_space_does_not_wake_or_recover_another(dsn: str) -> None:
    with palaver.open(dsn, space="one") as one, palaver.open(dsn, space="two") as two:
        turn = one.sessions.create().turn("still open")
        assert two.recover() == 0
        assert turn.status == "streaming"
        turn.seal()


@pytest.mark.long
def test_forty_spaces_on_one_connection(db: psycopg.Connection[Row]) -> None:
    made = [spaces.bring_up(db, "here", f"space-{number:02}") for number in range(40)]

    assert len({info.schema for info in made}) == 40
    assert [info.name for info in spaces.every(db)] == [info.name for info in made]
    for info in made:
        with db.transaction():
            db.execute("SELECT set_config('search_path', %s, true)", (f'"{info.schema}"',))
            columns = "id, agent, model_json, created_at, updated_at"
            insert = f"INSERT INTO chat_sessions ({columns}) VALUES (%s, 'a', '{{}}', 1, 1)"
            db.execute(insert.encode(), (f"ses_{info.name}",))
    for info in made:
        found = db.execute(sql.SQL("SELECT id FROM {}.chat_sessions").format(sql.Identifier(info.schema))).fetchall()
        assert found == [(f"ses_{info.name}",)]


@pytest.mark.long
def test_forty_spaces_in_one_process(dsn: str) -> None:
    with ExitStack() as opened:
        stores = [opened.enter_context(palaver.open(dsn, space=f"s{number}")) for number in range(40)]
        for number, store in enumerate(stores):
            store.sessions.create(title=f"of {number}")
        assert [[info.title for info in store.sessions] for store in stores] == [[f"of {n}"] for n in range(40)]


# ---------------------------------------------------------------- coming to be


def test_sixteen_threads_that_open_a_space_for_the_first_time_make_it_once(
    dsn: str, db: psycopg.Connection[Row]
) -> None:
    def open_and_write(which: int) -> str:
        with palaver.open(dsn, space="new") as store:
            return store.sessions.create(title=str(which)).id

    made = at_once(MANY, open_and_write)

    assert [info.name for info in spaces.every(db)] == ["new"]
    assert schemas(db) == [schema_of(db, "new")]
    with palaver.open(dsn, space="new") as store:
        assert {info.id for info in store.sessions} == set(made)


def open_elsewhere(dsn: str, which: int) -> str:
    with palaver.open(dsn, space="new") as store:
        return store.sessions.create(title=str(which)).id


def test_four_processes_that_open_a_space_for_the_first_time_make_it_once(
    dsn: str, db: psycopg.Connection[Row]
) -> None:
    with START.Pool(4) as pool:
        made = pool.starmap(open_elsewhere, [(dsn, number) for number in range(4)], chunksize=1)
        pool.close()
        pool.join()

    assert schemas(db) == [schema_of(db, "new")]
    with palaver.open(dsn, space="new") as store:
        assert {info.id for info in store.sessions} == set(made)


@pytest.mark.long
def test_sixteen_different_spaces_may_be_made_at_once(dsn: str, db: psycopg.Connection[Row]) -> None:
    at_once(MANY, lambda number: palaver.open(dsn, space=f"s{number}").close())

    assert len(spaces.every(db)) == len(schemas(db)) == MANY


def test_one_who_is_cut_off_while_making_a_space_leaves_nothing(
    dsn: str, db: psycopg.Connection[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = dialect.schema(schema_text("postgres"))
    for at in (0, len(statements) // 2, len(statements) - 1):
        with monkeypatch.context() as patch, closing(connect(dsn)) as victim:
            patch.setattr(dialect, "schema", lambda text, at=at, victim=victim: _cut_off(db, victim, statements, at))
            with pytest.raises(psycopg.OperationalError):
                spaces.bring_up(victim, "here", "new")
        assert (spaces.every(db), schemas(db)) == ([], [])

    with palaver.open(dsn, space="new") as store:
        talk(store, "works")
        assert store.verify() == []
    assert schemas(db) == [schema_of(db, "new")]


def _cut_off(
    db: psycopg.Connection[Row], victim: psycopg.Connection[Row], statements: list[str], at: int
) -> Iterator[str]:
    """The statements, and the end of the connection before one of them."""
    for number, statement in enumerate(statements):
        if number == at:
            db.execute("SELECT pg_terminate_backend(%s::int, 10000)", (victim.info.backend_pid,))
        yield statement


def test_a_server_that_dies_while_a_space_is_made_knows_nothing_of_it(
    dsn: str, ours: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = dialect.schema(schema_text("postgres"))
    with monkeypatch.context() as patch, closing(connect(dsn)) as victim:

        def kill_midway(text: str) -> Iterator[str]:
            yield from statements[:5]
            ours.kill_backend(victim.info.backend_pid)
            yield from statements[5:]

        patch.setattr(dialect, "schema", kill_midway)
        with pytest.raises(psycopg.OperationalError):
            spaces.bring_up(victim, "here", "new")
    ours.start()
    with closing(connect(dsn)) as db:
        assert (spaces.every(db), schemas(db)) == ([], [])
        palaver.open(dsn, space="new").close()
        assert schemas(db) == [schema_of(db, "new")]


def test_a_space_that_is_made_outside_its_transaction_is_noticed(dsn: str, db: psycopg.Connection[Row]) -> None:
    """The check above fails where something is left."""
    db.execute("CREATE SCHEMA palaver_left_over")
    assert (spaces.every(db), schemas(db)) != ([], [])


NO_NAMES = ["", "-a", "a-", "_a", "a_", "A", "ä", "a b", "a.b", 'a"b', "a;b", "a" * 41, "a/b", "a\x00", "a\n", 7]


def test_names_that_are_refused(dsn: str, db: psycopg.Connection[Row]) -> None:
    for name in NO_NAMES:
        with pytest.raises(palaver.BadValue, match="no name for a space"):
            palaver.open(dsn, space=name)  # type: ignore[arg-type]
        with pytest.raises(palaver.BadValue, match="no name for a space"):
            spaces.copy(db, "here", "one", name)  # type: ignore[arg-type]
    assert schemas(db) == []


def test_names_that_are_taken_never_become_a_schemas(dsn: str, db: psycopg.Connection[Row]) -> None:
    names = ["a", "0", "a" * 40, "a-b_c", "public", "pg_catalog", "palaver", "select"]
    for name in names:
        palaver.open(dsn, space=name).close()
    assert {info.name for info in spaces.every(db)} == set(names)
    assert sorted(info.schema for info in spaces.every(db)) == schemas(db)
    assert not set(names) & set(schemas(db))


def test_a_space_that_is_not_there_is_not_made_where_that_is_not_wanted(dsn: str, db: psycopg.Connection[Row]) -> None:
    for _ in range(2):
        with pytest.raises(palaver.NotAStore):
            palaver.open(dsn, space="new", create=False)
        assert (spaces.every(db), schemas(db)) == ([], [])
    palaver.open(dsn, space="new").close()
    palaver.open(dsn, space="new", create=False).close()


# ---------------------------------------------------------------- listed, dropped, copied


def test_all_are_listed_in_the_order_of_their_bytes(dsn: str, db: psycopg.Connection[Row]) -> None:
    assert spaces.every(db) == []
    names = ["b", "a", "a-b", "a_b", "ab", "0", "z"]
    for name in names:
        palaver.open(dsn, space=name).close()
    assert [info.name for info in spaces.every(db)] == sorted(names, key=str.encode)
    assert {info.version for info in spaces.every(db)} == {VERSION}


def test_a_dropped_space_is_gone_and_the_others_stay(dsn: str, db: psycopg.Connection[Row]) -> None:
    for name in ("one", "two"):
        with palaver.open(dsn, space=name) as store:
            talk(store, name)
    spaces.drop(db, "one")

    assert [info.name for info in spaces.every(db)] == ["two"]
    assert schemas(db) == [schema_of(db, "two")]
    with pytest.raises(palaver.NotAStore):
        spaces.drop(db, "one")
    with palaver.open(dsn, space="two", create=False) as store:
        assert (len(list(store.sessions)), store.verify()) == (1, [])
    with palaver.open(dsn, space="one") as store:
        assert list(store.sessions) == []


def rows_of(db: psycopg.Connection[Row], space: str) -> dict[str, list[Row]]:
    """What no export holds whole: derived columns and tables, too."""
    tables = ("turns", "heads", "session_facts", "usage", "compactions", "bodies", "natives", "settings")
    tables += ("schema_migrations",)
    return {
        table: sorted(db.execute(f"SELECT * FROM {schema_of(db, space)}.{table}".encode()).fetchall(), key=repr)
        for table in tables
    }


def test_a_copy_is_the_same_to_the_last_byte_and_then_goes_its_own_way(dsn: str, db: psycopg.Connection[Row]) -> None:
    with palaver.open(dsn, space="one") as one:
        session = talk(one, "first", title="Kept")
        session.alias("name")
        talk(one, "other").delete()
        session.fork().commit("in the fork")
        with session.turn("counted", tools=[{"name": "run"}], settings={"temperature": 0}) as turn:
            turn.usage(input=3, cost_usd=0.5, key="resp-1")
        session.enqueue("waits")
        session.update(project="palaver")
        one.graft(rich.grafted_source())
        before = exported(one)
        made = spaces.copy(db, "here", "one", "two")
        assert made in spaces.every(db)
        with palaver.open(dsn, space="two", create=False) as two:
            assert exported(two) == before
            there = two.sessions.find("name")
            assert [turn.digest for turn in there.tree()] == [turn.digest for turn in session.tree()]
            assert there.usage() == session.usage() and len(session.usage()) == 1
            assert there.facts == {"project": "palaver"}
            assert rows_of(db, "two") == rows_of(db, "one")
            assert (two.verify(), len(two.sessions.match("Kept"))) == ([], 1)
            there.commit("only in the copy")
        assert exported(one) == before
    assert sorted(schemas(db)) == sorted(info.schema for info in spaces.every(db))


def test_a_copy_is_refused_where_the_name_is_taken_or_the_source_is_not_there(
    dsn: str, db: psycopg.Connection[Row]
) -> None:
    for name in ("one", "two"):
        with palaver.open(dsn, space=name) as store:
            store.sessions.create(title=name)
    with pytest.raises(palaver.Refused, match="two is there already"):
        spaces.copy(db, "here", "one", "two")
    with pytest.raises(palaver.NotAStore):
        spaces.copy(db, "here", "nobody", "three")
    with pytest.raises(palaver.BadValue):
        spaces.copy(db, "here", "one", "Three")
    assert [info.name for info in spaces.every(db)] == ["one", "two"]
    with palaver.open(dsn, space="two") as store:
        assert [info.title for info in store.sessions] == ["two"]


# ---------------------------------------------------------------- what a schema is


COLUMNS = """
SELECT c.relname::text, c.relkind::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid), l.collname::text
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum LEFT JOIN pg_collation l ON l.oid = a.attcollation
 WHERE c.relnamespace = %s::regnamespace AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind <> 'S'
"""
INDEXES = "SELECT replace(indexdef, schemaname || '.', '') FROM pg_indexes WHERE schemaname = %s"
KEYS = """
SELECT conrelid::regclass::text, conname::text, replace(pg_get_constraintdef(oid), %s || '.', '')
  FROM pg_constraint WHERE connamespace = %s::regnamespace
"""
VIEWS = "SELECT viewname::text, replace(definition, schemaname || '.', '') FROM pg_views WHERE schemaname = %s"


def catalogue(db: psycopg.Connection[Row], space: str) -> dict[str, list[Row]]:
    """What a space's schema means, whatever its name and the order of its columns."""
    name = schema_of(db, space)
    keys = [(row[0].split(".")[-1], *row[1:]) for row in db.execute(KEYS, (name, name)).fetchall()]
    return {
        "columns": sorted(db.execute(COLUMNS, (name,)).fetchall(), key=repr),
        "indexes": sorted(db.execute(INDEXES, (name,)).fetchall()),
        "keys": sorted(keys),
        "views": sorted(db.execute(VIEWS, (name,)).fetchall()),
    }


def make_old(db: psycopg.Connection[Row], name: str, version: int = 1) -> None:
    """A space as the Palaver of that version left it."""
    spaces._make_directory(db, "here")
    with db.transaction():
        db.execute("INSERT INTO palaver.spaces VALUES (%s, %s, %s, 1)", (name, f"palaver_{name}", version))
        db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(f"palaver_{name}")))
        db.execute("SELECT set_config('search_path', %s, true)", (f'"palaver_{name}"',))
        for number, (title, text) in enumerate(migrations()[:version], 1):
            for statement in dialect.schema(text):
                db.execute(statement.encode())
            db.execute("INSERT INTO schema_migrations VALUES (%s, %s, 1)", (number, title))


@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_older_space_becomes_the_same_as_a_fresh_one(dsn: str, db: psycopg.Connection[Row], version: int) -> None:
    make_old(db, "old", version)
    name = sql.Identifier("palaver_old")
    row = "('ses_old', 'a', '{{}}', 1, 1)"
    insert = "INSERT INTO {}.chat_sessions (id, agent, model_json, created_at, updated_at) VALUES " + row
    db.execute(sql.SQL(insert).format(name))
    at_once(4, lambda _: palaver.open(dsn, space="old").close())
    palaver.open(dsn, space="fresh").close()

    assert catalogue(db, "old") == catalogue(db, "fresh")
    versions = [
        db.execute(f"SELECT version FROM {schema_of(db, s)}.schema_migrations ORDER BY 1".encode()) for s in SAME
    ]
    assert versions[0].fetchall() == versions[1].fetchall() == [(number,) for number in range(1, VERSION + 1)]
    with palaver.open(dsn, space="old") as store:
        assert [info.id for info in store.sessions] == ["ses_old"]
        talk(store, "goes on")
        assert store.verify() == []


SAME = ("old", "fresh")


def fill_old(db: psycopg.Connection[Row], name: str) -> None:
    """The rows of a store of version 4, as the Palaver of the time wrote them."""
    lines = re.sub(r"\bX'([0-9A-F]*)'", r"'\\x\1'", old_talks.FIRST.sql.read_text()).splitlines()
    with db.transaction():
        db.execute("SELECT set_config('search_path', %s, true)", (f'"palaver_{name}"',))
        for line in lines[1:]:
            if not line.startswith("INSERT INTO schema_migrations"):
                db.execute(line.encode())


def test_a_space_of_version_4_is_migrated_with_all_it_holds(dsn: str, db: psycopg.Connection[Row]) -> None:
    told = old_talks.FIRST.told()
    make_old(db, "old", 4)
    fill_old(db, "old")
    spaces.bring_up(db, "here", "old")
    with palaver.open(dsn, space="old", readonly=True) as store:  # nothing is recovered
        assert old_talks.told(store, told) == told
        assert store.verify() == []
    strays = db.execute(b"SELECT id FROM palaver_old.turns WHERE stray_seq IS NOT NULL").fetchall()
    assert [turn for (turn,) in strays] == [turn for one in told.values() for turn in one["strays"]]
    with palaver.open(dsn, space="old") as store:
        ids = {one["title"]: session_id for session_id, one in told.items()}
        cut_off = store.sessions.get(ids["Cut off"])
        assert [turn.status for turn in cut_off.path()] == ["aborted"]
        assert cut_off.messages()[-1]["parts"][-1]["text"] == "I am in the middle"
        store.sessions.get(ids["Talk"]).commit("On")
        assert store.verify() == []


def test_a_column_that_a_migration_forgets_is_noticed(dsn: str, db: psycopg.Connection[Row]) -> None:
    for space in ("one", "two"):
        palaver.open(dsn, space=space).close()
    assert catalogue(db, "one") == catalogue(db, "two")
    db.execute(f'ALTER TABLE {schema_of(db, "two")}.turns ALTER COLUMN owner TYPE TEXT COLLATE "default"'.encode())
    assert catalogue(db, "one") != catalogue(db, "two")


def test_a_newer_space_is_refused_and_stays_as_it_is(dsn: str, db: psycopg.Connection[Row]) -> None:
    palaver.open(dsn, space="new").close()
    db.execute("UPDATE palaver.spaces SET version = %s", (VERSION + 1,))
    with pytest.raises(palaver.SchemaTooNew):
        palaver.open(dsn, space="new")
    assert [info.version for info in spaces.every(db)] == [VERSION + 1]


def make_newer(db: psycopg.Connection[Row], space: str, writers_from: str | None) -> None:
    """As a migration of the next version leaves it, that only adds, or says so."""
    name = schema_of(db, space)
    with db.transaction():
        db.execute(f"ALTER TABLE {name}.turns ADD COLUMN dream TEXT".encode())
        db.execute(f"CREATE TABLE {name}.dreams (id TEXT PRIMARY KEY)".encode())
        db.execute(f"INSERT INTO {name}.schema_migrations VALUES ({VERSION + 1}, 'dreams', 1)".encode())
        db.execute("UPDATE palaver.spaces SET version = %s WHERE name = %s", (VERSION + 1, space))
        say_writers_from(db, space, writers_from)


def say_writers_from(db: psycopg.Connection[Row], space: str, value: str | None) -> None:
    name = schema_of(db, space)
    db.execute(f"DELETE FROM {name}.settings WHERE name = 'writers_from'".encode())
    if value is not None:
        db.execute(f"INSERT INTO {name}.settings VALUES ('writers_from', %s)".encode(), (value,))


def test_programs_of_this_version_go_on_in_a_newer_space_that_takes_them(dsn: str, db: psycopg.Connection[Row]) -> None:
    with palaver.open(dsn, space="new") as store:
        session = store.sessions.create("coder")
        turn = session.turn("Who is there?")
        turn.write({"type": "text-start", "id": "t"})
        make_newer(db, "new", str(VERSION))
        turn.write({"type": "text-delta", "id": "t", "delta": "It is still me."})
        turn.seal()
        session.commit("And on")
        with palaver.open(dsn, space="new") as other:
            other.sessions.get(session.id).commit("And another")
            assert other.verify() == []
    with palaver.open(dsn, space="new", readonly=True) as reader:
        said = [message["parts"][0]["text"] for message in reader.sessions.get(session.id).messages()]
    assert said == ["Who is there?", "It is still me.", "And on", "And another"]
    assert [info.version for info in spaces.every(db)] == [VERSION + 1]
    assert palaver.spaces(dsn).migrate() == []


@pytest.mark.parametrize("oldest", [None, str(VERSION + 1), "", "-1", "five"])
def test_one_that_does_not_take_them_is_refused_for_reading_too(
    oldest: str | None, dsn: str, db: psycopg.Connection[Row]
) -> None:
    with palaver.open(dsn, space="new") as store:
        session = store.sessions.create("coder")
        make_newer(db, "new", oldest)
        for _ in range(2):
            with pytest.raises(palaver.SchemaTooNew):
                session.commit("too old")
        for options in ({}, {"create": False}, {"readonly": True}):
            with pytest.raises(palaver.SchemaTooNew):
                palaver.open(dsn, space="new", **options)
        assert session.messages() == []


def test_who_was_let_in_is_stopped_by_the_next_that_does_not(dsn: str, db: psycopg.Connection[Row]) -> None:
    with palaver.open(dsn, space="new") as store:
        session = store.sessions.create("coder")
        make_newer(db, "new", str(VERSION))
        session.commit("beside a newer one")
        name = schema_of(db, "new")
        say_writers_from(db, "new", str(VERSION + 2))
        db.execute(f"INSERT INTO {name}.schema_migrations VALUES ({VERSION + 2}, 'more', 1)".encode())
        with pytest.raises(palaver.SchemaTooNew):
            session.commit("too old by now")


def test_a_newer_space_that_keeps_its_settings_elsewhere_is_refused(dsn: str, db: psycopg.Connection[Row]) -> None:
    palaver.open(dsn, space="new").close()
    make_newer(db, "new", str(VERSION))
    db.execute(f"ALTER TABLE {schema_of(db, 'new')}.settings RENAME TO settings_of_the_future".encode())
    for options in ({}, {"readonly": True}):
        with pytest.raises(palaver.SchemaTooNew):
            palaver.open(dsn, space="new", **options)


def test_a_newer_space_is_not_copied_for_it_may_hold_what_we_do_not_know(dsn: str, db: psycopg.Connection[Row]) -> None:
    palaver.open(dsn, space="new").close()
    make_newer(db, "new", str(VERSION))
    with pytest.raises(palaver.SchemaTooNew):
        spaces.copy(db, "here", "new", "other")
    assert [info.name for info in spaces.every(db)] == ["new"]


def test_all_text_is_compared_by_its_bytes(dsn: str, db: psycopg.Connection[Row]) -> None:
    palaver.open(dsn, space="one").close()
    columns = catalogue(db, "one")["columns"]
    text = [row for row in columns if row[3] == "text" and row[0] != "document_words_by_word"]
    assert len(text) > 60
    assert [row for row in text if row[6] != "C"] == []
    assert {row[3] for row in columns} == {"text", "bigint", "double precision", "bytea", "tsvector"}


def test_a_guest_of_one_space_sees_no_other(dsn: str, db: psycopg.Connection[Row]) -> None:
    """Nothing of a space is open to everybody."""
    palaver.open(dsn, space="one").close()
    db.execute("CREATE ROLE stranger")
    try:
        db.execute("SET ROLE stranger")
        with pytest.raises(pg.InsufficientPrivilege):
            db.execute(b"SELECT 1 FROM palaver.spaces")
        db.execute("RESET ROLE")
        name = schema_of(db, "one")
        db.execute("SET ROLE stranger")
        with pytest.raises(pg.InsufficientPrivilege):
            db.execute(f"SELECT 1 FROM {name}.chat_sessions".encode())
    finally:
        db.execute("RESET ROLE")
        db.execute("DROP ROLE stranger")
