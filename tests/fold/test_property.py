"""Generated streams, JSON prefixes and chunks through ours and through the real package: they must agree.
The default run is the same every time; the long one (`-m long`) looks at new examples, twenty times as many.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palaver.aisdk.folding import Fold
from palaver.aisdk.partial_json import parse_partial
from palaver.base.exact_json import join_surrogates
from palaver.errors import ChunkError

from . import compare, streams
from .sdk import Oracle
from .test_cases import accepted

Test = Callable[..., None]


def examples(count: int, *, long: bool = False) -> Callable[[Test], Test]:
    return settings(
        max_examples=count * 20 if long else count,
        derandomize=not long,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


# ---------------------------------------------------------------- the claims


def folds_agree(sdk: Oracle, request: dict[str, Any]) -> None:
    theirs = sdk.ask("reduce", request)
    ours = compare.our_answer(request["chunks"], request.get("message"))
    assert compare.agree(ours, theirs), (ours, theirs)
    as_text = [json.dumps(chunk) for chunk in request["chunks"]]
    assert compare.our_answer(as_text, request.get("message")) == ours


def servers_agree(sdk: Oracle, chunks: list[dict[str, Any]]) -> None:
    theirs = sdk.ask("server", {"chunks": chunks, "messageId": "generated-id"})
    seed = {"id": "generated-id", "role": "user", "parts": []}
    ours = compare.our_server_answer(map(with_server_id, chunks), seed)
    assert ours.get("error") == theirs.get("error"), (ours, theirs)
    if ours.get("chunkType") == "start":  # JavaScript has taken the id when it fails; what we refuse changes nothing
        assert theirs["message"]["id"] == with_server_id(chunks[ours["chunkIndex"]])["messageId"]
        theirs["message"]["id"] = ours["message"]["id"]
    assert compare.same(ours["message"], theirs["message"]), (ours, theirs)


def with_server_id(chunk: dict[str, Any]) -> dict[str, Any]:
    nameless = chunk["type"] == "start" and chunk.get("messageId") is None
    return {**chunk, "messageId": "generated-id"} if nameless else chunk


def prefixes_agree(sdk: Oracle, document: str) -> None:
    prefixes = [document[:end] for end in range(len(document) + 1)]
    answers = sdk.ask_many("json", [{"text": prefix} for prefix in prefixes])
    for prefix, theirs in zip(prefixes, answers, strict=True):
        found, value = parse_partial(prefix)
        assert found == ("value" in theirs), (prefix, theirs, value)
        assert compare.same(value, theirs.get("value")), (prefix, theirs, value)


def wires_agree(sdk: Oracle, chunk: Any) -> None:
    assert accepted(chunk) == sdk.ask("chunks", {"chunks": [chunk]})["valid"], chunk


def looking_changes_nothing(stream: list[dict[str, Any]]) -> None:
    lazy, eager = Fold(), Fold()
    for chunk in stream:
        refused = []
        for state in (lazy, eager):
            try:
                state.apply(chunk)
            except ChunkError as error:
                refused.append(str(error))
        eager.message()
        eager.unresolved()
        assert not refused or refused[0] == refused[1]
    assert lazy.message() == eager.message()


# ---------------------------------------------------------------- what they are claimed of

documents = st.one_of(
    streams.values.map(json.dumps),
    streams.values.map(lambda value: json.dumps(value, indent=1, ensure_ascii=False)),
    streams.objects.map(lambda value: json.dumps(value, separators=(",", ":"))),
    # not JSON, but made of what JSON is made of
    st.lists(
        st.sampled_from((*'{}[]:,"\\-+.eEu0123tfn \n\ta', "true", "null", '"a":', "\\u00", "\\ud83d", "😀", "1e400")),
        max_size=14,
    ).map("".join),
).map(join_surrogates)


REFUSED = [
    {"a": None},
    {"": None, "0": None},
    {"b": 1, "10": 1, "9": 1, "01": 1},
    {"__proto__": 1, "4294967295": 1, "4294967294": 1},
]


@pytest.mark.parametrize("later", REFUSED)
def test_a_start_that_cannot_be_merged_is_refused_with_the_words_of_the_sdk(sdk: Oracle, later: dict[str, Any]) -> None:
    first = {"type": "start", "messageId": "m1", "messageMetadata": False}
    servers_agree(sdk, [first, {"type": "start", "messageId": "m2", "messageMetadata": later}])


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.long)], ids=["", "long"])
class TestAgreement:
    def test_the_fold(self, sdk: Oracle, long: bool) -> None:
        examples(150, long=long)(given(streams.requests())(lambda request: folds_agree(sdk, request)))()

    def test_the_fold_of_a_server(self, sdk: Oracle, long: bool) -> None:
        examples(50, long=long)(given(streams.streams())(lambda stream: servers_agree(sdk, stream)))()

    def test_every_prefix_of_tool_input(self, sdk: Oracle, long: bool) -> None:
        examples(150, long=long)(given(documents)(lambda document: prefixes_agree(sdk, document)))()

    def test_the_wire_check(self, sdk: Oracle, long: bool) -> None:
        examples(250, long=long)(given(streams.mutated())(lambda chunk: wires_agree(sdk, chunk)))()

    def test_looking_at_the_message_changes_nothing(self, long: bool) -> None:
        examples(50, long=long)(given(streams.streams())(looking_changes_nothing))()
