"""How a statement is written: what both engines share, what is of one alone, and what is written once for several."""

from __future__ import annotations

import apsw
import pytest

from palaver.db.postgres import dialect
from palaver.db.queries import Q, Queries

WRITTEN = """
-- snippet: newest
-- Of a session.
(SELECT max(seq) FROM events WHERE session_id = :session)

-- snippet: next
{newest} + 1

-- name: shared
-- A comment.
SELECT greatest({next}, :least) FROM heads
-- postgres: FOR UPDATE
;

-- name: variants
-- sqlite:
SELECT rowid FROM heads WHERE session_id = :session;
-- postgres:
SELECT ctid FROM heads WHERE session_id = :session;

-- name: only_there
-- postgres:
SELECT now() FROM {space}.heads;
"""


def both(name: str) -> tuple[str, str]:
    query = getattr(Queries(WRITTEN), name)
    return query.text, dialect.translate(query).text


def test_a_snippet_is_filled_in_and_a_line_of_one_engine_is_left_out_on_the_other() -> None:
    newest = "(SELECT max(seq) FROM events WHERE session_id = {}) + 1"
    assert both("shared") == (
        f"SELECT max({newest.format(':session')}, :least) FROM heads;",
        f"SELECT greatest({newest.format('$1')}, $2) FROM heads FOR UPDATE",
    )
    assert Queries(WRITTEN).shared.names == ("session", "least")


def test_a_statement_may_have_a_text_for_each_engine() -> None:
    assert both("variants") == (
        "SELECT rowid FROM heads WHERE session_id = :session;",
        "SELECT ctid FROM heads WHERE session_id = $1",
    )


def test_a_statement_of_one_engine_is_refused_by_the_other() -> None:
    written = Queries(WRITTEN)
    assert both("only_there")[1] == "SELECT now() FROM {space}.heads"
    assert [query.name for query in written] == ["shared", "variants"]
    assert dir(written) == ["only_there", "shared", "variants"]
    for query in (written.only_there, Q.append_chunks, Q.lock_head):
        with pytest.raises(apsw.SQLError):
            apsw.Connection(":memory:").execute(query.text)


def test_a_snippet_that_is_not_there_is_missed() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        Queries("-- name: lost\nSELECT {nowhere};").lost  # noqa: B018
