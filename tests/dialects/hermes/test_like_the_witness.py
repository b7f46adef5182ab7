"""Ours and the real `SessionDB`, told the same at random, say the same; where PALAVER_HERMES names the real one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from .lives import Difference, Twins
from .support import ours, witness

LONG = range(100, 112)


def live(place: str | Path, kind: Any, folder: Path, patch: pytest.MonkeyPatch, seed: int, steps: int) -> None:
    with closing(kind(place)) as mine, closing(witness()(folder / f"real{seed}.db")) as real:
        Twins(mine, real, patch, seed).live(steps)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_life_on_a_file(path_of_ours: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    live(path_of_ours, ours(), path_of_ours.parent, monkeypatch, seed, 120)


def test_a_life_on_postgres(ready_space: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live("#".join(ready_space), ours(), tmp_path, monkeypatch, 4, 120)


@pytest.mark.long
@pytest.mark.parametrize("seed", LONG)
def test_a_long_life_on_a_file(path_of_ours: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    live(path_of_ours, ours(), path_of_ours.parent, monkeypatch, seed, 400)


@pytest.mark.long
@pytest.mark.parametrize("seed", LONG[:3])
def test_a_long_life_on_postgres(
    ready_space: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    live("#".join(ready_space), ours(), tmp_path, monkeypatch, seed, 400)


# ---------------------------------------------------------------- planted


def wrapped(method: str, other: Callable[..., Any]) -> Callable[[Any], Any]:
    """A class that does something else there; what that gets first is what the method of the class does."""

    def plant(kind: Any) -> Any:
        true = getattr(kind, method)
        return type(kind.__name__, (kind,), {method: lambda self, *given, **named: other(self, true, *given, **named)})

    return plant


def later_reason(db: Any, end: Any, id: str, reason: str) -> None:
    db.reopen_session(id)
    end(db, id, reason)


def empty_is_null(db: Any, append: Any, id: str, role: str, content: Any, **given: Any) -> Any:
    return append(db, id, role, content or None, **given)


def results_in_order(db: Any, read: Any, id: str) -> Any:
    """Of a run of results, by the call."""
    rows = read(db, id)
    for at in range(1, len(rows)):
        before, row = rows[at - 1], rows[at]
        if before["role"] == row["role"] == "tool" and (before["tool_call_id"] or "") > (row["tool_call_id"] or ""):
            rows[at - 1], rows[at] = row, before
    return rows


def strays_are_lost(db: Any, read: Any, id: str) -> Any:
    known = {call["id"] for row in read(db, id) for call in row["tool_calls"] or ()}
    return [row for row in read(db, id) if row["role"] != "tool" or row["tool_call_id"] in known]


def orphans_are_deleted(db: Any, delete: Any, id: str) -> Any:
    for row in db.search_sessions(limit=1_000):
        if row["parent_session_id"] == id:
            delete(db, row["id"])
    return delete(db, id)


def adding_always(db: Any, update: Any, id: str, absolute: bool = False, **given: Any) -> None:
    update(db, id, **given)


def clear_the_ended_only(db: Any, clear: Any, id: str) -> None:
    if (db.get_session(id) or {}).get("ended_at"):
        clear(db, id)


def half_a_context(db: Any, search: Any, query: str, **how: Any) -> Any:
    return [{**hit, "context": hit["context"][-2:]} for hit in search(db, query, **how)]


def one_row_too_many(db: Any, read: Any, **how: Any) -> Any:
    return read(db, **{**how, "include_children": True}) if how.get("source") else read(db, **how)


PLANTED = {
    "the last reason stays": wrapped("end_session", later_reason),
    "an empty text is null": wrapped("append_message", empty_is_null),
    "results are sorted by their calls": wrapped("get_messages", results_in_order),
    "results that nobody waits for are lost": wrapped("get_messages", strays_are_lost),
    "children go with their parent": wrapped("delete_session", orphans_are_deleted),
    "absolute counts are added": wrapped("update_token_counts", adding_always),
    "only ended sessions are cleared": wrapped("clear_messages", clear_the_ended_only),
    "a context is cut": wrapped("search_messages", half_a_context),
    "children are listed by source": wrapped("list_sessions_rich", one_row_too_many),
}


@pytest.mark.planted("results that nobody waits for are lost")
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(path_of_ours: Path, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    with pytest.raises(Difference):
        live(path_of_ours, PLANTED[bug](ours()), path_of_ours.parent, monkeypatch, 1, 400)
