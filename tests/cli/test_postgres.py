"""Every command on a store that is a space on a real Postgres server: the same answers as from a file."""

from __future__ import annotations

import io
import itertools
import json
import signal
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest

import palaver
from palaver.base import address
from palaver.cli import location, program, suggest
from palaver.cli.commands import doctor_server
from palaver.cli.exits import Stop, hide_secrets
from tests.dialects.hermes.files.talks import of_22
from tests.postgres.conftest import server
from tests.postgres.pooler import Pooler
from tests.postgres.server import Given, connect_given, rewritten
from tests.postgres.shared import Shared

from .puppet import Puppet
from .run import Cli
from .terminal import Terminal
from .test_reference import documented

__all__ = ["server"]
SECRET = "correct-horse"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def database(server: Shared | Given) -> Iterator[str]:
    made = server.create_database()
    yield made
    server.drop_database(made)


@pytest.fixture(scope="module")
def template(database: str, filled: Path) -> str:
    """A space with what the small file holds."""
    with palaver.open(filled) as source, palaver.open(database, space="template") as target:
        assert palaver.copy(source, target).problems == []
    return "template"


@pytest.fixture
def up(tmp_path: Path, database: str, template: str) -> Cli:
    """On a space of the test's own."""
    name = f"space-{next(_numbers)}"
    palaver.spaces(database).copy(template, name)
    return Cli(tmp_path, f"{database}#{name}", NO_COLOR="1")


@pytest.fixture
def looking(tmp_path: Path, database: str, template: str) -> Cli:
    """On the space that all tests share, to look at."""
    return Cli(tmp_path, f"{database}#{template}", NO_COLOR="1")


def on_file(path: Path, *args: str) -> Any:
    """What a command answers on the file, in this process."""
    with redirect_stdout(io.StringIO()) as out:
        assert program.run([*args, "--json", "--store", str(path)]) == 0
    return json.loads(out.getvalue())


# ---------------------------------------------------------------- the same answers


@pytest.mark.parametrize(
    "command",
    [
        ("ls", "--all"),
        ("show", "ticket-7"),
        ("tree", "the-build"),
        ("lineage", "ticket-7"),
        ("log", "@"),
        ("context", "@"),
        ("search", "linker"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_that_looks_says_the_same_as_on_a_file(looking: Cli, filled: Path, command: tuple[str, ...]) -> None:
    assert looking.json(*command) == on_file(filled, *command)


def test_a_list_and_an_end_are_for_people_too(looking: Cli) -> None:
    assert [line.split()[0][:4] for line in looking.ok("ls").splitlines()] == ["ses_", "ses_"]
    assert "Green." in looking.ok("tail", "@")


# ---------------------------------------------------------------- changes


@pytest.mark.long
def test_moves(up: Cli) -> None:
    fork = up.json("fork", "ticket-7", "--at", "~1")["session"]
    assert fork["turns"] == 2
    head = up.json("rewind", "ticket-7~1")["session"]["turn_id"]
    assert up.json("undo", "ticket-7")["session"]["turn_id"] != head
    assert up.json("redo", "ticket-7")["session"]["turn_id"] == head
    assert up.ok("verify") == "everything fits\n"


@pytest.mark.long
def test_sending_permitting_and_compacting(up: Cli) -> None:
    assert "And then?" in json.dumps(up.json("queue", "ticket-7", "And then?"))
    up.ok("permit", "ticket-7", "bash", "git *")
    up.ok("compact", "ticket-7", "So far, so good.")
    assert "So far, so good." in json.dumps(up.json("context", "ticket-7"))


def test_names_answers_and_what_was_deleted(up: Cli) -> None:
    url, _, space = up.env["PALAVER_STORE"].partition("#")
    with palaver.open(url, space) as store, store.sessions.get("ticket-7").turn("Clean up.") as turn:
        for name in ("c1", "c2"):
            turn.write({"type": "tool-input-available", "toolCallId": name, "toolName": "bash", "input": {}})
            turn.write({"type": "tool-approval-request", "approvalId": name, "toolCallId": name})
        turn.wait()
    assert up.json("title", "ticket-7", "Deploy")["title"] == "Deploy"
    assert {"namespace": "alias", "name": "live"} in up.json("alias", "Deploy", "live")["aliases"]
    assert up.json("approve", "live", "c1")["answered"]["call_id"] == "c1"
    assert up.json("deny", "live")["waiting"] == []
    assert up.json("end", "live", "done")["session"]["end_reason"] == "done"
    assert up.json("reopen", "live")["session"]["end_reason"] is None
    assert len(up.json("stop", "live")["stopped"]) == 1
    assert up.json("reindex") == {"indexed": 6} and len(up.json("search", "green")["hits"]) == 2
    assert "Done." in up.ok("show", "live@{2}") and "Green." not in up.ok("show", "live@{2}")
    up.ok("rm", "live", "--yes")
    assert [one["title"] for one in up.json("rm", "--list")["sessions"]] == ["Deploy"]
    up.ok("rm", "--undo", "@")
    assert up.json("rm", "--list") == {"sessions": []} and up.ok("verify") == "everything fits\n"


@pytest.mark.long
def test_shelves_and_rows(up: Cli) -> None:
    assert up.json("archive", "ticket-7")["sessions"][0]["archived_at"]
    (fork,) = up.json("ls")["sessions"]
    up.ok("archive", "ticket-7", "--undo")
    up.ok("materialise", fork["id"])
    up.ok("rm", "ticket-7", "--yes")
    assert [one["id"] for one in up.json("ls")["sessions"]] == [fork["id"]]
    up.ok("adopt")
    assert up.ok("verify", "--fix") == "everything fits\n"


def test_out_and_in_is_the_same_to_the_byte(looking: Cli, filled: Path, database: str) -> None:
    looking.ok("export", "-o", "there.jsonl")
    on_file(filled, "export", "-o", str(looking.home / "here.jsonl"))
    assert (looking.home / "there.jsonl").read_bytes() == (looking.home / "here.jsonl").read_bytes()
    name = f"{database}#imported-{next(_numbers)}"
    assert looking.ok("import", "here.jsonl", "-s", name) == "imported 2 sessions\n"
    assert looking.json("import", "here.jsonl", "-s", name)["already_there"] == 2


def test_a_file_of_hermes_comes_in_and_goes_out(looking: Cli, database: str) -> None:
    of_22(looking.home / "state.db")
    name = f"{database}#imported-{next(_numbers)}"
    assert looking.json("import", "--from", "hermes", "state.db", "-s", name)["items"] == 14
    assert looking.json("import", "--from", "hermes", "state.db", "-s", name)["known"] == 14
    assert looking.json("export", "--dialect", "hermes", "out.db", "-s", name)["rows"] == 14
    again = f"{database}#imported-{next(_numbers)}"
    assert looking.json("import", "--from", "hermes", "out.db", "-s", again)["items"] == 14
    assert looking.json("show", "s1", "-s", again)["messages"][0]["parts"][0]["text"] == "one"


@pytest.mark.long
def test_a_journal_makes_the_rows_again(looking: Cli, database: str) -> None:
    with palaver.open(database, space="full", events="full") as store:
        store.sessions.create("coder").commit(["Hello?"])
    assert looking.ok("rebuild", "@", "-s", f"{database}#full") == "every row is as it was written\n"
    assert "keeps no journal" in looking.refused("rebuild", code=5)


@pytest.mark.long
def test_a_copy_up_and_down_is_the_same(bare: Cli, filled: Path, database: str) -> None:
    name = f"{database}#copied-{next(_numbers)}"
    assert bare.ok("copy", str(filled), name) == "copied 2 sessions; 2 compared, all the same\n"
    assert bare.ok("copy", name, "down.db") == "copied 2 sessions; 2 compared, all the same\n"
    for store, file in ((filled, "one.jsonl"), (bare.home / "down.db", "two.jsonl")):
        on_file(store, "export", "-o", str(bare.home / file))
    assert (bare.home / "one.jsonl").read_bytes() == (bare.home / "two.jsonl").read_bytes()
    other_way = rewritten(database, application_name="other") + "#" + name.partition("#")[2]
    assert "copy from, too" in bare.refused("copy", name, other_way, code=2)


# ---------------------------------------------------------------- following


def test_a_stream_is_followed_and_its_writer_has_a_lease(tmp_path: Path, database: str) -> None:
    with palaver.open(database) as store:
        session = store.sessions.create(title="Live").id
    cli = Cli(tmp_path, database, NO_COLOR="1")
    with (
        Puppet(database, session, cli.env) as puppet,
        Terminal(cli.env, "tail", "Live", "-f") as terminal,
    ):
        puppet.begin("What is new?")
        terminal.until("What is new?\n")
        for word in ("one ", "two ", "three "):
            puppet.say(word)
            assert terminal.until(word).endswith(word)
        findings = {one["check"]: one for one in cli("doctor", "--json").json()["findings"]}
        assert "is alive; its lease lasts" in findings["leases"]["what"]
        assert findings["open turns"]["what"] == "1 streaming"
        puppet.do("seal")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end()[0] == 130
    assert "one two three" in cli.ok("tail", "Live")


# ---------------------------------------------------------------- doctor and sql


def test_doctor_looks_at_the_server_and_the_space(looking: Cli) -> None:
    done = looking("doctor", "--json")
    findings = {one["check"]: one for one in done.json()["findings"]}
    wanted = "version server encoding latency connections durability pooler space leases sessions size"
    assert set(wanted.split()) <= set(findings)
    assert findings["server"]["what"].startswith("Postgres ") and findings["encoding"]["what"] == "UTF8"
    assert done.code == (0 if all(one["ok"] for one in findings.values()) else 1)
    assert [one for one in findings if not findings[one]["ok"]] in ([], ["durability"])  # our own runs with fsync off
    assert "schema palaver_" in findings["space"]["what"] and findings["loose rows"]["ok"]


def test_doctor_says_what_to_do(bare: Cli, database: str) -> None:
    done = bare("doctor", "-s", f"{database}#nowhere")
    assert done.code == 4 and "there is no space nowhere\n   -> `palaver space create`" in done.out
    done = bare("doctor", "-s", f"postgresql://someone:{SECRET}@127.0.0.1:1/none")
    assert done.code == 4 and "cannot be reached" in done.out and SECRET not in done.out + done.err


def test_doctor_sees_a_pooler_and_commands_work_behind_it(bare: Cli, database: str, template: str) -> None:
    if connect_given():
        pytest.skip("the pooler knows sockets and trust only")
    with Pooler(database) as pooler:
        store = f"{pooler.dsn}#{template}"
        done = bare("doctor", "-s", store)
        assert done.code == 1 and "PALAVER_POOLER=1" in done.out and "2 sessions" in done.out
        assert len(bare.json("ls", "-s", store, PALAVER_POOLER="1")["sessions"]) == 2


def test_what_doctor_would_say_of_each_trouble() -> None:
    assert not doctor_server.latency([1.0, 1.0, 90.0]).todo
    assert "nearer" in doctor_server.latency([30.0, 40.0, 50.0]).todo
    assert not doctor_server.connections(50, 100).todo
    assert "max_connections" in doctor_server.connections(95, 100).todo
    assert not doctor_server.pooler({7}, False).todo and not doctor_server.pooler({7, 8}, True).todo
    assert "pooler=True" in doctor_server.pooler({7, 8}, False).todo
    told = [one.what for one in doctor_server.leases([(1, "here", 9_000), (2, "there", -1), (3, "file", None)])]
    assert told[0] == "process 1 on here is alive; its lease lasts 9 s more"
    assert "of 2 writers have run out" in told[1] and len(told) == 2


def test_sql_reads_the_space_and_changes_nothing(up: Cli) -> None:
    told = up.ok("sql", stdin="SELECT count(*) AS n\n FROM chat_sessions;\n.tables\n.schema\n")
    assert told.startswith("n\n2\n") and "chat_sessions\ttable\n" in told and "heads\trevision\tbigint" in told
    answer = up.json("sql", "SELECT sum(revision), 1.5, 0.5::float8, now() IS NULL, '\\x00ff'::bytea FROM heads")
    assert answer["rows"] == [[4, "1.5", 0.5, False, {"hex": "00ff"}]]
    for query in ("DELETE FROM chat_sessions", "SELECT 1; DROP TABLE turns"):
        assert "cannot run this" in up.refused("sql", query, code=2)
    for query in ("delete from heads", "WITH x AS (DELETE FROM heads RETURNING 1) SELECT * FROM x"):
        assert "sql only reads" in up.refused("sql", query, code=2)
    assert up.ok("sql", "--csv", "SELECT 'a,b' AS t, NULL AS z, 1.50 AS n") == 't,z,n\r\n"a,b",,1.50\r\n'
    with palaver.open(up.env["PALAVER_STORE"].partition("#")[0], up.env["PALAVER_STORE"].partition("#")[2]) as store:
        assert store.verify() == []


# ---------------------------------------------------------------- spaces


def test_spaces_are_listed_made_copied_migrated_and_dropped(bare: Cli, database: str) -> None:
    name = f"made-{next(_numbers)}"
    made = bare.json("space", "create", database, name)
    assert set(made) == documented("space")[0] and set(made["spaces"][0]) == documented("space")[1]
    assert "there already" in bare.refused("space", "create", database, name, code=5)
    bare.ok("space", "copy", database, name, f"{name}-copy")
    listed = [line.split()[0] for line in bare.ok("space", "ls", database).splitlines()]
    assert {name, f"{name}-copy", "template"} <= set(listed) and listed == sorted(listed)
    assert bare.ok("space", "migrate", database) == f"migrated 0 spaces of {len(listed)}\n"
    assert "say --yes" in bare.refused("space", "drop", database, name, code=2)
    with Terminal(bare.env, "space", "drop", database, name) as terminal:
        terminal.until("everything in it? [y/N]")
        terminal.type("n\r")
        code, seen = terminal.end()
    assert code == 1 and "nothing was dropped" in seen
    bare.ok("space", "drop", database, name, "--yes")
    assert name not in {one["name"] for one in bare.json("space", "ls", database)["spaces"]}
    assert "there is no space" in bare.refused("space", "drop", database, name, "--yes", code=4)


def test_spaces_are_those_of_the_store_that_is_named_elsewhere(bare: Cli, database: str, template: str) -> None:
    listed = bare.json("space", "ls", database)["spaces"]
    for store in (database, f"{database}#{template}"):
        assert bare.json("space", "ls", PALAVER_STORE=store)["spaces"] == listed
        assert bare.json("--store", store, "space", "ls")["spaces"] == listed
    name = f"made-{next(_numbers)}"
    bare.ok("space", "create", name, PALAVER_STORE=database)
    assert name in bare.ok("space", "ls", PALAVER_STORE=database)
    bare.ok("space", "drop", name, "--yes", PALAVER_STORE=database)
    assert "only a Postgres database holds spaces" in bare.refused("space", "ls", code=2, PALAVER_STORE="talks.db")
    assert "takes 2 names" in bare.refused("space", "copy", name, code=2, PALAVER_STORE=database)


def test_a_server_that_does_not_answer_is_named_while_it_is_waited_for(bare: Cli) -> None:
    with Terminal(bare.env, "ls", "-s", f"postgresql://me:{SECRET}@127.0.0.1:1/x") as terminal:
        terminal.until("waiting for postgresql://me:***@127.0.0.1:1/x, which does not answer yet; Ctrl-C ends it\n")
        terminal.process.send_signal(signal.SIGINT)
        code, seen = terminal.end()
    assert code == 130 and SECRET not in seen


def test_a_server_that_answers_is_not_spoken_of(looking: Cli) -> None:
    assert looking("ls").err == "" == looking("space", "ls").err


def test_a_wrong_line_about_spaces_is_one_sentence(database: str) -> None:
    for words, said in {
        ("create", database): "takes 1 name",
        ("ls", f"{database}#acme"): "leave the #space out",
        ("ls", "talks.db"): "only a Postgres database holds spaces",
        ("create", database, "Not A Name"): "is no name for a space",
    }.items():
        with pytest.raises((Stop, palaver.BadValue), match=said):
            program.run(["space", *words])


@pytest.mark.long
def test_a_space_is_named_in_one_of_three_ways(bare: Cli, database: str, template: str) -> None:
    elsewhere = {"PALAVER_STORE": database}
    assert len(bare.json("--space", template, "ls", **elsewhere)["sessions"]) == 2
    assert len(bare.json("ls", **elsewhere, PALAVER_SPACE=template)["sessions"]) == 2
    said = bare.refused("ls", "--space", "nowhere", code=4, **elsewhere)
    assert "there is no such space" in said and "palaver space ls" in said
    assert "nowhere" not in {one.name for one in palaver.spaces(database).list()}  # who looks makes nothing


def test_an_address_and_its_space() -> None:
    assert address.split("postgresql://h/d#acme") == ("postgresql://h/d", "acme")
    assert address.split("postgresql://h/d?host=/a") == ("postgresql://h/d?host=/a", None)
    assert address.split("postgresql://u:p#w@h/d") == ("postgresql://u:p#w@h/d", None)  # that is a password
    assert location.locate("a#b.db") == ("a#b.db", None)


@pytest.mark.long
def test_sessions_are_completed_from_a_server_too(database: str, template: str) -> None:
    context = click.Context(click.Command("show"))
    context.params = {"store": f"{database}#{template}"}
    assert "the-build" in {offer.value for offer in suggest.sessions(context, "the")}
    context.params = {"store": f"{database}#nowhere"}
    assert suggest.sessions(context, "the") == []


# ---------------------------------------------------------------- secrets, and nothing there


def test_no_password_is_ever_printed(bare: Cli, database: str, template: str, filled: Path) -> None:
    url = rewritten(database, user="").replace("postgresql://", f"postgresql://palaver:{SECRET}@")
    if connect_given():
        pytest.skip("the server has passwords of its own")
    store = f"{url}#{template}"
    runs = [
        ("doctor", "--json", "-s", store),
        ("copy", str(filled), f"{url}#secret-copy", "--json"),
        ("copy", store, store),
        ("ls", "-s", f"{url}#nowhere"),
        ("ls", "-s", url.replace("/palaver_", "/not_there_")),
        ("ls", f"postgresql://palaver:{SECRET}@h/d"),
        ("ls", "-s", f"postgresql://palaver:{SECRET}@@h/d"),
        ("ls", "-s", f"postgresql://h/d?nonsense=1&password={SECRET}"),
    ]
    for run in runs:
        done = bare(*run)
        assert SECRET not in done.out + done.err and "Traceback" not in done.err, run


def test_a_password_in_a_sentence_is_hidden() -> None:
    assert hide_secrets("at postgresql://u:a:b@c@h/d!") == "at postgresql://u:***@h/d!"
    assert hide_secrets("?password=x&a=1 sslpassword=y") == "?password=***&a=1 sslpassword=***"
    assert hide_secrets("ses_1 at 10:30 by a@b") == "ses_1 at 10:30 by a@b"


def test_without_the_driver_it_is_said_how_to_get_it(bare: Cli) -> None:
    (bare.home / "psycopg.py").write_text("raise ModuleNotFoundError('no', name='psycopg')\n")
    for run in (("ls", "-s", "postgresql://h/d"), ("space", "ls", "postgresql://h/d")):
        said = bare.real.refused(*run, code=4, PYTHONPATH=str(bare.home))
        assert "Postgres needs psycopg; pip install 'palaver-store[postgres]'" in said


def not_here(commands: Iterable[str]) -> set[str]:
    """Commands that nothing in this file runs."""
    text = Path(__file__).read_text()
    return {name for name in commands if f'("{name}"' not in text}


def test_every_command_that_has_a_store_is_run_on_a_server() -> None:
    assert not_here(program.COMMANDS) == {"demo", "completion"}
    assert not_here(["ls", "planted"]) == {"planted"}
