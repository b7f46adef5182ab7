"""Blocks of Anthropic's messages that say or show something, both ways: text, image, document; others as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import files
from ..conversation import Part
from ..looking import each, may, need, rest
from ..marks import ANTHROPIC_BLOCK, MESSAGES

_CACHE = "cache_control"


def parts(given: list[Any], at: str) -> list[Part]:
    return [part(block, place) for block, place in each(given, at)]


def part(block: dict[str, Any], at: str) -> Part:
    reader = _READERS.get(need(block, "type", at, str))
    found = reader(block, at) if reader else None
    return {"type": ANTHROPIC_BLOCK, "data": block} if found is None else found


def blocks(said: list[Part]) -> list[dict[str, Any]]:
    """Text that is blank is left out: the API refuses it."""
    found = [_WRITERS[part["type"]](part) for part in said if part["type"] in _WRITERS]
    return [block for block in found if block.get("type") != "text" or not _is_blank(block)]


def keep(part: Part, block: dict[str, Any], *taken: str, where: str | None = None) -> None:
    """The fields of a block that its part does not have. Where to cache is told as the AI SDK tells it."""
    cache = block.get(_CACHE)
    MESSAGES.tell(part, where, cacheControl=cache)
    MESSAGES.mark(part, where, block=rest(block, "type", *taken, *([_CACHE] if cache is not None else [])))


def kept(part: Part, where: str | None = None) -> dict[str, Any]:
    cache = MESSAGES.facts(part, where).get("cacheControl")
    return {**MESSAGES.kept(part, "block", where), **({} if cache is None else {_CACHE: cache})}


def _is_blank(block: dict[str, Any]) -> bool:
    text = block.get("text")
    return isinstance(text, str) and not text.strip()


# ---------------------------------------------------------------- reading


def _text(block: dict[str, Any], at: str) -> Part:
    found = {"type": "text", "text": need(block, "text", at, str)}
    keep(found, block, "text")
    return found


def _image(block: dict[str, Any], at: str) -> Part | None:
    found = _of_source(need(block, "source", at, dict), f"{at}.source", "image/*")
    if found is not None:
        _finish(found, block, "source")
    return found


def _document(block: dict[str, Any], at: str) -> Part | None:
    title = may(block, "title", at, str)
    found = _of_source(need(block, "source", at, dict), f"{at}.source", "application/pdf")
    if found is not None:
        found |= {} if title is None else {"filename": title}
        _finish(found, block, "source", *([] if title is None else ["title"]))
    return found


def _finish(part: Part, block: dict[str, Any], *taken: str) -> None:
    keep(part, block, *taken)
    if _kind(part) != block["type"]:
        MESSAGES.mark(part, type=block["type"])


def _of_source(source: dict[str, Any], at: str, media_type: str) -> Part | None:
    """A file; None where it is neither data nor somewhere else."""
    kind = need(source, "type", at, str)
    if kind == "base64":
        media_type, data = (need(source, key, at, str) for key in ("media_type", "data"))
        found, taken = files.file(media_type, files.data_url(media_type, data)), ["media_type", "data"]
    elif kind == "text":
        media_type, text = (need(source, key, at, str) for key in ("media_type", "data"))
        found, taken = files.file(media_type, files.text_url(media_type, text)), ["media_type", "data"]
    elif kind == "url":
        found, taken = files.file(media_type, need(source, "url", at, str)), ["url"]
    elif kind == "file":
        found, taken = files.file(media_type, need(source, "file_id", at, str)), ["file_id"]
        MESSAGES.tell(found, fileId=source["file_id"])
    else:
        return None
    MESSAGES.mark(found, inner=rest(source, "type", *taken))
    return found


_READERS: dict[str, Callable[[dict[str, Any], str], Part | None]] = {
    "text": _text,
    "image": _image,
    "document": _document,
}

# ---------------------------------------------------------------- writing


def _write_text(part: Part) -> dict[str, Any]:
    return {"type": "text", "text": part["text"], **kept(part)}


def _write_file(part: Part) -> dict[str, Any]:
    kind = MESSAGES.of(part).get("type", _kind(part))
    source = _source(part)
    if kind is None or source is None:
        return {"type": "text", "text": files.stand_in(part)}
    titled = {"title": part["filename"]} if kind == "document" and part.get("filename") is not None else {}
    return {"type": kind, "source": {**source, **MESSAGES.kept(part, "inner")}, **titled, **kept(part)}


def _kind(part: Part) -> str | None:
    """Which block a file is; None where the API has none for it."""
    if part["mediaType"].startswith("image/"):
        return "image"
    is_document = part["mediaType"] == "application/pdf" or part["mediaType"].startswith("text/")
    return "document" if is_document else None


def _source(part: Part) -> dict[str, Any] | None:
    url, media_type = part["url"], part["mediaType"]
    if MESSAGES.facts(part).get("fileId") == url:
        return {"type": "file", "file_id": url}
    if files.is_web(url):
        return {"type": "url", "url": url}
    if media_type.startswith("text/"):
        text = files.text(url)
        return None if text is None else {"type": "text", "media_type": "text/plain", "data": text}
    data = files.base64(url)
    return None if data is None else {"type": "base64", "media_type": media_type, "data": data}


_WRITERS: dict[str, Callable[[Part], dict[str, Any]]] = {
    "text": _write_text,
    "file": _write_file,
    ANTHROPIC_BLOCK: lambda part: part["data"],
}
