"""`palaver title` and `palaver alias`: what a session is called, read and changed from the command line."""

from __future__ import annotations

from pathlib import Path

import palaver

from .run import Cli


def test_a_title_is_printed(cli: Cli) -> None:
    assert cli.ok("title", "ticket-7") == "Fix the build\n"
    assert set(cli.json("title", "ticket-7")) == {"session", "title"}
    assert cli.json("title", "ticket-7")["title"] == "Fix the build"


def test_a_title_is_set_and_taken_away(cli: Cli) -> None:
    assert "is called 'The flag' now" in cli.ok("title", "ticket-7", "The flag")
    assert cli.ok("title", "The flag") == "The flag\n"
    assert "has no title now" in cli.ok("title", "ticket-7", "--clear")
    assert cli.json("title", "ticket-7")["title"] is None
    assert cli.ok("title", "ticket-7") == ""
    assert cli.json("title", "ticket-7", "Again")["title"] == "Again"


def test_a_title_that_cannot_be_is_refused_and_the_old_one_stays(cli: Cli) -> None:
    assert "--clear takes it away" in cli.refused("title", "ticket-7", "  ", code=2)
    assert "not both" in cli.refused("title", "ticket-7", "New", "--clear", code=2)
    assert "control characters" in cli.refused("title", "ticket-7", "a\x1b[2J", code=2)
    assert "1,001 characters" in cli.refused("title", "ticket-7", "x" * 1_001, code=2)
    cli.refused("title", "nobody", "New", code=3)
    assert cli.ok("title", "ticket-7") == "Fix the build\n"


def test_a_title_of_another_program_cannot_act_on_the_terminal(attacked: Path, tmp_path: Path) -> None:
    said = Cli(tmp_path, attacked).ok("title", "@")
    assert said.startswith("title") and "\x1b" not in said and "\u202e" not in said


def test_aliases_are_listed_added_and_removed(cli: Cli) -> None:
    assert cli.ok("alias", "ticket-7") == "alias  the-build\n"
    assert cli.ok("alias", "ticket-7", "green").splitlines() == ["alias  green", "alias  the-build"]
    assert cli.json("show", "green")["session"]["title"] == "Fix the build"
    said = cli.json("alias", "ticket-7", "T-17", "--namespace", "ticket")["aliases"]
    assert {"namespace": "ticket", "name": "T-17"} in said and len(said) == 3
    assert cli.ok("alias", "ticket-7", "--namespace", "ticket") == "ticket  T-17\n"
    assert "green" not in cli.ok("alias", "green", "green", "--remove")
    cli.refused("show", "green", code=3)
    cli.ok("alias", "ticket-7", "T-17", "--namespace", "ticket", "--remove")
    assert cli.ok("alias", "ticket-7", "the-build", "--remove") == ""


def test_a_place_is_no_name_to_give(cli: Cli) -> None:
    for name in ("@", "@~1", "@{2}", "~1"):
        for words in (("title", "ticket-7", name), ("alias", "ticket-7", name), ("fork", "ticket-7", "--title", name)):
            assert "choose another name" in cli.refused(*words, code=2)
    assert "choose another name" in cli.refused("alias", "ticket-7", "the-build~1", code=2)
    done = cli("title", "ticket-7", "v1~2")
    assert done.code == 0 and "'v1~2' is a place in it" in done.err
    assert cli.json("show", "v1~2")["turn"] is None  # nothing is called v1


def test_an_alias_that_is_a_place_can_be_taken_away(cli: Cli) -> None:
    with palaver.open(cli.home / "talks.db") as store:
        store.sessions.get("ticket-7").alias("@~1")
    assert "@~1" not in cli.ok("alias", "ticket-7", "@~1", "--remove")


def test_aliases_stand_in_columns(cli: Cli) -> None:
    cli.ok("alias", "ticket-7", "T-17", "--namespace", "ticket")
    assert cli.ok("alias", "ticket-7") == "alias   the-build\nticket  T-17\n"


def test_an_alias_is_of_one_session(cli: Cli) -> None:
    fork = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    assert "already names session" in cli.refused("alias", fork, "the-build", code=5)
    assert cli.ok("alias", fork) == ""
    assert cli.ok("alias", "ticket-7", "the-build") == "alias  the-build\n"  # the same again changes nothing


def test_an_alias_that_cannot_be_is_refused(cli: Cli) -> None:
    assert "which alias" in cli.refused("alias", "ticket-7", "--remove", code=2)
    assert "latest session" in cli.refused("alias", "ticket-7", "@", code=2)
    cli.refused("alias", "ticket-7", "", code=2)
    cli.refused("alias", "ticket-7", "a\nb", code=2)
    assert "leave --namespace out" in cli.refused("alias", "ticket-7", "n", "--namespace", "", code=2)
    assert "leave --namespace out" in cli.refused("alias", "ticket-7", "--namespace", " ", code=2)
    said = cli.refused("alias", "ticket-7", "red", "--remove", code=3)
    assert "'red' is no alias of session" in said and "`palaver alias" in said
    cli.refused("alias", "ticket-7", "the-build", "--namespace", "ticket", "--remove", code=3)
    assert cli.ok("alias", "ticket-7") == "alias  the-build\n"


def test_an_alias_of_one_session_is_not_removed_from_another(cli: Cli) -> None:
    fork = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    cli.refused("alias", fork, "the-build", "--remove", code=3)
    with palaver.open(cli.home / "talks.db") as store:
        assert store.sessions.find("the-build").title == "Fix the build"


def test_only_looking_makes_no_store(bare: Cli) -> None:
    bare.refused("title", "@", code=4)
    bare.refused("alias", "@", code=4)
    assert list(bare.home.iterdir()) == []


# ---------------------------------------------------------------- titles that count up


def test_the_next_title_is_of_the_text_or_of_the_title_it_has(cli: Cli) -> None:
    assert "is called 'Fix the build #2' now" in cli.ok("title", "ticket-7", "--next")
    assert cli.json("title", "ticket-7", "--next")["title"] == "Fix the build #3"
    assert cli.json("title", "ticket-7", "100%_", "--next")["title"] == "100%_"
    assert cli.json("title", "ticket-7", "100%_ #7", "--next")["title"] == "100%_ #2"


def test_without_a_title_the_next_one_is_of_where_it_came_from(cli: Cli) -> None:
    fork = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    other = cli.json("fork", fork)["session"]["id"]
    assert cli.json("title", other, "--next")["title"] == "Fix the build #2"
    assert cli.json("title", fork, "--next")["title"] == "Fix the build #3"


def test_where_there_is_no_title_none_is_counted_up(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create(id="bare")
    assert "as TEXT" in Cli(tmp_path, tmp_path / "talks.db").refused("title", "bare", "--next", code=2)


def test_a_title_is_meant_exactly_and_a_refusal_names_the_newest_of_its_lineage(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        first, _, ninth = (store.sessions.create(title=title) for title in ("X", "X #2", "X #9"))
        for _ in range(3):
            store.sessions.create(title="X #2")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    assert cli.json("show", "X")["session"]["id"] == first.id
    assert cli.json("show", "X #9")["session"]["id"] == ninth.id
    assert "names more than one session" in cli.refused("show", "X #2", code=3)
    cli.ok("title", first.id, "Y")
    assert f"the newest of its lineage is {ninth.id} (X #9)" in cli.refused("rm", "X", code=3)
    cli.ok("rm", "Y")
    assert "it was deleted" in cli.refused("rm", "Y", code=3)
