"""Search: what was said is found at once, on every engine the same, and only by who may see it."""

from __future__ import annotations

import time

import pytest

from palaver import BadValue, Hit, Session, Store

from .group import Group


def found(store: Store, query: str, **options: bool | str) -> list[str]:
    """What the hits of all pages show, the newest first."""
    hits: list[Hit] = []
    after: str | None = None
    while True:
        page = store.search(query, order="newest", limit=3, after=after, **options)  # type: ignore[arg-type]
        hits += page
        after = page.next
        if after is None:
            return [hit.snippet for hit in hits]


def talk(store: Store, *said: str, agent: str = "guide") -> Session:
    """Over when its last millisecond is, which may still be to come: two messages of a session never have the same. So
    the next talk is newer."""
    session = store.sessions.create(agent)
    for words in said:
        session.commit(words)
    while time.time_ns() // 1_000_000 <= (session.info.last_message_at or 0):
        time.sleep(0.0005)
    return session


class Search(Group):
    # ------------------------------------------------------------ what is found

    @pytest.mark.parametrize("indexed", [False, True])
    def test_words_phrases_and_operators(self, store: Store, indexed: bool) -> None:
        talk(store, "the red fox", "the red hen", "a blue fox jumps", "red, the fox")
        if indexed:
            store.reindex()
        assert found(store, "fox") == ["red, the fox", "a blue fox jumps", "the red fox"]
        assert found(store, "red fox") == ["red, the fox", "the red fox"]
        assert found(store, '"red fox"') == ["the red fox"]
        assert found(store, "hen OR jumps") == ["a blue fox jumps", "the red hen"]
        assert found(store, "fox -red") == found(store, "fox NOT red") == ["a blue fox jumps"]
        assert found(store, "ju*") == ["a blue fox jumps"]
        assert found(store, "(hen OR blue) the") == ["the red hen"]

    @pytest.mark.parametrize("indexed", [False, True])
    def test_what_has_separators_is_meant_literally(self, store: Store, indexed: bool) -> None:
        talk(
            store,
            "write C++ now",
            "write C now",
            "see src/main.py",
            "src main py",
            "getUserName()",
            "50% of it",
            "日本語の本",
        )
        if indexed:
            store.reindex()
        assert found(store, "C++") == ["write C++ now"]
        assert found(store, "src/main.py") == ["see src/main.py"]
        assert found(store, "user") == ["getUserName()"]
        assert found(store, "50%") == ["50% of it"]
        assert found(store, "本語") == found(store, "語の本") == ["日本語の本"]

    @pytest.mark.parametrize("indexed", [False, True])
    def test_a_result_of_a_tool_is_a_document_of_its_own(self, store: Store, indexed: bool) -> None:
        session = store.sessions.create("coder")
        with session.turn("look") as turn:
            turn.tool("bash", {"command": "ls src"}).output("one.py two.py")
            turn.tool("bash", {"command": "rm src"}).error("refused")
            turn.text("done")
        if indexed:
            store.reindex()
        assert [(hit.role, hit.part_id is None) for hit in store.search("two.py")] == [("tool", False)]
        assert found(store, "ls refused") == []
        assert found(store, "is:error") == ["refused"]
        assert found(store, "tool:bash role:assistant") == ["bash command: ls src bash command: rm src done"]
        [hit] = store.search("done")
        assert (hit.before, hit.after) == ("look", None)

    def test_nothing_follows_what_waits(self, store: Store, session: Session) -> None:
        session.commit("look")
        part = {"type": "tool-run", "toolCallId": "c1", "state": "input-available", "input": {}}
        answer = {"role": "assistant", "parts": [{"type": "text", "text": "a heron"}, part]}
        session.commit([answer], status="waiting")
        (hit,) = store.search("heron")
        assert (hit.before, hit.after) == ("look", None)

    def test_what_streams_is_found_at_once(self, store: Store) -> None:
        turn = store.sessions.create("coder").turn("a question")
        turn.text("half of an ans")
        assert found(store, "half") == ["half of an ans"]
        turn.text("wer")
        assert found(store, "answer") == ["half of an answer"]
        turn.seal()
        store.reindex(only_missing=True)
        assert found(store, "answer") == ["half of an answer"]

    def test_a_title_is_found_with_the_first_message_also_when_it_changes(self, store: Store) -> None:
        session = store.sessions.create("coder", title="Harvest")
        session.commit("hello")
        store.reindex(only_missing=True)
        assert found(store, "harvest hello") == ["Harvest hello"]
        session.title = "Vintage"
        assert (found(store, "harvest"), found(store, "vintage")) == ([], ["Vintage hello"])
        store.reindex(only_missing=True)
        assert (found(store, "harvest"), found(store, "vintage")) == ([], ["Vintage hello"])

    # ------------------------------------------------------------ who sees it

    @pytest.mark.parametrize("indexed", [False, True])
    def test_what_was_rewound_deleted_or_archived_is_not_found(self, store: Store, indexed: bool) -> None:
        kept = talk(store, "apple one", "apple two")
        gone, put_away = talk(store, "apple three"), talk(store, "apple four")
        if indexed:
            store.reindex()
        kept.rewind(kept.path()[0].id)
        gone.delete()
        put_away.archive()
        assert found(store, "apple") == ["apple one"]
        assert found(store, "apple", hidden=True) == ["apple two", "apple one"]
        assert found(store, "apple", archived=True) == ["apple four", "apple one"]
        kept.undo()
        gone.undelete()
        # A session's own times never stand still: where all was said in one moment, its second message is the newest.
        assert sorted(found(store, "apple")) == ["apple one", "apple three", "apple two"]

    @pytest.mark.parametrize("indexed", [False, True])
    def test_what_only_a_fork_still_shows_is_found_under_its_name(self, store: Store, indexed: bool) -> None:
        origin = talk(store, "pear one", "pear two")
        fork = origin.fork()
        if indexed:
            store.reindex()
        assert [hit.session_id for hit in store.search("pear", order="newest")] == [origin.id, origin.id]
        origin.rewind(origin.path()[0].id)
        assert [hit.session_id for hit in store.search("pear", order="newest")] == [fork.id, origin.id]
        origin.delete()
        assert [hit.session_id for hit in store.search("pear", order="newest")] == [fork.id, fork.id]
        assert [hit.session_id for hit in store.search(f"pear session:{fork.id}", order="newest")] == [fork.id] * 2

    def test_fields_ask_for_sessions(self, store: Store) -> None:
        web = store.sessions.create("coder", project="web", source="cli", workspace="/work/web", model="acme/big")
        web.commit("plum one")
        talk(store, "plum two", agent="guide")
        for query in ("agent:coder", "project:web", "source:cli", "workspace:web", "-agent:guide", f"session:{web.id}"):
            assert found(store, f"plum {query}") == ["plum one"], query
        assert len(store.search("plum", per_session=True)) == 2

    # ------------------------------------------------------------ pages, and any string

    @pytest.mark.parametrize("order", ["rank", "newest"])
    def test_pages_have_every_hit_once(self, store: Store, order: str) -> None:
        session = talk(store, *(f"nut {number}" for number in range(25)))
        store.reindex()
        session.commit("nut 25")
        session.commit("nut 26")
        seen, after = list[str](), None
        while True:
            page = store.search("nut", order=order, limit=4, after=after)
            seen += [hit.message_id for hit in page]
            after = page.next
            if after is None:
                break
        assert len(seen) == len(set(seen)) == 27

    def test_every_string_is_a_query(self, store: Store) -> None:
        talk(store, "hello")
        store.reindex()
        for query in ('"', "(", "OR", "-", "a:b NOT", "*", "'; DROP", "role:", "\\", "%_", "AND AND", "()", "\0"):
            store.search(query)
        assert found(store, "hello") == ["hello"]

    def test_an_empty_query_finds_nothing(self, store: Store) -> None:
        talk(store, "hello")
        assert (found(store, ""), found(store, "   ")) == ([], [])

    def test_a_word_with_a_slip_in_it_is_suggested(self, store: Store) -> None:
        talk(store, "a migration")
        store.reindex()
        page = store.search("migraton")
        assert (page.hits, page.suggestion) == ([], "migration")

    def test_what_cannot_be_meant_is_refused(self, store: Store) -> None:
        talk(store, "hello", "hello")
        cursor = store.search("hello", limit=1).next
        with pytest.raises(BadValue):
            store.search("other", after=cursor)
        with pytest.raises(BadValue):
            store.search("hello", after="nonsense")
        with pytest.raises(BadValue):
            store.search("hello", order="best")
        with pytest.raises(BadValue):
            store.search("before:never")

    def test_the_index_is_compared_with_the_record(self, store: Store) -> None:
        session = talk(store, "one", "two", "three")
        session.fork()
        session.rewind(session.path()[0].id)
        assert store.reindex() == store.reindex() > 0
        assert store.verify() == []
