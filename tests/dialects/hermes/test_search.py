"""`search_messages`: what a query means, what a hit says, and that nothing that can be typed is an error."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest

import palaver

from ...tools import sql
from .support import HIT_KEYS, call, found, said

TEXTS = [
    "the docker deployment failed",
    "kubernetes deployment works",
    "docker only",
    "python and java",
    "python alone",
    "the deployment of docker",
]


# ---------------------------------------------------------------- what a query means


QUERIES: dict[str, set[int]] = {
    "docker": {0, 2, 5},
    "DOCKER": {0, 2, 5},
    "docker deployment": {0, 5},
    "deployment docker": {0, 5},
    "docker AND deployment": {0, 5},
    '"docker deployment"': {0},
    '"deployment of docker"': {5},
    '"docker deployment" failed': {0},
    '"docker deployment" OR kubernetes': {0, 1},
    "docker OR kubernetes": {0, 1, 2, 5},
    "python NOT java": {4},
    "docker NOT deployment": {2},
    "deploy*": {0, 1, 5},
    "kube* OR jav*": {1, 3},
    "deploy": set(),
    "eployment": set(),
    "docker kubernetes": set(),
    "nothing": set(),
}


def test_promise_133_a_query_means_what_it_says(db: Any) -> None:
    said(db, *TEXTS)
    expected = {query: {f"s{number}" for number in numbers} for query, numbers in QUERIES.items()}
    assert {query: found(db, query) for query in QUERIES} == expected


TERMS = {
    "chat-send": ("use chat-send for it", "first chat and then send"),
    "P2.2": ("version P2.2 is out", "P2 and 2 of these"),
    "my-app.config.ts": ("in my-app.config.ts it is", "my app has a config in ts"),
    "some_long_name": ("call some_long_name here", "some long and a name"),
    "20260315-092437": ("on 20260315-092437 it was", "20260315 but not 092437 yet"),
}


@pytest.mark.parametrize("term", TERMS)
def test_promise_134_a_hyphenated_or_dotted_term_is_found_as_such(db: Any, term: str) -> None:
    said(db, *TERMS[term])
    assert found(db, term) == {"s0"}
    assert found(db, f'"{term}"') == {"s0"}


@pytest.mark.promised("Hermes takes these for errors of syntax and finds nothing")
@pytest.mark.parametrize(
    "term", ["src/main.py", "user@host", "50%", "it's", "hello, world!", "https://a.example/b?c=d"]
)
def test_promise_134_a_path_an_address_and_a_percentage_are_found(db: Any, term: str) -> None:
    said(db, f"look at {term} there", "something else")
    assert found(db, term) == {"s0"}


DANGLING = [
    "hello AND", "hello OR", "hello NOT", "AND hello", "OR hello", "NOT hello", '"hello', 'hello"', "hello*",
    "*hello", "hello ***", "(hello)", "(hello", "hello)", "{hello}", "hello:", "hello^", "+hello", "hello+ ",
    "  hello  ", "\thello\n", '"hello"', '"" hello', "((hello",
]  # fmt: skip


def test_promise_135_what_dangles_is_left_out(db: Any) -> None:
    said(db, "hello there", "nothing here")
    assert {query for query in DANGLING if found(db, query) != {"s0"}} == set()


def test_promise_135_a_query_without_a_word_finds_nothing(db: Any) -> None:
    said(db, "hello there")
    for query in ("", "   ", "\n\t", None, "AND", "OR", "NOT", "AND OR", "*", "***", '"', '""', "()", "+{}^"):
        assert db.search_messages(query) == []


def test_promise_132_any_query_is_safe(db: Any) -> None:
    """Each punctuation mark alone, in a word, before and behind it; odd mixtures; a long one."""
    said(db, "foo bar", "x")
    queries = [query for mark in string.punctuation for query in (mark, f"foo{mark}bar", f"{mark}foo", f"foo{mark}")]
    queries += ["foo " * 3_000, "foo OR " * 500 + "foo", "NEAR(foo bar)", "foo NEAR bar", "'; DROP TABLE messages; --"]
    queries += [
        "content:foo",
        "{a b}: foo",
        "^foo + bar*",
        "foo\x00bar",
        "\x00",
        "🎉",
        "日",
        "ไทย",
        "NOT NOT NOT",
        '"""',
    ]
    for query in queries:
        hits = db.search_messages(query)
        assert type(hits) is list
        assert {hit["session_id"] for hit in hits} <= {"s0", "s1"}
    assert found(db, "foo") == {"s0"}


def test_promise_132_any_heap_of_signs_is_safe(db: Any) -> None:
    said(db, "foo bar")
    chance = random.Random(132)
    for _ in range(60):
        query = "".join(
            chance.choice([*"\"*():^-+.{}'\\%_ ", "foo", " AND ", " NOT ", " OR ", "日本", "\n"]) for _ in range(12)
        )
        assert {hit["session_id"] for hit in db.search_messages(query)} <= {"s0"}
    assert found(db, "foo") == {"s0"}


def test_words_of_other_query_languages_are_words(db: Any) -> None:
    """Palaver's own search has filters; here a colon is a space."""
    said(db, "the role of a user", "somebody else", "the source is cli")
    assert found(db, "role:user") == {"s0"}
    assert found(db, "source:cli") == {"s2"}


# ---------------------------------------------------------------- other alphabets


def test_what_has_no_spaces_is_found_by_any_piece_of_it(db: Any) -> None:
    said(db, "日本語のテキスト検索", "中文", "한국어 검색", "plain text")
    for query in ("日本語", "検索", "検", "テキスト", "日本語のテキスト検索"):
        assert found(db, query) == {"s0"}


def test_chinese_and_korean_are_found(db: Any) -> None:
    said(db, "这是中文搜索测试。", "이것은 한국어 검색 시험", "plain text")
    for query, session in (("搜索", "s0"), ("검색", "s1"), ("中文搜索测试", "s0"), ("한국어", "s1")):
        assert found(db, query) == {session}
        assert db.search_messages(query)[0]["context"][0]["content"] != ""


def test_what_is_not_there_is_not_found_in_any_alphabet(db: Any) -> None:
    said(db, "日本語のテキスト", "plain")
    assert found(db, "中国") == set()
    assert found(db, "語日") == set()


def test_filters_and_limits_hold_for_other_alphabets_too(db: Any) -> None:
    for number, source in enumerate(["cli", "telegram", "cli"]):
        db.create_session(f"s{number}", source)
        db.append_message(f"s{number}", "user", "広西と桂林")
        db.append_message(f"s{number}", "assistant", "桂林です")
    assert found(db, "桂林", source_filter=["telegram"]) == {"s1"}
    assert found(db, "桂林", exclude_sources=["telegram"]) == {"s0", "s2"}
    assert {hit["role"] for hit in db.search_messages("桂林", role_filter=["assistant"])} == {"assistant"}
    assert len(db.search_messages("桂林", limit=2)) == 2


def test_accented_letters_are_found(db: Any) -> None:
    said(db, "das Übermaß im Café", "nothing")
    assert found(db, "Übermaß") == found(db, "café") == found(db, "übermaß") == {"s0"}


# ---------------------------------------------------------------- filters and pages


@pytest.fixture
def many(db: Any) -> Any:
    for source in ("cli", "telegram", "discord"):
        db.create_session(source, source, model=f"model of {source}")
        db.append_message(source, "user", f"an error in {source}")
        db.append_message(source, "assistant", f"the error of {source} is here")
        db.append_message(source, "tool", "error in a tool", tool_name="shell")
    return db


def test_promise_137_by_source(many: Any) -> None:
    assert found(many, "error") == {"cli", "telegram", "discord"}
    assert found(many, "error", source_filter=["cli"]) == {"cli"}
    assert found(many, "error", source_filter=["cli", "discord"]) == {"cli", "discord"}
    assert found(many, "error", source_filter=["nowhere"]) == set()


def test_promise_137_without_sources(many: Any) -> None:
    assert found(many, "error", exclude_sources=["telegram", "discord"]) == {"cli"}
    assert found(many, "error", exclude_sources=["nowhere"]) == {"cli", "telegram", "discord"}
    assert found(many, "error", source_filter=["cli", "telegram"], exclude_sources=["cli"]) == {"telegram"}


def test_promise_137_by_role(many: Any) -> None:
    for role in ("user", "assistant", "tool"):
        hits = many.search_messages("error", role_filter=[role])
        assert [hit["role"] for hit in hits] == [role] * 3
    assert len(many.search_messages("error", role_filter=["user", "tool"])) == 6
    assert many.search_messages("error", role_filter=["system"]) == []


def test_promise_137_all_at_once(many: Any) -> None:
    (hit,) = many.search_messages("error", ["cli", "discord"], ["discord"], ["assistant"])
    assert (hit["session_id"], hit["role"]) == ("cli", "assistant")


def test_promise_137_an_empty_list_of_sources_admits_none_and_other_empty_lists_say_nothing(many: Any) -> None:
    assert many.search_messages("error", source_filter=[]) == []
    assert len(many.search_messages("error", exclude_sources=[])) == 9
    assert len(many.search_messages("error", role_filter=[])) == 9


def test_promise_137_odd_sources_and_roles_filter_too(db: Any) -> None:
    db.create_session("s", 'it\'s 100% "odd"')
    db.append_message("s", "session_meta", "word one")
    db.append_message("s", "developer", "word two")
    assert found(db, "word", source_filter=['it\'s 100% "odd"']) == {"s"}
    assert found(db, "word", exclude_sources=['it\'s 100% "odd"']) == set()
    assert [hit["role"] for hit in db.search_messages("word", role_filter=["developer"])] == ["developer"]


def test_pages_make_up_the_whole(many: Any) -> None:
    whole = [hit["id"] for hit in many.search_messages("error", limit=100)]
    assert len(whole) == len(set(whole)) == 9
    pages = [[hit["id"] for hit in many.search_messages("error", limit=4, offset=at)] for at in (0, 4, 8, 12)]
    assert [len(page) for page in pages] == [4, 4, 1, 0]
    assert sorted(id for page in pages for id in page) == sorted(whole)


def test_a_page_is_20_long_unless_told(db: Any) -> None:
    db.create_session("s", "cli")
    for number in range(23):
        db.append_message("s", "user", f"word {number}")
    assert len(db.search_messages("word")) == 20
    assert len(db.search_messages("word", offset=20)) == 3
    assert len(db.search_messages("word", limit=1)) == 1
    assert db.search_messages("word", limit=0) == []


# ---------------------------------------------------------------- what a hit says


def test_promise_138_a_hit_says_where_it_is(db: Any) -> None:
    db.create_session("s", "telegram", model="m-1")
    id = db.append_message("s", "tool", "the needle is here", tool_name="shell")
    (hit,) = db.search_messages("needle")
    assert list(hit) == HIT_KEYS
    (row,) = db.get_messages("s")
    assert {key: hit[key] for key in HIT_KEYS if key not in ("snippet", "context")} == {
        "id": id,
        "session_id": "s",
        "role": "tool",
        "timestamp": row["timestamp"],
        "tool_name": "shell",
        "source": "telegram",
        "model": "m-1",
        "session_started": db.get_session("s")["started_at"],
    }
    assert hit["id"] == row["id"]


def test_promise_138_what_is_not_known_is_null(db: Any) -> None:
    said(db, "the needle")
    (hit,) = db.search_messages("needle")
    assert (hit["tool_name"], hit["model"]) == (None, None)


def test_promise_138_found_words_are_marked(db: Any) -> None:
    said(db, "the Docker deployment of docker failed")
    assert db.search_messages("docker")[0]["snippet"].strip() == "the >>>Docker<<< deployment of >>>docker<<< failed"
    snippet = db.search_messages("dep*")[0]["snippet"].strip()
    assert snippet == "the Docker >>>deployment<<< of docker failed"


@pytest.mark.parametrize("query", ['"docker deployment"', "deployment-of", "failed docker"])
def test_promise_138_marks_are_all_that_is_added(db: Any, query: str) -> None:
    said(db, "the docker deployment-of-it failed")
    snippet = db.search_messages(query)[0]["snippet"].strip()
    assert ">>>" in snippet and snippet.count(">>>") == snippet.count("<<<")
    assert snippet.replace(">>>", "").replace("<<<", "") == "the docker deployment-of-it failed"


def test_promise_138_of_a_long_text_forty_words_are_shown(db: Any) -> None:
    words = [f"w{number}" for number in range(200)]
    words[100] = "needle"
    said(db, " ".join(words))
    snippet = db.search_messages("needle")[0]["snippet"].strip()
    assert snippet.startswith("...") and snippet.endswith("...")
    shown = snippet.strip(".").split()
    assert 2 <= len(shown) <= 40
    assert ">>>needle<<<" in shown
    at = shown.index(">>>needle<<<")
    assert [word.strip("<>") for word in shown] == words[100 - at : 100 - at + len(shown)]


def test_promise_138_a_text_that_fits_is_shown_whole(db: Any) -> None:
    text = " ".join(["needle", *(f"w{number}" for number in range(30))])
    said(db, text)
    assert db.search_messages("needle")[0]["snippet"].strip() == f">>>needle<<<{text.removeprefix('needle')}"


def test_promise_138_the_context_is_what_stands_before_and_behind(db: Any) -> None:
    db.create_session("s", "cli")
    for role, text in (
        ("user", "zero"),
        ("user", "one"),
        ("assistant", "the needle"),
        ("user", "two"),
        ("user", "three"),
    ):
        db.append_message("s", role, text)
    (hit,) = db.search_messages("needle")
    assert hit["context"] == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "the needle"},
        {"role": "user", "content": "two"},
    ]


def test_promise_138_the_context_at_either_end(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "first needle")
    assert [c["content"] for c in db.search_messages("needle")[0]["context"]] == ["first needle"]
    db.append_message("s", "assistant", "last word")
    assert [c["content"] for c in db.search_messages("first")[0]["context"]] == ["first needle", "last word"]
    assert [c["content"] for c in db.search_messages("last")[0]["context"]] == ["first needle", "last word"]


def test_promise_138_the_context_stays_in_the_session(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    for number in range(3):
        db.append_message("t", "user", f"other before {number}")
        db.append_message("s", "user", ["before", "the needle", "behind"][number])
        db.append_message("t", "user", f"other behind {number}")
    (hit,) = db.search_messages("needle")
    assert [c["content"] for c in hit["context"]] == ["before", "the needle", "behind"]


def test_promise_138_the_context_is_cut_at_200_characters(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "é" * 500)
    db.append_message("s", "assistant", "needle " + "x" * 500)
    db.append_message("s", "user", "b" * 200)
    (hit,) = db.search_messages("needle")
    assert [c["content"] for c in hit["context"]] == ["é" * 200, "needle " + "x" * 193, "b" * 200]


def test_promise_138_the_context_of_calls_and_of_nothing_said(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", None, tool_calls=[call("c1")])
    db.append_message("s", "tool", "the needle", tool_call_id="c1")
    db.append_message("s", "session_meta", "")
    (hit,) = db.search_messages("needle")
    assert hit["context"] == [
        {"role": "assistant", "content": ""},
        {"role": "tool", "content": "the needle"},
        {"role": "session_meta", "content": ""},
    ]


def test_promise_138_the_context_of_parts_is_their_text(db: Any) -> None:
    db.create_session("s", "cli")
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    db.append_message("s", "user", [{"type": "text", "text": "look at"}, image, {"type": "text", "text": "this"}])
    db.append_message("s", "assistant", "the needle")
    db.append_message("s", "user", [image])
    (hit,) = db.search_messages("needle")
    assert [c["content"] for c in hit["context"]] == ["look at this", "the needle", "[multimodal content]"]


def test_rows_of_every_kind_are_found(db: Any) -> None:
    db.create_session("s", "cli")
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": "word in a question"},
        {"role": "assistant", "content": "word in an answer"},
        {"role": "assistant", "content": "word beside a call", "tool_calls": [call("c1")]},
        {"role": "tool", "content": "word in a result", "tool_call_id": "c1"},
        {"role": "tool", "content": "word in a stray result", "tool_call_id": "nobody's"},
        {"role": "system", "content": "word of the system"},
        {"role": "session_meta", "content": "word of nobody"},
        {"role": "user", "content": [{"type": "text", "text": "word in a part"}]},
        {"role": "assistant", "content": "word that waits", "tool_calls": [call("c2")]},
    ]
    ids = [db.append_message("s", **row) for row in rows]
    hits = db.search_messages("word")
    assert sorted(hit["id"] for hit in hits) == ids
    assert [hit["role"] for hit in sorted(hits, key=lambda hit: hit["id"])] == [row["role"] for row in rows]
    assert [hit["id"] for hit in db.search_messages('"stray result"')] == [ids[4]]


def test_results_are_found_while_other_calls_wait(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "calling", tool_calls=[call("c1"), call("c2")])
    id = db.append_message("s", "tool", "the needle", tool_call_id="c1")
    assert [hit["id"] for hit in db.search_messages("needle")] == [id]
    assert [c["content"] for c in db.search_messages("calling")[0]["context"]] == ["calling", "the needle"]


def test_several_lines_are_one_text(db: Any) -> None:
    said(db, "first line\nsecond line\r\n\tthird needle", "first")
    assert found(db, "first third") == {"s0"}
    assert found(db, '"line second"') == {"s0"}


def test_titles_and_prompts_are_not_searched(db: Any) -> None:
    db.create_session("s", "cli", model="needle-model", system_prompt="the needle prompt")
    db.set_session_title("s", "needle")
    db.append_message("s", "user", "hay")
    assert db.search_messages("needle") == []


def test_what_was_thought_is_not_searched(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "hay", reasoning="the needle", reasoning_details=[{"summary": "needle"}])
    assert db.search_messages("needle") == []


def test_ended_sessions_and_children_are_searched(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "needle one")
    db.end_session("s", "compression")
    db.create_session("t", "cli", parent_session_id="s")
    db.append_message("t", "user", "needle two")
    assert found(db, "needle") == {"s", "t"}


# ---------------------------------------------------------------- in step


def test_promise_131_search_keeps_step_with_what_is_appended_cleared_and_deleted(db: Any) -> None:
    db.create_session("s", "cli")
    assert db.search_messages("needle") == []
    db.append_message("s", "user", "needle one")
    assert len(db.search_messages("needle")) == 1
    db.append_message("s", "assistant", "needle two")
    assert len(db.search_messages("needle")) == 2
    db.clear_messages("s")
    assert db.search_messages("needle") == []
    db.append_message("s", "user", "needle three")
    assert len(db.search_messages("needle")) == 1
    db.delete_session("s")
    assert db.search_messages("needle") == []
    db.create_session("s", "cli")
    assert db.search_messages("needle") == []
    db.append_message("s", "user", "needle four")
    db.end_session("s", "x")
    db.prune_sessions(older_than_days=-1)
    assert db.search_messages("needle") == []


def test_promise_131_the_index_is_what_a_scan_finds(db: Any) -> None:
    """After whatever was done, a word is found in exactly those rows that have it."""
    chance, words = random.Random(131), ["fox", "dog", "cat", "owl"]
    names = ["s", "t", "u"]
    for _ in range(50):
        name, what = chance.choice(names), chance.random()
        db.ensure_session(name)
        if what < 0.05:
            db.delete_session(name)
        elif what < 0.1:
            db.clear_messages(name)
        else:
            role = chance.choice(["user", "assistant", "tool", "session_meta"])
            calls = [call(f"c{chance.randrange(3)}", "f")] if role == "assistant" and chance.random() < 0.5 else None
            text = " ".join(chance.choices(words, k=2))
            db.append_message(name, role, text, tool_calls=calls, tool_call_id=f"c{chance.randrange(3)}")
    rows = [row for name in names for row in db.get_messages(name)]
    for word in words:
        there = {row["id"] for row in rows if word in row["content"].split()}
        assert {hit["id"] for hit in db.search_messages(word, limit=1_000)} == there


@pytest.mark.parametrize("table", ["document_words_data", "documents"])
def test_promise_136_a_lost_index_is_an_error_and_not_an_empty_answer(mine: Any, path_of_ours: Any, table: str) -> None:
    said(mine, "a fox")
    mine.close()
    with palaver.open(path_of_ours) as store:
        store.reindex()
        sql.execute(store.path, f"DELETE FROM {table}")
        with pytest.raises(palaver.IndexDamaged):
            type(mine)(path_of_ours).search_messages("fox")
        store.reindex()
    again = type(mine)(path_of_ours)
    assert found(again, "fox") == {"s0"}
    again.close()


def test_results_stand_in_the_context_in_the_order_in_which_they_came(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "calls", tool_calls=[call("c1"), call("c2")])
    db.append_message("s", "tool", "second", tool_call_id="c2")
    assert [each["content"] for each in db.search_messages("second")[0]["context"]] == ["calls", "second"]
    db.append_message("s", "tool", "first", tool_call_id="c1")
    db.append_message("s", "user", "end")
    assert [each["content"] for each in db.search_messages("end")[0]["context"]] == ["first", "end"]
    assert [each["content"] for each in db.search_messages("second")[0]["context"]] == ["calls", "second", "first"]
