"""One session, two languages: what Palaver's own verbs write is read through `SessionDB`, and the other way round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import palaver

from .support import call, contents, counts, found, ours, roles

Pair = tuple[Any, palaver.Session]


def seen(session: palaver.Session) -> dict[str, str]:
    """All that a model or a page is shown of a session, as text."""
    return {
        "messages": json.dumps(session.messages(), ensure_ascii=False),
        "messages_json": session.messages_json(),
        "context": json.dumps(list(session.context()), ensure_ascii=False, default=str),
        "model_messages": json.dumps(session.model_messages(), ensure_ascii=False),
        "openai": json.dumps(session.messages(format="openai"), ensure_ascii=False),
        "anthropic": json.dumps(session.messages(format="anthropic"), ensure_ascii=False),
    }


def numbers(db: Any) -> list[int]:
    return [row["id"] for row in db.get_messages("s")]


# ---------------------------------------------------------------- Palaver's rows, Hermes' reading


def test_what_was_committed_has_a_number_that_stays(pair: Pair) -> None:
    db, session = pair
    session.commit("said by another verb")
    (row,) = db.get_messages("s")
    assert (row["role"], row["content"], row["session_id"]) == ("user", "said by another verb", "s")
    assert type(row["id"]) is int and row["id"] > 0
    assert type(row["timestamp"]) is float
    assert db.get_messages("s") == [row]
    assert db.export_session("s")["messages"] == [row]
    assert db.search_messages("another")[0]["id"] == row["id"]


def test_numbers_rise_in_the_order_of_the_rows_whoever_wrote_them(pair: Pair) -> None:
    db, session = pair
    first = db.append_message("s", "user", "one")
    session.commit("two")
    third = db.append_message("s", "assistant", "three")
    session.commit(["four", {"role": "assistant", "parts": [{"type": "text", "text": "five"}]}])
    assert contents(db, "s") == ["one", "two", "three", "four", "five"]
    given = numbers(db)
    assert given == sorted(set(given))
    assert (given[0], given[2]) == (first, third)
    sixth = db.append_message("s", "user", "six")
    assert numbers(db) == [*given, sixth]
    assert sixth > given[-1]


def test_a_streamed_turn_with_a_tool_is_rows(pair: Pair) -> None:
    db, session = pair
    with session.turn("What is here?") as turn:
        turn.text("I will look.")
        turn.tool("ls", {"path": "."}).output("a.txt")
        turn.step()
        turn.text("One file.")
    rows = db.get_messages("s")
    assert rows[0]["role"] == "user" and rows[0]["content"] == "What is here?"
    (calling,) = (row for row in rows if row["tool_calls"])
    assert calling["role"] == "assistant"
    assert calling["tool_calls"][0]["function"]["name"] == "ls"
    assert json.loads(calling["tool_calls"][0]["function"]["arguments"]) == {"path": "."}
    (result,) = (row for row in rows if row["role"] == "tool")
    assert result["tool_call_id"] == calling["tool_calls"][0]["id"]
    assert "a.txt" in result["content"]
    assert rows[-1]["role"] == "assistant" and "One file." in rows[-1]["content"]
    given = numbers(db)
    assert given == sorted(set(given))
    assert counts(db, "s") == (len(rows), 1)
    assert db.message_count("s") == len(rows)
    assert found(db, "file") == {"s"}


def test_a_turn_that_is_under_way_does_not_stop_anybody(pair: Pair) -> None:
    db, session = pair
    with session.turn("going on") as turn:
        turn.text("so far")
        assert contents(db, "s")[0] == "going on"
    db.append_message("s", "user", "and then?")
    assert contents(db, "s") == ["going on", "so far", "and then?"]


def test_what_was_rewound_is_not_read(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "user", "one")
    db.append_message("s", "user", "two")
    session.rewind(to=session.path()[0])
    assert contents(db, "s") == ["one"]
    db.append_message("s", "user", "three")
    assert contents(db, "s") == ["one", "three"]


def test_a_title_that_palaver_gave_is_read(pair: Pair) -> None:
    db, _ = pair
    db.set_session_title("s", "T")
    assert db.get_session("s")["title"] == "T"
    assert pair[1].title == "T"


# ---------------------------------------------------------------- read only


def read_only(path: Path) -> Any:
    return ours()(path, read_only=True)


def test_rows_without_a_number_have_negative_ones_on_a_read_only_store(mine: Any, path_of_ours: Path) -> None:
    mine.create_session("s", "cli")
    first = mine.append_message("s", "user", "one")
    with palaver.open(path_of_ours) as store:
        (info,) = store.sessions.list().sessions
        store.sessions.get(info.id).commit("two")
        store.sessions.get(info.id).commit("three")
    mine.close()
    db = read_only(path_of_ours)
    given = numbers(db)
    assert given[0] == first
    assert all(number < 0 for number in given[1:])
    assert len(set(given)) == 3
    assert contents(db, "s") == ["one", "two", "three"]
    db.close()
    again = ours()(path_of_ours)
    assert all(number > first for number in numbers(again)[1:])
    again.close()


# ---------------------------------------------------------------- Hermes' rows, Palaver's reading


def test_a_talk_is_a_talk(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "user", "What is here?")
    db.append_message("s", "assistant", "I will look.", tool_calls=[call("c1", "ls", '{"path": "."}')], reasoning="hm")
    db.append_message("s", "tool", "a.txt", tool_call_id="c1", tool_name="ls")
    db.append_message("s", "assistant", "One file.", finish_reason="stop")
    shown = session.messages()
    assert [message["role"] for message in shown][:2] == ["user", "assistant"]
    parts = [part for message in shown for part in message["parts"]]
    (part,) = (part for part in parts if part["type"] in ("tool-ls", "dynamic-tool"))
    assert (part["state"], part["toolCallId"], part["input"]) == ("output-available", "c1", {"path": "."})
    assert part["output"] == "a.txt"
    for text in ("What is here?", "I will look.", "a.txt", "One file."):
        assert text in seen(session)["messages"]
        assert text in seen(session)["model_messages"]


def test_a_call_waits_until_its_results_are_there(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "assistant", None, tool_calls=[call("c1"), call("c2")])
    assert len(session.waiting()) == 1
    db.append_message("s", "tool", "one", tool_call_id="c1")
    assert len(session.waiting()) == 1
    db.append_message("s", "tool", "two", tool_call_id="c2")
    assert session.waiting() == []
    states = [part["state"] for part in session.messages()[0]["parts"] if "toolCallId" in part]
    assert states == ["output-available", "output-available"]


def test_another_row_closes_the_calls(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "assistant", None, tool_calls=[call("c1"), call("c2")])
    db.append_message("s", "tool", "one", tool_call_id="c1")
    db.append_message("s", "user", "never mind")
    assert session.waiting() == []
    states = [part["state"] for part in session.messages()[0]["parts"] if "toolCallId" in part]
    assert states == ["output-available", "output-error"]
    assert roles(db, "s") == ["assistant", "tool", "user"]


def test_a_result_that_nobody_waits_for_is_for_hermes_alone(pair: Pair) -> None:
    """In its place there, with a number; no model and no page sees it."""
    db, session = pair
    db.append_message("s", "tool", "stray one", tool_call_id="nobody's", tool_name="strayname")
    db.append_message("s", "user", "question")
    db.append_message("s", "assistant", "calling", tool_calls=[call("c1")])
    db.append_message("s", "user", "other question")
    db.append_message("s", "tool", "stray two", tool_call_id="c1")
    db.append_message("s", "assistant", "answer")
    db.append_message("s", "tool", "stray three")
    expected = ["stray one", "question", "calling", "other question", "stray two", "answer", "stray three"]
    assert contents(db, "s") == expected
    assert roles(db, "s") == ["tool", "user", "assistant", "user", "tool", "assistant", "tool"]
    assert numbers(db) == sorted(numbers(db))
    for view, text in seen(session).items():
        assert "stray" not in text, view
        assert "other question" in text, view
    assert found(db, '"stray two"') == {"s"}


def test_a_second_result_is_for_hermes_alone(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "assistant", "calling", tool_calls=[call("c1")])
    db.append_message("s", "tool", "first result", tool_call_id="c1")
    db.append_message("s", "tool", "second result", tool_call_id="c1")
    assert contents(db, "s") == ["calling", "first result", "second result"]
    for view, text in seen(session).items():
        assert "first result" in text and "second result" not in text, view


def test_a_store_with_rows_of_every_kind_is_sound(mine: Any, path_of_ours: Path) -> None:
    for name in ("s", "t"):
        mine.create_session(name, "cli", model="m", system_prompt="p")
        for role in ("user", "assistant", "tool", "session_meta", "system", "function"):
            for content in ("text", "", None, [{"type": "text", "text": "x"}], "a\x00b"):
                calls = [call("c1"), call("c1")] if role == "assistant" else None
                mine.append_message(name, role, content, tool_calls=calls, tool_call_id="c1", reasoning="r")
        mine.update_token_counts(name, input_tokens=5, model="m")
        mine.set_session_title(name, f"T of {name}")
        mine.end_session(name, "compression")
    mine.clear_messages("t")
    mine.delete_session("t")
    mine.create_session("t", "cli", parent_session_id="s")
    mine.append_message("t", "user", "x")
    with palaver.open(path_of_ours) as store:
        assert store.verify() == []
    assert mine.message_count() == 31


def test_a_compaction_is_a_row_with_its_summary(pair: Pair) -> None:
    db, session = pair
    session.commit("A long story.")
    session.compact("They told a story.")
    assert [(row["role"], row["content"]) for row in db.get_messages("s")] == [
        ("user", "A long story."),
        ("assistant", "They told a story."),
    ]
    assert counts(db, "s") == (2, 0)
