"""What Postgres promises as SQLite does: byte order (78), no clock in a race (119), plain rows for others (144)."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import psycopg
import pytest

import palaver
from palaver import exports
from palaver.base import clock, ids
from palaver.db.postgres import dialect
from palaver.db.queries import Q, Query

from .engines import Row, connect, schema_of

FROZEN_MS = 1_800_000_000_000
TAILS = ["AAAAAAAAAAAA", "aaaaaaaaaaaa", "ZZZZZZZZZZZZ", "zzzzzzzzzzzz", "000000000000", "AaAaAaAaAaAa", "aAaAaAaAaAaA"]
NAMES = ["z", "Z", "é", "e\u0301", "ß", "ss", "😀", "\uffee", "ñ", "0", "a b", "a-b", "_", "Ä", "ä"]


@contextmanager
def frozen(ms: int) -> Iterator[None]:
    """Ids start anew with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "_now_ns", lambda: ms * 1_000_000)
        patch.setattr(ids, "_last", 0)
        yield


# ---------------------------------------------------------------- 78: byte order


def orders(store: palaver.Store) -> dict[str, list[Any]]:
    """Sessions of one moment, names outside ASCII; everything that is sorted by text."""
    wanted = [f"ses_1a3185c5000000{tail}" for tail in TAILS]
    for one in wanted[::2] + wanted[1::2]:
        store.sessions.create("a", id=one, title="same")
    named = store.sessions.get(wanted[0])
    for name in NAMES:
        named.alias(name, "label")
        named.alias("of all", f"space {name}")
        store.put_foreign_id("origin", name, named.id)
    pages = [store.sessions.list(limit=2)]
    while pages[-1].next:
        pages.append(store.sessions.list(limit=2, after=pages[-1].next))
    out = BytesIO()
    exports.write(store.db, out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    return {
        "list": [info.id for page in pages for info in page.sessions],
        "by creation": [info.id for info in store.sessions],
        "pieces of ids": sorted(info.id for info in store.sessions.match("1a3185c5")),
        "aliases": named.aliases(),
        "sessions of an export": [line["id"] for line in lines if line.get("table") == "chat_sessions"],
        "aliases of an export": [(x["namespace"], x["name"]) for x in lines if x.get("table") == "aliases"],
        "foreign ids of an export": [x["foreign_id"] for x in lines if x.get("table") == "foreign_ids"],
    }


@pytest.fixture
def linguistic(dsn: str) -> Iterator[str]:
    """A database whose own order is a language's, as many are."""
    name = f"icu_{dsn.rpartition('palaver_')[2].partition('?')[0]}"
    with closing(connect(dsn)) as db:
        try:
            text = f"CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'"
            db.execute(text.encode())
        except psycopg.Error as error:
            pytest.skip(f"this server knows no languages: {error}")
        try:
            yield dsn.replace(f"/{db.info.dbname}?", f"/{name}?")
        finally:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_promise_078_lists_aliases_and_exports_are_in_the_same_order_on_both_engines(
    path: str, linguistic: str
) -> None:
    with closing(connect(linguistic)) as db:
        assert db.execute("SELECT 'a' < 'B', 'é' < 'z'").fetchone() == (True, True), "its own order is by bytes"
    with frozen(FROZEN_MS), palaver.open(path) as store:
        here = orders(store)
    with frozen(FROZEN_MS), palaver.open(linguistic) as store:
        there = orders(store)

    assert there == here
    assert here["list"] == sorted((f"ses_1a3185c5000000{tail}" for tail in TAILS), key=str.encode)[::-1]
    assert [name for space, name in here["aliases"] if space == "label"] == sorted(NAMES, key=str.encode)


def test_promise_078_another_order_would_be_noticed(
    path: str, linguistic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(dialect.TYPES, "TEXT", "TEXT")
    with frozen(FROZEN_MS), palaver.open(path) as store:
        here = orders(store)
    with frozen(FROZEN_MS), palaver.open(linguistic) as store:
        assert orders(store) != here


# ---------------------------------------------------------------- 119: no clock in a race


def race(dsn: str, racers: int, rounds: int) -> tuple[list[list[int]], palaver.SessionInfo]:
    """Who won each round: everybody tries to move the head from the same revision."""
    stores = [palaver.open(dsn, space="race") for _ in range(racers)]
    gate, won = threading.Barrier(racers), [[] for _ in range(rounds)]  # type: list[list[int]]
    try:
        session = stores[0].sessions.create()

        def run(which: int) -> None:
            here = stores[which].sessions.get(session.id)
            for number in range(rounds):
                gate.wait(60)
                try:
                    here.commit(f"{which} in round {number}", expected=number)
                    won[number].append(which)
                except palaver.HeadConflict as lost:
                    assert lost.expected == number

        with ThreadPoolExecutor(racers) as pool:
            list(pool.map(run, range(racers)))
        return won, session.info
    finally:
        for store in stores:
            store.close()


def test_promise_119_a_race_for_a_revision_has_one_winner_while_the_clock_stands_still(dsn: str) -> None:
    with frozen(FROZEN_MS):
        won, info = race(dsn, 8, 20)

    assert [len(winners) for winners in won] == [1] * 20
    assert (info.revision, info.turns, info.updated_at) == (20, 20, FROZEN_MS)
    with palaver.open(dsn, space="race") as store:
        session = store.sessions.get(info.id)
        said = [message["parts"][0]["text"] for message in session.messages()]
        assert said == [f"{winners[0]} in round {number}" for number, winners in enumerate(won)]
        assert store.verify() == []


def test_promise_119_a_race_that_is_decided_by_time_is_noticed(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared with the time of the last change instead of the revision, several win."""
    translate = dialect.translate

    def by_time(query: Query) -> dialect.Statement:
        told = translate(query)
        if query is not Q.advance_head:
            return told
        return told._replace(text=told.text.replace("AND revision = coalesce($", "AND last_at > 0 * coalesce($"))

    assert by_time(Q.advance_head) != translate(Q.advance_head)
    monkeypatch.setattr(dialect, "translate", by_time)
    with frozen(FROZEN_MS):
        won, _ = race(dsn, 8, 5)
    assert [len(winners) for winners in won] != [1] * 5


# ---------------------------------------------------------------- 144: plain SQL


def contract_reader(db: psycopg.Connection[Row], session_id: str) -> list[dict[str, Any]]:
    """A reader that knows the three tables and nothing else, and shares no code with us."""
    messages = db.execute(
        "SELECT id, role, metadata_json FROM chat_messages WHERE session_id = %s ORDER BY created_at, id", (session_id,)
    ).fetchall()
    found = []
    for key, role, metadata in messages:
        told = json.loads(metadata)
        if "hidden_at" in told or "queued_at" in told:
            continue
        parts = db.execute('SELECT data_json FROM chat_parts WHERE message_id = %s ORDER BY "index"', (key,)).fetchall()
        message = {"id": key, "role": role, "parts": [json.loads(data) for (data,) in parts]}
        found.append(message | ({"metadata": told} if told else {}))
    return found


def live(store: palaver.Store) -> None:
    """Streams, tools, branches, rewinds, whole forks, a queue, a sub-agent."""
    session = store.sessions.create("coder", title="A life", metadata={"k": [1.10]})
    answer(session.turn("first", model="acme/one", system_prompt="Be kind."), "one")
    session.commit([{"role": "user", "parts": [{"type": "text", "text": "größer"}], "metadata": {"mine": None}}])
    turn = session.turn("with a tool")
    turn.append(
        [
            {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"q": "\x00"}},
            {"type": "tool-output-available", "toolCallId": "c", "output": {"deep": [1, {"er": None}]}},
            {"type": "reasoning-start", "id": "r"},
            {"type": "reasoning-delta", "id": "r", "delta": "hm"},
            {"type": "reasoning-end", "id": "r"},
        ]
    )
    turn.usage(input=3, output=4)
    turn.seal()
    answer(session.regenerate(), "another")
    answer(session.edit(session.messages()[-2]["id"], "asked otherwise"), "yet another")
    session.rewind(session.path()[1])
    answer(session.turn("and on"), "on and on")
    answer(session.fork(session.messages()[1]["id"], copy=True).turn("in the fork"), "forked")
    answer(store.sessions.create("helper", parent=session).turn("a task"), "done")
    session.enqueue("waits")
    store.sessions.create("coder", title="nothing said")


def answer(turn: palaver.Turn, words: str) -> None:
    turn.append([{"type": "start-step"}, {"type": "text-start", "id": "t"}])
    for piece in words:
        turn.write({"type": "text-delta", "id": "t", "delta": piece})
    turn.append([{"type": "text-end", "id": "t"}, {"type": "finish-step"}, {"type": "finish"}])
    turn.seal()


def shown(session: palaver.Session) -> list[dict[str, Any]]:
    """By the ids of their rows: a client may know a message by another."""
    rows = [message.id for message in session.transcript()]
    return [message | {"id": key} for key, message in zip(rows, session.messages(), strict=True)]


def test_promise_144_plain_sql_rebuilds_every_session_from_the_contract_tables(dsn: str) -> None:
    with palaver.open(dsn, space="acme") as store, closing(connect(dsn, "acme")) as db:
        live(store)
        keys = [row[0] for row in db.execute("SELECT id FROM chat_sessions ORDER BY id").fetchall()]
        assert len(keys) == 4
        for key in keys:
            assert without_copies(contract_reader(db, key)) == without_copies(shown(store.sessions.get(key)))


def without_copies(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A fork's copies have ids of their own, for rows that live elsewhere."""
    return [{key: value for key, value in message.items() if key != "id"} for message in messages]


def test_promise_144_a_row_that_another_program_sees_differently_is_noticed(dsn: str) -> None:
    with palaver.open(dsn, space="acme") as store, closing(connect(dsn, "acme")) as db:
        session = store.sessions.create()
        answer(session.turn("q"), "a")
        assert contract_reader(db, session.id) == shown(session)
        db.execute("UPDATE chat_messages SET metadata_json = '{\"hidden_at\":1}' WHERE role = 'assistant'")
        assert contract_reader(db, session.id) != shown(session)


def write_plainly(db: psycopg.Connection[Row], key: str, texts: list[str]) -> None:
    """A session, as a program writes it that knows only the contract."""
    with db.transaction():
        answers = len(texts) // 2
        db.execute(
            "INSERT INTO chat_sessions (id, agent, model_json, prompt_tokens, completion_tokens, total_tokens,"
            " created_at, updated_at) VALUES (%s, 'other', '{}', %s, %s, %s, 1, 9)",
            (key, 2 * answers, 3 * answers, 5 * answers),
        )
        for number, words in enumerate(texts):
            role = ("user", "assistant")[number % 2]
            metadata = '{"usage": {"input": 2, "output": 3}}' if number % 2 else '{"k": [1.10]}'
            message = (f"{key}-m{number}", key, role, metadata, 10 + number, 10 + number)
            db.execute("INSERT INTO chat_messages VALUES (%s, %s, %s, %s, %s, %s)", message)
            part = (f"{key}-p{number}", f"{key}-m{number}", key, 0, "text", json.dumps({"type": "text", "text": words}))
            db.execute("INSERT INTO chat_parts VALUES (%s, %s, %s, %s, %s, %s, NULL, NULL, 1, 1)", part)


def words_of(session: palaver.Session) -> list[str]:
    return [part["text"] for message in session.messages() for part in message["parts"] if "text" in part]


@pytest.mark.parametrize("opened_before", [True, False])
def test_promise_144_a_session_of_plain_inserts_opens_lists_loads_continues_and_forks(
    dsn: str, opened_before: bool
) -> None:
    texts = ["Why?", "The linker flag.", "And now?", "All green."]
    with closing(palaver.open(dsn, space="acme")), closing(connect(dsn, "acme")) as db:
        if not opened_before:
            write_plainly(db, "theirs", texts)
        with palaver.open(dsn, space="acme") as store:
            if opened_before:
                write_plainly(db, "theirs", texts)
            session = store.sessions.get("theirs")
            assert [info.id for info in store.sessions.list().sessions] == ["theirs"]
            assert session.messages() == contract_reader(db, "theirs")

            answer(session.turn("Mine."), "Ours.")
            assert words_of(session) == [*texts, "Mine.", "Ours."]
            assert [turn.kind for turn in session.path()] == ["foreign", "foreign", "turn"]
            assert words_of(session.fork("theirs-m1")) == texts[:2]
            assert words_of(session.fork()) == words_of(session)
            assert contract_reader(db, "theirs") == shown(session)
            assert store.verify() == []


def test_promise_144_rows_that_come_while_we_write_are_adopted(dsn: str) -> None:
    with palaver.open(dsn, space="acme") as store, closing(connect(dsn, "acme")) as db:
        session = store.sessions.create()
        for number in itertools.count():
            session.commit(f"ours {number}")
            if number == 3:
                break
            at = clock.now_ms() + 1
            row = (f"their-{number}", session.id, at, at)
            db.execute("INSERT INTO chat_messages VALUES (%s, %s, 'user', '{}', %s, %s)", row)
        assert [turn.kind for turn in session.path()] == ["turn", "foreign"] * 3 + ["turn"]
        assert store.verify() == []


def test_promise_144_two_programs_on_postgres_and_a_file_hold_the_same_rows(
    dsn: str, path: str, tmp_path: Path
) -> None:
    """What one engine wrote, carried over as an export, is row for row what plain SQL finds on the other."""
    with palaver.open(dsn, space="acme") as there, palaver.open(path) as here, closing(connect(dsn, "acme")) as db:
        live(there)
        out = BytesIO()
        exports.write(there.db, out)
        exports.read(here.db, BytesIO(out.getvalue()))
        for table in ("chat_sessions", "chat_messages", "chat_parts"):
            name = f'"{schema_of(db, "acme")}".{table}'
            rows = db.execute(f"SELECT * FROM {name} ORDER BY id".encode()).fetchall()
            assert list(here.db.query(f"SELECT * FROM {table} ORDER BY id")[1]) == rows
        assert here.verify() == []
