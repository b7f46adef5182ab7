"""`search`: what was ever said, by session, with an address that `show` takes; safe to look at, and for programs."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path

import pytest

import palaver
from palaver.core.upkeep import indexing

from . import talks
from .run import Cli
from .terminal import Terminal
from .test_readonly import on_a_readonly_mount

SES, MSG, WHEN = r"ses_\w{26}", r"msg_\w{26}", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
YELLOW, FOUND, DIM, END = "\x1b[33m", "\x1b[1;33m", "\x1b[2m", "\x1b[0m"


def addresses(text: str) -> list[str]:
    return re.findall(r"^  (\S+@\S+) ", text, re.MULTILINE)


def said(path: Path, *texts: str, title: str | None = None) -> str:
    """A session with a turn for each of these; its id."""
    with palaver.open(path) as store:
        session = store.sessions.create(agent="coder", title=title)
        for text in texts:
            session.commit([text])
        return session.id


def on_terminal(cli: Cli, *args: str, columns: int = 80, **extra: str) -> tuple[int, str]:
    with Terminal({**cli.env, "PAGER": "cat", **extra}, *args, columns=columns) as terminal:
        return terminal.end()


# ---------------------------------------------------------------- what is printed


def test_a_pipe_gets_hits_by_session_with_whole_ids_and_what_is_around_them(cli: Cli) -> None:
    found = cli.ok("search", "linker")
    assert re.fullmatch(
        rf"({SES}) {WHEN} coder Fix the build\n"
        rf"  \1@{MSG} assistant {WHEN}\n"
        r"      before: Why does the build fail\?\n"
        r"    bash command: ls -l Let me think\. The linker flag is missing\.\n"
        r"      after: Add it\.\n",
        found,
    )
    assert "linker flag" in cli.ok("search", "linker", "--no-context") and found.count("before") == 1
    assert "before:" not in cli.ok("search", "linker", "--no-context")


def test_a_terminal_shows_what_was_looked_for_under_the_session_it_is_in(cli: Cli) -> None:
    code, seen = on_terminal(cli, "search", "macos OR linker")
    assert code == 0
    [first, second] = seen.removesuffix("\n").split("\n\n")
    assert re.match(rf"{re.escape(YELLOW)}\w{{6}}{re.escape(END + DIM)} \w+ coder {re.escape(END)}", first)
    shown = seen.replace("\x1b[34m", "<assistant>")
    assert f"The {FOUND}linker{END} flag is missing." in first + second
    assert f"on {FOUND}macOS{END}?" in first + second
    assert f"{DIM}      before: Why does the build fail?{END}" in seen
    assert re.search(rf"{re.escape(YELLOW)}  \w{{6}}@\w{{6}}{re.escape(END)}<assistant> assistant", shown)


def test_hits_of_one_session_stand_together_in_the_order_of_their_first(tmp_path: Path) -> None:
    one = said(tmp_path / "talks.db", "zebra", "far away " * 30 + "zebra", title="One")
    two = said(tmp_path / "talks.db", "zebra and zebra", title="Two")
    found = Cli(tmp_path, tmp_path / "talks.db").ok("search", "zebra")
    headings = re.findall(rf"^({SES}) ", found, re.MULTILINE)
    assert sorted(headings) == sorted([one, two])
    assert [where.partition("@")[0] for where in addresses(found)].count(one) == 2


def test_what_has_no_room_goes_on_below_with_its_marks(tmp_path: Path) -> None:
    said(tmp_path / "talks.db", "so many words before it, and then comes 日本語 antidisestablishmentarianism at last")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    _, seen = on_terminal(cli, "search", "antidisestablishmentarianism", columns=24)
    lines = seen.split("\n")
    assert f"    {FOUND}antidisestablishment{END}" in lines and f"    {FOUND}arianism{END} at last" in lines
    _, plain = on_terminal(cli, "search", "antidisestablishmentarianism", columns=24, NO_COLOR="1")
    assert "\x1b" not in plain and plain.split("\n")[1:] == re.sub(r"\x1b\[[\d;]*m", "", seen).split("\n")[1:]


FORGED = "kiwi \x1b[2J\x1b[1;33mforged\x1b[0m \u202e\n  ses_x@msg_y user\nses_x 1m coder \x07kiwi \u200bend"


def test_nothing_that_was_said_passes_for_a_mark_or_another_hit(tmp_path: Path) -> None:
    said(tmp_path / "talks.db", FORGED)
    cli = Cli(tmp_path, tmp_path / "talks.db")
    piped = cli.ok("search", "kiwi", "end", "--no-context")
    assert len(piped.splitlines()) == 3 and len(addresses(piped)) == 1
    assert "    kiwi ␛[2J␛[1;33mforged␛[0m \\u{202e} ses_x@msg_y user ses_x 1m coder ␇kiwi \\u{200b}end\n" in piped
    _, seen = on_terminal(cli, "search", "kiwi", "end", columns=200)
    assert seen.count(FOUND) == 3 and seen.count(f"{FOUND}kiwi{END}") == 2 and f"{FOUND}end{END}" in seen
    assert "\x1b[2J" not in seen and "\u202e" not in seen and f"{FOUND}forged" not in seen


def test_long_output_goes_through_the_pager(cli: Cli) -> None:
    _, seen = on_terminal(cli, "search", "linker", PAGER="sed s/^/:/", NO_COLOR="1")
    assert all(line.startswith(":") for line in seen.splitlines()) and len(seen.splitlines()) == 5
    _, seen = on_terminal(cli, "search", "linker", "--no-pager", PAGER="sed s/^/:/", NO_COLOR="1")
    assert not seen.startswith(":")


# ---------------------------------------------------------------- what is asked for


def test_words_on_the_line_are_one_query_and_a_minus_goes_behind_two(cli: Cli) -> None:
    assert cli.ok("search", "missing", "linker") == cli.ok("search", "missing linker")
    assert cli("search", "linker flag", "-missing").code == 2
    assert cli("search", "--", "linker", "-missing").code == 1
    assert cli("search", "linker -missing").code == 1
    assert "macOS" in cli.ok("search", "--", "-linker", "role:user", "macos")
    assert cli.ok("search", "linker", "--", "missing") == cli.ok("search", "linker", "missing")


def test_pages_go_on_where_they_ended_newest_first(cli: Cli) -> None:
    seen, after = [], list[str]()
    while True:
        page = cli.json("search", "think", "--newest", "-n", "2", *after)
        seen += page["hits"]
        if page["next"] is None:
            break
        after = ["--after", page["next"]]
    assert [hit["at"] for hit in seen] == sorted((hit["at"] for hit in seen), reverse=True)
    assert len({hit["message_id"] for hit in seen}) == len(seen) == 4
    assert seen == cli.json("search", "think", "--newest")["hits"]


def test_archived_and_hidden_are_found_if_they_are_asked_for(cli: Cli) -> None:
    assert cli("search", "red").code == 1
    assert addresses(cli.ok("search", "red", "--hidden")) and " hidden\n" in cli.ok("search", "red", "--hidden")
    cli.ok("archive", "ticket-7")
    assert cli("search", "green").code == 1
    assert " coder archived Fix the build\n" in cli.ok("search", "green", "--all")


def test_one_hit_of_each_session(cli: Cli) -> None:
    assert len(addresses(cli.ok("search", "think"))) == 4
    assert len(addresses(cli.ok("search", "think", "--per-session"))) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["linker"],
        ["think", "-n", "2"],
        ["think", "--limit", "1", "--newest"],
        ["red", "--hidden", "--no-context"],
        ["green", "-a", "--per-session"],
        ["--", "-linker", "think"],
        ["linkr"],
        ["before:x"],
        ["think", "--after", "nonsense"],
    ],
    ids=" ".join,
)
def test_the_quick_way_to_search_and_the_long_way_answer_the_same(cli: Cli, words: list[str]) -> None:
    fast = cli("search", *words)
    slow = cli("search", f"--store={cli.home / 'talks.db'}", *words)  # spelled so, it goes the long way
    assert fast == slow


# ---------------------------------------------------------------- for programs


def test_json_has_the_fields_of_a_hit_and_of_a_page(cli: Cli) -> None:
    page = cli.json("search", "linker")
    [hit] = page.pop("hits")
    nothing = {"next": None, "moved": False, "cut": False, "indexed_through": None, "suggestion": None, "left_out": 0}
    assert page == nothing
    assert set(hit) == set(palaver.Hit.__struct_fields__)
    assert (hit["role"], hit["title"], hit["part_id"], hit["hidden"]) == ("assistant", "Fix the build", None, False)
    assert (hit["before"], hit["after"]) == ("Why does the build fail?", "Add it.")
    assert [hit["snippet"][first:last] for first, last in hit["marks"]] == ["linker"]


def test_whole_hits_as_many_as_fit_into_so_many_tokens(cli: Cli) -> None:
    everything = cli.ok("search", "think")
    done = cli("search", "think", "--max-tokens", "130")
    assert done.code == 0 and len(done.out) <= 4 * 130 and everything.startswith(done.out[:100])
    shown = addresses(done.out)
    assert 0 < len(shown) < 4
    left = re.fullmatch(r"palaver: note: (\d) hits? more had no room in so many tokens: --after (\S+)\n", done.err)
    assert left and int(left[1]) == 4 - len(shown)
    assert len(addresses(cli.ok("search", "think", "--after", left[2]))) == 4 - len(shown)
    enough = cli("search", "think", "--max-tokens", "9999")
    assert (enough.out, enough.err) == (everything, "")


def test_tokens_of_json_are_counted_too(cli: Cli) -> None:
    every = cli.json("search", "think")["hits"]
    page = cli.json("search", "think", "--max-tokens", "300")
    assert page["hits"] == every[: len(page["hits"])] and 0 < len(page["hits"]) < 4
    assert page["left_out"] == 4 - len(page["hits"])
    rest = cli.json("search", "think", "--after", page["next"])
    assert page["hits"] + rest["hits"] == every
    assert "the first hit takes" in cli.refused("search", "think", "--max-tokens", "20", code=2)


# ---------------------------------------------------------------- what there is to know


def test_nothing_found_ends_with_1_and_says_what_may_have_been_meant(cli: Cli) -> None:
    done = cli("search", "linkr flag")
    assert (done.code, done.out) == (1, "")
    assert done.err == "palaver: note: nothing found. Did you mean: linker flag?\n"
    done = cli("search", "quetzalcoatl")
    assert (done.code, done.out, done.err) == (1, "", "")
    done = cli("search", "linkr", "--json")
    assert (done.code, done.err, done.json()["suggestion"]) == (1, "", "linker")
    assert on_terminal(cli, "search", "quetzalcoatl", NO_COLOR="1") == (1, "nothing found\n")


def test_more_is_said_to_a_terminal_and_never_to_a_pipe(cli: Cli) -> None:
    _, seen = on_terminal(cli, "search", "think", "-n", "1", NO_COLOR="1")
    assert seen.endswith("\nmore: --limit 2\n")
    assert "more:" not in cli.ok("search", "think", "-n", "1")


def test_a_page_that_may_not_fit_the_one_before_says_so(cli: Cli) -> None:
    after = cli.json("search", "think", "-n", "1")["next"]
    said(cli.home / "talks.db", "I think of something else")
    cli.ok("reindex")
    done = cli("search", "think", "--after", after)
    assert done.code == 0 and "a hit may come twice" in done.err
    assert cli.json("search", "think", "--after", after)["moved"] is True


def test_the_end_of_a_query_that_is_too_long_is_left_out_and_that_is_said(cli: Cli) -> None:
    assert "its end was left out" in cli("search", "linker " * 5_000).err
    assert cli("search", "linker " * 5_000, "--json").json()["cut"] is True


def half_indexed(path: Path) -> None:
    """As somebody leaves it who was killed while the index was made again."""
    with palaver.open(path) as store:
        indexing.begin_again(store.db)


def test_an_index_that_lacks_much_is_brought_up_to_date_first(cli: Cli) -> None:
    half_indexed(cli.home / "talks.db")
    done = cli("search", "linker")
    assert (done.code, done.err, len(addresses(done.out))) == (0, "", 1)
    assert cli.json("reindex", "--missing") == {"indexed": 0}


@pytest.mark.on_disk
def test_where_nothing_can_be_written_it_is_said_how_far_the_index_goes(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    talks.small(tmp_path / "store" / "talks.db")
    half_indexed(tmp_path / "store" / "talks.db")
    done = on_a_readonly_mount(Cli(tmp_path, tmp_path / "store" / "talks.db"), "search", "quetzalcoatl")
    why, note = done.err.splitlines()
    assert (done.code, done.out) == (1, "")
    assert "the index was not brought up to date: " in why and "check that its directory is writable" in why
    lacks = "of next to everything some is not indexed yet, and may be missing"
    assert note == f"palaver: note: {lacks}; `palaver reindex --missing` goes on with it"


# ---------------------------------------------------------------- the index


def test_the_index_is_made_again_and_its_turns_are_counted(cli: Cli) -> None:
    assert cli.ok("reindex") == "indexed 5 turns\n"
    assert cli.json("reindex") == {"indexed": 5}
    assert cli.ok("reindex", "--missing") == "indexed 0 turns\n"
    assert len(addresses(cli.ok("search", "linker"))) == 1


def test_a_damaged_index_is_told_with_the_command_that_mends_it(cli: Cli) -> None:
    with sqlite3.connect(cli.home / "talks.db") as db:
        db.execute("DELETE FROM document_words_docsize")
    db.close()
    said = cli.refused("search", "linker", code=4)
    assert "make it again with `palaver reindex`, nothing else is affected" in said
    cli.ok("reindex")
    assert len(addresses(cli.ok("search", "linker"))) == 1


@pytest.mark.on_disk
def test_an_index_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    talks.small(tmp_path / "store" / "talks.db")
    done = on_a_readonly_mount(Cli(tmp_path, tmp_path / "store" / "talks.db"), "reindex")
    assert done.code == 4 and "check that its directory is writable" in done.err


BAR = """
from palaver.cli import main
from palaver.cli.ui import progress
progress._MOMENT = 0.0
main(["reindex"])
"""


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end(cli: Cli) -> None:
    with Terminal(cli.env, line=[sys.executable, "-c", BAR]) as terminal:
        code, seen = terminal.end()
    assert code == 0 and "indexed 5 of 5 turns" in seen and seen.endswith("indexed 5 turns\n")
    assert "\x1b[2K" in seen.rpartition("of 5 turns")[2]  # the line of the bar is erased


def test_a_long_index_shows_how_far_it_is(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from palaver.cli.ui import progress

    monkeypatch.setattr(progress, "_LONG", 0.0)
    assert cli("reindex").err == "indexed 5 of 5 turns so far\n"
