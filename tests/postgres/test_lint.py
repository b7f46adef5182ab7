"""The SQL stays inside what schema-sharded Postgres allows, and every statement runs in any space, and only there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

import palaver
from palaver.db.postgres import dialect
from palaver.db.postgres.engine import PostgresDatabase
from palaver.db.postgres.settings import Settings
from palaver.db.queries import Q, Queries, Query, of_engine
from palaver.db.schema import migrations, statements
from palaver.db.schema import text as schema_text

from .engines import connect, schema_of
from .linting import RULES, findings
from .server import rewritten

NUMBERS = {"now", "stamps", "events"}  # never NULL: their type says which sum is meant


def _is_of_postgres(query: Query) -> bool:
    """But what is told its space when it is sent."""
    return bool(of_engine("postgres", query.body)) and "{space}" not in query.body


OURS = [query for query in map(Q.__getattr__, dir(Q)) if _is_of_postgres(query)]


def written() -> Iterator[tuple[str, str]]:
    """(where, statement) of all SQL there is, as written and as Postgres gets it."""
    for query in Q:
        yield f"{query.name}, as written", of_engine("postgres", query.body) or ""
        yield f"{query.name}, on Postgres", dialect.translate(query).text
    yield "the lock of a head", dialect.LOCK
    for parts in (False, True):  # they name their own space
        yield "chunks of many streams", dialect.append_chunks("here", parts=parts).replace("here.", "")
    for name, text in [("schema", schema_text("postgres")), *migrations()]:
        for statement in statements(text):
            yield f"{name}, as written", statement
        for statement in dialect.schema(text):
            yield f"{name}, on Postgres", statement


def test_every_statement_keeps_the_rules() -> None:
    found = [finding for where, statement in written() for finding in findings(where, statement)]
    assert found == []


def test_there_is_something_to_keep_them() -> None:
    names = [where for where, _ in written()]
    assert len(names) > 300
    assert {"take_head, as written", "schema, on Postgres", "0001_kernel, as written"} <= set(names)


PLANTED = {
    "one statement each": ["DELETE FROM turns; DELETE FROM heads"],
    "no triggers": [
        "CREATE TRIGGER t AFTER INSERT ON heads EXECUTE FUNCTION f()",
        "CREATE FUNCTION f AS 'x'",
    ],
    "no MERGE": ["MERGE INTO heads h USING turns t ON h.turn_id = t.id WHEN MATCHED THEN DELETE"],
    "no CYCLE or SEARCH": [
        "WITH RECURSIVE p (id) AS (SELECT 1) CYCLE id SET seen USING way SELECT id FROM p",
        "WITH RECURSIVE p (id) AS (SELECT 1) SEARCH DEPTH FIRST BY id SET o SELECT id FROM p",
    ],
    "no subquery in VALUES": [
        "INSERT INTO heads (session_id) VALUES ((SELECT id FROM turns))",
        "INSERT INTO heads (session_id, revision) VALUES (coalesce(:a, 1), (SELECT id FROM turns))",
    ],
    "no recursion before INSERT": [
        "WITH RECURSIVE p (id) AS (SELECT 1) INSERT INTO pruned (part_id) SELECT id FROM p",
    ],
    "only immutable functions": [
        "UPDATE turns SET started_at = random()",
        "INSERT INTO owners (id, started_at) VALUES (:id, now()) ON CONFLICT (id) DO NOTHING",
        "UPDATE owners SET lease_until = extract(epoch FROM clock_timestamp())",
        "SELECT id FROM turns WHERE started_at > CURRENT_TIMESTAMP",
        "UPDATE heads SET title = to_tsvector(title) WHERE session_id = :session RETURNING gen_random_uuid()",
    ],
    "no advisory locks": ["SELECT pg_advisory_xact_lock(:key)"],
    "no other schema": [
        "SELECT id FROM other.turns",
        "INSERT INTO palaver.spaces (name) VALUES (:name)",
        'SELECT t.id FROM turns t JOIN "acme"."heads" h ON h.turn_id = t.id',
        "ALTER TABLE x.turns ADD COLUMN live INTEGER",
        "CREATE TABLE turns (id TEXT REFERENCES other.heads (id))",
    ],
    "no path of its own": ["SET LOCAL search_path TO other"],
    "no inheritance": ["CREATE TABLE copies (id TEXT) INHERITS (turns)", "CREATE SCHEMA a CREATE TABLE t (id TEXT)"],
    "nothing in public": ["CREATE TABLE public.chat_sessions (id TEXT)"],
    "no sequences": ["CREATE TABLE events (seq BIGSERIAL PRIMARY KEY)"],
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_what_breaks_it(rule: str) -> None:
    assert PLANTED[rule], "a rule without an example"
    for statement in PLANTED[rule]:
        assert rule in [finding.rule for finding in findings("planted", statement)], statement


def test_a_statement_that_only_speaks_of_such_things_is_none() -> None:
    harmless = "SELECT id FROM turns WHERE status = 'merge into now() ; trigger' -- random() in public.x"
    assert list(findings("planted", harmless)) == []


def test_a_planted_statement_is_found_among_the_named_ones() -> None:
    planted = Queries("-- name: look\n-- A comment.\nSELECT seq, now() FROM events;\n")
    assert [finding.rule for query in planted for finding in findings(query.name, query.body)] == [
        "only immutable functions"
    ]


# ---------------------------------------------------------------- on a real server, in two spaces


@pytest.fixture
def two(dsn: str) -> Iterator[tuple[str, psycopg.Connection[tuple[object, ...]]]]:
    """A role that may use two spaces and has no rights elsewhere: its connection, and where it is."""
    for space in ("one", "two"):
        palaver.open(dsn, space=space).close()
    role = f"guest_{os.urandom(4).hex()}"
    with closing(connect(dsn)) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        admin.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        try:
            for space in ("one", "two"):
                _admit(admin, role, schema_of(admin, space))
            with closing(psycopg.connect(rewritten(dsn, user=role, password=""))) as guest:
                yield dsn, guest
        finally:
            admin.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def _admit(admin: psycopg.Connection[tuple[object, ...]], role: str, space: str) -> None:
    names = {"role": sql.Identifier(role), "space": sql.Identifier(space)}
    admin.execute(sql.SQL("GRANT USAGE ON SCHEMA {space} TO {role}").format(**names))
    admin.execute(sql.SQL("GRANT ALL ON ALL TABLES IN SCHEMA {space} TO {role}").format(**names))


def enter(db: psycopg.Connection[tuple[object, ...]], space: str) -> None:
    """For the transaction that begins here."""
    db.execute("SELECT set_config('search_path', %s, true)", (f'"{space}"',))


def refusals(db: psycopg.Connection[tuple[object, ...]], space: str, query: Query) -> list[str]:
    """Run a statement in a space with next to nothing but NULLs, and take it back. A constraint may refuse them."""
    text, found = dialect.translate(query).text, []
    try:
        enter(db, space)
        psycopg.RawCursor(db).execute(text, [0 if name in NUMBERS else None for name in query.names])
    except pg.IntegrityError:
        pass  # class 23: it was understood
    except psycopg.Error as error:
        found = [f"{query.name} in {space}: {error.sqlstate} {str(error).splitlines()[0]}"]
    db.rollback()
    return found


def test_every_statement_runs_in_two_spaces_without_rights_elsewhere(
    two: tuple[str, psycopg.Connection[tuple[object, ...]]],
) -> None:
    dsn, guest = two
    with closing(connect(dsn)) as admin:
        schemas = [schema_of(admin, space) for space in ("one", "two")]
    assert len(OURS) > 150
    assert [each for space in schemas for query in OURS for each in refusals(guest, space, query)] == []


def test_a_statement_that_leaves_its_space_or_names_nothing_is_found(
    two: tuple[str, psycopg.Connection[tuple[object, ...]]],
) -> None:
    dsn, guest = two
    with closing(connect(dsn)) as admin:
        here = schema_of(admin, "one")
    away, nothing = Query("away", "SELECT name FROM palaver.spaces"), Query("nothing", "SELECT id FROM turnz")
    assert [text.split(": ")[1][:5] for text in refusals(guest, here, away)] == ["42501"]
    assert [text.split(": ")[1][:5] for text in refusals(guest, here, nothing)] == ["42P01"]


def test_a_prepared_statement_is_of_the_space_it_runs_in(dsn: str) -> None:
    for space in ("one", "two"):
        with palaver.open(dsn, space=space) as store:
            store.sessions.create(title=space)
    with closing(psycopg.connect(dsn, prepare_threshold=0)) as db:
        found = []
        for space in ("one", "two") * 4:
            enter(db, schema_of(db, space))
            cursor = psycopg.RawCursor(db).execute(dialect.translate(Q.find_title).text, (space,))
            found.append(len(cursor.fetchall()))
            db.rollback()
    assert found == [1] * 8


IN_PUBLIC = """
SELECT relname FROM pg_class c WHERE relnamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = c.oid AND deptype = 'e')
"""  # but for what belongs to an extension
TRIGGERS = """
SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
 WHERE NOT tgisinternal AND relnamespace <> 'pg_catalog'::regnamespace
"""  # but for those of an extension's catalogs


def test_public_holds_nothing_and_no_path_means_no_table(dsn: str) -> None:
    palaver.open(dsn, space="one").close()
    with closing(connect(dsn)) as db:
        assert db.execute(IN_PUBLIC).fetchall() == []
        with pytest.raises(pg.UndefinedTable):
            db.execute("SELECT id FROM chat_sessions")
        assert db.execute(TRIGGERS).fetchall() == []


def test_every_transaction_sets_its_own_path_for_itself_alone(dsn: str) -> None:
    for pooler in (True, False):
        settings = Settings('"here"', 1.0, "on", pooler=pooler)
        for text in (settings.of_reading(), settings.of_writing("off", "channel")):
            assert "set_config('search_path', '\"here\"', true)" in text and "false" not in text


def test_behind_a_pooler_no_connection_keeps_a_path(dsn: str) -> None:
    db = PostgresDatabase(dsn, "one", pooler=True)
    try:
        with db.read() as tx:
            tx.one(Q.any_session)
        link = db.pool.borrow()
        assert link.connection.execute("SHOW search_path").fetchone() == ('"$user", public',)
        db.pool.give_back(link)
    finally:
        db.close()
