"""One session, two languages: what Palaver's own verbs write is read through `SessionDB`, and the other way round."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import apsw
import pytest

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


# ---------------------------------------------------------------- what others do meanwhile


def test_a_result_that_another_verb_gave_has_its_number_before_the_next_row(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "assistant", "x", tool_calls=[call("c1"), call("c2")])
    session.resolve("c1", output="one", finish=True)
    db.append_message("s", "user", "next")
    assert numbers(db) == sorted(set(numbers(db)))
    assert roles(db, "s") == ["assistant", "tool", "user"]


def test_a_row_that_answers_a_turn_of_another_verb_comes_after_it(pair: Pair) -> None:
    db, session = pair
    part = {"type": "tool-run", "toolCallId": "c1", "state": "input-available", "input": {}}
    session.commit(["Run it.", {"role": "assistant", "parts": [part]}], status="waiting")
    db.append_message("s", "tool", "done", tool_call_id="c1")
    assert roles(db, "s") == ["user", "assistant", "tool"]
    assert numbers(db) == sorted(set(numbers(db)))


def test_a_turn_that_was_taken_up_and_went_on_is_counted_as_its_rows(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "assistant", "x", tool_calls=[call("c1")])
    with session.resume(session.waiting()[0].id) as turn:
        turn.resolve("c1", output="one")
        turn.step()
        turn.text("Then this.")
    assert counts(db, "s") == (3, 1)
    db.append_message("s", "user", "next")
    assert roles(db, "s") == ["assistant", "tool", "assistant", "user"]
    assert numbers(db) == sorted(set(numbers(db)))
    assert counts(db, "s") == (4, 1)


def test_a_row_that_another_program_took_away_holds_nobody_up(mine: Any, path_of_ours: Path) -> None:
    mine.create_session("s", "cli")
    session = mine.store.sessions.get("s")
    session.commit("one")
    session.commit("two")
    with apsw.Connection(str(path_of_ours)) as other:
        other.execute("DELETE FROM chat_messages WHERE id = ?", (session.messages()[-1]["id"],))
    assert mine.append_message("s", "user", "three") > 0
    assert contents(mine, "s") == ["one", "three"]


def test_a_damaged_part_is_no_error(mine: Any, path_of_ours: Path) -> None:
    mine.create_session("s", "cli")
    mine.append_message("s", "user", "one")
    mine.append_message("s", "user", "two")
    with apsw.Connection(str(path_of_ours)) as other:
        other.execute("""UPDATE chat_parts SET data_json = '{"a":1}' WHERE data_json LIKE '%one%'""")
    assert contents(mine, "s") == [None, "two"]
    assert [row["content"] for row in mine.get_messages_as_conversation("s")] == [None, "two"]


def test_a_call_that_failed_over_the_word_interrupted_is_a_row(pair: Pair) -> None:
    db, session = pair
    about = {"type": "tool-run", "toolCallId": "c1", "input": {"errorText": "interrupted"}}
    session.commit([{"role": "assistant", "parts": [about | {"state": "output-error", "errorText": "no"}]}])
    assert roles(db, "s") == ["assistant", "tool"]
    assert counts(db, "s") == (2, 1)


def test_a_page_is_never_empty_because_of_rows_that_are_no_messages(pair: Pair) -> None:
    db, session = pair
    for text in ("one", "two", "three"):
        db.append_message("s", "user", text)
    for number in range(6):
        db.append_message("s", "tool", f"stray {number}")
    assert [each["parts"][0]["text"] for each in session.messages(limit=4)] == ["two", "three"]  # and two strays
    assert [each["parts"][0]["text"] for each in session.messages(after="", limit=2)] == ["one", "two"]


def test_what_a_tool_gave_back_as_a_list_is_that_to_a_model_too(pair: Pair) -> None:
    db, session = pair
    db.append_message("s", "assistant", "x", tool_calls=[call("c1")])
    given = [{"type": "text", "text": "found it"}]
    db.append_message("s", "tool", given, tool_call_id="c1", tool_name="terminal")
    assert contents(db, "s")[1] == given
    assert session.messages()[-1]["parts"][-1]["output"] == given
    assert "json:" not in json.dumps(session.model_messages())


def test_a_fork_has_the_prompt_and_is_listed(pair: Pair) -> None:
    db, _ = pair
    db.create_session("p", "cli", system_prompt="Be kind.", model_config={"a": 1})
    db.append_message("p", "user", "one")
    fork = db.store.sessions.get("p").fork(title="Forked")
    row = db.get_session_by_title("Forked")
    assert (row["system_prompt"], row["model_config"], row["message_count"]) == ("Be kind.", '{"a": 1}', 1)
    assert fork.id in [each["id"] for each in db.list_sessions_rich()]


def test_an_error_goes_from_process_to_process(mine: Any) -> None:
    with pytest.raises(palaver.SessionNotFound) as caught:
        mine.append_message("nobody", "user", "x")
    there = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (type(there), str(there)) == (type(caught.value), str(caught.value))


def test_who_may_only_read_is_told_which_verb_writes(mine: Any, path_of_ours: Path) -> None:
    mine.create_session("s", "cli")
    mine.close()
    with (
        ours()(path_of_ours, read_only=True) as db,
        pytest.raises(palaver.StoreReadOnly, match="append_message writes"),
    ):
        db.append_message("s", "user", "x")
