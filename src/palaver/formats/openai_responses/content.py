"""Content of a message or a tool's output in the Responses API, both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import files
from ..conversation import Part
from ..looking import check, each, may, need, rest
from ..marks import RESPONSES, RESPONSES_BLOCK

IN = "input_text"
OUT = "output_text"


def read(given: Any, at: str, kind: str = IN) -> list[Part]:
    """`kind` is what a text is called here: what was given to the model, or what it said."""
    if isinstance(check(given, at, str, list), str):
        return [{"type": "text", "text": given}]
    found = parts(given, at, kind)
    if len(found) == 1 and found[0]["type"] == "text":
        RESPONSES.mark(found[0], shape="blocks")
    return found


def parts(given: list[Any], at: str, kind: str = IN) -> list[Part]:
    return [_part(block, place, kind) for block, place in each(given, at)]


def write(said: list[Part], kind: str = IN) -> Any:
    """Text where one plain text is all there is; else blocks; None where there is nothing."""
    written = blocks(said, kind)
    plain = len(written) == 1 and written[0].keys() == {"type", "text"} and written[0]["type"] == kind
    if plain and RESPONSES.first(said, "shape") != "blocks":
        return written[0]["text"]
    return written or None


def blocks(said: list[Part], kind: str = IN) -> list[dict[str, Any]]:
    return [_block(part, kind) for part in said if part["type"] in ("text", "file", RESPONSES_BLOCK)]


# ---------------------------------------------------------------- reading


def _part(block: dict[str, Any], at: str, text_kind: str) -> Part:
    kind = need(block, "type", at, str)
    if kind in (IN, OUT):
        part: Part | None = _text(block, at, text_kind)
    else:
        part = _READERS[kind](block, at) if kind in _READERS else None
    return {"type": RESPONSES_BLOCK, "data": block} if part is None else part


def _text(block: dict[str, Any], at: str, kind: str) -> Part:
    part = {"type": "text", "text": need(block, "text", at, str)}
    other = None if block["type"] == kind else block["type"]
    RESPONSES.mark(part, type=other, block=rest(block, "type", "text"))
    return part


def _refusal(block: dict[str, Any], at: str) -> Part:
    part = {"type": "text", "text": need(block, "refusal", at, str)}
    RESPONSES.tell(part, refusal=True)
    RESPONSES.mark(part, block=rest(block, "type", "refusal"))
    return part


def _image(block: dict[str, Any], at: str) -> Part | None:
    url, file_id, detail = (may(block, key, at, str) for key in ("image_url", "file_id", "detail"))
    if url is None and file_id is None:
        return None
    part = files.image(url) if url is not None else files.file("image/*", file_id)
    RESPONSES.tell(part, imageDetail=detail, fileId=file_id if url is None else None)
    key = "file_id" if url is None else "image_url"
    RESPONSES.mark(part, block=rest(block, "type", key, *(["detail"] if detail else [])))
    return part


def _file(block: dict[str, Any], at: str) -> Part | None:
    key = next((key for key in ("file_data", "file_url", "file_id") if may(block, key, at, str) is not None), None)
    if key is None:
        return None
    name = may(block, "filename", at, str)
    bare = key == "file_data" and files.base64(block[key]) is None  # base64 alone, without the head of a data URL
    url = files.data_url(files.UNKNOWN, block[key]) if bare else block[key]
    part = files.file(files.media_type(url), url, name)
    RESPONSES.tell(part, fileId=url if key == "file_id" else None)
    taken = ["filename"] if name is not None else []
    unnamed = name is None and key == "file_data"
    RESPONSES.mark(part, bare=bare, unnamed=unnamed, block=rest(block, "type", key, *taken))
    if _kind(part) != "input_file":
        RESPONSES.mark(part, type="input_file")
    return part


_READERS: dict[str, Callable[[dict[str, Any], str], Part | None]] = {
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
}

# ---------------------------------------------------------------- writing


def _block(part: Part, kind: str) -> dict[str, Any]:
    if part["type"] == RESPONSES_BLOCK:
        block: dict[str, Any] = part["data"]
        return block
    kept = RESPONSES.kept(part, "block")
    if part["type"] == "file":
        return {**_write_file(part), **kept}
    if RESPONSES.facts(part).get("refusal"):
        return {"type": "refusal", "refusal": part["text"], **kept}
    return {"type": RESPONSES.of(part).get("type", kind), "text": part["text"], **kept}


def _write_file(part: Part) -> dict[str, Any]:
    kind = RESPONSES.of(part).get("type") or _kind(part)
    if kind == "input_image":
        detail = RESPONSES.facts(part).get("imageDetail")
        key = "file_id" if _has_id(part) else "image_url"
        return {"type": kind, key: part["url"]} | ({"detail": detail} if detail else {})
    named = {"filename": part["filename"]} if "filename" in part else {}
    if _has_id(part):
        return {"type": kind, "file_id": part["url"], **named}
    if files.base64(part["url"]) is None:
        return {"type": kind, "file_url": part["url"], **named}
    data = files.base64(part["url"]) if RESPONSES.of(part).get("bare") else part["url"]
    named = {} if RESPONSES.of(part).get("unnamed") else {"filename": files.name(part)}
    return {"type": kind, "file_data": data, **named}


def _has_id(part: Part) -> bool:
    return bool(RESPONSES.facts(part).get("fileId") == part["url"])


def _kind(part: Part) -> str:
    return "input_image" if part["mediaType"].startswith("image/") else "input_file"
