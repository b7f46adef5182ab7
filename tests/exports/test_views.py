"""The two forms that are looked at and not read back: one JSON document for tools, a page of Markdown for people."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import palaver
from palaver import exports
from palaver.exports.escape import visible
from palaver.exports.markdown_page import inline

from . import hostile, rich
from .conftest import Source
from .support import export

# ---------------------------------------------------------------- the inspection form


def inspected(store: palaver.Store, session_id: str) -> str:
    return "".join(exports.inspect(store.db, session_id))


def test_the_document_shows_the_session_as_it_reads(source: Source) -> None:
    for name, session_id in source.ids.items():
        document = json.loads(inspected(source.store, session_id))
        assert list(document) == ["session", "messages"]
        assert document["session"]["id"] == session_id
        if name != "deleted":
            expected = [m["parts"] for m in source.store.sessions.get(session_id).messages()]
            assert [m["parts"] for m in document["messages"]] == expected, name


def test_the_keys_are_the_columns_of_the_contract(source: Source) -> None:
    document = json.loads(inspected(source.store, source.ids["main"]))
    first = ["id", "agent", "workspace_root", "model_json", "parent_id", "parent_message_id", "permissions_json"]
    counts = ["prompt_tokens", "completion_tokens", "reasoning_tokens", "cache_read", "cache_write", "total_tokens"]
    last = ["cost_usd", "created_at", "updated_at", "archived_at"]
    assert list(document["session"]) == [*first, "metadata_json", *counts, *last]
    keys = ["id", "session_id", "role", "metadata_json", "created_at", "updated_at", "parts"]
    assert all(list(message) == keys for message in document["messages"])
    assert document["session"]["model_json"] == {"provider_id": "acme", "model_id": "small"}


def test_parts_are_shown_byte_for_byte(source: Source) -> None:
    text = inspected(source.store, source.ids["odd"])
    for part in rich.ODD_PARTS:
        assert part.decode() in text
    assert '"metadata_json":{"z":1.10,"a":"\\u0000"}' in text


def test_a_streaming_answer_is_shown_up_to_its_last_chunk(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    rich.stream_open(store, session.id)
    document = json.loads(inspected(store, session.id))
    assert document["messages"][-1]["parts"][-1]["text"] == "half an ans"


def test_a_deleted_session_has_no_messages_and_an_unknown_one_is_said(source: Source) -> None:
    assert json.loads(inspected(source.store, source.ids["deleted"]))["messages"] == []
    for view in (exports.inspect, exports.markdown):
        with pytest.raises(palaver.SessionNotFound):
            list(view(source.store.db, "ses_nowhere"))


# ---------------------------------------------------------------- the page


def page(store: palaver.Store, session_id: str) -> str:
    return "".join(exports.markdown(store.db, session_id))


def outside_code(text: str) -> list[str]:
    """The lines that a renderer takes for Markdown: what is between a fence and its end is left out."""
    found, fence = [], ""
    for line in text.split("\n"):
        bare = line.removeprefix("> ")
        if fence:
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}} *", bare):
                fence = ""
            continue
        opening = re.match(r" {0,3}(`{3,}|~{3,})[^`]*$", bare)
        if opening:
            fence = opening[1]
        else:
            found.append(line)
    assert not fence, "a fence is left open"
    return found


def refuse_danger(text: str) -> None:
    """What a page must not hold, whatever was said."""
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    text.encode()
    for line in outside_code(text):
        assert "<" not in line
        assert ">" not in line.removeprefix(">").removeprefix(" ")
        assert not re.search(r"&(?!amp;|lt;|gt;)", line)
        assert not re.search(r"(?<!\\)\]\((?!https?://|mailto:)", line)
        assert not re.search(r"(?<!\\)\]:", line)
        assert not re.search(r"(?<!\\)!\[", line)
        assert not re.fullmatch(r"\s*(=+|-+)\s*", line)


def said(folder: Path, text: str) -> str:
    with palaver.open(folder / "said.db") as store:
        session = store.sessions.create("coder", title=text.replace("\0", "")[:50] if text.isprintable() else "x")
        tool = {"type": "tool-run", "toolCallId": "c", "state": "output-error", "input": {"a": text}, "errorText": text}
        parts = [
            {"type": "text", "text": text},
            {"type": "reasoning", "text": text},
            {**tool, "output": text},
            {
                "type": "dynamic-tool",
                "toolName": text,
                "toolCallId": "d",
                "state": "output-available",
                "output": [text],
            },
            {"type": "file", "mediaType": text, "filename": text, "url": text},
            {"type": "source-url", "sourceId": "s", "url": text, "title": text},
            {"type": "data-x", "data": text},
        ]
        session.commit([{"role": "assistant", "parts": parts}])
        return page(store, session.id)


TRICKS = (
    *hostile.WORDS,
    "```\n</code><script>alert(1)</script>\n```\n<script>alert(2)</script>",
    "````\n```\n<b>\n````\n<i>",
    "~~~\n```\n~~~\n<img src=x>",
    "```html\n<script>unclosed",
    "` ``` ` <b> ` ```\n<i>",
    "- item\n  ```\n  <b>\n  ```\n  <i>",
    "    ```\n<b>\n    ```",
    "[x](javascript:alert(1)) [y]( javascript:alert(1)) [z](data:text/html,x) ![p](http://tracker/x.png)",
    "[x][y]\n\n[y]: javascript:alert(1)\n[a\nb]: javascript:alert(2)",
    "# User\n## User\nUser\n----\nUser\n====\n- # User",
    "&lt;b&gt; &#60;script&#62; &colon;",
    "a\r<b>\r\n<i>\u2028<u>",
    "\x1b]8;;http://evil\x07click\x1b]8;;\x07 \u202egnp.exe \u2066x\u2069 \ufeff\u200b",
)


@pytest.mark.parametrize("text", TRICKS)
def test_nothing_dangerous_passes_from_what_was_said_to_the_page(text: str, tmp_path: Path) -> None:
    shown = said(tmp_path, text)
    refuse_danger(shown)
    headings = [line for line in outside_code(shown) if re.match(r" {0,3}#{1,2}[ \t]", line)]
    assert len(headings) == 2, "the title, and one message"


def test_the_judge_of_pages_sees_danger() -> None:
    for bad in ("<b>", "a > b", "[x](javascript:1)", "![x](http://y)", "\x1b[2J", "\u202e", "&colon;", "[y]: x", "---"):
        with pytest.raises(AssertionError):
            refuse_danger(bad)
    with pytest.raises(AssertionError):
        refuse_danger("```\nopen")
    refuse_danger("```\n<b> is code here\n```\nfine [x](https://example.org)")


def test_a_page_shows_who_said_what(source: Source) -> None:
    text = page(source.store, source.ids["waiting"])
    assert text.startswith("# Waiting\n\n- Session: ses_")
    assert re.findall(r"^## (\w+) · ", text, re.MULTILINE) == ["User", "Assistant"]
    assert "\n> thinking of asking\n" in text
    assert '\n**Tool run** · input-available\n\nInput:\n\n```json\n{"n":1}\n```\n' in text
    assert text.endswith("\n*This turn is waiting.*\n")


def test_a_file_in_its_address_is_told_by_its_size(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    image = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64," + "QUJD" * 50_000}
    text = {"type": "file", "mediaType": "text/plain", "filename": "a_b.txt", "url": "DATA:text/plain,hello"}
    session.commit([{"role": "user", "parts": [image, text]}])
    shown = page(store, session.id)
    assert "\n**file** image/png · 150,000 bytes\n" in shown and "\n**file** a_b.txt · text/plain · 5 bytes\n" in shown


@pytest.mark.parametrize(
    "plain",
    ["https://example.com/a_b-c.html?d=(e)#f", "v1.2 (final), 50% + more!", "C:\\Users\\me", "{a: b} | c", "1. one"],
)
def test_what_means_nothing_in_markdown_is_written_as_it_is(plain: str) -> None:
    assert inline(plain) == plain


@given(text=st.text(st.sampled_from("ab1 _*`[]()<>&#\\~!|.-+={}:é—\t"), max_size=12) | st.text(max_size=20))
def test_a_line_of_plain_text_reads_the_same_in_markdown(text: str) -> None:
    shown = " ".join(visible(text).split()) or "empty"
    reader = MarkdownIt("commonmark").enable(["strikethrough", "table"])
    for line, read in (("# {}", "{}"), ("- x: {}", "x: {}"), ("**x** {}", "x {}"), ("**x {}** y", "x {} y")):
        inlines = [token for token in reader.parse(line.format(inline(shown))) if token.type == "inline"]
        found = "".join(child.content for token in inlines for child in token.children or ())
        assert found == read.format(shown), line


def test_code_that_was_said_stays_code(tmp_path: Path) -> None:
    shown = said(tmp_path, "look:\n```python\nif a < b & c:\n    pass\n```\ndone")
    assert "\n\n```python\nif a < b & c:\n    pass\n```\n" in shown
    shown = said(tmp_path, "~~~\n```\ninner\n```\n~~~")
    assert "\n````\n```\ninner\n```\n````\n" in shown


def test_numbers_in_tool_calls_keep_their_spelling(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    part = b'{"type":"tool-x","toolCallId":"c","state":"output-available","input":{"n":1.10},"output":1e2}'
    session.commit(b'{"role":"assistant","parts":[' + part + b"]}")
    text = page(store, session.id)
    assert '{"n":1.10}' in text and "\n1e2\n" in text


def test_every_session_of_the_rich_store_has_a_page(source: Source) -> None:
    for session_id in source.ids.values():
        refuse_danger(page(source.store, session_id))


def test_looking_changes_nothing(source: Source) -> None:
    before = export(source.store)
    for session_id in source.ids.values():
        inspected(source.store, session_id)
        page(source.store, session_id)
    assert export(source.store) == before


def test_a_page_tells_how_a_turn_ended_and_what_a_person_said_to_a_call(store: palaver.Store) -> None:
    session = store.sessions.create()
    with session.turn("Which?") as turn:
        turn.text("The fi")
        turn.fail("over*loaded*", code="529")
    session.turn("Again.").abort("<b>enough")
    with session.turn("Clean up.") as turn:
        for call in ("c1", "c2"):
            turn.tool("rm", {"n": call}, id=call).ask()
    session.resolve("c1", approved=True)
    session.resolve("c2", approved=False, reason="Never!")
    page = "".join(exports.markdown(store.db, session.id))
    assert "\n*This turn is failed: 529: over\\*loaded\\*.*\n" in page
    assert "\n*This turn is aborted: &lt;b&gt;enough.*\n" in page
    assert "\n**Approved**\n" in page and "\n**Denied**: Never!\n" in page


def test_a_page_shows_a_summary_as_text(store: palaver.Store) -> None:
    session = store.sessions.create()
    for number in range(3):
        session.commit([f"{number}"])
    session.compact("They counted.\n\n# To <b>two</b>")
    page = "".join(exports.markdown(store.db, session.id))
    assert "\n**Summary of 3 turns**\n\nThey counted.\n\n### To &lt;b&gt;two&lt;/b&gt;\n" in page
    assert "data-compaction" not in page
