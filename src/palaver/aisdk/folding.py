"""The fold: chunks in, one assistant message out, exactly as `ai` 6.0.326 reduces them.

`Fold` holds the state of one message and takes one chunk at a time; `fold` does a whole stream.
Deltas are collected and joined only when somebody looks (`part`, `message`), so that a delta costs
the same however long the text is. Payloads (inputs, outputs, data, metadata) are opaque: they may be
`msgspec.Raw`, and pass through without being decoded, except where metadata is merged.

One tool call id may own several parts (in two steps, or one static and one dynamic): parts are named
by their index, and ids are only looked up by the SDK's own rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from ..base import arguments, exact_json
from ..errors import BadValue, ChunkError
from . import chunks
from .partial_json import parse_partial
from .parts import FINAL, is_tool

Raw = msgspec.Raw
MISSING: Any = msgspec.UNSET
Part = dict[str, Any]
Chunk = Mapping[str, Any]

_GROWING = ("streaming", "input-streaming")  # states of a part that deltas go into
_REWRITTEN = ("input", "output", "errorText", "rawInput", "preliminary")  # an update sets or removes these


def fold(chunks: Iterable[Mapping[str, Any] | str | bytes], message: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The message that these chunks make, as plain values; the input is left as it is."""
    state = Fold(None if message is None else _whole(message))
    for given in arguments.several("chunks", chunks):
        state.apply(_readable(state, given))
    return plain_message(state.message())


class Ended(NamedTuple):
    """How a stream said that it ended: failed or aborted, and why."""

    status: str
    reason: str | None


class Fold:
    """The reducer's state for one assistant message."""

    def __init__(self, message: Mapping[str, Any] | None = None, *, resets: bool = True) -> None:
        self._resets = resets
        self._applied = 0
        self.unknown: list[Chunk] = []  # chunks of kinds that we do not know: they make no part, and are not lost
        self._clear(message["id"] if message is not None else "")
        if message is not None and message["role"] == "assistant":
            self._adopt(message)

    def _clear(self, message_id: str) -> None:
        self.id = message_id
        self.parts: list[Part] = []
        self.metadata: Any = MISSING
        self.finish_reason: str | None = None
        self.in_step = self.finished = False
        self.ended: Ended | None = None  # as the stream said
        self._frame: dict[str, Any] = {}  # keys of an adopted message that we do not know
        self._open: dict[str, dict[str, int]] = {"text": {}, "reasoning": {}}  # chunk id -> part
        self._texts, self._reasonings = self._open["text"], self._open["reasoning"]
        self._deltas: dict[int, list[str]] = {}  # part -> pieces of its text
        self._partials: dict[str, _Partial] = {}  # tool call id -> input text so far
        self._streaming: dict[int, _Partial] = {}  # parts whose input is yet to be read from there
        self._last_tool: dict[str, int] = {}  # tool call id -> its last part in the message
        self._step_tool: dict[str, int] = {}  # … -> its first part in the current step
        self._step_kind: dict[tuple[bool, str], int] = {}  # the same, for (dynamic, tool call id)
        self._data: dict[Any, int] = {}  # (type, id) -> first such data part

    def _adopt(self, message: Mapping[str, Any]) -> None:
        self._frame = {k: v for k, v in message.items() if k not in ("id", "role", "metadata", "parts")}
        self.metadata = message.get("metadata", MISSING)
        for given in message["parts"]:
            part = dict(given)
            if part["type"] == "step-start":
                self._partials.clear()
                self._new_step(part)
                continue
            self._append(part)
            if part.get("state") == "input-streaming" and is_tool(part["type"]):
                self._partials[part["toolCallId"]] = _Partial.of_part(part)

    # ---------------------------------------------------------------- reading

    def part(self, index: int) -> Part:
        """The part as the SDK would show it now."""
        self._show(index)
        return dict(self.parts[index])

    def message(self) -> dict[str, Any]:
        """The whole message; the caller may change it and its parts freely."""
        metadata = {} if self.metadata is MISSING else {"metadata": self.metadata}
        parts = [self.part(index) for index in range(len(self.parts))]
        return {"id": self.id, "role": "assistant", **metadata, **self._frame, "parts": parts}

    @property
    def has_begun(self) -> bool:
        """Whether any chunk came yet."""
        return self._applied > 0

    def is_growing(self, index: int) -> bool:
        """Whether a text, or the input of a tool, still streams into a part."""
        return self.parts[index].get("state") in _GROWING

    def open_texts(self) -> list[tuple[str, str]]:
        """Kind and chunk id of each text and reasoning that has not ended, in the order of the parts."""
        found = [(index, kind, name) for kind, opened in self._open.items() for name, index in opened.items()]
        return [(kind, name) for _, kind, name in sorted(found)]

    def is_last(self, kind: str, name: str) -> bool:
        """Whether an open text is the newest part."""
        return self._open[kind][name] == len(self.parts) - 1

    def unresolved(self) -> list[Part]:
        """Tool parts that still wait for a final output, error or denial."""
        return [self.part(index) for index, part in enumerate(self.parts) if _is_unresolved(part)]

    def is_unresolved(self, call_id: str) -> bool:
        """Whether the newest call with this id waits for its result."""
        index = self._step_tool.get(call_id, self._last_tool.get(call_id))
        return index is not None and _is_unresolved(self.parts[index])

    def has_call(self, call_id: str) -> bool:
        return call_id in self._last_tool

    def is_denied(self, call_id: str) -> bool:
        """Whether a person said no to the newest call with this id."""
        index = self._step_tool.get(call_id, self._last_tool.get(call_id))
        return index is not None and _was_denied(self.parts[index])

    # ---------------------------------------------------------------- writing

    def apply(self, chunk: Chunk) -> int | None:
        """Apply one chunk; answers which part it made or changed. A refused chunk changes nothing."""
        kind: str = chunk["type"]
        rule = _RULES.get(kind)
        touched = None
        if rule is not None:
            touched = rule(self, chunk)
        elif kind.startswith("data-"):
            touched = self._on_data(chunk)
        else:
            self.unknown.append(chunk)
        self._applied += 1
        return touched

    def resolve(
        self,
        tool_call_id: str,
        *,
        output: Any = MISSING,
        error: str | None = None,
        approved: bool | None = None,
        reason: str | None = None,
        provider_metadata: Any = None,
    ) -> int:
        """What a client does by addToolOutput or addToolApprovalResponse; answers the part's index. What a result is
        told with, beside it, is the part's `resultProviderMetadata`."""
        about = {} if provider_metadata is None else {"providerMetadata": provider_metadata}
        if (output is not MISSING) + (error is not None) + (approved is not None) != 1:
            raise BadValue("give exactly one of output, error and approved")
        if output is not MISSING:
            if self.is_denied(tool_call_id):
                raise self._refusal(denied(tool_call_id), "tool-output-available", tool_call_id)
            return self._on_output({"toolCallId": tool_call_id, "output": output, **about})
        if error is not None:
            return self._on_output_error({"toolCallId": tool_call_id, "errorText": error, **about})
        return self._answer_approval(tool_call_id, approved, reason)

    def close(self, error_text: str, *, text_state: bool) -> list[int]:
        """Our own step at abort or recovery, not the SDK's: end every open tool part, denied where a person said no,
        else as an error, and with `text_state` every open text, so that the message can go to a model again."""
        changed = []
        for index, part in enumerate(self.parts):
            if _is_unresolved(part):
                self._close_tool(index, error_text)
            elif text_state and part["type"] in ("text", "reasoning") and part.get("state") == "streaming":
                self._show(index)
                part["state"] = "done"
            else:
                continue
            changed.append(index)
        self._partials.clear()
        if text_state:
            self._forget_open_texts()
        return changed

    # ---------------------------------------------------------------- message and steps

    def _on_start(self, chunk: Chunk) -> None:
        given = chunk.get("messageId")
        fresh = self._resets and given is not None and given != self.id
        merged = self._merged(MISSING if fresh else self.metadata, chunk)
        if fresh:
            self._clear(given or "")
        if given is not None:
            self.id = given
        self.metadata = merged

    def _on_finish(self, chunk: Chunk) -> None:
        self.metadata = self._merged(self.metadata, chunk)
        self.finished = True
        if chunk.get("finishReason") is not None:
            self.finish_reason = chunk["finishReason"]

    def _on_abort(self, chunk: Chunk) -> None:
        self.ended = Ended("aborted", _text_or_none(chunk.get("reason")))

    def _on_error(self, chunk: Chunk) -> None:
        self.ended = Ended("failed", chunk["errorText"])

    def _on_metadata(self, chunk: Chunk) -> None:
        self.metadata = self._merged(self.metadata, chunk)

    def _merged(self, old: Any, chunk: Chunk) -> Any:
        new = chunk.get("messageMetadata")
        if is_null(new):
            return old
        if old is MISSING or is_null(old):
            return new
        try:
            return merge(old, new)
        except BadValue as error:
            raise self._refusal(str(error), chunk["type"], None) from None

    def _on_step_start(self, chunk: Chunk) -> int:
        if self.finished:  # it goes on after all: how it ended then is yet to be said
            self.finish_reason = None
        self.in_step, self.finished = True, False
        return self._new_step({"type": "step-start"})

    def _new_step(self, part: Part) -> int:
        for index in list(self._streaming):
            self._settle_tool(index)
        self._step_tool.clear()
        self._step_kind.clear()
        self.parts.append(part)
        return len(self.parts) - 1

    def _on_step_finish(self, chunk: Chunk) -> None:
        self.in_step = False
        self._forget_open_texts()

    def _forget_open_texts(self) -> None:
        for index in list(self._deltas):
            self._settle_text(index)
        self._texts.clear()
        self._reasonings.clear()

    # ---------------------------------------------------------------- text and reasoning

    def _on_text_start(self, chunk: Chunk) -> int:
        return self._open_text(self._texts, {"type": "text", "text": ""}, chunk)

    def _on_reasoning_start(self, chunk: Chunk) -> int:
        return self._open_text(self._reasonings, {"type": "reasoning", "id": chunk["id"], "text": ""}, chunk)

    def _open_text(self, opened: dict[str, int], part: Part, chunk: Chunk) -> int:
        if "providerMetadata" in chunk:
            part["providerMetadata"] = chunk["providerMetadata"]
        part["state"] = "streaming"
        former = opened.get(chunk["id"])
        if former is not None:  # stays `streaming` for ever, as in the SDK
            self._settle_text(former)
        index = self._append(part)
        opened[chunk["id"]] = index
        self._deltas[index] = []
        return index

    def _on_text_delta(self, chunk: Chunk) -> int:
        index = self._texts.get(chunk["id"])
        if index is None:
            raise self._no_text(chunk)
        self._deltas[index].append(chunk["delta"])
        if "providerMetadata" in chunk:
            self._set_provider_metadata(index, chunk)
        return index

    def _on_reasoning_delta(self, chunk: Chunk) -> int:
        index = self._reasonings.get(chunk["id"])
        if index is None:
            raise self._no_text(chunk)
        self._deltas[index].append(chunk["delta"])
        if "providerMetadata" in chunk:
            self._set_provider_metadata(index, chunk)
        return index

    def _on_text_end(self, chunk: Chunk) -> int:
        opened = self._open[chunk["type"].removesuffix("-end")]
        index = opened.pop(chunk["id"], None)
        if index is None:
            raise self._no_text(chunk)
        self._settle_text(index)
        self.parts[index]["state"] = "done"
        self._set_provider_metadata(index, chunk)
        return index

    def _set_provider_metadata(self, index: int, chunk: Chunk) -> None:
        given = chunk.get("providerMetadata")
        if not is_null(given):
            self.parts[index]["providerMetadata"] = given

    def _no_text(self, chunk: Chunk) -> ChunkError:
        kind = chunk["type"]
        noun = kind.split("-")[0]
        return self._refusal(
            f'Received {kind} for missing {noun} part with ID "{chunk["id"]}". '
            f'Ensure a "{noun}-start" chunk is sent before any "{kind}" chunks.',
            kind,
            chunk["id"],
        )

    # ---------------------------------------------------------------- files, sources, data

    def _on_file(self, chunk: Chunk) -> int:
        part = _pick(chunk, "type", "mediaType", "url")
        if not is_null(chunk.get("providerMetadata")):
            part["providerMetadata"] = chunk["providerMetadata"]
        return self._append(part)

    def _on_source_url(self, chunk: Chunk) -> int:
        return self._append(_pick(chunk, "type", "sourceId", "url", "title", "providerMetadata"))

    def _on_source_document(self, chunk: Chunk) -> int:
        fields = ("type", "sourceId", "mediaType", "title", "filename", "providerMetadata")
        return self._append(_pick(chunk, *fields))

    def _on_data(self, chunk: Chunk) -> int | None:
        if _is_true(chunk.get("transient")):
            return None
        index = self._data.get(_data_key(chunk))
        if index is None:
            return self._append({"type": chunk["type"], **chunk})
        _set_or_remove(self.parts[index], "data", chunk.get("data", MISSING))
        return index

    # ---------------------------------------------------------------- tools: input

    def _on_input_start(self, chunk: Chunk) -> int:
        partial = self._partials[chunk["toolCallId"]] = _Partial.of_chunk(chunk)
        fields = ("title", "toolMetadata", "inputEncoding", "providerExecuted", "providerMetadata")
        extras = _pick(chunk, *fields)
        return self._put_tool(partial.dynamic, chunk, "input-streaming", {}, extras)

    def _on_input_delta(self, chunk: Chunk) -> int:
        call_id = chunk["toolCallId"]
        partial = self._partials.get(call_id)
        if partial is None:
            raise self._refusal(
                f'Received tool-input-delta for missing tool call with ID "{call_id}". '
                'Ensure a "tool-input-start" chunk is sent before any "tool-input-delta" chunks.',
                "tool-input-delta",
                call_id,
            )
        partial.add(chunk["inputTextDelta"])
        index = self._step_kind.get((partial.dynamic, call_id))
        if index is not None and self._streaming.get(index) is partial:
            return index
        return self._begin_streaming(call_id, partial, index)

    def _begin_streaming(self, call_id: str, partial: _Partial, known: int | None) -> int:
        named = {"toolCallId": call_id, "toolName": partial.name}
        index = self._put_tool(partial.dynamic, named, "input-streaming", {}, partial.extras)
        self._streaming[index] = partial
        if known is None and partial.dynamic:
            # The SDK writes rawInput of a dynamic part only from its second update on.
            self._settle_tool(index)
            self.parts[index].pop("rawInput")
        return index

    def _on_input_available(self, chunk: Chunk) -> int:
        fields = ("title", "toolMetadata", "providerExecuted", "providerMetadata")
        dynamic = _is_true(chunk.get("dynamic"))
        return self._put_tool(dynamic, chunk, "input-available", _pick(chunk, "input"), _pick(chunk, *fields))

    def _on_input_error(self, chunk: Chunk) -> int:
        known = self._step_tool.get(chunk["toolCallId"])
        dynamic = _is_true(chunk.get("dynamic")) if known is None else _is_dynamic(self.parts[known])
        given = _pick(chunk, "input", "errorText")
        if not dynamic and "input" in given:
            given["rawInput"] = given.pop("input")
        extras = _pick(chunk, "toolMetadata", "providerExecuted", "providerMetadata")
        return self._put_tool(dynamic, chunk, "output-error", given, extras)

    # ---------------------------------------------------------------- tools: approval and output

    def _on_approval_request(self, chunk: Chunk) -> int:
        index = self._find_tool(chunk["toolCallId"])
        approval = {"id": chunk["approvalId"]}
        if not is_null(chunk.get("approvalDescriptor")):
            approval["descriptor"] = chunk["approvalDescriptor"]
        if "inputSchemaInput" in chunk:
            approval["inputSchemaInput"] = chunk["inputSchemaInput"]
        if not is_null(chunk.get("signature")):
            approval["signature"] = chunk["signature"]
        self._settle_tool(index)
        self.parts[index] |= {"state": "approval-requested", "approval": approval}
        return index

    def _on_output_denied(self, chunk: Chunk) -> int:
        index = self._find_tool(chunk["toolCallId"])
        self._settle_tool(index)
        self.parts[index]["state"] = "output-denied"
        return index

    def _on_output(self, chunk: Chunk) -> int:
        return self._put_result(chunk, "output-available", _pick(chunk, "output", "preliminary"))

    def _on_output_error(self, chunk: Chunk) -> int:
        return self._put_result(chunk, "output-error", _pick(chunk, "errorText"))

    def _put_result(self, chunk: Chunk, state: str, given: Part) -> int:
        index = self._find_tool(chunk["toolCallId"])
        self._settle_tool(index)
        part = self.parts[index]
        keep_raw = state == "output-error" and not _is_dynamic(part)
        given |= _pick(part, "input", *(("rawInput",) if keep_raw else ()))
        extras = _pick(chunk, "providerExecuted", "providerMetadata")
        if not is_null(chunk.get("toolMetadata")):
            extras["toolMetadata"] = chunk["toolMetadata"]
        self._update(index, state, given, extras)
        return index

    def _answer_approval(self, call_id: str, approved: bool | None, reason: str | None) -> int:
        index = self._find_tool(call_id)
        part = self.parts[index]
        if part.get("state") != "approval-requested":
            said = f'Tool call "{call_id}" is not waiting for approval; its state is {part.get("state")}.'
            raise self._refusal(said, "tool-invocation", call_id)
        approval = exact_json.open_object(part.get("approval") or {}) | {"approved": approved}
        part["approval"] = approval if reason is None else approval | {"reason": reason}
        part["state"] = "approval-responded"
        return index

    def _close_tool(self, index: int, error_text: str) -> None:
        self._settle_tool(index)
        part = self.parts[index]
        if _was_denied(part):
            part["state"] = "output-denied"
            return
        self._update(index, "output-error", _pick(part, "input", "rawInput") | {"errorText": error_text}, {})
        if "approval" in part and not _was_approved(part["approval"]):
            del part["approval"]  # the validator allows only a granted approval beside an error

    # ---------------------------------------------------------------- tools: finding and updating

    def _find_tool(self, call_id: str) -> int:
        """First match in the current step, else the last in the message."""
        index = self._step_tool.get(call_id)
        if index is None:
            index = self._last_tool.get(call_id)
        if index is None:
            said = f'No tool invocation found for tool call ID "{call_id}".'
            raise self._refusal(said, "tool-invocation", call_id)
        return index

    def _put_tool(self, dynamic: bool, named: Chunk, state: str, given: Part, extras: Part) -> int:
        """Update the part of that kind and id in the current step, or append one."""
        call_id, name = named["toolCallId"], named["toolName"]
        index = self._step_kind.get((dynamic, call_id))
        if index is None:
            return self._append(_new_tool(dynamic, call_id, name, state, given, extras))
        self._streaming.pop(index, None)
        self.parts[index]["toolName" if dynamic else "type"] = name if dynamic else f"tool-{name}"
        self._update(index, state, given, extras)
        return index

    def _update(self, index: int, state: str, given: Part, extras: Part) -> None:
        part = self.parts[index]
        part["state"] = state
        for field in _REWRITTEN:
            _set_or_remove(part, field, given.get(field, MISSING))
        _set_or_remove(part, "inputEncoding", _or_missing(extras.get("inputEncoding")))
        for field in ("title", "toolMetadata"):
            if field in extras:
                part[field] = extras[field]
        if not is_null(extras.get("providerExecuted")):
            part["providerExecuted"] = extras["providerExecuted"]
        if not is_null(extras.get("providerMetadata")):
            part[_metadata_field(state)] = extras["providerMetadata"]

    def _append(self, part: Part) -> int:
        """Add a part, and to the indexes by which later chunks find it."""
        index = len(self.parts)
        self.parts.append(part)
        kind = part["type"]
        if kind.startswith("data-"):
            self._data.setdefault(_data_key(part), index)
            self._data.pop(None, None)
        elif is_tool(kind):
            call_id = part["toolCallId"]
            self._last_tool[call_id] = index
            self._step_tool.setdefault(call_id, index)
            self._step_kind.setdefault((kind == "dynamic-tool", call_id), index)
        return index

    # ---------------------------------------------------------------- joining what was collected

    def _show(self, index: int) -> None:
        """Bring the live part up to date with the deltas collected for it."""
        pieces = self._deltas.get(index)
        if pieces:
            part = self.parts[index]
            part["text"] = _join([part["text"], *pieces])
            pieces.clear()
        partial = self._streaming.get(index)
        if partial is not None and not partial.shown:
            partial.show_in(self.parts[index])

    def _settle_text(self, index: int) -> None:
        self._show(index)
        self._deltas.pop(index, None)

    def _settle_tool(self, index: int) -> None:
        self._show(index)
        self._streaming.pop(index, None)

    def _refusal(self, reason: str, chunk_type: str | None, chunk_id: str | None) -> ChunkError:
        return ChunkError(
            reason,
            chunk_index=self._applied,
            message=plain_message(self.message()),
            chunk_type=chunk_type,
            chunk_id=chunk_id,
        )


_RULES: dict[str, Callable[[Fold, Chunk], int | None]] = {
    "text-delta": Fold._on_text_delta,
    "text-start": Fold._on_text_start,
    "text-end": Fold._on_text_end,
    "reasoning-delta": Fold._on_reasoning_delta,
    "reasoning-start": Fold._on_reasoning_start,
    "reasoning-end": Fold._on_text_end,
    "start": Fold._on_start,
    "finish": Fold._on_finish,
    "message-metadata": Fold._on_metadata,
    "start-step": Fold._on_step_start,
    "finish-step": Fold._on_step_finish,
    "file": Fold._on_file,
    "source-url": Fold._on_source_url,
    "source-document": Fold._on_source_document,
    "tool-input-start": Fold._on_input_start,
    "tool-input-delta": Fold._on_input_delta,
    "tool-input-available": Fold._on_input_available,
    "tool-input-error": Fold._on_input_error,
    "tool-approval-request": Fold._on_approval_request,
    "tool-output-available": Fold._on_output,
    "tool-output-error": Fold._on_output_error,
    "tool-output-denied": Fold._on_output_denied,
    "abort": Fold._on_abort,  # these two are noted, and do nothing to the message
    "error": Fold._on_error,
}  # unknown kinds are noted; data-* is found by its prefix


class _Partial:
    """The input text of one tool call while it streams, and what its deltas repeat on the part."""

    __slots__ = ("dynamic", "encoding", "extras", "name", "pieces", "shown")

    def __init__(self, text: str, name: str, dynamic: bool, given: Mapping[str, Any]) -> None:
        self.pieces = [text] if text else []
        self.name = name
        self.dynamic = dynamic
        self.encoding = given.get("inputEncoding")
        self.extras = _pick(given, "title", "toolMetadata", "inputEncoding")
        self.shown = False

    @classmethod
    def of_chunk(cls, chunk: Chunk) -> _Partial:
        return cls("", chunk["toolName"], _is_true(chunk.get("dynamic")), chunk)

    @classmethod
    def of_part(cls, part: Part) -> _Partial:
        dynamic = _is_dynamic(part)
        name = part["toolName"] if dynamic else part["type"].removeprefix("tool-")
        return cls(part.get("rawInput") or "", name, dynamic, part)

    def add(self, delta: str) -> None:
        self.pieces.append(delta)
        self.shown = False

    def show_in(self, part: Part) -> None:
        text = _join(self.pieces)
        self.pieces = [text]
        found, value = (True, text) if self.encoding == "text" else parse_partial(text)
        _set_or_remove(part, "input", value if found else MISSING)
        part["rawInput"] = text
        self.shown = True


# ---------------------------------------------------------------- metadata


def merge(old: Any, new: Any) -> Any:
    """Deep merge as the SDK's; leaves that `new` does not name keep their bytes."""
    if not _is_container(old) and (first := _first_key(new)) is not None:
        raise BadValue(f"Cannot use 'in' operator to search for '{first}' in {_in_javascript(old)}")
    result = _entries(old)
    todo = [(result, new)]
    while todo:
        target, source = todo.pop()
        for key, value in _entries(source).items():
            if key in _SKIPPED:
                continue
            if _is_object(value) and _is_object(target.get(key)):
                target[key] = exact_json.open_object(target[key])
                todo.append((target[key], value))
            else:
                target[key] = value
    return result


_SKIPPED = ("__proto__", "constructor", "prototype")


def _first_key(value: Any) -> str | None:
    """As JavaScript goes through them: indexes first, by size, then the others as they came."""
    keys = [key for key in _entries(value) if key not in _SKIPPED]
    indexes = [key for key in keys if _is_index(key)]
    return min(indexes, key=int) if indexes else next(iter(keys), None)


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < 2**32 - 1


def _entries(value: Any) -> dict[str, Any]:
    """The own keys that JavaScript finds in a value: lists and texts count by index."""
    if _is_object(value):
        return exact_json.open_object(value)
    value = chunks.decoded(value)
    if isinstance(value, str):
        units = memoryview(value.encode("utf-16-le", "surrogatepass")).cast("H")
        return {str(n): chr(unit) for n, unit in enumerate(units)}
    return {str(n): item for n, item in enumerate(value)} if isinstance(value, list | tuple) else {}


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) or (type(value) is Raw and _begins(value) == b"{")


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list | tuple) or (type(value) is Raw and _begins(value) in (b"{", b"["))


def _begins(raw: Raw) -> bytes:
    return bytes(raw).lstrip()[:1]


def _in_javascript(value: Any) -> str:
    value = chunks.decoded(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        value = int(value)
    return str(value)


# ---------------------------------------------------------------- small things


def is_null(value: Any) -> bool:
    return value is None or (type(value) is Raw and bytes(value).strip() == b"null")


def _text_or_none(value: Any) -> str | None:
    value = chunks.decoded(value)
    return value if isinstance(value, str) else None


def plain_message(message: dict[str, Any]) -> dict[str, Any]:
    """The message with nothing left undecoded and nothing shared with what it was made of."""
    parts = [{key: _plain(value) for key, value in part.items()} for part in message["parts"]]
    return {**{key: _plain(value) for key, value in message.items() if key != "parts"}, "parts": parts}


def _plain(value: Any) -> Any:
    if type(value) is Raw:
        return exact_json.parse(value)
    if isinstance(value, dict | list | tuple):
        return exact_json.parse(exact_json.encode(value))
    return value


def _whole(message: Any) -> Mapping[str, Any]:
    """A message that the fold can go on with: what it reads of it is there."""
    if not isinstance(message, Mapping) or not all(isinstance(message.get(key), str) for key in ("id", "role")):
        raise BadValue("a message to go on with is a UIMessage: an object with a text `id`, a `role` and `parts`")
    exact_json.check(dict(message))
    parts = message.get("parts")
    for part in arguments.several("parts", parts):
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise BadValue("a part is an object with a text `type`")
        if is_tool(part["type"]) and not isinstance(part.get("toolCallId"), str):
            raise BadValue("a tool part has a text `toolCallId`")
    return message


def _readable(state: Fold, given: Mapping[str, Any] | str | bytes) -> Chunk:
    """A chunk that the fold can take; a refusal says where in the stream it was."""
    try:
        if isinstance(given, Mapping):
            chunks.check_shape(given)
            return given
        return chunks.parse(given).chunk
    except ChunkError as error:
        raise state._refusal(error.reason, error.chunk_type, None) from None


def _new_tool(dynamic: bool, call_id: str, name: str, state: str, given: Part, extras: Part) -> Part:
    part: Part = {"type": "dynamic-tool", "toolName": name} if dynamic else {"type": f"tool-{name}"}
    part |= {"toolCallId": call_id, "state": state}
    part |= _pick(extras, "title", "toolMetadata", "providerExecuted")
    part |= _pick(given, *_REWRITTEN)
    if not is_null(extras.get("inputEncoding")):
        part["inputEncoding"] = extras["inputEncoding"]
    if not is_null(extras.get("providerMetadata")):
        part[_metadata_field(state)] = extras["providerMetadata"]
    return part


def _metadata_field(state: str) -> str:
    return "resultProviderMetadata" if state.startswith("output-") else "callProviderMetadata"


def _pick(source: Mapping[str, Any], *fields: str) -> Part:
    return {field: source[field] for field in fields if field in source}


def _set_or_remove(part: Part, field: str, value: Any) -> None:
    if value is MISSING:
        part.pop(field, None)
    else:
        part[field] = value


def _or_missing(value: Any) -> Any:
    return MISSING if is_null(value) else value


def _join(pieces: list[str]) -> str:
    text = "".join(pieces)
    return exact_json.join_surrogates(text) if exact_json.has_surrogates(text) else text


def _is_dynamic(part: Part) -> bool:
    return bool(part["type"] == "dynamic-tool")


def _is_unresolved(part: Part) -> bool:
    return is_tool(part["type"]) and (part.get("state") not in FINAL or _is_true(part.get("preliminary")))


def _was_approved(approval: Any) -> bool:
    return chunks.decoded(exact_json.open_object(approval).get("approved")) is True


def denied(call_id: str) -> str:
    return f"tool call {call_id} was denied, so it has no output; deny() it, or give an error"


def _was_denied(part: Part) -> bool:
    """A person said no, and nothing came of the call since."""
    if part.get("state") != "approval-responded" or not _is_object(part.get("approval")):
        return False
    return chunks.decoded(exact_json.open_object(part["approval"]).get("approved")) is False


def _is_true(value: Any) -> bool:
    """Truth as JavaScript has it: empty lists and objects are true."""
    value = chunks.decoded(value)
    return isinstance(value, dict | list | tuple) or bool(value)


def _data_key(chunk: Mapping[str, Any]) -> tuple[str, bool, Any] | None:
    """What data parts are matched by; None if it has no id that could match another's."""
    name = chunks.decoded(chunk.get("id"))
    if name is None or isinstance(name, dict | list | tuple):
        return None
    return chunk["type"], isinstance(name, bool), name
