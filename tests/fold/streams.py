"""Generated chunk streams: mostly sensible, with everything that goes wrong in real ones mixed in."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from palaver.aisdk.chunks import FINISH_REASONS, KINDS
from palaver.aisdk.folding import Fold, plain_message
from palaver.errors import ChunkError

TEXT_IDS = ("a", "b", "__proto__", "")
CALL_IDS = ("c1", "c2", "constructor")
KEYS = ("a", "b", "0", "", "__proto__", "constructor", "prototype", "toString", "length", "é", "data")

texts = st.one_of(
    st.sampled_from(("", "x", "hello ", "\x00", "😀", "a\ud83d", "\ude00b", "\ud800", '"', "\\", "\u2028")),
    st.text(max_size=6),
)
numbers = st.one_of(
    st.integers(-5, 5),
    st.sampled_from((2**53 + 1, 12345678901234567890, 1.1, -0.0, 1e21, 1e-7, 10**25)),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from(KEYS), values, max_size=3)
provider_metadata = st.dictionaries(st.sampled_from(("p", "q")), objects, max_size=2)
flags = st.booleans()

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "id": st.sampled_from(TEXT_IDS),
    "toolCallId": st.sampled_from(CALL_IDS),
    "approvalId": st.sampled_from(("ap1", "ap2")),
    "messageId": st.sampled_from(("m1", "m1", "m1", "m2", "")),
    "toolName": st.sampled_from(("f", "g-h", "constructor", "")),
    "delta": texts,
    "inputTextDelta": st.sampled_from(('{"a":', "1", "[", '"x', "\ud83d", "\ude00", '"', "}", ",", "-", "tr", "")),
    "errorText": texts,
    "title": texts,
    "finishReason": st.sampled_from(FINISH_REASONS),
    "inputEncoding": st.sampled_from(("json", "text")),
    "messageMetadata": st.one_of(objects, objects, objects, values),
    "providerMetadata": provider_metadata,
    "toolMetadata": objects,
    **{name: values for name in ("input", "output", "data", "approvalDescriptor", "inputSchemaInput")},
    **{name: flags for name in ("providerExecuted", "dynamic", "transient", "preliminary")},
}
DATA_KINDS = ("data-x", "data-y", "data-")
# Deltas make up most of a real stream.
PICKS = tuple(KINDS) + ("text-start", "text-delta", "reasoning-delta", "tool-input-start", "tool-input-delta") * 2


@st.composite
def chunks(draw: st.DrawFn, kind: str, nulls: bool = True) -> dict[str, Any]:
    """One chunk of that kind; with `nulls`, optional fields may be null, as a careless producer has it."""
    chunk: dict[str, Any] = {"type": draw(st.sampled_from(DATA_KINDS)) if kind == "data-*" else kind}
    for field in KINDS[kind].required:
        chunk[field] = draw(FIELDS.get(field, texts))
    for field in KINDS[kind].optional:
        dice = draw(st.integers(0, 7))
        if dice < 3:
            chunk[field] = draw(FIELDS.get(field, texts))
        elif nulls and dice == 3:
            chunk[field] = None
    if draw(st.integers(0, 9)) == 0:
        chunk["extra"] = draw(values)
    return chunk


@st.composite
def streams(draw: st.DrawFn, max_size: int = 24) -> list[dict[str, Any]]:
    """Chunks of which nearly all fit: one that would be refused is left in only now and then."""
    state = Fold()
    stream: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, max_size))):
        chunk = draw(chunks(draw(st.sampled_from(PICKS))))
        try:
            state.apply(chunk)
        except ChunkError:
            if draw(st.integers(0, 9)) > 0:
                continue
            return [*stream, chunk, {"type": "finish"}]
        stream.append(chunk)
    return stream


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A stream, perhaps on top of a message: a user's, or what an earlier stream left behind."""
    dice = draw(st.integers(0, 5))
    request: dict[str, Any] = {"chunks": draw(streams())}
    if dice == 0:
        request["message"] = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    elif dice < 3:
        request["message"] = {**left_behind(draw(streams(10))), "createdAt": 1}
    return request


def left_behind(stream: list[dict[str, Any]]) -> dict[str, Any]:
    state = Fold({"id": "m1", "role": "user", "parts": []}, resets=False)
    for chunk in stream:
        try:
            state.apply(chunk)
        except ChunkError:
            pass
    return plain_message(state.message())


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A valid chunk with one thing wrong, or right after all."""
    chunk = draw(chunks(draw(st.sampled_from(tuple(KINDS))), nulls=False))
    field = draw(st.sampled_from(sorted({*chunk, "type", "providerMetadata", "toolMetadata", "finishReason"})))
    how = draw(st.integers(0, 4))
    if how == 0:
        chunk.pop(field, None)
    elif how == 1:
        chunk[field] = None
    elif how == 2:
        chunk[field] = draw(st.one_of(values, st.just("unknown"), st.just({"p": 1}), st.just({"__proto__": 1})))
    return chunk
