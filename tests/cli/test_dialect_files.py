"""`palaver import --from hermes` and `palaver export --dialect hermes`, as a person runs them."""

from __future__ import annotations

from pathlib import Path

import palaver
from tests.dialects.hermes.files.files import Said, add, content_of, made, session
from tests.dialects.hermes.files.talks import of_6, of_22

from .run import Cli
from .test_reference import documented


def test_two_lines_bring_hermes_in_and_out(bare: Cli) -> None:
    home = bare.home / ".hermes"
    home.mkdir()
    of_6(home / "state.db")
    said = bare.ok("import", "--from", "hermes")
    assert said.startswith(f"imported 3 sessions, 21 messages of {home / 'state.db'}; they are in ")
    assert bare.ok("import", "--from", "hermes").startswith("imported 0 sessions, 0 messages of ")
    assert "Fix Docker Build" in bare.ok("ls")
    assert bare.ok("export", "--dialect", "hermes", "out.db").startswith(
        "wrote 3 sessions with 21 messages to out.db, "
    )
    assert len(content_of(bare.home / "out.db")["messages"]) == 21


def test_hermes_home_says_where_it_is_and_a_path_too(bare: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    made(folder / "state.db", [session()], Said()("user", "x").rows)
    assert bare.json("import", "--from", "hermes", HERMES_HOME=str(folder))["imported"] == 1
    found = bare.json("import", "--from", "hermes", str(folder / "state.db"))
    assert (found["already_there"], found["known"], found["schema"]) == (1, 1, 6)


def test_the_json_of_both_has_the_documented_keys_and_says_what_was_left(bare: Cli) -> None:
    of_22(bare.home / "state.db")
    found = bare.json("import", "--from", "hermes", "state.db")
    assert set(found) == documented("import")[0]
    assert (found["imported"], found["items"], found["lines"], found["schema"]) == (2, 14, 14, 22)
    strict = bare.json("export", "--dialect", "hermes", "--strict", "-o", "strict.db")
    assert set(strict) == documented("export")[0]
    assert "messages that were taken back: 6" in strict["left_out"] and strict["rows"] == 5
    assert bare.json("export", "--dialect", "hermes", "out.db")["columns"][0] == "sessions.cwd"
    done = bare("export", "--dialect", "hermes", "--strict", "again.db")
    assert "left out: messages that were summarised: 3\n" in done.err


def test_what_is_wrong_is_a_sentence_and_no_store_is_made(bare: Cli) -> None:
    assert "is not there; name the state.db" in bare.refused("import", "--from", "hermes", code=4)
    (bare.home / "text.db").write_text("hello")
    assert "is no SQLite database" in bare.refused("import", "--from", "hermes", "text.db", code=4)
    assert not (bare.home / ".palaver").exists()
    assert "name the file" in bare.refused("import", "--from", "hermes", "-", code=2)
    assert "have names" in bare.refused("import", "--from", "hermes", "text.db", "--id", "x", code=2)
    assert "name the file to read" in bare.refused("import", code=2)


def test_an_export_needs_one_file_that_is_free(cli: Cli) -> None:
    assert "name the file" in cli.refused("export", "--dialect", "hermes", code=2)
    assert "name the file" in cli.refused("export", "--dialect", "hermes", "@", "-o", "x.db", code=2)
    assert "two ways" in cli.refused("export", "--dialect", "hermes", "x.db", "--format", "json", code=2)
    assert "goes with --dialect" in cli.refused("export", "--strict", "-o", "x.jsonl", code=2)
    cli.ok("export", "--dialect", "hermes", "x.db")
    assert "is there already" in cli.refused("export", "--dialect", "hermes", "x.db", code=5)
    store = cli.env["PALAVER_STORE"]
    assert "nothing is written over it" in cli.refused("export", "--dialect", "hermes", store, code=5)


def test_problems_and_damage_are_told_and_the_exit_code_says_so(bare: Cli) -> None:
    source = made(bare.home / "state.db", [session(parent_session_id="gone")], Said()("user", b"\xff").rows)
    done = bare("import", "--from", "hermes", "state.db")
    assert done.code == 1 and "told: session s1, row 1: content is no UTF-8" in done.err and "gone" in done.err
    found = bare("import", "--from", "hermes", "state.db", "--json").json()
    assert [one["line"] for one in found["refusals"]] == [None, 1]
    with palaver.open(bare.home / ".palaver" / "palaver.db") as store:
        store.sessions.get("s1").archive()
    add(source, messages=Said(at=1767300100)("user", "more").rows)
    assert "s1 is archived here, and was left alone" in bare("import", "--from", "hermes", "state.db").err
