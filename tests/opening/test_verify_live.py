"""`verify` and `verify --fix` on a file that another process writes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import apsw
import pytest

import palaver
from palaver.core.upkeep import mending, standing
from palaver.core.upkeep.findings import Finding, stale
from palaver.core.upkeep.records import SessionBesideHeadRow
from palaver.model import Usage

from . import live


def deface(path: str, statement: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.set_busy_timeout(10_000)
        connection.execute(statement)
        assert connection.changes() > 0, statement


each_claim = pytest.mark.parametrize("claim", live.CLAIMS, ids=lambda claim: claim.__name__)


@each_claim
def test_a_repair_undoes_nothing_that_was_written_since_the_check(
    store: palaver.Store, path: str, claim: Callable[..., None]
) -> None:
    claim(store, path, partial(deface, path))


def test_a_writer_goes_on_beside_checks_and_repairs(store: palaver.Store, path: str) -> None:
    live.a_writer_goes_on_beside_checks_and_repairs(store, path, partial(deface, path), times=3)


def test_many_repairs_are_many_short_transactions(store: palaver.Store, path: str) -> None:
    session = store.sessions.create(agent="a")
    for number in range(250):
        session.commit(f"message {number}")
    deface(path, "UPDATE chat_messages SET metadata_json = '{\"hidden_at\":1}'")
    before = store.db.writes
    assert store.verify(fix=True) == []
    assert store.db.writes - before == 3


def test_a_check_writes_nothing_and_takes_no_lock(store: palaver.Store) -> None:
    live.talk(store)
    before = store.db.writes
    with store.db.write() as tx:
        tx.generation()  # the lock is ours
        assert store.verify() == []
    assert store.db.writes == before + 1


# ---------------------------------------------------------------- the claims notice


def sums_of_the_check(patch: pytest.MonkeyPatch) -> None:
    """Write what the check found to be right."""

    def found(row: SessionBesideHeadRow, right: Usage, _: Usage) -> Iterator[Finding]:
        def repair(locked: mending.Locked) -> None:
            locked.tx.run(mending.Q.set_rollups, session=row.id, total=right.total, **right.columns())

        if (*right.counts(), right.total) != standing.tokens_in(row):
            yield stale("rollups", row.id, "", row.id, repair)

    patch.setattr(standing, "_rollups", found)


def stamps_of_the_check(patch: pytest.MonkeyPatch) -> None:
    """Turn every stamp around that the check found wrong."""

    def stamp(row_id: str, message_id: str) -> mending.Repair:
        def repair(locked: mending.Locked) -> None:
            _, _, _, text, _ = locked.tx.one(mending.Q.get_message, id=row_id) or ("",) * 5
            turned = (
                mending.metadata.unhide(text) if mending.metadata.is_hidden(text) else mending.metadata.hide(text, 1)
            )
            locked.tx.run(mending.Q.set_message_metadata, id=row_id, metadata=turned, now=1)

        return repair

    patch.setattr(mending, "stamp", stamp)


def part_rows_of_the_check(patch: pytest.MonkeyPatch) -> None:
    """Write the parts as they were folded in the check."""
    fit, folded = mending.part_rows_fit, dict[str, Any]()

    def remember(tx: Any, turn: Any) -> bool:
        folded[turn.id] = turn
        return fit(tx, turn)

    def part_rows(turn_id: str) -> mending.Repair:
        def repair(locked: mending.Locked) -> None:
            for index in range(len(folded[turn_id].fold.parts)):
                mending.response.write_part(locked.tx, folded[turn_id], index)

        return repair

    patch.setattr(mending, "part_rows_fit", remember)
    patch.setattr(mending, "part_rows", part_rows)


PLANTED = dict(zip(live.CLAIMS, (sums_of_the_check, stamps_of_the_check, part_rows_of_the_check), strict=True))


@each_claim
def test_a_repair_that_does_not_look_again_is_noticed(
    store: palaver.Store, path: str, claim: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTED[claim](monkeypatch)
    with pytest.raises(AssertionError):
        claim(store, path, partial(deface, path))
