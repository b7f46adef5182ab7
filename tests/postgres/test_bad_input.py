"""What cannot be opened, or does not fit: one sentence that says why, no password in it, and nothing is changed. Values
that a database likes to improve come back as on SQLite, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

import palaver
from palaver import BadValue, NotAStore, PalaverError, SchemaMismatch, SchemaTooNew, StoreError, StoreUnavailable
from palaver.db.postgres import pipeline
from palaver.db.postgres.address import Address
from palaver.db.postgres.errors import explain

from .server import rewritten

SECRET = "hunter2"  # trust asks for none, so that it may stand in every address
SHAPE = """
SELECT table_schema, table_name, column_name, data_type, collation_name, is_nullable, column_default
  FROM information_schema.columns
 WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
   AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE deptype = 'e'
                      AND objid = to_regclass(format('%I.%I', table_schema, table_name)))
 ORDER BY 1, 2, ordinal_position
"""  # but for what belongs to an extension
Admin = psycopg.Connection[tuple[Any, ...]]
Snapshot = tuple[list[tuple[Any, ...]], dict[str, list[tuple[Any, ...]]]]


@pytest.fixture
def admin(dsn: str) -> Iterator[Admin]:
    options = "-c statement_timeout=20s -c lock_timeout=5s"
    with closing(psycopg.connect(dsn, autocommit=True, connect_timeout=10, options=options)) as db:
        yield db


def snapshot(db: Admin) -> Snapshot:
    """Every column of every table, and every row."""
    shape = db.execute(SHAPE.encode()).fetchall()
    tables = sorted({(row[0], row[1]) for row in shape} - {("pg_catalog", "")})
    rows = {}
    for table in tables:
        found = db.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(*table))).fetchall()
        rows[".".join(table)] = sorted(found)
    schemas = db.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1").fetchall()
    return shape + schemas, rows


def with_password(dsn: str, **changes: str) -> str:
    if conninfo_to_dict(dsn).get("password"):  # a server that asks for one
        return rewritten(dsn, **changes)
    return rewritten(dsn, password=SECRET, **changes)


def refused(kind: type[PalaverError], work: Callable[[], object]) -> str:
    """The one sentence."""
    with pytest.raises(kind) as caught:
        opened = work()
        if isinstance(opened, palaver.Store):
            opened.close()
    sentence = str(caught.value)
    assert "\n" not in sentence and "Traceback" not in sentence and "psycopg" not in sentence
    assert SECRET not in sentence and 10 < len(sentence) < 400
    return sentence


# ---------------------------------------------------------------- the address


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://user:{SECRET}@[bad/db",
        f"postgresql://host/db?password={SECRET}&no_such_parameter=1",
        f"postgresql://user:{SECRET}@host:port/db",
        f"postgres://%zz:{SECRET}@host/db",
    ],
)
def test_what_is_no_address_is_said_so(address: str) -> None:
    sentence = refused(BadValue, lambda: palaver.open(address, timeout=0.2))

    assert "postgresql://" in sentence


def test_what_is_wrong_in_an_address_is_named_at_once() -> None:
    for address, what in [
        ("postgresql://u@127.0.0.1:xx/talks", "'xx' is no port"),
        ("postgresql://u@127.0.0.1:99999/talks", "'99999' is no port"),
        ("postgresql://u@127.0.0.1:1/talks?bogus=1", "no option 'bogus'"),
        ("postgresql://u@127.0.0.1:1/talks?sslmode=often", 'invalid sslmode value: "often"'),
    ]:
        assert what in refused(BadValue, lambda address=address: palaver.open(address, timeout=3_600))


def test_a_server_is_named_with_its_user_and_port_as_an_address() -> None:
    for given, name in [
        (f"postgresql://me:{SECRET}@127.0.0.1:54871/talks", "postgresql://me@127.0.0.1:54871/talks"),
        (f"postgresql://me:{SECRET}@one:1,two:2/talks?sslmode=prefer", "postgresql://me@one:1,two:2/talks"),
        ("postgresql://one,two:2/talks", "postgresql://one,two:2/talks"),
        ("postgresql:///talks?host=/run/pg&port=54", "postgresql:///talks?host=/run/pg&port=54"),
        ("postgresql://[::1]:54/talks", "postgresql://[::1]:54/talks"),
    ]:
        assert Address(given).name == Address(Address(given).name).name == name


def test_who_is_not_let_in_is_not_told_to_try_again() -> None:
    for said, kind, what in [
        ('FATAL:  password authentication failed for user "u"', StoreError, "the right user and password"),
        ("fe_sendauth: no password supplied", StoreError, "the right user and password"),
        ('FATAL:  role "u" does not exist', StoreError, "the right user and password"),
        ('FATAL:  database "talks" does not exist', NotAStore, "there is no such database"),
        ("failed to resolve host 'nowhere'", StoreUnavailable, "the host's name"),
    ]:
        told = explain(psycopg.OperationalError(f"connection failed: {said}"), "postgresql://h/talks", 1.0)
        assert type(told) is kind and what in str(told) and said in str(told) and "try again" not in str(told)
    away = explain(psycopg.OperationalError("connection failed: Connection refused"), "postgresql://h/talks", 1.0)
    assert type(away) is StoreUnavailable and "try again" in str(away)


def test_a_host_that_is_not_there(dsn: str, tmp_path: Path) -> None:
    address = with_password(dsn, host=str(tmp_path))

    assert str(tmp_path) in refused(StoreUnavailable, lambda: palaver.open(address, timeout=0.2))


def test_a_database_that_is_not_there(dsn: str) -> None:
    address = with_password(dsn, dbname="nosuchdatabase")

    assert 'database "nosuchdatabase" does not exist' in refused(StoreError, lambda: palaver.open(address))


def test_a_role_that_is_not_there(dsn: str) -> None:
    address = with_password(dsn, user="nosuchrole")

    assert 'role "nosuchrole" does not exist' in refused(StoreError, lambda: palaver.open(address))


def test_the_password_is_not_shown_by_a_store_that_is_open(dsn: str) -> None:
    with palaver.open(with_password(dsn)) as store:
        assert SECRET not in repr(store) + store.path


# ---------------------------------------------------------------- rights


@pytest.fixture
def role(admin: Admin, dsn: str, not_given: None) -> Iterator[str]:
    name = f"guest_{conninfo_to_dict(dsn)['dbname']}"
    admin.execute(f"CREATE ROLE {name} LOGIN".encode())
    yield name
    admin.execute(f"DROP OWNED BY {name}".encode())
    admin.execute(f"DROP ROLE {name}".encode())


@pytest.mark.parametrize("create", [True, False])
def test_who_may_not_make_a_schema_is_told_so(dsn: str, admin: Admin, role: str, create: bool) -> None:
    before = snapshot(admin)
    kind: type[PalaverError] = palaver.StoreReadOnly if create else NotAStore
    sentence = refused(kind, lambda: palaver.open(with_password(dsn, user=role), create=create))

    assert ("permission denied" if create else "no such space") in sentence
    assert snapshot(admin) == before


def test_who_may_not_use_the_schema_is_told_so(dsn: str, admin: Admin, role: str) -> None:
    palaver.open(dsn).close()
    before = snapshot(admin)
    sentence = refused(palaver.StoreReadOnly, lambda: palaver.open(with_password(dsn, user=role)))

    assert "permission denied" in sentence and "ask for the right" in sentence
    assert snapshot(admin) == before


def grant_reading(admin: Admin, role: str) -> None:
    for schema in ("palaver", schema_of(admin)):
        admin.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO {role}'.encode())
        admin.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {role}'.encode())


def schema_of(admin: Admin, space: str = "default") -> str:
    row = admin.execute("SELECT schema_name FROM palaver.spaces WHERE name = %s", (space,)).fetchone()
    assert row is not None
    return str(row[0])


def test_who_may_only_read_can_read_and_is_told_so_when_writing(dsn: str, admin: Admin, role: str) -> None:
    with palaver.open(dsn) as store:
        session_id = store.sessions.create().id
        store.sessions.get(session_id).commit("said")
    grant_reading(admin, role)
    before = snapshot(admin)
    with palaver.open(with_password(dsn, user=role)) as store:
        session = store.sessions.get(session_id)
        assert session.messages()[0]["parts"][0]["text"] == "said"
        refused(palaver.StoreReadOnly, lambda: session.commit("more"))
        refused(palaver.StoreReadOnly, lambda: session.turn("more"))
        refused(palaver.StoreReadOnly, store.sessions.create)
    refused(palaver.StoreReadOnly, lambda: palaver.open(with_password(dsn, user=role), space="another"))

    assert snapshot(admin) == before


# ---------------------------------------------------------------- the server


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_is_not_utf8(dsn: str, admin: Admin, not_given: None, encoding: str) -> None:
    name = f"{conninfo_to_dict(dsn)['dbname']}_{encoding.lower()}"
    admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'".encode())
    try:
        with closing(psycopg.connect(rewritten(dsn, dbname=name))) as db:
            before = snapshot(db)
            sentence = refused(StoreError, lambda: palaver.open(with_password(dsn, dbname=name)))
            assert snapshot(db) == before
    finally:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    assert encoding in sentence and "ENCODING 'UTF8'" in sentence


def test_an_older_server(dsn: str, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(admin)
    with monkeypatch.context() as patched:
        patched.setattr(psycopg.ConnectionInfo, "server_version", 140_012)
        sentence = refused(StoreError, lambda: palaver.open(with_password(dsn)))

    assert "Postgres 14" in sentence and "15" in sentence
    assert snapshot(admin) == before


# ---------------------------------------------------------------- the space


@pytest.mark.parametrize(
    "space",
    [
        'a"b',
        "a'b",
        "a;drop schema palaver",
        "é",
        "日本",
        "",
        "x" * 100,
        "Acme",
        "a b",
        "-a",
        "a\0b",
        "/tmp/talks.db",
        7,
    ],
    ids=lambda space: ascii(space)[:20],
)
def test_what_is_no_name_for_a_space(dsn: str, admin: Admin, space: Any) -> None:
    before = snapshot(admin)

    assert "no name for a space" in refused(BadValue, lambda: palaver.open(with_password(dsn), space=space))
    assert snapshot(admin) == before


@pytest.mark.parametrize("others", [False, True], ids=["none at all", "not this one"])
def test_a_space_that_is_not_there_is_not_made_unless_asked_for(dsn: str, admin: Admin, others: bool) -> None:
    if others:
        palaver.open(dsn, space="another").close()
    before = snapshot(admin)

    assert "no such space" in refused(NotAStore, lambda: palaver.open(with_password(dsn), "acme", create=False))
    assert snapshot(admin) == before


def test_a_file_is_no_place_for_a_space(tmp_path: Path) -> None:
    refused(BadValue, lambda: palaver.open(tmp_path / "talks.db", space="acme"))

    assert list(tmp_path.iterdir()) == []


def test_unknown_options_are_refused_as_for_a_file(dsn: str, admin: Admin) -> None:
    before = snapshot(admin)
    with pytest.raises(TypeError, match=r"'durabilty'; there are .*lease, pooler"):
        palaver.open(dsn, durabilty="full")
    with pytest.raises(ValueError, match="durability is"):
        palaver.open(dsn, durability="maybe")
    with pytest.raises(TypeError, match="'lease'"):
        palaver.open(":memory:", lease=1.0)

    assert snapshot(admin) == before


@pytest.mark.parametrize(
    ("option", "value"),
    [("timeout", -1), ("timeout", "soon"), ("lease", 0), ("lease", "long")],
)
def test_options_that_make_no_sense_are_refused(dsn: str, option: str, value: object) -> None:
    assert option in refused(BadValue, lambda: palaver.open(dsn, **{option: value}))


# ---------------------------------------------------------------- a schema that somebody altered

ALTERED = {
    "a column is gone": ("ALTER TABLE {}.turns DROP COLUMN fence", SchemaMismatch, "fence"),
    "a table is gone": ("DROP TABLE {}.reflog", SchemaMismatch, "reflog"),
    "the versions are gone": ("DROP TABLE {}.schema_migrations", SchemaMismatch, "schema_migrations"),
    "everything is gone": ("DROP SCHEMA {} CASCADE", SchemaMismatch, "settings"),
    "a newer version migrated it": ("INSERT INTO {}.schema_migrations VALUES (99, 'x', 0)", SchemaTooNew, "upgrade"),
    "a newer version noted it": ("UPDATE palaver.spaces SET version = 99", SchemaTooNew, "upgrade"),
    "the directory is gone": ("DROP TABLE palaver.spaces", SchemaMismatch, "restore the table"),
    "the directory is another's": ("ALTER TABLE palaver.spaces DROP COLUMN version", SchemaMismatch, "version"),
}


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_schema_is_named_and_left_alone(dsn: str, admin: Admin, what: str) -> None:
    statement, kind, word = ALTERED[what]
    with palaver.open(dsn) as store:
        session_id = store.sessions.create().id
    admin.execute(statement.format(f'"{schema_of(admin)}"').encode())
    before = snapshot(admin)

    def work() -> None:
        with palaver.open(with_password(dsn)) as store:
            palaver.Session(store, session_id).commit("said")

    assert word in refused(kind, work)
    assert snapshot(admin) == before


def test_a_store_that_is_open_notices_that_a_newer_version_migrated_it(dsn: str, admin: Admin) -> None:
    with palaver.open(with_password(dsn)) as store:
        session = store.sessions.create()
        session.commit("said")
        admin.execute(f"INSERT INTO \"{schema_of(admin)}\".schema_migrations VALUES (99, 'x', 0)".encode())
        before = snapshot(admin)
        refused(SchemaTooNew, lambda: session.commit("more"))

        assert snapshot(admin) == before


def test_the_snapshot_sees_a_row_a_column_and_a_schema(dsn: str, admin: Admin) -> None:
    palaver.open(dsn).close()
    schema = schema_of(admin)
    seen = [snapshot(admin)]
    for statement in (
        f"INSERT INTO \"{schema}\".settings VALUES ('x', 'y')",
        f'ALTER TABLE "{schema}".turns ADD COLUMN more TEXT',
        "CREATE SCHEMA another",
    ):
        admin.execute(statement.encode())
        seen.append(snapshot(admin))

    assert all(seen[n] != seen[m] for n in range(4) for m in range(n))


def test_a_sentence_with_a_password_is_noticed() -> None:
    def tell() -> None:
        raise StoreError(f"postgresql://user:{SECRET}@host/db cannot be reached")

    with pytest.raises(AssertionError):
        refused(StoreError, tell)


# ---------------------------------------------------------------- values

VERBATIM = [
    r'{"nul":"a\u0000b"}',
    r'{"half":"\ud83d"}',
    r'{"halves":"\udc00 and \ud800"}',
    '{"big":123456789012345678901234567890,"less":-99999999999999999999}',
    '{"price":1.10,"n":1e5,"zero":-0.0}',
    '{"b":1,"a":2,"B":3}',
    '{ "space" : [ 1 ,\t2 ] }',
    '{"twice":1,"twice":2}',
    r'{"escaped":"\u00e9\/","plain":"é/"}',
    '{"":{"":[]}}',
    '{"line":"\u2028 😀"}',
    r'{"quote":"\"\\","dollar":"$1 $$ %s :name"}',
]


def keep(url: str, text: str) -> tuple[str, str, list[Any], list[Any]]:
    """A value in every place that takes JSON: the transcript in bytes without its ids, open and sealed; the
    chunks as followed; and what does not fit together."""
    with palaver.open(url) as store:
        session = store.sessions.create()
        data = f'{{"type":"data-x","data":{text}}}'
        session.commit(f'{{"role":"user","metadata":{text},"parts":[{data}]}}'.encode())
        turn = session.turn(f'{{"role":"user","parts":[{data}]}}'.encode())
        turn.write(data.encode())
        turn.write(f'{{"type":"tool-input-available","toolCallId":"c","toolName":"t","input":{text}}}'.encode())
        turn.write(f'{{"type":"tool-output-available","toolCallId":"c","output":{text}}}'.encode())
        open_one = _without_ids(session)
        turn.seal()
        followed = [one.data for one in session.events() if one.kind == "chunk"]
        return open_one, _without_ids(session), followed, store.verify()


def _without_ids(session: palaver.Session) -> str:
    text = session.messages_json()
    for number, message in enumerate(session.transcript()):
        text = text.replace(message.id, f"id-{number}")
    return text


@pytest.mark.parametrize("text", VERBATIM)
def test_json_comes_back_byte_for_byte_as_on_sqlite(dsn: str, text: str) -> None:
    ours = keep(dsn, text)

    assert ours == keep(":memory:", text)
    assert ours[1].count(text) == 6


@pytest.mark.parametrize(
    "value", ["a\0b", "\ud83d", "\udc00 \ud800", 2**63, -(2**80), 1e300, 5e-324, [None, True, 0.0]]
)
def test_python_values_come_back_as_on_sqlite(dsn: str, value: Any) -> None:
    def keep_value(url: str) -> str:
        with palaver.open(url) as store:
            session = store.sessions.create(metadata={"given": value})
            session.commit({"role": "user", "parts": [{"type": "data-x", "data": {"v": value}}]})
            assert repr(session.messages()[0]["parts"][0]["data"]) == repr({"v": value})
            return _without_ids(session) + repr(session.info.metadata)

    assert keep_value(dsn) == keep_value(":memory:")


@pytest.mark.parametrize("title", ["a\0b", "\ud83d"], ids=["nul", "half"])
def test_a_title_that_no_column_holds_is_refused_as_on_sqlite(dsn: str, title: str) -> None:
    def sentence(url: str) -> str:
        with palaver.open(url) as store:
            said = refused(BadValue, lambda: store.sessions.create(title=title))
            assert store.sessions.list().sessions == []
            return said

    assert sentence(dsn) == sentence(":memory:")


def test_the_comparison_sees_a_value_that_was_improved(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = pipeline._dump

    def improve(value: Any) -> tuple[bytes | None, int, int]:
        return dump(value.replace("1.10", "1.1") if isinstance(value, str) else value)

    monkeypatch.setattr(pipeline, "_dump", improve)

    assert keep(dsn, '{"price":1.10}') != keep(":memory:", '{"price":1.10}')
