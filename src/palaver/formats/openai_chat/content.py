"""Content of a Chat Completions message, both ways: text, or text, refusal, image_url, input_audio, file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import files
from ..conversation import Part
from ..looking import check, each, may, need, rest
from ..marks import CHAT, CHAT_BLOCK

_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_MEDIA_TYPES = {"mp3": "audio/mpeg"}


def read(given: Any, at: str) -> list[Part]:
    if given is None:
        return []
    if isinstance(check(given, at, str, list), str):
        return [{"type": "text", "text": given}]
    found = parts(given, at)
    if len(found) == 1 and found[0]["type"] == "text":
        CHAT.mark(found[0], shape="blocks")
    return found


def parts(given: list[Any], at: str) -> list[Part]:
    return [_part(block, place) for block, place in each(given, at)]


def write(said: list[Part]) -> Any:
    """Text where one plain text is all there is; else blocks; None where there is nothing."""
    written = blocks(said)
    plain = len(written) == 1 and written[0].keys() == {"type", "text"} and CHAT.first(said, "shape") != "blocks"
    return written[0]["text"] if plain else written or None


def blocks(said: list[Part]) -> list[dict[str, Any]]:
    return [_WRITERS[part["type"]](part) for part in said if part["type"] in _WRITERS]


def refusal(text: str) -> Part:
    part = {"type": "text", "text": text}
    CHAT.tell(part, refusal=True)
    return part


# ---------------------------------------------------------------- reading


def _part(block: dict[str, Any], at: str) -> Part:
    kind = need(block, "type", at, str)
    part = _READERS[kind](block, at) if kind in _READERS else None
    if part is None:
        return {"type": CHAT_BLOCK, "data": block}
    CHAT.mark(part, block=rest(block, "type", kind))
    if part["type"] == "file" and _kind(part) != kind:
        CHAT.mark(part, type=kind)
    return part


def _text(block: dict[str, Any], at: str) -> Part:
    return {"type": "text", "text": need(block, "text", at, str)}


def _refusal(block: dict[str, Any], at: str) -> Part:
    return refusal(need(block, "refusal", at, str))


def _image(block: dict[str, Any], at: str) -> Part:
    inner = need(block, "image_url", at, dict)
    part = files.image(need(inner, "url", f"{at}.image_url", str))
    detail = may(inner, "detail", f"{at}.image_url", str)
    CHAT.tell(part, imageDetail=detail)
    CHAT.mark(part, inner=rest(inner, "url", *(["detail"] if detail else [])))
    return part


def _audio(block: dict[str, Any], at: str) -> Part:
    inner = need(block, "input_audio", at, dict)
    data, format = (need(inner, key, f"{at}.input_audio", str) for key in ("data", "format"))
    media_type = _MEDIA_TYPES.get(format, f"audio/{format}")
    part = files.file(media_type, files.data_url(media_type, data))
    CHAT.mark(part, inner=rest(inner, "data", "format"))
    return part


def _file(block: dict[str, Any], at: str) -> Part | None:
    inner = need(block, "file", at, dict)
    data, file_id, name = (may(inner, key, f"{at}.file", str) for key in ("file_data", "file_id", "filename"))
    if data is None and file_id is None:
        return None
    taken = ["filename"] if name is not None else []
    if data is None:
        part = files.file(files.UNKNOWN, file_id, name)
        CHAT.tell(part, fileId=file_id)
        CHAT.mark(part, inner=rest(inner, "file_id", *taken))
        return part
    bare = files.base64(data) is None  # base64 alone, without the head of a data URL
    part = files.file(files.media_type(data), files.data_url(files.UNKNOWN, data) if bare else data, name)
    CHAT.mark(part, bare=bare, unnamed=name is None, inner=rest(inner, "file_data", *taken))
    return part


_READERS: dict[str, Callable[[dict[str, Any], str], Part | None]] = {
    "text": _text,
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}

# ---------------------------------------------------------------- writing


def _write_text(part: Part) -> dict[str, Any]:
    kind = "refusal" if CHAT.facts(part).get("refusal") else "text"
    return {"type": kind, kind: part["text"], **CHAT.kept(part, "block")}


def _write_file(part: Part) -> dict[str, Any]:
    kind = CHAT.of(part).get("type", _kind(part))
    if kind not in _INNER:
        return {"type": "text", "text": files.stand_in(part)}
    inner = _INNER[kind](part) | CHAT.kept(part, "inner")
    return {"type": kind, kind: inner, **CHAT.kept(part, "block")}


def _kind(part: Part) -> str | None:
    """Which block a file is; None where the API has none for it."""
    if CHAT.facts(part).get("fileId") == part["url"]:
        return "file"
    if part["mediaType"].startswith("image/"):
        return "image_url"
    if files.base64(part["url"]) is None:
        return None
    return "input_audio" if part["mediaType"] in _FORMATS else "file"


def _inner_image(part: Part) -> dict[str, Any]:
    detail = CHAT.facts(part).get("imageDetail")
    return {"url": part["url"]} | ({"detail": detail} if detail else {})


def _inner_audio(part: Part) -> dict[str, Any]:
    media_type = part["mediaType"]
    return {
        "data": files.base64(part["url"]),
        "format": _FORMATS.get(media_type) or media_type.removeprefix("audio/"),
    }


def _inner_file(part: Part) -> dict[str, Any]:
    if CHAT.facts(part).get("fileId") == part["url"]:
        return {"file_id": part["url"]} | ({"filename": part["filename"]} if "filename" in part else {})
    data = files.base64(part["url"]) if CHAT.of(part).get("bare") else part["url"]
    return {"file_data": data} | ({} if CHAT.of(part).get("unnamed") else {"filename": files.name(part)})


_INNER = {"image_url": _inner_image, "input_audio": _inner_audio, "file": _inner_file}
_WRITERS: dict[str, Callable[[Part], dict[str, Any]]] = {
    "text": _write_text,
    "file": _write_file,
    CHAT_BLOCK: lambda part: part["data"],
}
