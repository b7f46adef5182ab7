"""`tree`: the turns of a session as a graph, the sessions around it, and the words that tell one turn from another."""

from __future__ import annotations

import re
from pathlib import Path

import palaver
from palaver import Session, Store
from palaver.cli.ui.graph import draw
from palaver.cli.ui.sanitize import width
from palaver.model import TurnInfo, Usage

from . import talks
from .run import Cli
from .terminal import Terminal


def graph(text: str) -> list[str]:
    return re.sub(r"\w{6} [0-9a-f]{7}", "ID", text).splitlines()


def test_tree_is_a_graph_with_strays_and_branches(cli: Cli) -> None:
    assert graph(cli.ok("tree", "@")) == [
        "x ID Is it red?",
        "| * ID (head) Is it green?",
        "|/",
        "o ID Add it.",
        "o ID Why does the build fail?",
    ]
    marks = {turn["words"]: turn["mark"] for turn in cli.json("tree", "@")["turns"]}
    assert marks == {
        "Why does the build fail?": "path",
        "Add it.": "path",
        "Is it green?": "head",
        "Is it red?": "stray",
    }


def test_tree_marks_what_is_open_and_what_waits(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        waiting, running = session.turn("May I?"), session.turn("Running")
        waiting.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "rm", "input": {}})
        waiting.wait()
        cli = Cli(tmp_path, tmp_path / "talks.db")
        marks = {turn["words"]: turn["mark"] for turn in cli.json("tree", "@")["turns"]}
        text = cli.ok("tree", "@")
        running.abort()
    assert marks == {"May I?": "waiting", "Running": "open"}
    assert re.search(r"\? \w{6} ------- \(waiting\) May I\?", text)
    assert re.search(r"\+ \w{6} ------- \(streaming\) Running", text)


def family(path: Path) -> str:
    """An answer that was generated again, a sub-agent that sent another, a fork that stands, a summary; its id."""
    with palaver.open(path) as store:
        session = store.sessions.create("coder", title="Main")
        talks.talk(session, "Why?", "Because of zlib.")
        with session.regenerate() as turn:
            turn.text("Because of the linker.")
            turn.tool("task", {"what": "look"}, id="call-1").output("looked")
        send(store, session, "searcher", "Where is zlib?", "call-1")
        session.fork(title="Another way")
        session.commit("Thanks.")
        session.compact("They found the linker.", keep_from=session.path()[-1])
        return session.id


def send(store: Store, session: Session, agent: str, title: str, call: str) -> None:
    child = store.sessions.create(agent, parent=session, tool_call_id=call, title=title)
    talks.talk(child, "Look.", "Found.")
    if agent == "searcher":
        send(store, child, "reader", "Read it", "c1")


def test_siblings_have_their_answers_summaries_their_words_and_turns_their_sub_agents(tmp_path: Path) -> None:
    main = family(tmp_path / "talks.db")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    assert [re.sub(r"\b\w{6} (searcher|reader|Another)", r"ID \1", line) for line in graph(cli.ok("tree", main))] == [
        "* ID (head) summary: They found the linker.",
        "o ID Thanks.",
        "o ID (fork ID Another way) answer: Because of the linker.",
        "|   \\_ ID searcher (1 turn) Where is zlib?",
        "|      \\_ ID reader (1 turn) Read it",
        "| o ID answer: Because of zlib.",
        "|/",
        ".",
    ]


def test_programs_get_heads_and_sub_agents_of_a_turn(tmp_path: Path) -> None:
    main = family(tmp_path / "talks.db")
    cli = Cli(tmp_path, tmp_path / "talks.db")
    ids = {one["title"]: one["id"] for one in cli.json("ls")["sessions"]}
    turns = {turn["words"]: turn for turn in cli.json("tree", main)["turns"]}
    again = turns["Because of the linker."]
    assert (again["heads"], again["agents"]) == ([ids["Another way"]], [ids["Where is zlib?"]])
    assert turns["They found the linker."]["heads"] == [main]
    assert turns["Because of zlib."]["heads"] == turns["Because of zlib."]["agents"] == []
    assert cli.json("tree", "Another way")["turns"][-1]["heads"] == [ids["Another way"]]


def test_a_sub_agent_hangs_on_the_turn_of_its_call_and_not_on_where_the_head_was(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create("coder", id="main")
        send(store, session, "early", "Before anything", "nothing")
        with session.turn("Look.") as turn:
            turn.tool("task", {}, id="call-1").output("…")
        session.commit("And then?")
        send(store, session, "late", "For the first turn", "call-1")
        send(store, session, "lost", "By no call we know", "call-9")
    shown = [line.split(" ", 4)[-1] for line in Cli(tmp_path, tmp_path / "talks.db").ok("tree", "main").splitlines()]
    assert [re.sub(r".*\d turn\) ", "> ", line) for line in shown] == [
        "And then?",
        "> By no call we know",
        "Look.",
        "> For the first turn",
        "> Before anything",
    ]


def test_the_head_of_the_session_that_was_forked_is_named_too_unless_it_was_deleted(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(title=f"Main{talks.TITLE_ATTACK}")
        session.commit("Hello.")
        session.fork(title="Fork")
        cli = Cli(tmp_path, tmp_path / "talks.db")
        before = cli.ok("tree", "Fork")
        session.delete()
    assert f"(head, root {session.id[-6:]} Main\\u{{202e}}title" in before
    assert "(head) Hello." in cli.ok("tree", "Fork")


def test_a_message_in_the_queue_is_no_beginning(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        session.commit("First.")
        session.enqueue("Later.")
    lines = Cli(tmp_path, tmp_path / "talks.db").ok("tree", "@").splitlines()
    assert [line[0] for line in lines] == ["+", "*"]


def test_tree_fits_twenty_columns(tmp_path: Path) -> None:
    main = family(tmp_path / "talks.db")
    cli = Cli(tmp_path, tmp_path / "talks.db", NO_COLOR="1", PAGER="cat")
    with Terminal(cli.env, "tree", main, columns=20) as terminal:
        lines = terminal.end()[1].splitlines()
    assert max(map(width, lines)) <= 20
    assert re.fullmatch(r"\* \w{6} \(head\) The…", lines[0])
    assert re.fullmatch(r"o \w{6} Thanks\.", lines[1])
    assert re.fullmatch(r"o \w{6} \(\w{6}\) B…", lines[2])


# ---------------------------------------------------------------- the graph alone


def turn_at(name: str, parent: str | None, depth: int, at: int) -> TurnInfo:
    return TurnInfo(name, parent, "s", "turn", "completed", 0, depth, at, at, b"", None, Usage(), 0.0, 0, 0)


def drawn(*turns: TurnInfo) -> list[str]:
    return [row.graph + (f" {row.turn.id}" if row.turn else "") for row in draw(list(turns))]


def test_columns_join_where_branches_grow_from_one_turn() -> None:
    tree = [turn_at("a", None, 1, 1), turn_at("b", "a", 2, 2), turn_at("c", "a", 2, 3), turn_at("d", "a", 2, 4)]
    assert drawn(*tree) == ["o d", "| o c", "| | o b", "|_|/", "|/", "o a"]


def test_first_turns_beside_each_other_join_in_the_beginning() -> None:
    assert drawn(turn_at("a", None, 1, 1), turn_at("b", None, 1, 2)) == ["o b", "| o a", "|/", "."]
    three = [turn_at("a", None, 1, 1), turn_at("b", None, 1, 2), turn_at("c", None, 1, 3), turn_at("d", "a", 2, 4)]
    assert drawn(*three) == ["o d", "| o c", "| | o b", "o | | a", "|_|/", "|/", "."]


def test_a_column_that_joins_from_far_right_is_drawn_across() -> None:
    tree = [turn_at("a", None, 1, 1), turn_at("b", "a", 2, 2), turn_at("x", None, 1, 3), turn_at("y", "x", 2, 5)]
    tree += [turn_at("c", "a", 2, 6)]
    ordered = sorted(tree, key=lambda turn: turn.depth)
    assert drawn(*ordered) == ["o c", "| o y", "| o x", "| | o b", "|_|/", "o | a", "|/", "."]


def test_a_clock_that_went_back_puts_no_parent_above_its_child() -> None:
    assert drawn(turn_at("a", None, 1, 50), turn_at("b", "a", 2, 10)) == ["o b", "o a"]
