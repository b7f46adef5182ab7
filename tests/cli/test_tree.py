"""`tree`: the turns of a session as a graph, the sessions around it, and the words that tell one turn from another."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

import palaver
from palaver import HeadConflict, Session, Store
from palaver.cli.ui.graph import draw
from palaver.cli.ui.sanitize import width
from palaver.cli.ui.tree_nodes import Nodes
from palaver.core.rows import ChildRow
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


def test_a_session_whose_origin_was_erased_is_drawn_and_so_is_what_came_from_there(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        session.commit("Hello.")
        session.fork(title="Fork")
        session.fork(title="Another")
    connection = sqlite3.connect(tmp_path / "talks.db")
    with connection:
        for table, key in (("heads", "session_id"), ("chat_sessions", "id")):
            connection.execute(f"DELETE FROM {table} WHERE {key} = ?", (session.id,))
    connection.close()
    shown = Cli(tmp_path, tmp_path / "talks.db").ok("tree", "Fork")
    assert re.search(r"\(head, fork \w{6} Another\) Hello\.", shown)


def test_sub_agents_are_drawn_however_deep_they_are_nested(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    main = family(tmp_path / "talks.db")

    def sends_one_more(nodes: Nodes, session_id: str) -> list[ChildRow]:
        first, *_ = real(nodes, main)
        level = int(session_id) if session_id.isdigit() else 0
        if session_id == main or level == 1_200:
            return [first]
        return [ChildRow(str(level + 1), *first[1:])]

    real = Nodes.spawned
    monkeypatch.setattr(Nodes, "spawned", sends_one_more)
    shown = Cli(tmp_path, tmp_path / "talks.db").ok("tree", main)
    assert shown.count("searcher") == 1_201


# ---------------------------------------------------------------- what is queued


def shown(path: Path, name: str = "main") -> list[str]:
    return graph(Cli(path.parent, path).ok("tree", name).replace(" -------", " 0000000"))


def said(session: Session, *questions: str) -> list[str]:
    """The ids of the turns."""
    return [talks.talk(session, question, "Yes.") for question in questions]


def test_a_queued_message_comes_after_the_head_and_not_where_it_was_sent(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        _, second, _ = said(session, "One.", "Two.", "Three.")
        session.enqueue("Hi.")
        session.rewind(second)
        rewound = shown(tmp_path / "talks.db")
        session.compact("So far.")
    assert rewound == ["q ID (queued) Hi.", "| o ID Three.", "|/", "* ID (head) Two.", "o ID One."]
    assert shown(tmp_path / "talks.db") == [
        "q ID (queued) Hi.",
        "* ID (head) summary: So far.",
        "| o ID Three.",
        "|/",
        "o ID Two.",
        "o ID One.",
    ]


def test_a_branch_that_is_newer_than_a_queued_message_is_still_below_it(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        (first,) = said(session, "One.")
        session.enqueue("Hi.")
        said(session, "Two.", "Three.")
        session.rewind(first)
    assert shown(tmp_path / "talks.db") == [
        "q ID (queued) Hi.",
        "| o ID Three.",
        "| o ID Two.",
        "|/",
        "* ID (head) One.",
    ]


def test_several_queued_messages_stand_in_line_the_first_next_to_the_head(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        first, _ = said(session, "One.", "Two.")
        for text in ("Hi.", "Ho.", "Hu."):
            session.enqueue(text)
        claimed = session.claim()
        assert claimed is not None and claimed.give_back()  # it is the first in line as before
        session.rewind(first)
    assert shown(tmp_path / "talks.db") == [
        "q ID (queued) Hu.",
        "q ID (queued) Ho.",
        "q ID (queued) Hi.",
        "| o ID Two.",
        "|/",
        "* ID (head) One.",
    ]


def test_where_nothing_was_said_yet_a_queued_message_stands_alone(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        session.enqueue("Hi.")
        alone = shown(tmp_path / "talks.db")
        session.enqueue("Ho.")
    assert alone == ["q ID (queued) Hi."]
    assert shown(tmp_path / "talks.db") == ["q ID (queued) Ho.", "q ID (queued) Hi."]


def test_a_queued_message_comes_after_the_turn_that_runs(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        with session.turn("One.") as turn:
            session.enqueue("Hi.")
            first = shown(tmp_path / "talks.db")
            turn.text("Yes.")
        with session.turn("Two.") as turn:
            second = shown(tmp_path / "talks.db")
            turn.text("Yes.")
    assert first == ["q ID (queued) Hi.", "+ ID (streaming) One."]
    assert second == ["q ID (queued) Hi.", "+ ID (streaming) Two.", "* ID (head) One."]


def test_while_two_turns_race_a_queued_message_comes_after_what_is_sure(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        begun = session.turn("One."), session.turn("Two.")
        session.enqueue("Hi.")
        nothing_yet = shown(tmp_path / "talks.db")
        begun[0].seal()
        left_behind = shown(tmp_path / "talks.db")
        with pytest.raises(HeadConflict):
            begun[1].seal()
    assert nothing_yet == [
        "q ID (queued) Hi.",
        "| + ID (streaming) Two.",
        "| | + ID (streaming) One.",
        "|_|/",
        "|/",
        ". (head)",
    ]
    assert left_behind == [
        "q ID (queued) Hi.",
        "| + ID (streaming) Two.",
        "* | ID (head) One.",
        "|/",
        ".",
    ]


def test_where_the_head_went_back_to_the_beginning_a_queued_message_comes_after_that(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        said(session, "One.", "Two.")
        session.enqueue("Hi.")
        session.move(None, expected=session.revision)
    assert shown(tmp_path / "talks.db") == ["q ID (queued) Hi.", "| o ID Two.", "| o ID One.", "|/", ". (head)"]


def test_a_fork_has_a_queue_of_its_own(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        first, _ = said(session, "One.", "Two.")
        session.enqueue("Hi.")
        session.fork(at=first, title="Fork").enqueue("Ho.")
    assert shown(tmp_path / "talks.db", "Fork") == ["q ID (queued) Ho.", "* ID (head) One."]
    main = [re.sub(r"fork \w{6} ", "", line) for line in shown(tmp_path / "talks.db")]
    assert main == ["q ID (queued) Hi.", "* ID (head) Two.", "o ID (Fork) One."]


def test_what_was_claimed_or_taken_back_is_not_queued(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        said(session, "One.")
        for text in ("Hi.", "Ho."):
            session.enqueue(text, id=text)
        session.cancel("Ho.")
        claimed = session.claim()
        assert claimed is not None
        claimed.seal()
    assert shown(tmp_path / "talks.db") == ["* ID (head) Hi.", "o ID One."]


def test_programs_get_a_queued_message_as_a_pending_turn_without_a_parent(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        said(session, "One.", "Two.")
        session.enqueue("Hi.")
    turns = Cli(tmp_path, tmp_path / "talks.db").json("tree", "main")["turns"]
    assert [(turn["words"], turn["status"], turn["mark"]) for turn in turns] == [
        ("One.", "completed", "path"),
        ("Hi.", "pending", "open"),
        ("Two.", "completed", "head"),
    ]
    assert turns[1]["parent_id"] is None and turns[1]["heads"] == []


def test_a_queued_message_fits_twenty_columns(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create(id="main")
        said(session, "One.")
        session.enqueue("Hello there.")
    cli = Cli(tmp_path, tmp_path / "talks.db", NO_COLOR="1", PAGER="cat")
    with Terminal(cli.env, "tree", "main", columns=20) as terminal:
        lines = terminal.end()[1].splitlines()
    assert re.fullmatch(r"q \w{6} \(queued\) H…", lines[0]) and max(map(width, lines)) <= 20


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


def queued_at(name: str, at: int, parent: str | None = None) -> TurnInfo:
    return replace(turn_at(name, parent, 1, at), status="pending", sealed_at=None)


def drawn(*turns: TurnInfo, ahead: str | None = None) -> list[str]:
    return [row.graph + (f" {row.turn.id}" if row.turn else "") for row in draw(list(turns), ahead)]


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


def test_of_a_part_of_a_tree_columns_go_down_to_what_is_not_in_it() -> None:
    tree = [turn_at("a", None, 1, 1), turn_at("d", "c", 4, 4), turn_at("b", "a", 2, 5)]
    assert drawn(*tree) == ["o b", "| o d", "o | a", " /"]


def test_a_queued_message_is_on_no_branch_if_the_head_is_not_in_the_part_that_is_drawn() -> None:
    tree = [turn_at("a", None, 1, 1), queued_at("q", 2), turn_at("b", "a", 2, 3)]
    assert drawn(*tree, ahead="z") == ["o q", "| o b", "| o a"]
    assert drawn(tree[1], ahead="z") == ["o q"]


def test_a_queued_message_that_names_the_turn_it_answers_is_drawn_there() -> None:
    tree = [turn_at("a", None, 1, 1), turn_at("b", "a", 2, 2), queued_at("q", 3, "a")]
    assert drawn(*tree, ahead="b") == ["o q", "| o b", "|/", "o a"]
