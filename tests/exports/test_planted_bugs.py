"""Every check is worth something: with a bug planted in the product, the test that claims otherwise fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.core.upkeep import rules
from palaver.exports import groups, import_checks, import_group, lines, markdown_page, reader, selection, tables
from palaver.exports.results import Rejected

from . import test_again, test_damage, test_forged, test_hostile, test_round_trip, test_selected, test_views
from .conftest import Source
from .support import contents, export, take

Scratch = Callable[[str], palaver.Store]


class Room:
    """What a claim may use, and the way to plant a bug."""

    def __init__(
        self, source: Source, scratch: Scratch, target: palaver.Store, folder: Path, plant: pytest.MonkeyPatch
    ) -> None:
        self.source = source
        self.scratch = scratch
        self.target = target
        self.folder = folder
        self.plant = plant


@pytest.fixture
def room(
    source: Source, scratch: Scratch, target: palaver.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Room:
    return Room(source, scratch, target, tmp_path, monkeypatch)


def nothing(*_: Any, **__: Any) -> None:
    return None


def always(*_: Any, **__: Any) -> bool:
    return True


def never(*_: Any, **__: Any) -> bool:
    return False


def forged(name: str) -> Callable[[Room], None]:
    for cases, test in (
        (test_forged.FORGERIES, test_forged.test_a_forged_row_is_refused),
        (test_forged.COUNTED, test_forged.test_a_forged_count_fact_or_body_is_refused),
        (test_forged.GRAFTED, test_forged.test_a_forged_item_is_refused_at_its_line),
    ):
        for case, table, work, why in cases:
            if case == name:
                return lambda room: test(table, work, why, room.source, room.target)
    raise LookupError(name)


def an_altered_title_is_refused(room: Room) -> None:
    data = room.source.data.replace(b'"title":"Main"', b'"title":"Mine"')
    assert room.source.ids["main"] in [refusal.session for refusal in take(room.target, data)[1]]


def nothing_of_a_refused_session_stays(room: Room) -> None:
    forged("another text")(room)


def swallow(tx: Any, arrival: Any, mode: str) -> bool:
    try:
        return import_group.take_entries(tx, arrival, mode)
    except Rejected:
        return True


def an_open_turn_folds(room: Room) -> None:
    case = test_forged.OPEN_FORGERIES[0]
    test_forged.test_an_open_turn_that_recovery_would_fall_over_is_refused(
        *case, room.scratch, str(room.folder / "open.db")
    )


def markup_is_escaped(room: Room) -> None:
    for text in test_views.TRICKS:
        test_views.refuse_danger(test_views.said(room.folder, text))


def short_fence(text: str, language: str = "") -> str:
    return f"\n```\n{text}\n```\n"


def both(test: Callable[..., None]) -> Callable[[Room], None]:
    return lambda room: test(room.source, room.target)


Case = tuple[str, Callable[[Room], None], Callable[[Room], None]]
CASES: list[Case] = [
    ("no footer check", lambda r: r.plant.setattr(reader, "_check_footer", nothing), an_altered_title_is_refused),
    ("no proof", lambda r: r.plant.setattr(import_checks, "prove", nothing), forged("another text")),
    ("no leaves", lambda r: r.plant.setattr(rules, "leaf_fits", always), forged("another text")),
    ("no digests", lambda r: r.plant.setattr(rules.TurnProof, "digest_flaw", nothing), forged("another digest")),
    ("no links", lambda r: r.plant.setattr(rules.ReflogProof, "take", nothing), forged("another reason")),
    ("no sums", lambda r: r.plant.setattr(rules.Sums, "__ne__", never), forged("another depth")),
    ("no chain", lambda r: r.plant.setattr(import_checks, "_prove_turn", nothing), forged("another parent")),
    ("no reflog", lambda r: r.plant.setattr(import_checks, "_prove_head", nothing), forged("another reason")),
    ("no row check", lambda r: r.plant.setattr(import_checks, "check_row", nothing), forged("another prompt")),
    ("no keys", lambda r: r.plant.setattr(import_checks, "prove_usage", nothing), forged("a key of usage twice")),
    (
        "no counts",
        lambda r: r.plant.setattr(import_checks, "_prove_counts", nothing),
        forged("other tokens than its turn has"),
    ),
    ("no names", lambda r: r.plant.setattr(import_checks, "prove_facts", nothing), forged("a name twice")),
    ("no facts", lambda r: r.plant.setattr(import_checks, "_check_fact", nothing), forged("a fact without a name")),
    ("no costs", lambda r: r.plant.setattr(import_checks, "_check_usage", nothing), forged("a negative cost")),
    ("no items", lambda r: r.plant.setattr(import_checks, "_check_native", nothing), forged("another item")),
    ("no fold", lambda r: r.plant.setattr(import_checks, "_prove_open", nothing), an_open_turn_folds),
    ("keys twice", lambda r: r.plant.setattr(lines, "_refuse_twins", nothing), forged("a key twice")),
    ("homes", lambda r: r.plant.setattr(tables.PARTS, "home", None), forged("another session's part")),
    ("NaN", lambda r: r.plant.setitem(tables._CHECKS, "object", tables._text), forged("not a number")),
    (
        "refused yet kept",
        lambda r: r.plant.setattr(reader, "take_entries", swallow),
        nothing_of_a_refused_session_stays,
    ),
    (
        "never there",
        lambda r: r.plant.setattr(reader, "_compare", lambda *_: import_group.FRESH),
        both(test_again.test_a_second_import_changes_nothing),
    ),
    (
        "always there",
        lambda r: r.plant.setattr(reader, "_compare", nothing),
        both(test_round_trip.test_every_row_of_every_table_arrives_as_it_was),
    ),
    (
        "forks are differences",
        lambda r: r.plant.setattr(reader, "_VOLATILE", set()),
        both(test_again.test_a_session_that_others_forked_since_is_still_the_same),
    ),
    (
        "leftovers",
        lambda r: r.plant.setattr(import_group, "_refuse_leftovers", nothing),
        lambda r: test_selected.test_an_older_copy_of_the_session_does_not_complete_a_husk(r.scratch),
    ),
    (
        "a husk adds to a session",
        lambda r: r.plant.setattr(import_group, "_settle_merge", nothing),
        lambda r: test_selected.test_a_husk_with_more_than_the_whole_session_has_is_refused_with_what_stands_on_it(
            r.scratch
        ),
    ),
    (
        "lineage",
        lambda r: r.plant.setattr(selection, "in_order", lambda sessions, needs: sorted(sessions, reverse=True)),
        lambda r: test_round_trip.test_a_fork_at_a_turn_of_an_unrelated_session_comes_after_that_one_too(
            r.scratch, r.plant
        ),
    ),
    (
        "writers of messages stay behind",
        lambda r: r.plant.setattr(selection.Selection, "_follow_message", nothing),
        lambda r: test_selected.test_a_question_told_usage_in_another_turn_still_proves_itself(r.scratch),
    ),
    (
        "an unbounded first line",
        lambda r: r.plant.setattr(lines, "FIRST", 1 << 30),
        lambda r: test_hostile.test_the_first_line_is_read_no_further_than_64_kb(r.target),
    ),
    (
        "no count of sessions",
        lambda r: r.plant.setattr(reader._Import, "_end", lambda *_: False),
        lambda r: test_damage.test_a_session_that_is_missing_is_noticed_at_the_end(r.scratch),
    ),
    ("raw markup", lambda r: r.plant.setattr(markdown_page, "_escaped", lambda text: text), markup_is_escaped),
    ("control characters", lambda r: r.plant.setattr(markdown_page, "visible", lambda text: text), markup_is_escaped),
    ("a fence that can be closed", lambda r: r.plant.setattr(markdown_page, "_fenced", short_fence), markup_is_escaped),
]


@pytest.mark.planted("no proof")
@pytest.mark.parametrize("plant, claim", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_planted_bug_is_found(plant: Callable[[Room], None], claim: Callable[[Room], None], room: Room) -> None:
    plant(room)
    with pytest.raises((AssertionError, palaver.PalaverError, IndexError, ValueError)):
        claim(room)


@pytest.mark.planted("an_altered_title")
@pytest.mark.parametrize("claim", [an_altered_title_is_refused, an_open_turn_folds, markup_is_escaped])
def test_without_a_bug_the_claim_holds(claim: Callable[[Room], None], room: Room) -> None:
    claim(room)


METHODS = ("head", "reflog", "turns", "entries", "messages", "parts", "events", "copies", "aliases")


@pytest.mark.planted("turns")
@pytest.mark.parametrize("method", [*METHODS, "foreign_ids", "prompts", "facts", "usage", "natives", "bodies"])
def test_a_table_that_is_left_out_of_an_export_is_missed(method: str, room: Room) -> None:
    room.plant.setattr(groups.Group, method, lambda self, tx: ())
    refused = take(room.target, export(room.source.store))[1]
    assert refused or contents(room.target.path) != contents(room.source.store.path)
