"""A source that lives is grafted after everything that happens to it: the store reads as the source does, nothing is
written twice, and nothing that was here is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import palaver
from palaver.grafts import source as grafts_source

from ..postgres.conftest import _spaces, ready_space, server
from ..tools.sql import everything, query
from ..tools.talk import texts
from .fake import Source

__all__ = ["_spaces", "ready_space", "server"]
SEED = int(os.environ.get("PALAVER_SEED", "20261118"))
TABLES = "chat_sessions chat_messages chat_parts turns turn_entries heads reflog events natives usage foreign_ids"


def picture(store: palaver.Store) -> list[object]:
    """Every row of every table that a graft writes."""
    found = everything(store.path)
    return [found[table] for table in TABLES.split()]


def visible(store: palaver.Store, session_id: str) -> list[str]:
    """The messages that a program sees which knows only the contract, in its order."""
    return [
        text
        for (text,) in query(
            store.path,
            "SELECT p.data_json ->> '$.text' FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id"
            " WHERE m.session_id = ? AND instr(m.metadata_json, '\"hidden_at\"') = 0 AND p.type = 'text'"
            ' ORDER BY m.created_at, m.id, p."index"',
            session_id,
        )
    ]


def live(store: palaver.Store, seed: int, steps: int, *, by_sql: bool = True) -> None:
    source, known = Source(seed), set[str]()
    for number in range(steps):
        happened = source.step() if number else "begin"
        where = f"seed {seed}, step {number} ({happened})"
        store.graft(source.session())
        session = store.sessions.get("f-1")
        assert texts(session) == source.texts(), where
        turns = {turn.id for turn in session.tree()}
        assert known <= turns, where
        known = turns
        if by_sql:
            assert visible(store, session.id) == source.texts(), where
            before = picture(store)
        assert store.graft(source.session()).turns == 0, where
        assert not by_sql or picture(store) == before, where
    assert store.verify() == []
    with palaver.open(":memory:") as fresh:
        fresh.graft(source.session())
        assert texts(fresh.sessions.get("f-1")) == texts(session)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what belongs together comes in several."""
    monkeypatch.setattr(grafts_source, "TURNS", 3)


SEEDS = [SEED, SEED + 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(SEED + 2, SEED + 6))]


@pytest.mark.parametrize("seed", SEEDS)
def test_promise_171_the_store_reads_as_the_source_after_everything_that_happens_to_it(
    store: palaver.Store, seed: int
) -> None:
    live(store, seed, 40)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_promise_171_at_length(tmp_path: Path, part: int) -> None:
    for each in range(10):
        with palaver.open(tmp_path / f"{each}.db") as store:
            live(store, SEED + 1_000 + 10 * part + each, 120)


def test_promise_171_on_postgres(ready_space: tuple[str, str]) -> None:
    dsn, space = ready_space
    with palaver.open(dsn, space=space) as store:
        live(store, SEED, 40, by_sql=False)


def test_a_graft_that_forgets_what_it_knew_is_noticed(store: palaver.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from palaver.core.read import natives

    monkeypatch.setattr(natives, "match", lambda tx, session_id, origin, parent, items: natives.Known(parent, 0))
    with pytest.raises(AssertionError):
        live(store, SEED, 40)


# ---------------------------------------------------------------- what was erased here


def test_what_was_erased_here_is_known_by_its_digest_and_does_not_come_in_again(store: palaver.Store) -> None:
    from ..tools.sql import execute

    source = Source(SEED)
    for _ in range(5):
        source.grow()
    store.graft(source.session())
    gone = store.sessions.get("f-1").path()[2]
    [message] = store.sessions.get("f-1").messages_of(gone.id)
    execute(store.path, "UPDATE natives SET body = NULL, codec = NULL WHERE turn_id = ?", gone.id)
    execute(store.path, "DELETE FROM chat_parts WHERE message_id = ?", message.id)
    before = picture(store)
    assert store.graft(source.session()).turns == 0
    assert picture(store) == before
    assert store.natives(gone.id)[0].body is None
