"""A file that grew brings in what is new: row by row, after rewinds and compactions, and beside what was said here."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import palaver
from palaver.dialects.hermes.exporting import export_file
from palaver.dialects.hermes.importing import import_file

from ....tools.talk import texts
from .files import Said, T, add, calls, content_of, held, made, session
from .talks import rows_of_6


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()


def test_a_file_that_grows_row_by_row_is_what_it_is_at_once(store: palaver.Store, tmp_path: Path) -> None:
    rows = rows_of_6()
    source = made(tmp_path / "state.db", [session()], [])
    for row in rows:
        add(source, messages=[row])
        report = import_file(store, source)
        assert report.problems == []
    with palaver.open(tmp_path / "other.db") as other:
        import_file(other, source)
        parts = [[each["role"], each["parts"]] for each in other.sessions.get("s1").messages()]
    assert [[each["role"], each["parts"]] for each in store.sessions.get("s1").messages()] == parts

    export_file(store, tmp_path / "out.db")
    plain = [{k: v for k, v in row.items() if k != "id"} for row in content_of(tmp_path / "out.db")["messages"]]
    assert plain == rows


def test_what_is_taken_back_and_summarised_later_is_not_brought_in_again(store: palaver.Store, tmp_path: Path) -> None:
    said = Said()("user", "one")("assistant", "1")("user", "two")("assistant", "2")
    source = made(tmp_path / "state.db", [session()], said.rows, 22)
    import_file(store, source)
    one = store.sessions.get("s1")
    change(source, "UPDATE messages SET active = 0 WHERE id > 2")
    report = import_file(store, source)
    assert (report.rows, texts(one), len(one.tree())) == (0, ["one", "1"], 2)
    add(source, messages=Said(at=said.at)("user", "instead").rows)
    report = import_file(store, source)
    assert (report.rows, texts(one), len(one.tree())) == (1, ["one", "1", "instead"], 3)

    change(source, "UPDATE messages SET active = 0, compacted = 1 WHERE active = 1")
    add(source, messages=Said(at=said.at + 1)("user", "summary").rows)
    report = import_file(store, source)
    assert (report.rows, texts(one)) == (1, ["one", "1", "instead", "summary"])
    export_file(store, tmp_path / "out.db")
    flags = [(row["active"], row["compacted"]) for row in content_of(source)["messages"]]
    assert [(row["active"], row["compacted"]) for row in content_of(tmp_path / "out.db")["messages"]] == flags

    change(source, "UPDATE messages SET active = 1, compacted = 0")
    import_file(store, source)
    assert texts(one) == ["one", "1", "two", "2", "instead", "summary"]


def test_a_session_ends_goes_on_is_titled_and_counted(store: palaver.Store, tmp_path: Path) -> None:
    source = made(tmp_path / "state.db", [session()], Said()("user", "one").rows)
    import_file(store, source)
    one = store.sessions.get("s1")
    change(source, "UPDATE sessions SET ended_at = 1767300100.5, end_reason = 'user_exit', title = 'T', model = 'a/m'")
    change(source, "UPDATE sessions SET input_tokens = 5, system_prompt = 'Be kind.', billing_mode = 'x'")
    import_file(store, source)
    info = one.info
    assert (info.ended_at, info.end_reason, info.title) == (1767300100500, "user_exit", "T")
    assert info.metadata["billing"] == {"mode": "x"} and info.metadata["hermes"]["system_prompt"] == "Be kind."
    assert info.model["model_id"] == "m"
    change(source, "UPDATE sessions SET ended_at = NULL, end_reason = NULL, input_tokens = 9, model = 'a/n'")
    add(source, messages=Said(at=1767300200)("user", "two").rows)
    import_file(store, source)
    assert one.info.ended_at is None and "system_prompt_digest" in one.metadata["hermes"]
    assert [(each.key, each.usage.input) for each in one.usage()] == [("hermes:a/m", 0), ("hermes:a/n", 9)]

    one.title = "Mine"
    one.update_metadata({"billing": None})
    import_file(store, source)  # nothing changed there: what was changed here stays
    assert (one.title, "billing" in one.metadata) == ("Mine", False)


def test_what_was_made_here_went_out_and_grew_comes_back_into_its_session(store: palaver.Store, tmp_path: Path) -> None:
    mine = store.sessions.create("coder", id="mine", title="Mine")
    mine.commit(["Why?", {"role": "assistant", "content": "-lz"}])
    call = {"type": "tool-ls", "toolCallId": "c1", "state": "output-available", "input": {"a": 1}, "output": ["x"]}
    mine.commit(["And?", {"role": "assistant", "parts": [call, {"type": "text", "text": "So."}]}])
    out = tmp_path / "out.db"
    export_file(store, out)
    assert [row["role"] for row in content_of(out)["messages"]] == ["user", "assistant", "user", "assistant", "tool"]
    before = held_before = mine.cursor()
    report = import_file(store, out)
    assert (report.new_sessions, report.rows, report.known, mine.cursor()) == (0, 0, 5, held_before)
    add(out, messages=Said("mine", mine.info.updated_at / 1000)("user", "More")("assistant", "Yes").rows)
    report = import_file(store, out)
    assert (report.new_sessions, report.rows, report.turns, report.beside) == (0, 2, 1, 0)
    assert texts(mine)[-3:] == ["So.", "More", "Yes"] and mine.cursor() > before
    assert import_file(store, out).rows == 0

    mine.commit("Said here.")
    export_file(store, tmp_path / "second.db")
    add(tmp_path / "second.db", messages=Said("mine", 1e10)("user", "And there.").rows)
    assert import_file(store, tmp_path / "second.db").rows == 1
    assert texts(mine)[-2:] == ["Said here.", "And there."]
    assert import_file(store, out).rows == 0  # an older one


def test_what_went_on_in_both_places_is_kept_beside(store: palaver.Store, tmp_path: Path) -> None:
    source = made(tmp_path / "state.db", [session()], Said()("user", "one").rows)
    import_file(store, source)
    one = store.sessions.get("s1")
    one.commit("Said here.")
    add(source, messages=Said(at=1767300200)("user", "Said there.").rows)
    report = import_file(store, source)
    assert (report.rows, report.beside) == (1, 1)
    assert texts(one) == ["one", "Said here."] and len(one.tree()) == 3
    assert import_file(store, source).rows == 0


def test_a_result_that_came_there_answers_the_call_that_waits_here(store: palaver.Store, tmp_path: Path) -> None:
    mine = store.sessions.create("hermes", id="mine")
    part = {"type": "tool-terminal", "toolCallId": "c1", "state": "input-available", "input": {}}
    mine.commit(["Go.", {"role": "assistant", "parts": [part]}], status="waiting")
    out = tmp_path / "out.db"
    export_file(store, out)
    add(out, messages=Said("mine", 1e10)("tool", "done", tool_call_id="c1", tool_name="terminal").rows)
    import_file(store, out)
    assert mine.waiting() == [] and mine.messages()[-1]["parts"][-1]["output"] == "done"


def test_what_is_archived_or_deleted_here_is_left_alone(store: palaver.Store, tmp_path: Path) -> None:
    rows = Said("a")("user", "x").rows + Said("b")("user", "y").rows
    source = made(tmp_path / "state.db", [session("a"), session("b")], rows)
    import_file(store, source)
    store.sessions.get("a").archive()
    store.sessions.get("b").delete()
    add(source, messages=Said("a", 1767300200)("user", "more").rows)
    report = import_file(store, source)
    assert len(report.skipped) == 2 and report.rows == 0
    export_file(store, tmp_path / "out.db")
    assert [row["id"] for row in content_of(tmp_path / "out.db")["sessions"]] == ["a"]


def test_children_come_after_their_parents_and_unknown_ones_are_told(store: palaver.Store, tmp_path: Path) -> None:
    sessions = [
        session("c", parent_session_id="b"),
        session("b", parent_session_id="a"),
        session("a", parent_session_id="gone", user_id="u"),
    ]
    report = import_file(store, made(tmp_path / "state.db", sessions, []))
    assert [store.sessions.get(each).info.app_id for each in store.sessions.get("c").ancestors()] == ["b", "a"]
    assert store.sessions.get("c").info.relation == "continue" and "user" not in store.sessions.get("b").facts
    assert len(report.problems) == 1 and "gone" in report.problems[0].why
    circle = [session("x", parent_session_id="y"), session("y", parent_session_id="x")]
    report = import_file(store, made(tmp_path / "circle.db", circle, []))
    assert report.new_sessions == 2 and "circle" in report.problems[0].why


def test_open_calls_are_interrupted_and_have_no_row(store: palaver.Store, tmp_path: Path) -> None:
    said = Said()("user", "go")("assistant", "", tool_calls=calls("a", "b"))("tool", "A", tool_call_id="a")
    import_file(store, made(tmp_path / "state.db", [session()], said.rows))
    one = store.sessions.get("s1")
    assert [part.get("state") for part in one.messages()[-1]["parts"]] == ["output-available", "input-available"]
    assert held(store)["s1"]["tree"][0][1] == "aborted"
    export_file(store, tmp_path / "out.db")
    assert [row["role"] for row in content_of(tmp_path / "out.db")["messages"]] == ["user", "assistant", "tool"]


def test_a_session_that_was_reopened_here_stays_so_while_its_row_says_the_same(
    store: palaver.Store, tmp_path: Path
) -> None:
    ended = session() | {"ended_at": T + 9.5, "end_reason": "user_exit"}
    source = made(tmp_path / "state.db", [ended], Said()("user", "Hello?").rows)
    import_file(store, source)
    here = store.sessions.get("s1")
    assert here.info.end_reason == "user_exit"
    here.reopen()
    import_file(store, source)
    assert here.info.ended_at is None


def test_a_strict_export_leaves_alone_what_is_here(store: palaver.Store, tmp_path: Path) -> None:
    said = Said()("user", "one")("assistant", "1")("user", "two")
    source = made(tmp_path / "state.db", [session()], said.rows, 22)
    change(source, "UPDATE messages SET active = 0 WHERE id > 2")
    import_file(store, source)
    export_file(store, tmp_path / "strict.db", strict=True)
    before = held(store)
    report = import_file(store, tmp_path / "strict.db")
    assert (report.rows, len(report.skipped), held(store)) == (0, 1, before)
    with palaver.open(tmp_path / "other.db") as other:
        assert import_file(other, tmp_path / "strict.db").rows == 2
