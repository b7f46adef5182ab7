"""`palaver compact` and `palaver context`, as a person uses them: a summary for old turns, and what a model sees.

Where only the outcome matters, the library reads it: a process less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import palaver

from . import talks
from .run import Cli
from .terminal import Terminal

SHOWN = ["Why does the build fail?", "The linker flag is missing.", "Add it.", "Done.", "Is it green?", "Green."]


def texts(messages: list[dict[str, Any]]) -> list[str]:
    """What each message says, thoughts and calls left out."""
    return ["".join(p["text"] for p in m["parts"] if p["type"] == "text").strip() for m in messages]


def seen(cli: Cli) -> list[str]:
    with palaver.open(cli.env["PALAVER_STORE"]) as store:
        return texts(store.sessions.find("ticket-7").context())


def shown(cli: Cli) -> list[str]:
    with palaver.open(cli.env["PALAVER_STORE"]) as store:
        assert store.verify() == []
        return texts(store.sessions.find("ticket-7").messages())


def turns(cli: Cli) -> list[str]:
    with palaver.open(cli.env["PALAVER_STORE"]) as store:
        return [turn.id for turn in store.sessions.find("ticket-7").path()]


def test_a_summary_stands_for_everything(cli: Cli) -> None:
    said = cli.ok("compact", "ticket-7", "They fixed the build.")
    assert said.startswith("compacted ") and said.count("\n") == 1
    assert seen(cli) == ["They fixed the build."]
    assert shown(cli) == [*SHOWN, ""]


def test_show_and_tree_still_have_every_turn(cli: Cli) -> None:
    said = cli.json("compact", "ticket-7", "They fixed the build.")
    assert set(said) == {"session", "turn_id"}
    assert (said["session"]["turn_id"], said["session"]["turns"]) == (said["turn_id"], 4)
    tree = cli.json("tree", "ticket-7")["turns"]
    assert [turn["id"] for turn in tree if turn.get("kind", "") == "compaction"] == [said["turn_id"]]
    messages = cli.json("show", "ticket-7")["messages"]
    assert texts(messages) == [*SHOWN, ""]
    (part,) = messages[-1]["parts"]
    assert (part["type"], part["data"]["trigger"]) == ("data-compaction", "manual")
    for command in ("show", "log", "tree"):
        assert cli.ok(command, "ticket-7")


def test_the_last_turns_are_kept(cli: Cli) -> None:
    cli.ok("compact", "ticket-7", "So far: the flag.", "--keep", "2")
    assert seen(cli) == ["So far: the flag.", *SHOWN[2:]]


def test_summaries_are_not_counted_among_the_last_turns(cli: Cli) -> None:
    cli.ok("compact", "ticket-7", "first", "--keep", "2")
    cli.ok("compact", "ticket-7", "second", "--keep", "1")
    assert seen(cli) == ["second", *SHOWN[4:]]


@pytest.mark.parametrize("how", ["end", "back"])
def test_the_first_turn_to_keep_is_named_like_any_turn(cli: Cli, how: str) -> None:
    name = {"end": turns(cli)[1][-8:], "back": "~1"}[how]
    cli.ok("compact", "ticket-7", "So far: the flag.", "--keep-from", name)
    assert seen(cli) == ["So far: the flag.", *SHOWN[2:]]


def test_undo_brings_everything_back(cli: Cli) -> None:
    cli.ok("compact", "ticket-7", "They fixed the build.")
    cli.ok("undo", "ticket-7")
    assert seen(cli) == SHOWN


def test_a_summary_from_a_file_keeps_its_lines(cli: Cli) -> None:
    summary = "# What happened\n\n- a flag\n- “quoted” 🌍\n"
    cli.ok("compact", "ticket-7", summary)
    assert cli.json("context", "ticket-7")["messages"][0]["parts"] == [{"type": "text", "text": summary}]


# ---------------------------------------------------------------- refused


REFUSED = [
    (("nobody", "s"), 3, "nobody"),
    (("ticket-7", "  "), 2, "says something"),
    (("ticket-7", "s", "--keep", "3"), 2, "everything would be kept"),
    (("ticket-7", "s", "--keep-from", "trn_nowhere"), 3, "trn_nowhere"),
    (("ticket-7", "s", "--keep-from", "~9"), 3, "~9"),
]


def test_what_is_refused_changes_nothing(cli: Cli) -> None:
    for args, code, sentence in REFUSED:
        assert sentence in cli.refused("compact", *args, code=code)
    assert (seen(cli), shown(cli)) == (SHOWN, SHOWN)


def test_a_turn_beside_the_path_cannot_be_kept(cli: Cli) -> None:
    stray = next(turn["id"] for turn in cli.json("tree", "ticket-7")["turns"] if turn["mark"] == "stray")
    assert stray in cli.refused("compact", "ticket-7", "s", "--keep-from", stray, code=3)
    assert seen(cli) == SHOWN


def test_a_session_in_which_nothing_was_said(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create("coder", id="empty")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    for more in ((), ("--keep", "1")):
        assert "nothing was said yet" in cli.refused("compact", "empty", "s", *more, code=2)
    assert cli.ok("context", "empty") == ""


def test_an_archived_session_is_not_compacted(cli: Cli) -> None:
    cli.ok("archive", "ticket-7")
    assert "archive --undo" in cli.refused("compact", "ticket-7", "s", code=5)


def test_programs_get_the_error_as_one_line_of_json(cli: Cli) -> None:
    done = cli("compact", "ticket-7", "", "--json")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "BadValue" in json.dumps(json.loads(done.err))


# ---------------------------------------------------------------- context


SEEN = """\
system
So far: the flag.

user
Is it green?

assistant
  thinks: Let me think.

Green. \n"""


def test_context_prints_who_says_what(cli: Cli) -> None:
    cli.ok("compact", "ticket-7", "So far: the flag.", "--keep", "1")
    assert cli.ok("context", "ticket-7") == SEEN
    with Terminal({**cli.env, "NO_COLOR": "1"}, "context", "ticket-7") as terminal:
        assert terminal.end()[1].endswith("\nGreen.\n3 messages\n")


def test_context_shows_calls_and_results_and_no_step(cli: Cli) -> None:
    shown = cli.ok("context", "ticket-7")
    assert "  tool bash\n    command: ls -l\n    -> total 0\n" in shown and "step-start" not in shown
    told = cli.ok("context", "ticket-7", "--model")
    assert "  tool bash\n    command: ls -l\n  thinks:" in told and "\ntool\n  tool bash\n    -> total 0\n" in told


def test_context_as_model_messages(cli: Cli) -> None:
    cli.ok("compact", "ticket-7", "So far.", "--keep", "2")
    messages = cli.json("context", "ticket-7", "--model")["messages"]
    assert messages[:2] == [
        {"role": "system", "content": "So far."},
        {"role": "user", "content": [{"type": "text", "text": "Add it."}]},
    ]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user", "assistant"]


def test_context_of_tools_has_their_results(cli: Cli) -> None:
    messages = cli.json("context", "ticket-7", "--model")["messages"]
    (told,) = [message for message in messages if message["role"] == "tool"]
    assert told["content"][0]["output"] == {"type": "text", "value": "total 0"}


def test_context_with_another_system_prompt(cli: Cli) -> None:
    messages = cli.json("context", "ticket-7", "--system", "Be brief.")["messages"]
    assert texts(messages) == ["Be brief.", *SHOWN]
    assert seen(cli) == SHOWN


def test_a_hostile_talk_is_shown_without_its_escapes(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create("coder", id="hostile")
        talks.talk(session, f"question {talks.ATTACK}", "answer")
        session.compact(f"summary {talks.ATTACK}", keep_from=None)
        talks.talk(session, f"question {talks.ATTACK}", "answer", tool="bash")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    for more in ((), ("--model",)):
        shown = cli.ok("context", "hostile", *more)
        assert "summary" in shown
        assert not set(shown) & set("\x1b\x07\x9b\x08\r\x7f\u202e\u2066")
    assert f"summary {talks.ATTACK}" in cli.json("context", "hostile")["messages"][0]["parts"][0]["text"]


def test_a_context_is_read_by_people_part_by_part(cli: Cli) -> None:
    said = cli.ok("context", "ticket-7")
    assert said.startswith(
        "user: Why does the build fail?\n"
        'assistant: tool bash {"command": "ls -l"} -> "total 0"\n'
        "  thinks: Let me think.\n"
        "  The linker flag is missing.\n"
    )
    assert "step-start" not in said
    said = cli.ok("context", "ticket-7", "--model")
    assert 'assistant: tool bash {"command": "ls -l"}\n' in said
    assert '\ntool: -> {"type": "text", "value": "total 0"}\n' in said
