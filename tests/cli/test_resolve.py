"""Sessions are called as people call things: any clear end of an id, own id, alias, title, @; and never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from palaver.cli import near
from palaver.cli.program import COMMANDS

from . import talks
from .run import Cli


def the_id(cli: Cli) -> str:
    found: str = cli.json("ls", "--limit", "1")["sessions"][0]["id"]
    return found


@pytest.mark.parametrize("name", ["ticket-7", "the-build", "Fix the build", "@"])
def test_a_session_has_many_names(cli: Cli, name: str) -> None:
    assert cli.json("show", name)["session"]["title"] == "Fix the build"


def test_any_end_of_an_id_is_enough_if_it_is_clear(cli: Cli) -> None:
    whole = the_id(cli)
    for name in (whole, whole[:-1], whole[4:], whole[4:-2], whole[-6:], whole[-4:]):
        assert cli.json("show", name)["session"]["id"] == whole, name


def test_a_beginning_that_fits_two_is_refused_with_both(cli: Cli) -> None:
    said = cli.refused("show", "ses_", code=3)
    both = [one["id"] for one in cli.json("ls")["sessions"]]
    assert len(both) == 2
    assert "more than one session" in said and all(one in said for one in both)


def test_a_title_that_two_share_is_refused_with_both(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        ids = [store.sessions.create(title="Same").id for _ in range(2)]
    said = Cli(tmp_path, tmp_path / "talks.db").refused("log", "Same", code=3)
    assert all(one in said for one in ids)


def test_an_unknown_name_is_answered_with_what_is_near(cli: Cli) -> None:
    for name in ("the bui", "Fix teh build", "FIX THE BUILD", "the-bild"):
        said = cli.refused("show", name, code=3)
        assert "did you mean ses_" in said and "(Fix the build)" in said, said
    assert "the latest" in cli.refused("show", "nothing like it", code=3)
    assert "no session is named ''" in cli.refused("show", "", code=3)
    assert "no session is named ''" in cli.refused("ls", "--parent", "", code=3)


def test_an_id_in_the_wrong_case_is_near(cli: Cli) -> None:
    whole = the_id(cli)
    assert f"did you mean {whole}" in cli.refused("log", whole[-6:].swapcase() + "x", code=3)


def test_a_name_of_a_deleted_session_says_so(cli: Cli) -> None:
    cli.ok("rm", "ticket-7")
    assert "it was deleted" in cli.refused("show", "the-build", code=3)
    assert "`palaver rm --undo` brings it back" in cli.refused("show", "ticket-7", code=3)


def test_nothing_is_the_latest_where_all_are_archived_or_deleted(cli: Cli) -> None:
    both = [one["id"] for one in cli.json("ls")["sessions"]]
    cli.ok("archive", *both)
    assert "`palaver ls --all` has them" in cli.refused("show", "@", code=3)
    cli.ok("rm", *both)
    assert "`palaver rm --list` has them" in cli.refused("show", "@", code=3)


@pytest.mark.parametrize(
    ("typed", "meant"), [("sho", "show"), ("list", "ls"), ("delete", "rm"), ("rewid", "rewind"), ("grep", "search")]
)
def test_a_command_that_is_near_is_named(bare: Cli, typed: str, meant: str) -> None:
    assert f"did you mean `palaver {meant}`" in bare.refused(typed, code=2)


def test_help_is_asked_for_by_an_option(bare: Cli) -> None:
    said = bare.refused("help", code=2)
    assert "`palaver --help`" in said and "did you mean" not in said
    assert "did you mean" not in bare.refused("qqqq", code=2)


def test_every_habit_leads_to_a_command_and_hides_none() -> None:
    assert set(near.HABITS.values()) <= set(COMMANDS)
    assert not {*near.HABITS, *near.HELP} & set(COMMANDS)


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "\udcff", "%", "' OR 1=1 --", "@~x", "x" * 5000])
def test_a_strange_name_is_only_unknown(cli: Cli, name: str) -> None:
    said = cli.refused("log", name, code=3)
    assert "\x1b" not in said


def test_an_empty_store_has_no_latest_session(tmp_path: Path) -> None:
    palaver.open(tmp_path / "talks.db").close()
    said = Cli(tmp_path, tmp_path / "talks.db").refused("show", "@", code=3)
    assert "no session in this store yet" in said


@pytest.mark.parametrize(("name", "last"), [("@", "Green. "), ("@~0", "Green. "), ("@~1", "Done. "), ("@~", "Done. ")])
def test_turns_are_counted_back_from_the_head(cli: Cli, name: str, last: str) -> None:
    assert cli.json("show", name)["messages"][-1]["parts"][-1]["text"] == last


@pytest.mark.parametrize("name", ["ticket-7~2", "ticket-7@~2", "Fix the build~2", "@~2"])
def test_every_name_can_be_counted_back_from(cli: Cli, name: str) -> None:
    shown = cli.json("show", name)
    assert len(shown["messages"]) == 2
    assert shown["turn"].startswith("trn_")


def test_further_back_than_the_root_is_refused(cli: Cli) -> None:
    assert "its path has 3 turns" in cli.refused("show", "@~3", code=3)
    assert "no turn ~99999999" in cli.refused("rewind", "@~99999999", code=3)


def test_a_title_that_looks_like_a_way_back_is_still_a_title(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(title="Sprint~2")
        talks.talk(session, "Hello?", "Hello.")
    shown = Cli(tmp_path, tmp_path / "talks.db").json("show", "Sprint~2")
    assert shown["session"]["title"] == "Sprint~2" and shown["turn"] is None


def test_a_deleted_session_has_no_name_but_for_undo(cli: Cli) -> None:
    whole = the_id(cli)
    cli.ok("rm", whole)
    for name in (whole, "ticket-7", "the-build", "Fix the build", whole[-6:]):
        cli.refused("show", name, code=3)
    cli.ok("rm", "--undo", "ticket-7")
    assert cli.json("show", "ticket-7")["session"]["id"] == whole


def test_the_name_that_was_nearly_typed_is_said(cli: Cli) -> None:
    assert "(Fix the build) known as 'ticket-7'?" in cli.refused("show", "ticket-", code=3)
    assert "(Fix the build) known as 'the-build'?" in cli.refused("show", "the-built", code=3)
    assert "known as" not in cli.refused("show", "Fix the bui", code=3)


def two(tmp_path: Path) -> tuple[Cli, str, str]:
    """A store with two sessions that have a title and a turn each."""
    with palaver.open(tmp_path / "talks.db") as store:
        made = [store.sessions.create(title=title, id=title.lower()) for title in ("One", "Two")]
        for session in made:
            talks.talk(session, "Well?", f"{session.title}.")
            talks.talk(session, "And?", "No more.")
        return (Cli(tmp_path, tmp_path / "talks.db"), *(session.id for session in made))


def test_a_whole_id_is_that_session_whatever_others_are_called(tmp_path: Path) -> None:
    cli, one, other = two(tmp_path)
    for name in (other, "two"):
        cli.ok("title", one, name)
        assert cli.json("show", name)["session"]["id"] == other
        cli.ok("rm", name)
        assert "it was deleted" in cli.refused("show", name, code=3)
        cli.ok("rm", "--undo", name)


@pytest.mark.parametrize("naming", ["title", "alias"])
def test_a_piece_of_an_id_that_another_session_is_called_is_refused_with_both(tmp_path: Path, naming: str) -> None:
    cli, one, other = two(tmp_path)
    cli.ok(naming, one, other[-6:])
    said = cli.refused("rm", other[-6:], code=3)
    assert one in said and other in said and "a whole id is clear" in said
    assert len(cli.json("ls")["sessions"]) == 2


def test_a_piece_that_is_short_gives_way_to_a_name(tmp_path: Path) -> None:
    cli, one, other = two(tmp_path)
    assert one[4:6] == other[4:6]
    cli.ok("title", one, other[4:6])
    assert cli.json("show", other[4:6])["session"]["id"] == one


def test_a_place_is_one_whatever_sessions_are_called(tmp_path: Path) -> None:
    cli, one, other = two(tmp_path)
    with palaver.open(tmp_path / "talks.db") as store:
        older = store.sessions.get(one)
        for number, name in enumerate(("@", "@~1", "@{1}", f"{other[-6:]}~1", "two~1")):
            older.alias(name, f"mine-{number}")
        for name in ("@", "@~1", "@{1}", f"{other[-6:]}~1", "two~1"):
            older.title = name
            with store.sessions.get(other).turn("More?") as turn:  # the latest
                turn.text("More.")
            assert cli.json("show", name)["session"]["id"] == other, name
            if name != "@":
                assert "is a place in a session" in cli.refused("rm", name, code=3)


def test_an_id_that_looks_like_a_place_is_an_id(tmp_path: Path) -> None:
    cli, one, _ = two(tmp_path)
    with palaver.open(tmp_path / "talks.db") as store:
        theirs = store.sessions.create(id="one~1").id
    assert cli.json("show", "one~1")["session"]["id"] == theirs
    assert cli.json("show", "one~0")["session"]["id"] == one
