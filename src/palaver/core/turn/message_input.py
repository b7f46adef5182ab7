"""From a message as a caller gives it to the contract rows that hold it. All of this happens before any lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...aisdk.parts import COMPACTION, is_tool, tool_columns
from ...base import arguments, exact_json, ids
from ...base.exact_json import Raw
from ...errors import BadValue
from ...model import ROLES, TOOL_STATES
from .. import codec, digests, metadata

MESSAGE_KEYS = {"id", "role", "metadata", "parts", "content"}
_TEXT = (bytes, Raw)  # JSON text, to be kept as it is
_ONE = (str, dict, *_TEXT)


class NewPart:
    """A part row to be, with its leaf."""

    __slots__ = ("data", "id", "leaf", "salt", "tool_call_id", "tool_state", "type", "words")

    def __init__(
        self, type_: str, data: str, tool_call_id: str | None, tool_state: str | None, words: str | None
    ) -> None:
        self.id = ids.mint(ids.PART)
        self.words = words
        self.type = type_
        self.data = codec.stored(data)
        self.tool_call_id = tool_call_id
        self.tool_state = tool_state
        self.salt = digests.new_salt()
        self.leaf = digests.leaf(self.salt, type_, self.data)


class NewMessage:
    """A message row to be, with its parts and its leaf."""

    __slots__ = ("client_id", "given", "id", "leaf", "metadata", "parts", "role", "salt", "usage")

    def __init__(
        self, role: str, metadata_text: str, parts: list[NewPart], client_id: str | None, given: str = "{}"
    ) -> None:
        self.id = ids.mint(ids.MESSAGE)
        self.client_id = client_id
        self.role = role
        self.metadata = metadata_text
        self.given = given  # the caller's own part of it
        self.parts = parts
        self.usage: str | None = None  # what the caller told of it, as the row gets it: outside the leaf
        self.salt = digests.new_salt()
        self.leaf = digests.leaf(self.salt, role, metadata_text)

    def complete(self, said: dict[str, str]) -> None:
        """Add what is known only under the session's lock, as JSON text, where the caller said nothing of it."""
        text = self.metadata
        for key, value in said.items():
            if f'"{key}"' not in text or key not in exact_json.parse(text):
                text = metadata.splice(text, key, value)
        self.metadata, self.leaf = text, digests.leaf(self.salt, self.role, text)

    @property
    def text(self) -> str | None:
        """The first words in it, for previews."""
        return next((part.words for part in self.parts if part.words and not part.words.isspace()), None)


Extra = Callable[[str], dict[str, Any]]  # what goes into the metadata of a message, by its role


def prepare(given: Any, extra: Extra | None = None) -> list[NewMessage]:
    """What `session.turn()` accepts: text, one message, or several."""
    return [prepare_message(one, extra) for one in several(given)]


def several(given: Any) -> Iterable[Any]:
    """The messages one by one, as they were given."""
    if given is None:
        return []
    if isinstance(given, _ONE):
        return [given]
    if not isinstance(given, Iterable):
        raise BadValue(f"a message is text, a dict or JSON bytes, not {type(given).__name__}")
    return given


def prepare_message(given: Any, extra: Extra | None = None) -> NewMessage:
    message = as_dict(given)
    role = role_of(message)
    parts = [prepare_part(part) for part in parts_of(message)]
    if not parts and role != "assistant":
        raise BadValue(f"a {role} message needs at least one part")
    text = metadata_of(message) or "{}"
    client_id = client_id_of(message)
    return NewMessage(role, _with_extra(text, extra(role)) if extra else text, parts, client_id, text)


def role_of(message: dict[str, Any]) -> str:
    """Of a message that has no key but those of a message."""
    if not message.keys() <= MESSAGE_KEYS:
        unknown = next(key for key in message if key not in MESSAGE_KEYS)
        raise BadValue(f"a message has no key {arguments.shown(unknown)}; put it into metadata")
    role = message.get("role", "user")
    if type(role) is not str:
        role = _plain(role)
    if role not in ROLES:
        raise BadValue(f"role is user, assistant or system, not {arguments.shown(role)}")
    return str(role)


def metadata_of(message: dict[str, Any]) -> str | None:
    """As JSON text; None if the caller gave none."""
    about = message.get("metadata")
    return None if about is None else metadata.as_given(about)


def prepare_part(given: Any) -> NewPart:
    if type(given) is dict and given.get("type") == "text" and type(given.get("text")) is str:
        text = exact_json.dump(given) if len(given) == 2 else exact_json.encode(given)  # two texts: said most
        return NewPart("text", text, None, None, given["text"])
    text = exact_json.decode(given) if isinstance(given, _TEXT) else exact_json.encode(given)
    part = exact_json.parse(text)
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise BadValue("a part is an object with a text `type`")
    if part["type"] == COMPACTION:
        raise BadValue("data-compaction parts are written by compact(), not by hand")
    exact_json.check_column("part type", part["type"])
    if is_tool(part["type"]):
        _check_tool(part)
    words = part.get("text") if part["type"] == "text" else None
    return NewPart(part["type"], text, *tool_columns(part), words if isinstance(words, str) else None)


def compaction_message(part: dict[str, Any], extra: dict[str, Any]) -> NewMessage:
    """The message of a compaction: the one place where its part may come from."""
    row = NewPart(COMPACTION, exact_json.encode(part), None, None, None)
    text = exact_json.encode(extra)
    return NewMessage("assistant", text, [row], None, text)


def _check_tool(part: dict[str, Any]) -> None:
    if not isinstance(part.get("toolCallId"), str):
        raise BadValue("a tool part has a text `toolCallId`")
    if part.get("state") not in TOOL_STATES:
        raise BadValue(
            f"a tool part's state is one of {', '.join(TOOL_STATES)}, not {arguments.shown(part.get('state'))}"
        )
    if part["state"] == "output-error" and not isinstance(part.get("errorText"), str):
        raise BadValue("a tool part that failed says why, in a text `errorText`; the AI SDK refuses it without")


def as_dict(given: Any) -> dict[str, Any]:
    if type(given) is dict:
        return given
    if isinstance(given, str):
        if not given:
            raise BadValue("an empty text says nothing; leave the message out, or say something")
        return {"role": "user", "parts": [{"type": "text", "text": given}]}
    if isinstance(given, _TEXT):
        exact_json.parse(given)
        return exact_json.open_object(given)
    if isinstance(given, dict):
        return given
    raise BadValue(f"a message is text, a dict or JSON bytes, not {type(given).__name__}")


def parts_of(message: dict[str, Any]) -> list[Any]:
    given = message.get("parts")
    if type(given) is list and "content" not in message:
        return given
    if "content" in message:
        if "parts" in message:
            raise BadValue("a message has `parts` or `content`, not both")
        content = _plain(message["content"])
        if not isinstance(content, str):
            raise BadValue("`content` is text; give anything else as `parts`")
        return [{"type": "text", "text": content}]
    parts = message.get("parts", [])
    if isinstance(parts, Raw):
        parts = exact_json.open_array(parts)
    if not isinstance(parts, (list, tuple)):
        raise BadValue("`parts` is a list")
    return list(parts)


def _with_extra(text: str, extra: dict[str, Any]) -> str:
    present = exact_json.parse(text)
    if "trigger" in extra and "trigger" in present:
        raise BadValue("the message has a trigger of its own; give it there or as `trigger=`, not both")
    for key, value in extra.items():
        if key not in present:
            text = metadata.splice(text, key, exact_json.encode(value))
    return text


def client_id_of(message: dict[str, Any]) -> str | None:
    """What the client calls the message, if it says so."""
    if "id" not in message:
        return None
    value = _plain(message["id"])
    if value is None or value == "":
        return None
    return exact_json.check_name("message id", value)


def _plain(value: Any) -> Any:
    return exact_json.parse(value) if isinstance(value, Raw) else value
