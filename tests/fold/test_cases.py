"""The recorded cases: what `ai` 6.0.326 answered, ours must answer. And the comparison can fail."""

from __future__ import annotations

from typing import Any

import pytest

from palaver.aisdk import chunks, folding
from palaver.aisdk.partial_json import parse_partial
from palaver.errors import ChunkError

from . import compare
from .sdk import Oracle, cases

REDUCE = cases("cases.jsonl")
MODES = cases("cases-modes.jsonl")


def of_mode(mode: str) -> list[dict[str, Any]]:
    return [case for case in MODES if case["mode"] == mode]


def name(case: dict[str, Any]) -> str:
    return str(case["name"])


def accepted(chunk: Any) -> bool:
    try:
        chunks.check(chunk)
    except ChunkError:
        return False
    return True


@pytest.mark.parametrize("case", REDUCE, ids=name)
def test_the_fold_answers_as_recorded(case: dict[str, Any]) -> None:
    ours = compare.our_answer(case["chunks"], case.get("message"))
    assert compare.agree(ours, case["expected"]), ours


@pytest.mark.parametrize("case", of_mode("server"), ids=name)
def test_without_resets_it_is_the_server(case: dict[str, Any]) -> None:
    last = case["messages"][-1]
    wire = case["expected"]["wire"]  # with the id that the server put into `start`
    ours = compare.our_server_answer(wire, last if last["role"] == "assistant" else None)
    expected = case["expected"]["message"]
    assert compare.same(ours["message"], expected)


@pytest.mark.parametrize("case", of_mode("json"), ids=name)
def test_partial_json_as_recorded(case: dict[str, Any]) -> None:
    found, value = parse_partial(case["text"])
    assert found == ("value" in case["expected"])
    assert compare.same(value, case["expected"].get("value"))


@pytest.mark.parametrize("case", of_mode("chunks"), ids=name)
def test_the_wire_check_as_recorded(case: dict[str, Any]) -> None:
    assert [accepted(chunk) for chunk in case["chunks"]] == case["expected"]["results"]


def test_the_oracle_still_answers_as_recorded(sdk: Oracle) -> None:
    requests = [{key: case[key] for key in ("chunks", "message") if key in case} for case in REDUCE]
    assert sdk.ask_many("reduce", requests) == [case["expected"] for case in REDUCE]


def failing() -> list[str]:
    return [
        case["name"]
        for case in REDUCE
        if not compare.agree(compare.our_answer(case["chunks"], case.get("message")), case["expected"])
    ]


def test_a_planted_bug_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failing() == []
    monkeypatch.setitem(folding._RULES, "finish-step", lambda fold, chunk: None)
    assert failing() == ["text-delta-after-finish-step-error"]
    monkeypatch.undo()
    monkeypatch.setattr(folding, "_SKIPPED", ())
    assert "metadata-proto-keys-skipped-on-merge" in failing()
