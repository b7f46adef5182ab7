"""Export and import as a person uses them: files, pipes, progress, and what is said about a bad file."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .run import COMMAND, Cli
from .terminal import Terminal


def other(cli: Cli) -> Cli:
    """A store that is not there yet."""
    return Cli(cli.home, cli.home / "other" / "talks.db")


def test_out_in_and_out_again_is_the_same_to_the_byte(cli: Cli) -> None:
    assert cli.ok("export", "-o", "one.jsonl").startswith("wrote every session to one.jsonl, ")
    there = other(cli)
    assert there.ok("import", "one.jsonl") == "imported 2 sessions\n"
    there.ok("export", "-o", "two.jsonl")
    assert (cli.home / "two.jsonl").read_bytes() == (cli.home / "one.jsonl").read_bytes()
    assert there.ok("verify") == "everything fits\n"
    assert there.ok("show", "ticket-7") == cli.ok("show", "ticket-7")


def test_through_a_pipe(cli: Cli) -> None:
    exported = subprocess.run([*COMMAND, "export"], env=cli.env, cwd=cli.home, capture_output=True, timeout=120)
    assert exported.returncode == 0 and exported.stderr == b""
    there = other(cli)
    assert there.json("import", "-", stdin=exported.stdout)["imported"] == 2
    assert there.json("import", "-", stdin=exported.stdout)["already_there"] == 2


def test_chosen_sessions_bring_what_they_share(cli: Cli) -> None:
    fork = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    assert cli.json("export", fork, "-o", "one.jsonl") == {
        "file": "one.jsonl",
        "format": "jsonl",
        "sessions": 1,
        "bytes": (cli.home / "one.jsonl").stat().st_size,
        "broken": [],
        **{"rows": None, "columns": [], "untitled": [], "left_out": []},  # of `--dialect`
    }
    there = other(cli)
    there.ok("import", "one.jsonl")
    assert [one["id"] for one in there.json("ls")["sessions"]] == [fork]
    assert there.json("show", fork)["messages"] == cli.json("show", fork)["messages"]


def test_a_refused_session_is_told_with_its_line_and_the_rest_is_kept(cli: Cli) -> None:
    cli.ok("export", "-o", "one.jsonl")
    lines = (cli.home / "one.jsonl").read_bytes().splitlines(keepends=True)
    changed = [line.replace(b"And on macOS?", b"And on Windows?") for line in lines]
    place = next(at for at, line in enumerate(lines, 1) if b"And on macOS?" in line)
    (cli.home / "one.jsonl").write_bytes(b"".join(changed))
    there = other(cli)
    done = there("import", "one.jsonl", "--json")
    assert done.code == 1
    summary = done.json()
    assert (summary["imported"], summary["refused"]) == (1, 1)
    assert len(summary["refusals"]) == 1 and summary["refusals"][0]["line"] >= place
    said = there("import", "one.jsonl")
    assert said.code == 1 and f"refused: line {summary['refusals'][0]['line']} session ses_" in said.err
    assert [one["title"] for one in there.json("ls")["sessions"]] == ["Fix the build"]
    assert there.ok("verify") == "everything fits\n"


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"hello\x1b[2J\n", b"\xff\xfe\x00", b'{"palaver":"export","version":99}\n']
)
def test_what_is_not_an_export_is_said_not_to_be_one(bare: Cli, content: bytes) -> None:
    (bare.home / "bad.jsonl").write_bytes(content)
    said = bare.refused("import", "bad.jsonl", code=2)
    assert said.startswith("palaver: bad.jsonl") and "\x1b" not in said
    assert [file.name for file in bare.home.iterdir()] == ["bad.jsonl"]


def cut(lines: list[bytes]) -> list[bytes]:
    return [*lines[: len(lines) // 2], lines[len(lines) // 2][:20]]


def doubled(lines: list[bytes]) -> list[bytes]:
    place = next(at for at, line in enumerate(lines) if b'"chat_parts"' in line)
    return [*lines[:place], lines[place], *lines[place:]]


def reordered(lines: list[bytes]) -> list[bytes]:
    places = [at for at, line in enumerate(lines) if b'"turns"' in line][:2]
    lines = list(lines)
    lines[places[0]], lines[places[1]] = lines[places[1]], lines[places[0]]
    return lines


@pytest.mark.parametrize("spoil", [cut, doubled, reordered])
def test_a_spoiled_file_is_told_with_its_line_and_leaves_nothing_half(cli: Cli, spoil: Any) -> None:
    cli.ok("export", "-o", "one.jsonl")
    lines = (cli.home / "one.jsonl").read_bytes().splitlines(keepends=True)
    (cli.home / "bad.jsonl").write_bytes(b"".join(spoil(lines)))
    there = other(cli)
    done = there("import", "bad.jsonl")
    assert done.code == 1 and "line " in done.err and "Traceback" not in done.err
    assert there.ok("verify") == "everything fits\n"
    there.ok("import", "one.jsonl")
    there.ok("export", "-o", "two.jsonl")
    assert (cli.home / "two.jsonl").read_bytes() == (cli.home / "one.jsonl").read_bytes()


def test_a_file_that_cannot_be_read_or_written_is_a_usage_error(cli: Cli) -> None:
    assert "cannot read nowhere.jsonl" in cli.refused("import", "nowhere.jsonl", code=2)
    assert "cannot read ." in cli.refused("import", ".", code=2)
    assert "cannot write" in cli.refused("export", "-o", "no/such/dir.jsonl", code=2)
    assert "--json needs -o" in cli("export", "--json").err
    cli.refused("export", "no such session", "-o", "x.jsonl", code=3)
    assert sorted(path.suffix for path in cli.home.iterdir() if "jsonl" in path.name) == []


def test_an_export_is_private_and_whole(cli: Cli) -> None:
    cli.ok("export", "-o", "one.jsonl")
    assert (cli.home / "one.jsonl").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in cli.home.glob("*.part")] == []


def test_an_export_into_a_pipe_leaves_the_pipe_in_its_place(cli: Cli) -> None:
    """As root, an export to /dev/null put a file there, for everybody."""
    pipe = cli.home / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        cli.ok("export", "-o", "pipe")
        said, _ = reader.communicate(timeout=60)
    assert pipe.is_fifo()
    assert said.startswith(b'{"palaver":"export"') and said.endswith(b'{"end":"export","sessions":2}\n')


def test_the_inspection_form_is_one_json_per_session(cli: Cli) -> None:
    shown = [json.loads(line) for line in cli.ok("export", "--format", "json").splitlines()]
    assert [one["session"]["agent"] for one in shown] == ["coder", "coder"]
    assert len(json.loads(cli.ok("export", "ticket-7", "--format", "json"))["messages"]) == 6


def test_markdown_is_for_people(cli: Cli) -> None:
    page = cli.ok("export", "ticket-7", "--format", "markdown")
    assert "Fix the build" in page and "The linker flag is missing." in page and page.startswith("#")


def test_an_export_is_not_for_a_terminal(cli: Cli) -> None:
    with Terminal(cli.env, "export") as terminal:
        code, seen = terminal.end()
    assert code == 2 and "name a file with -o" in seen


def test_progress_is_shown_on_a_terminal_only(cli: Cli, tmp_path: Path) -> None:
    with Terminal(cli.env, "export", "-o", str(tmp_path / "one.jsonl")) as terminal:
        code, seen = terminal.end()
    assert code == 0 and "wrote every session" in seen
    assert cli("export", "-o", "two.jsonl").err == ""


def test_archived_sessions_are_exported_too(cli: Cli) -> None:
    cli.ok("archive", "ticket-7")
    assert len(cli.ok("export", "--format", "json").splitlines()) == 2


def test_an_export_is_never_written_over_the_store_it_reads(cli: Cli) -> None:
    store = cli.home / "talks.db"
    before = store.read_bytes()
    os.symlink(store, cli.home / "link.db")
    os.link(store, cli.home / "hard.db")
    for name in ("talks.db", str(store), "link.db", "hard.db"):
        assert "nothing is written over it" in cli.refused("export", "-o", name, code=2)
        cli.refused("export", "@", "--format", "markdown", "-o", name, code=2)
    assert store.read_bytes() == before and not list(cli.home.glob("*.part"))


def test_an_export_is_never_written_over_another_database_nor_what_belongs_to_one(cli: Cli) -> None:
    with sqlite3.connect(cli.home / "theirs.db") as theirs:
        theirs.execute("CREATE TABLE t (a)")
    theirs.close()
    (cli.home / "damaged.db").write_bytes(b"no header any more")
    (cli.home / "damaged.db-wal").write_bytes(b"its log")
    for name in ("theirs.db", "theirs.db-wal", "talks.db-shm", "damaged.db"):
        assert "name another file" in cli.refused("export", "-o", name, code=2)
    assert not (cli.home / "theirs.db-wal").exists()


def test_an_export_takes_the_place_of_an_older_one(cli: Cli) -> None:
    (cli.home / "one.jsonl").write_text("older")
    cli.ok("export", "-o", "one.jsonl")
    cli.ok("export", "-o", "one.jsonl")
    assert (cli.home / "one.jsonl").read_text().startswith("{")


def test_markdown_may_be_looked_at_on_a_terminal(cli: Cli) -> None:
    with Terminal(cli.env | {"PAGER": "cat"}, "export", "@", "--format", "markdown") as terminal:
        code, seen = terminal.end()
    assert code == 0 and "# Fix the build" in seen
