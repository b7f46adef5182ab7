"""Titles of `SessionDB`: cleaned, unique, counted up, and found by the newest of their lineage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .support import Clock, compressed

# ---------------------------------------------------------------- cleaned


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("Fix Docker Build", "Fix Docker Build"),
        ("  around  ", "around"),
        ("a   b\t\tc", "a b c"),
        ("a\nb\r\nc", "a b c"),
        ("\n\t a \r\n", "a"),
        ("日本語 🎉 ünï", "日本語 🎉 ünï"),
        ("a\u00a0b\u3000c", "a b c"),  # white space of other alphabets
        ("\u2026 — “quoted”", "\u2026 — “quoted”"),
        ("it's #1 (100%) \\_", "it's #1 (100%) \\_"),
        ("👩\u200d👧", "👩👧"),
        (None, None),
        ("", None),
        ("   ", None),
        ("\t\r\n", None),
        ("\u200b\ufeff", None),
        ("\x00\x1f", None),
        (" \u200b \x07 ", None),
    ],
)
def test_a_title_is_cleaned(cleaner: Any, given: str | None, cleaned: str | None) -> None:
    assert cleaner.sanitize_title(given) == cleaned


REMOVED = [
    *(chr(code) for code in range(0x20) if chr(code) not in "\t\n\r"),
    "\x7f",
    *(chr(code) for code in range(0x200B, 0x2010)),
    *(chr(code) for code in range(0x2028, 0x202F)),
    *(chr(code) for code in range(0x2060, 0x206A)),
    "\ufeff",
    *(chr(code) for code in range(0xFFF9, 0xFFFD)),
]
KEPT = [*"\u200a\u2010\u2027\u202f\u205f\u206a\u0080\u009f\u00ad\ufff8\ufffd\ufefe"]


def test_characters_that_cannot_be_seen_are_removed(cleaner: Any) -> None:
    assert {char for char in REMOVED if cleaner.sanitize_title(f"a{char}b") != "ab"} == set()


def test_their_neighbours_are_not_removed(cleaner: Any) -> None:
    """They stay, or are white space."""
    for char in KEPT:
        assert cleaner.sanitize_title(f"a{char}b") == ("a b" if char.isspace() else f"a{char}b")


def test_a_title_may_have_100_characters(cleaner: Any) -> None:
    assert cleaner.sanitize_title("x" * 100) == "x" * 100
    assert cleaner.sanitize_title("日" * 100) == "日" * 100
    assert cleaner.sanitize_title("  " + "x" * 100 + "\u200b" * 50 + "\n") == "x" * 100


def test_a_longer_title_is_refused_and_not_cut(db: Any) -> None:
    db.create_session("s", "cli")
    db.set_session_title("s", "short")
    for length in (101, 200, 10_000):
        with pytest.raises(ValueError, match="100"):
            db.sanitize_title("x" * length)
        with pytest.raises(ValueError, match="100"):
            db.set_session_title("s", "x" * length)
    assert db.get_session_title("s") == "short"


# ---------------------------------------------------------------- set


def test_a_title_is_set_and_read(db: Any) -> None:
    db.create_session("sess_abc123", "cli")
    assert db.get_session_title("sess_abc123") is None
    assert db.set_session_title("sess_abc123", "Fix Docker Build") is True
    assert db.get_session_title("sess_abc123") == "Fix Docker Build"
    assert db.get_session("sess_abc123")["title"] == "Fix Docker Build"


def test_a_title_is_cleaned_when_it_is_set(db: Any) -> None:
    db.create_session("s", "cli")
    assert db.set_session_title("s", "  Fix\u200b \n the\tbuild ") is True
    assert db.get_session_title("s") == "Fix the build"
    assert db.get_session_by_title("Fix the build")["id"] == "s"


def test_a_title_is_replaced(db: Any) -> None:
    db.create_session("s", "cli")
    db.set_session_title("s", "one")
    assert db.set_session_title("s", "two") is True
    assert db.get_session_title("s") == "two"
    assert db.get_session_by_title("one") is None


def test_an_empty_title_clears(db: Any) -> None:
    db.create_session("s", "cli")
    for empty in ("", "   ", "\u200b", None):
        db.set_session_title("s", "one")
        assert db.set_session_title("s", empty) is True
        assert db.get_session_title("s") is None
        assert db.get_session("s")["title"] is None
        assert db.get_session_by_title("one") is None


def test_an_unknown_session_gets_no_title(db: Any) -> None:
    assert db.set_session_title("nobody", "T") is False
    assert db.set_session_title("nobody", "") is False
    assert db.get_session_title("nobody") is None
    assert db.get_session_by_title("T") is None


def test_whoever_ended_still_gets_a_title(db: Any) -> None:
    db.create_session("s", "cli")
    db.end_session("s", "done")
    assert db.set_session_title("s", "T") is True
    db.reopen_session("s")
    assert db.get_session_title("s") == "T"


def test_a_title_is_no_message_and_no_activity(db: Any) -> None:
    db.create_session("s", "cli")
    before = db.get_session("s")
    db.set_session_title("s", "T")
    assert db.get_session("s") == {**before, "title": "T"}
    assert db.get_messages("s") == []


# ---------------------------------------------------------------- unique


def test_promise_034_a_title_is_unique_among_those_that_are_there(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    db.set_session_title("s", "Fix Docker Build")
    with pytest.raises(ValueError, match=r"Title 'Fix Docker Build' is already in use by session s$"):
        db.set_session_title("t", "Fix Docker Build")
    assert db.get_session_title("t") is None
    assert db.get_session_by_title("Fix Docker Build")["id"] == "s"


def test_promise_034_the_cleaned_titles_are_compared(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    db.set_session_title("s", "a b")
    with pytest.raises(ValueError, match=r"already in use"):
        db.set_session_title("t", " a\u200b \n b ")


def test_promise_034_case_makes_a_difference(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    db.set_session_title("s", "Build")
    assert db.set_session_title("t", "build") is True
    assert db.get_session_by_title("Build")["id"] == "s"
    assert db.get_session_by_title("build")["id"] == "t"


def test_promise_034_a_session_keeps_its_own_title(db: Any) -> None:
    db.create_session("s", "cli")
    db.set_session_title("s", "mine")
    assert db.set_session_title("s", "mine") is True
    assert db.set_session_title("s", " mine ") is True
    assert db.get_session_title("s") == "mine"


def test_promise_034_any_number_of_sessions_has_none(db: Any) -> None:
    for number in range(3):
        db.create_session(f"s{number}", "cli")
        db.set_session_title(f"s{number}", "")
    assert [db.get_session_title(f"s{number}") for number in range(3)] == [None] * 3


FREED: dict[str, Callable[[Any], Any]] = {
    "cleared": lambda db: db.set_session_title("s", ""),
    "replaced": lambda db: db.set_session_title("s", "another"),
    "deleted": lambda db: db.delete_session("s"),
    "pruned": lambda db: (db.end_session("s", "x"), db.prune_sessions(older_than_days=-1)),
}


@pytest.mark.parametrize("how", FREED)
def test_promise_034_a_title_that_is_free_again_may_be_taken(db: Any, how: str) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    db.set_session_title("s", "T")
    FREED[how](db)
    assert db.set_session_title("t", "T") is True
    assert db.get_session_by_title("T")["id"] == "t"


def test_promise_034_an_ended_session_holds_its_title(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    db.set_session_title("s", "T")
    db.end_session("s", "done")
    with pytest.raises(ValueError):
        db.set_session_title("t", "T")


@pytest.mark.schema6("0.19.0 moves a title from a compressed ancestor to the session that goes on")
def test_promise_034_a_compressed_session_holds_its_title(db: Any, clock: Clock) -> None:
    compressed(db, clock, "s", "t")
    db.set_session_title("s", "T")
    with pytest.raises(ValueError):
        db.set_session_title("t", "T")
    assert (db.get_session_title("s"), db.get_session_title("t")) == ("T", None)


# ---------------------------------------------------------------- found


def test_a_session_is_found_by_its_title(db: Any) -> None:
    db.create_session("s", "cli", model="m")
    db.set_session_title("s", "T")
    assert db.get_session_by_title("T") == db.get_session("s")


def test_only_the_exact_title_finds_it(db: Any) -> None:
    db.create_session("s", "cli")
    db.set_session_title("s", "Fix Docker Build")
    for title in ("nobody's", "", "fix", "Fix Docker", "Fix Docker Build ", "%", "Fix%", "Fix_Docker Build"):
        assert db.get_session_by_title(title) is None


def test_promise_093_a_title_resolves_to_its_session(db: Any) -> None:
    db.create_session("s", "cli")
    db.set_session_title("s", "Fix Docker Build")
    assert db.resolve_session_by_title("Fix Docker Build") == "s"
    assert db.resolve_session_by_title("nobody's") is None
    assert db.resolve_session_by_title("Fix Docker") is None


def test_promise_093_a_title_resolves_to_the_newest_of_its_lineage(db: Any, clock: Clock) -> None:
    for id, title in (("s1", "T"), ("s2", "T #2"), ("s3", "T #3")):
        db.create_session(id, "cli")
        db.set_session_title(id, title)
        clock.turn(seconds=1)
    assert db.resolve_session_by_title("T") == "s3"
    assert db.resolve_session_by_title("T #2") == "s2"
    assert db.resolve_session_by_title("T #3") == "s3"


def test_promise_093_the_newest_is_the_one_that_started_last(db: Any, clock: Clock) -> None:
    for id, title in (("s1", "T #9"), ("s2", "T #2"), ("s3", "T")):
        db.create_session(id, "cli")
        clock.turn(seconds=1)
        db.set_session_title(id, title)
    assert db.resolve_session_by_title("T") == "s2"  # not the highest number, nor the bare one that is newer still


def test_promise_093_a_lineage_without_a_bare_title(db: Any) -> None:
    db.create_session("s", "cli")
    db.set_session_title("s", "T #4")
    assert db.resolve_session_by_title("T") == "s"


@pytest.mark.parametrize("base", ["100%", "a_b", "a\\b", "%", "_", "C#", "it's", "日本"])
def test_promise_093_a_lineage_is_of_exactly_its_title(db: Any, base: str) -> None:
    titles = {"s0": base, "s1": f"{base} #2", "o0": "100x", "o1": "axb #7", "o2": "x #8", "o3": "xx #9", "o4": "a #9"}
    for id, title in titles.items():
        db.create_session(id, "cli")
        db.set_session_title(id, title)
    assert db.resolve_session_by_title(base) == "s1"
    assert db.get_next_title_in_lineage(base) == f"{base} #3"


# ---------------------------------------------------------------- counted up


NEXT: list[tuple[list[str], str, str]] = [
    ([], "T", "T"),
    ([], "T #5", "T"),
    ([], "T #", "T #"),
    (["T"], "T", "T #2"),
    (["T"], "T #2", "T #2"),
    (["T", "T #2"], "T", "T #3"),
    (["T", "T #2", "T #3"], "T #2", "T #4"),
    (["T", "T #9"], "T", "T #10"),
    (["T", "T #9", "T #10"], "T", "T #11"),
    (["T #2"], "T", "T #3"),
    (["T #7"], "T", "T #8"),
    (["T #7"], "T #7", "T #8"),
    (["T", "T #x"], "T", "T #2"),
    (["T and more"], "T", "T"),
    (["Ta #4"], "T", "T"),
    (["T#4"], "T", "T"),
    (["100%"], "100%", "100% #2"),
    (["100x #5"], "100%", "100%"),
    (["axb #5"], "a_b", "a_b"),
    (["a_b", "axb #5"], "a_b", "a_b #2"),
    (["a\\b"], "a\\b", "a\\b #2"),
    (["Fix Docker Build"], "Fix Docker Build", "Fix Docker Build #2"),
]


def test_promise_093_the_next_title_of_a_lineage(db: Any) -> None:
    for there, base, following in NEXT:
        for number, title in enumerate(there):
            db.create_session(f"s{number}", "cli")
            db.set_session_title(f"s{number}", title)
        assert (there, db.get_next_title_in_lineage(base)) == (there, following)
        for number in range(len(there)):
            db.delete_session(f"s{number}")


def test_promise_093_the_newest_of_those_that_started_at_once(db: Any) -> None:
    """Within one thousandth of a second, too."""
    for round in range(3):
        for number in range(1, 7):
            db.create_session(f"s{round}-{number}", "cli")
            db.set_session_title(f"s{round}-{number}", f"T{round} #{number}")
        assert db.resolve_session_by_title(f"T{round}") == f"s{round}-6"


def test_promise_093_the_next_title_can_be_had(db: Any) -> None:
    for number in range(1, 12):
        db.create_session(f"s{number}", "cli")
        title = db.get_next_title_in_lineage("T" if number % 2 else "T #1")
        assert title == ("T" if number == 1 else f"T #{number}")
        assert db.set_session_title(f"s{number}", title) is True
    assert db.resolve_session_by_title("T") == "s11"
