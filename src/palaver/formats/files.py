"""Files in messages: data URLs, and what is said of a file where an API has no place for it."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from urllib.parse import unquote_to_bytes

from .conversation import Part

_DATA_URL = re.compile(r"data:(?P<type>[^,;]*)(?P<more>[^,]*),(?P<data>.*)", re.DOTALL | re.IGNORECASE)
UNKNOWN = "application/octet-stream"


def file(media_type: str, url: str, filename: str | None = None) -> Part:
    part: Part = {"type": "file", "mediaType": media_type, "url": url}
    return part if filename is None else {**part, "filename": filename}


def image(url: str) -> Part:
    """An image; of which type is known only if it is in the URL."""
    found = media_type(url)
    return file(found if found.startswith("image/") else "image/*", url)


def data_url(media_type: str, base64: str) -> str:
    return f"data:{media_type};base64,{base64}"


def is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def media_type(url: str) -> str:
    """Of a data URL; that of any other is not known."""
    found = _DATA_URL.fullmatch(url)
    return found["type"] if found and found["type"] else UNKNOWN


def base64(url: str) -> str | None:
    """What a data URL holds; None if it is none."""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return None
    if found["more"].lower().endswith(";base64"):
        return found["data"]
    return b64encode(unquote_to_bytes(found["data"])).decode()


def text(url: str) -> str | None:
    """The text that a data URL holds; None if it holds none."""
    held = base64(url)
    try:
        return None if held is None else b64decode(held, validate=True).decode("utf-8", "surrogatepass")
    except (NotBase64, UnicodeDecodeError):
        return None


def text_url(media_type: str, content: str) -> str:
    return data_url(media_type, b64encode(content.encode("utf-8", "surrogatepass")).decode())


def name(part: Part) -> str:
    """A file's name, for an API that wants one."""
    given = part.get("filename")
    if isinstance(given, str) and given:
        return given
    _, _, kind = part["mediaType"].rpartition("/")
    return f"file.{kind}"


def stand_in(part: Part) -> str:
    """What a model is told of a file that it cannot be shown."""
    words = [part["mediaType"], *([part["filename"]] if part.get("filename") else [])]
    return f"[file: {', '.join([*words, *([part['url']] if is_web(part['url']) else [])])}]"


def in_words(parts: list[Part]) -> str:
    """Parts where only text can be told."""
    told = [stand_in(part) if part["type"] == "file" else part.get("text", "") for part in parts]
    return "\n".join(words for words in told if words)
