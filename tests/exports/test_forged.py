"""Files whose hashes fit and whose content does not: somebody wrote them with intent. Each is refused with the line of
the row, and the store stays as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver.core.digests import of as digest

from . import rich
from .conftest import Source
from .support import change, contents, encoded, export, group_of, groups, joined, session_of, signed, take

Scratch = Callable[[str], palaver.Store]
Forge = Callable[[dict[str, Any]], Any]


def forge(**columns: Any) -> Forge:
    return lambda row: row.update(columns)


def without(column: str) -> Forge:
    def work(row: dict[str, Any]) -> None:
        del row[column]

    return work


def twice(key: str) -> Forge:
    return lambda row: encoded(row)[:-2] + b"," + encoded({key: row[key]})[1:]


DEEP = '{"type":"text","a":' + "[" * 1200 + "]" * 1200 + "}"
# table, what is done to a row of it, what the refusal says
FORGERIES: list[tuple[str, str, Forge, str]] = [
    ("another text", "chat_parts", forge(data_json='{"type":"text","text":"forged"}'), "digest does not fit"),
    ("another type", "chat_parts", forge(type="data-x"), "digest does not fit"),
    ("another role", "chat_messages", forge(role="system"), "digest does not fit"),
    ("other metadata", "chat_messages", forge(metadata_json='{"forged":1}'), "digest does not fit"),
    ("another leaf", "turn_entries", forge(leaf="00" * 32), "digest does not fit"),
    ("no leaf", "turn_entries", forge(leaf=None), "without a digest"),
    ("no salt", "turn_entries", forge(salt=None), "its salt is missing"),
    ("another kind of line", "turn_entries", forge(kind="thought"), "a message, a part or a result"),
    ("a line of another turn", "turn_entries", forge(turn_id="trn_x"), "belongs to nothing in this session"),
    ("another id", "turns", forge(id="trn\nx"), "is not the id of a turn"),
    ("another digest", "turns", forge(digest="00" * 32), "digest of turn"),
    ("no digest", "turns", forge(digest=None), "a sealed turn has a digest"),
    ("another parent", "turns", forge(parent_id="trn_nowhere"), "neither in the store nor earlier"),
    ("its own parent", "turns", lambda row: row.update(parent_id=row["id"]), "digest of turn"),
    ("another depth", "turns", forge(depth=7), "do not follow from its parent's"),
    ("other tokens", "turns", forge(thread_tokens=7), "do not follow from its parent's"),
    ("open and sealed", "turns", forge(status="streaming"), "cannot have that sealed_at"),
    ("an owner", "turns", forge(owner="1-own"), "is null in an export"),
    ("another session's turn", "turns", forge(session_id="ses_other"), "belongs to session 'ses_other'"),
    ("another session's message", "chat_messages", forge(session_id="ses_other"), "belongs to session"),
    ("another session's part", "chat_parts", forge(session_id="ses_other"), "belongs to session"),
    ("a part of no message", "chat_parts", forge(message_id="msg_nowhere"), "belongs to nothing in this session"),
    ("another reason", "reflog", forge(reason="forged"), "line 1 of the reflog"),
    ("another link", "reflog", forge(link="00" * 32), "line 1 of the reflog"),
    ("a head elsewhere", "heads", forge(turn_id=None), "the head is not where"),
    ("another revision", "heads", forge(revision=9), "the head is not where"),
    ("numbers behind the reflog", "heads", forge(event_seq=0), "the reflog's numbers go to"),
    ("a number too great", "heads", forge(event_seq=2**60), "nothing can have counted to"),
    ("an int of 64 bits", "chat_messages", forge(created_at=2**63), "does not fit 64 bits"),
    ("text for a number", "chat_messages", forge(created_at="now"), "is a whole number, not text"),
    ("a number for text", "chat_messages", forge(role=1), "is text, not 1"),
    ("true for a number", "chat_messages", forge(created_at=True), "not true or false"),
    ("null where none may be", "chat_messages", forge(role=None), "is text, not null"),
    ("a NUL in a column", "chat_sessions", forge(agent="a\0b"), "holds a NUL"),
    ("half a character", "chat_sessions", lambda r: encoded(r).replace(b'"coder"', b'"\\ud800"'), "not a line"),
    ("a column too many", "chat_messages", forge(colour="blue"), "has no column 'colour'"),
    ("a column too few", "chat_messages", without("role"), "has a column role"),
    ("a key twice", "chat_messages", twice("role"), "the key 'role' is there twice"),
    ("a table of the store", "chat_messages", forge(table="owners"), "no table 'owners'"),
    ("a table of SQLite", "chat_messages", forge(table="sqlite_schema"), "no table 'sqlite_schema'"),
    ("no JSON", "chat_parts", forge(data_json="{"), "is not JSON that can be kept"),
    ("not a number", "chat_parts", forge(data_json='{"a":NaN}'), "NaN is not a JSON number"),
    ("too great a number", "chat_parts", forge(data_json='{"a":1e999}'), "does not fit a double"),
    ("too deep", "chat_parts", forge(data_json=DEEP), "nested deeper than 1,000"),
    ("no object", "chat_parts", forge(data_json="[]"), "is not a JSON object"),
    ("short hex", "reflog", forge(link="00"), "64 lower-case hex digits"),
    ("upper-case hex", "reflog", lambda row: row.update(link=row["link"].upper()), "64 lower-case hex digits"),
    ("another prompt", "system_prompts", forge(body="Be evil."), "is not what it is named by"),
    ("a name of another session", "aliases", forge(session_id="ses_other"), "belongs to session"),
    ("an id for a foreign row", "foreign_ids", forge(id="ses_other"), "is not an id of this session"),
    ("a nested value", "chat_messages", forge(metadata_json={"a": 1}), "not a line of an export"),
]


# of the session that was counted
COUNTED: list[tuple[str, str, Forge, str]] = [
    ("usage of another session", "usage", forge(session_id="ses_other"), "belongs to session 'ses_other'"),
    ("usage of no turn here", "usage", forge(turn_id="trn_nowhere"), "belongs to nothing in this session"),
    ("usage of no message here", "usage", forge(message_id="msg_nowhere"), "belongs to nothing in this session"),
    ("a number of usage twice", "usage", forge(n=2), "is there twice"),
    ("a key of usage twice", "usage", forge(key="resp-2"), "the key 'resp-2' is on two rows of usage"),
    ("other tokens than its turn has", "usage", forge(input=8), "are not those of its rows of usage"),
    ("usage before the first", "usage", forge(n=0), "numbered from 1 on"),
    ("less than nothing", "usage", forge(input=-1), "nothing can have counted to"),
    ("more than anything", "usage", forge(cache_read=2**53 + 1), "nothing can have counted to"),
    ("a negative cost", "usage", forge(cost_reported=-0.5), "cost_reported of a row of usage is negative"),
    ("a computed cost below nothing", "usage", forge(cost_computed=-0.5), "cost_computed of a row of usage"),
    ("a cost without end", "usage", lambda r: encoded(r).replace(b":0.5,", b":1e999,"), "not a line of an export"),
    ("usage of nobody's", "usage", forge(source=None), "is text, not null"),
    ("a fact of another session", "session_facts", forge(session_id="ses_other"), "belongs to session"),
    ("a fact of another time", "session_facts", forge(created_at=7), "another created_at than its session"),
    ("a fact without a name", "session_facts", forge(name=""), "text that can be printed"),
    ("a name that no index holds", "session_facts", forge(name="n" * 3000), "more than 64 bytes"),
    ("a value that no index holds", "session_facts", forge(value="v" * 3000), "512 is the most"),
    ("a name with a bell", "session_facts", forge(name="a\x07b"), "text that can be printed"),
    ("a name twice", "session_facts", forge(name="source"), "two facts of the name 'source'"),
    ("a value that is no text", "session_facts", forge(value=7), "is text, not 7"),
    ("a fact twice", "session_facts", forge(name="source", value="cli"), "is there twice"),
    ("another body", "bodies", forge(body='{"temperature":2}'), "is not what it is named by"),
    ("a body that is no JSON", "bodies", forge(body="{"), "is not JSON that can be kept"),
    ("an end before all time", "heads", forge(ended_at=-1), "nothing can have counted to"),
]


@pytest.mark.parametrize("table, work, why", [f[1:] for f in COUNTED], ids=[f[0] for f in COUNTED])
def test_a_forged_count_fact_or_body_is_refused(
    table: str, work: Forge, why: str, source: Source, quick: palaver.Store
) -> None:
    group = group_of(source.data, source.ids["counted"])
    forged = change(group, table, work)
    assert forged != group
    refused = take(quick, joined([forged]))[1]
    assert why in refused[0].why, refused[0].why
    assert export(quick) == export(quick, [])


# of the session that was grafted: its second item
GRAFTED: list[tuple[str, str, Forge, str]] = [
    ("another item", "natives", forge(body="Zm9yZ2Vk"), "its digest does not fit"),
    ("another digest of an item", "natives", forge(digest="00" * 32), "its digest does not fit"),
    ("another name of an item", "natives", forge(item=""), "item of an item is empty"),
    ("a name of an item that no index holds", "natives", forge(item="n" * 3000), "give it a shorter one"),
    ("an origin with a bell", "natives", forge(origin="a\x07b"), "remove control characters"),
    ("an item of another session", "natives", forge(session_id="ses_other"), "belongs to session 'ses_other'"),
    ("an item of no turn here", "natives", forge(turn_id="trn_nowhere"), "belongs to nothing in this session"),
    ("an item twice", "natives", lambda row: encoded(row) * 2, "is there twice"),
    ("an item before the first", "natives", forge(seq=-1), "nothing can have counted to"),
    ("an item that is no base64", "natives", forge(body="Zm9yZ2Vk!"), "is bytes as base64"),
    ("an item in other words", "natives", forge(body="Zm9yZ2Vl\n"), "is bytes as base64"),
    ("loose bits at an item's end", "natives", forge(body="Zh=="), "is bytes as base64"),
    ("an item that is a number", "natives", forge(body=7), "is bytes as base64"),
    ("how an item is packed", "natives", forge(codec="zstd"), "natives has no column 'codec'"),
]


@pytest.mark.parametrize("table, work, why", [f[1:] for f in GRAFTED], ids=[f[0] for f in GRAFTED])
def test_a_forged_item_is_refused_at_its_line(
    table: str, work: Forge, why: str, source: Source, quick: palaver.Store
) -> None:
    group = group_of(source.data, source.ids["grafted"])
    forged = joined([signed(re_split(change(group, table, work, nth=1)))])
    (refused,) = take(quick, forged)[1]
    assert why in refused.why, refused.why
    assert b'"table":"natives"' in forged.splitlines()[refused.line - 1]
    assert export(quick) == export(quick, [])


def re_split(group: list[bytes]) -> list[bytes]:
    """The lines one by one, where a row was made two."""
    return [line for part in group for line in part.splitlines(keepends=True)]


def test_so_much_usage_that_no_sum_can_hold_it_is_refused(source: Source, quick: palaver.Store) -> None:
    group = group_of(source.data, source.ids["counted"])
    place = next(i for i, line in enumerate(group) if b'"table":"usage"' in line)
    row = json.loads(group[place])
    many = [encoded(row | {"n": 100 + number, "key": None, "input": 2**53}) for number in range(1_100)]
    forged = signed([*group[: place + 4], *many, *group[place + 4 :]])
    assert "more than can be counted" in take(quick, joined([forged]))[1][0].why
    assert quick.verify() == []


def test_a_key_that_is_there_twice_is_refused_at_the_line_of_its_second_row(
    source: Source, quick: palaver.Store
) -> None:
    forged = joined([change(group_of(source.data, source.ids["counted"]), "usage", forge(key="resp-2"))])
    line = take(quick, forged)[1][0].line
    row = json.loads(forged.splitlines()[line - 1])
    assert (row["table"], row["n"], row["key"]) == ("usage", 2, "resp-2")


@pytest.mark.parametrize("table, work, why", [f[1:] for f in FORGERIES], ids=[f[0] for f in FORGERIES])
def test_a_forged_row_is_refused(table: str, work: Forge, why: str, source: Source, target: palaver.Store) -> None:
    group = group_of(source.data, source.ids["main"])
    forged = change(group, table, work)
    assert forged != group
    summary, refused = take(target, joined([forged]))
    assert (summary.imported, summary.refused) == (0, 1)
    assert why in refused[0].why, refused[0].why
    assert (refused[0].session, 2 <= refused[0].line <= len(forged) + 1) == (source.ids["main"], True)
    assert sum(map(len, contents(target.path).values())) == 0


def test_the_line_of_the_refusal_is_the_line_of_the_row(source: Source, target: palaver.Store) -> None:
    group = group_of(source.data, source.ids["main"])
    forged = joined([change(group, "chat_messages", forge(role=None), nth=2)])
    line = take(target, forged)[1][0].line
    assert json.loads(forged.splitlines()[line - 1])["role"] is None


def test_an_altered_part_is_refused_at_the_line_of_its_turn(source: Source, target: palaver.Store) -> None:
    group = group_of(source.data, source.ids["main"])
    forged = joined([change(group, "chat_parts", forge(data_json='{"type":"text","text":"x"}'))])
    line = take(target, forged)[1][0].line
    assert json.loads(forged.splitlines()[line - 1])["table"] == "turns"


def test_a_part_moved_to_another_message_of_its_session_is_refused(source: Source, target: palaver.Store) -> None:
    group = group_of(source.data, source.ids["main"])
    messages = [json.loads(line)["id"] for line in group if line.startswith(b'{"table":"chat_messages"')]
    refused = take(target, joined([change(group, "chat_parts", forge(message_id=messages[1]))]))[1]
    assert "does not belong to the message it is listed with" in refused[0].why


def drop(group: list[bytes], table: str, nth: int = 0) -> list[bytes]:
    places = [i for i, line in enumerate(group) if line.startswith(b'{"table":"%s"' % table.encode())]
    return signed([line for i, line in enumerate(group) if i != places[nth]])


@pytest.mark.parametrize(
    "table, why",
    [
        ("chat_sessions", "own row is missing"),
        ("heads", "a reflog but no head"),
        ("reflog", "line 2 of the reflog"),
        ("turns", "belongs to nothing in this session"),
        ("turn_entries", "does not belong to the message"),
        ("chat_parts", "its row is missing"),
    ],
)
def test_a_row_that_was_left_out_is_missed(table: str, why: str, source: Source, target: palaver.Store) -> None:
    forged = drop(group_of(source.data, source.ids["races"]), table)
    refused = take(target, joined([forged]))[1]
    assert why in refused[0].why
    assert sum(map(len, contents(target.path).values())) == 0


def test_a_line_of_a_turn_that_was_left_out_is_missed(source: Source, target: palaver.Store) -> None:
    forged = drop(group_of(source.data, source.ids["races"]), "turn_entries", nth=-1)
    assert "digest of turn" in take(target, joined([forged]))[1][0].why


def test_a_second_row_of_a_session_or_head_is_refused(source: Source, target: palaver.Store) -> None:
    group = group_of(source.data, source.ids["main"])
    for place in (1, 2):
        twice = signed([*group[: place + 1], *group[place:]])
        assert "a second row of" in take(target, joined([twice]))[1][0].why


def test_tables_out_of_order_are_refused(source: Source, target: palaver.Store) -> None:
    group = group_of(source.data, source.ids["main"])
    shuffled = signed([group[0], group[1], *group[3:-1], group[2], group[-1]])
    assert "out of order" in take(target, joined([shuffled]))[1][0].why


def test_an_id_of_another_session_in_the_store_is_not_taken_over(source: Source, target: palaver.Store) -> None:
    mine = target.sessions.create("mine")
    mine.commit(["my own words"])
    before = contents(target.path)
    row = json.loads(next(line for line in group_of(export(target), mine.id) if b'"chat_messages"' in line))
    group = group_of(source.data, source.ids["foreign"])
    stolen = change(group, "chat_messages", forge(id=row["id"]))
    refused = take(target, joined([stolen]))[1]
    assert refused[0].why == f"'{row['id']}' is taken by a row of session {mine.id}"
    assert contents(target.path) == before


def test_a_part_cannot_be_slipped_into_a_session_of_the_store(source: Source, target: palaver.Store) -> None:
    mine = target.sessions.create("mine")
    mine.commit(["my own words"])
    before = contents(target.path)
    message = mine.messages()[0]["id"]
    group = group_of(source.data, source.ids["foreign"])
    refused = take(target, joined([change(group, "chat_parts", forge(message_id=message))]))[1]
    assert "belongs to nothing in this session" in refused[0].why
    assert contents(target.path) == before


def open_group(store: palaver.Store) -> list[bytes]:
    session = store.sessions.create("coder")
    rich.stream_open(store, session.id)
    return groups(export(store))[0]


OPEN_FORGERIES = [
    ("events", 1, forge(data='{"type":"text-delta","id":"nowhere","delta":"x"}'), "do not fold"),
    ("events", 1, forge(data='{"no":"chunk"}'), "do not fold"),
    ("events", 1, forge(kind="resolve", data='{"surprise":1}'), "do not fold"),
    ("events", 1, forge(kind="stray", data="{}"), "a stray's event names its turn"),
    ("turns", 0, forge(response_id="msg_nowhere"), "does not list the message"),
    ("turns", 0, forge(facts_json='{"metadata":7}'), "do not fold"),
    ("turn_entries", 2, forge(seq=9), "not numbered 0 to n-1"),
]


@pytest.mark.parametrize("table, nth, work, why", OPEN_FORGERIES)
def test_an_open_turn_that_recovery_would_fall_over_is_refused(
    table: str, nth: int, work: Forge, why: str, scratch: Scratch, path: str
) -> None:
    forged = change(open_group(scratch("here")), table, work, nth)
    with palaver.open(path) as there:
        refused = take(there, joined([forged]))[1]
        assert why in refused[0].why
    with palaver.open(path) as there:
        assert there.verify() == []


def test_a_chain_of_digests_made_up_from_nothing_needs_no_more_trust_than_a_new_session(scratch: Scratch) -> None:
    """Who invents a whole history with fitting digests has recorded a session; nothing that is there is touched."""
    here, there = scratch("here"), scratch("there")
    here.sessions.create("coder").commit(["real"])
    group = groups(export(here))[0]
    part = json.loads(next(line for line in group if b'"chat_parts"' in line))
    entries = [json.loads(line) for line in group if b'"turn_entries"' in line]
    data = '{"type":"text","text":"invented"}'
    salt = bytes.fromhex(entries[1]["salt"])
    leaves = [bytes.fromhex(entries[0]["leaf"]), digest(salt, b"text", data.encode())]
    turn = digest(b"palaver turn 1", b"", b"turn", b"".join(leaves), b"")
    forged = change(group, "chat_parts", forge(data_json=data))
    forged = change(forged, "turn_entries", forge(leaf=leaves[1].hex()), nth=1)
    forged = change(forged, "turns", forge(digest=turn.hex()))
    assert part["type"] == "text"
    summary, refused = take(there, joined([forged]))
    assert (summary.imported, refused) == (1, [])
    assert there.sessions.get(session_of(group)).messages()[0]["parts"][0]["text"] == "invented"


def test_a_last_line_with_other_keys_is_refused(source: Source, target: palaver.Store) -> None:
    group = group_of(source.data, source.ids["foreign"])
    rows = b"".join(group[1:-1])
    end = {"end": session_of(group), "lines": len(group) - 2, "sha256": hashlib.sha256(rows).hexdigest(), "x": 1}
    assert "a session ends with" in take(target, joined([[*group[:-1], encoded(end)]]))[1][0].why
