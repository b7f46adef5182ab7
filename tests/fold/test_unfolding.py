"""A message as chunks: whatever message it is, the fold of its chunks is the message again, or it is refused."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.aisdk.unfolding import unfold

from .test_property import examples

WORDS = st.text('abc \n"\\é日', max_size=6)
NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), WORDS, st.lists(WORDS, max_size=2))
ABOUT = st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=2), min_size=1, max_size=2)


def part(kind: str, needed: dict[str, Any], more: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **needed}, optional=more)


def tool(state: str, answer: dict[str, Any], more: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    needed = {"toolCallId": NAMES, "state": st.just(state), "input": VALUES, **answer}
    more = {"title": WORDS, "providerExecuted": st.booleans(), "callProviderMetadata": ABOUT, **more}
    named = part("tool-run", needed, more)
    return st.one_of(named, part("dynamic-tool", {"toolName": NAMES, **needed}, more))


PARTS = st.one_of(
    part("text", {"text": WORDS, "state": st.just("done")}, {"providerMetadata": ABOUT}),
    part("reasoning", {"text": WORDS, "state": st.just("done")}, {"providerMetadata": ABOUT}),
    part("step-start", {}, {}),
    part("file", {"url": WORDS, "mediaType": WORDS}, {"providerMetadata": ABOUT}),
    part("source-url", {"sourceId": NAMES, "url": WORDS}, {"title": WORDS, "providerMetadata": ABOUT}),
    part("data-mine", {"data": VALUES}, {}),
    tool("input-available", {}, {}),
    tool("output-available", {"output": VALUES}, {"resultProviderMetadata": ABOUT}),
    tool("output-error", {"errorText": WORDS}, {"resultProviderMetadata": ABOUT}),
)


def numbered(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each call with an id of its own: a second one of the same id in a step is the first, told again."""
    return [each | {"toolCallId": f"c{place}"} if "toolCallId" in each else each for place, each in enumerate(parts)]


def without_ids(part: dict[str, Any]) -> dict[str, Any]:
    """The fold of the AI SDK shows what a stream called a piece of reasoning."""
    return {key: value for key, value in part.items() if (part["type"], key) != ("reasoning", "id")}


@given(st.lists(PARTS, max_size=6).map(numbered), st.none() | st.dictionaries(NAMES, VALUES, min_size=1, max_size=2))
@examples(150)
def test_the_fold_of_a_messages_chunks_is_the_message(parts: list[Any], about: dict[str, Any] | None) -> None:
    folded = palaver.fold(unfold(parts, about, "m-1"))
    assert (folded["id"], folded.get("metadata")) == ("m-1", about)
    assert [without_ids(each) for each in folded["parts"]] == parts
