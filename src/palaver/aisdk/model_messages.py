"""UIMessages as the AI SDK's model messages: what `convertToModelMessages` of `ai` 6 makes of them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .parts import is_tool

Part = dict[str, Any]
_ITS_RESULT = "resultProviderMetadata"


def convert(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each message becomes one or more; an assistant's becomes a pair of answer and tool results for every step."""
    found: list[dict[str, Any]] = []
    for message in messages:
        found.extend(_BY_ROLE[message["role"]](message))
    return found


def _system(message: dict[str, Any]) -> list[dict[str, Any]]:
    texts = [part for part in message["parts"] if part.get("type") == "text"]
    told: dict[str, Any] = {"role": "system", "content": "".join(part["text"] for part in texts)}
    options: dict[str, Any] = {}
    for part in texts:
        options |= part.get("providerMetadata") or {}
    return [told | {"providerOptions": options} if options else told]


def _user(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = [_said(part) for part in message["parts"] if part.get("type") in ("text", "file")]
    return [{"role": "user", "content": content}]


def _assistant(message: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    step: list[Part] = []
    for part in message["parts"]:
        if part.get("type") == "step-start":
            found += _step(step)
            step = []
        elif _is_told(part):
            step.append(part)
    return found + _step(step)


def _is_told(part: Part) -> bool:
    return part.get("type") in ("text", "reasoning", "file") or is_tool(part.get("type")) or _is_data(part)


def _step(parts: list[Part]) -> list[dict[str, Any]]:
    if not parts:
        return []
    content = [piece for part in parts for piece in (_called(part) if is_tool(part.get("type")) else _spoken(part))]
    found: list[dict[str, Any]] = [{"role": "assistant", "content": content}] if content else []
    ran = [
        p
        for p in parts
        if is_tool(p.get("type")) and (p.get("providerExecuted") is not True or _approved(p) is not None)
    ]
    results = [piece for part in ran for piece in _answered(part)]
    return [*found, {"role": "tool", "content": results}] if results else found


def _spoken(part: Part) -> list[Part]:
    if _is_data(part):
        return []
    if part["type"] == "reasoning":
        return [{"type": "reasoning", "text": part["text"]} | _options(part)]
    return [_said(part)]


def _said(part: Part) -> Part:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]} | _options(part)
    name = {"filename": part["filename"]} if part.get("filename") is not None else {}
    return {"type": "file", "mediaType": part["mediaType"], **name, "data": part["url"]} | _options(part)


def _options(part: Part, key: str = "providerMetadata") -> Part:
    return {"providerOptions": part[key]} if part.get(key) is not None else {}


# ---------------------------------------------------------------- tools


def _called(part: Part) -> list[Part]:
    """The call, a request for approval, and the result where the provider itself ran the tool."""
    if part.get("state") == "input-streaming":
        return []
    failed = part["state"] == "output-error"
    call: Part = {"type": "tool-call", "toolCallId": part["toolCallId"], "toolName": _name(part), **_input(part)}
    if "providerExecuted" in part:
        call["providerExecuted"] = part["providerExecuted"]
    pieces = [call | (_options(part, "callProviderMetadata") or (_options(part, _ITS_RESULT) if failed else {}))]
    if part.get("approval") is not None:
        pieces.append(_asked(part))
    if part.get("providerExecuted") is True and part["state"] in ("output-available", "output-error"):
        options = _options(part, _ITS_RESULT) or _options(part, "callProviderMetadata")
        pieces.append(_result(part, error="json") | options)
    return pieces


def _input(part: Part) -> Part:
    """What the tool was given; a call that failed may only have the raw text."""
    if part["state"] == "output-error" and part.get("input") is None:
        return {"input": part["rawInput"]} if "rawInput" in part else {}
    return {"input": part["input"]} if "input" in part else {}


def _asked(part: Part) -> Part:
    approval = part["approval"]
    asked = {"type": "tool-approval-request", "approvalId": approval["id"], "toolCallId": part["toolCallId"]}
    if "inputSchemaInput" in approval:
        asked["inputSchemaInput"] = approval["inputSchemaInput"]
    return asked | ({"signature": approval["signature"]} if approval.get("signature") is not None else {})


def _answered(part: Part) -> list[Part]:
    """The answer to a request for approval, and the result of a tool that ran here."""
    pieces: list[Part] = []
    if _approved(part) is not None:
        approval = part["approval"]
        reason = {"reason": approval["reason"]} if "reason" in approval else {}
        answer = {"approvalId": approval["id"], "approved": approval["approved"], **reason}
        if "providerExecuted" in part:
            answer["providerExecuted"] = part["providerExecuted"]
        pieces.append({"type": "tool-approval-response", **answer})
    if part.get("providerExecuted") is True:
        return pieces
    if part["state"] == "output-denied":
        why = (part.get("approval") or {}).get("reason")
        output = {"type": "error-text", "value": "Tool call execution denied." if why is None else why}
        pieces.append(
            {"type": "tool-result", "toolCallId": part["toolCallId"], "toolName": _name(part), "output": output}
            | _options(part, "callProviderMetadata")
        )
    elif part["state"] in ("output-available", "output-error"):
        pieces.append(_result(part, error="text") | _options(part, "callProviderMetadata"))
    return pieces


def _result(part: Part, *, error: str) -> Part:
    if part["state"] == "output-error":
        output = {"type": f"error-{error}", "value": part.get("errorText")}
    elif part["type"] == "dynamic-tool" and part.get("dynamic") is False:
        output = {"type": "text", "value": "Tool output omitted because the tool is no longer available."}
    elif isinstance(part.get("output"), str):
        output = {"type": "text", "value": part["output"]}
    else:
        output = {"type": "json", "value": part.get("output")}
    return {"type": "tool-result", "toolCallId": part["toolCallId"], "toolName": _name(part), "output": output}


def _approved(part: Part) -> bool | None:
    return (part.get("approval") or {}).get("approved")


def _name(part: Part) -> str:
    return str(part["toolName"] if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-"))


def _is_data(part: Part) -> bool:
    return str(part.get("type", "")).startswith("data-")


_BY_ROLE: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {
    "system": _system,
    "user": _user,
    "assistant": _assistant,
}
