"""What is in force for a turn, and where it is written: user message, response, or the turn's own facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, Unpack

from ... import permissions as rules_of
from ...base import arguments, exact_json
from ...base.clock import now_ms
from ...base.exact_json import check_column, check_name
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue
from ...keywords import CommitKeywords, TurnKeywords
from .. import damage, model_ref, rows
from ..facts import NAMES, TurnFacts
from . import message_input, triggers
from .message_input import NewMessage


class Standing(NamedTuple):
    """What a session says of itself, as it is stored: what a turn falls back on."""

    rules: str | None  # its own permission rules
    model: str | None
    agent: str | None


class TurnOptions:
    """Model, agent, prompt and trigger of a turn, how it works, and snapshots of the tools and permissions it has."""

    def __init__(self, **given: Unpack[TurnKeywords]) -> None:
        arguments.options("a turn", given, TurnKeywords.__annotations__)
        model, prompt, trigger = given.get("model"), given.get("system_prompt"), given.get("trigger")
        tools, permissions, settings = given.get("tools"), given.get("permissions"), given.get("settings")
        self.model = None if model is None else model_ref.checked(model)
        self.agent = check_name("agent", given.get("agent"))
        self.prompt = exact_json.check_text("system prompt", prompt)
        self.digest = None if prompt is None else sha256(prompt.encode()).hexdigest()
        self.trigger = None if trigger is None else triggers.envelope(trigger)
        self.snapshot_id = check_column("snapshot_id", given.get("snapshot_id"))
        self.toolset = check_column("toolset", given.get("toolset"))
        self.tools: list[str] | None = None
        self.definitions: str | None = None
        if tools is not None:
            self.tools, self.definitions = _tools(tools)
        self.rules = None if permissions is None else _checked(permissions)
        words = {name: check_column(name, given.get(name)) for name in NAMES}  # type: ignore[arg-type]
        self.words = {name: word for name, word in words.items() if word is not None}
        self.settings = None if settings is None else _object("settings", settings)

    def in_force(self, standing: Standing) -> TurnFacts:
        """The facts of a turn that begins now, in a session that stands so."""
        rules, model, _ = standing
        if self is PLAIN and (rules is None or rules == "[]") and not _is_known(model):
            return {}
        return self.facts(standing) | self.granted(rules)

    def for_message(self, role: str) -> dict[str, Any]:
        """What goes into the metadata of each message that a turn is given."""
        given = {"model": self.model, "snapshot_id": self.snapshot_id, "trigger": self.trigger}
        if role == "assistant":
            given["system_prompt_digest"] = self.digest
        return {key: value for key, value in given.items() if value is not None}

    def facts(self, standing: Standing) -> TurnFacts:
        model = self.model if self.model is not None else _session_model(standing.model)
        agent = self.agent if self.agent != standing.agent else None
        given = {"model": model, "agent": agent, "system_prompt_digest": self.digest}
        metadata = {key: value for key, value in given.items() if value is not None}
        facts: TurnFacts = {"metadata": metadata} if metadata else {}
        more = {
            "model": model,
            "trigger": self.trigger,
            "toolset_name": self.toolset,
            "tools_available": self.tools,
            "tools_digest": _digest(self.definitions),
            "settings_digest": _digest(self.settings),
            **self.words,
        }
        return facts | {key: value for key, value in more.items() if value is not None}  # type: ignore[return-value]

    def keep_bodies(self, tx: Tx) -> None:
        """The prompt, the definitions of the tools and the settings, each once, by its digest."""
        if self.prompt is not None:
            tx.defer(Q.put_prompt, digest=self.digest, body=self.prompt, now=now_ms())
        for kind, body in (("tools", self.definitions), ("settings", self.settings)):
            if body is not None:
                tx.defer(Q.put_body, digest=_digest(body), kind=kind, body=body, now=now_ms())

    def of_session(self, tx: Tx, session_id: str) -> tuple[Standing, TurnFacts]:
        """How a session stands, and the facts of a turn that begins in it now."""
        standing = self.standing(tx, session_id)
        return standing, self.in_force(standing)

    @staticmethod
    def standing(tx: Tx, session_id: str) -> Standing:
        row = rows.session_standing.one(tx, session=session_id)
        return Standing(None, None, None) if row is None else Standing(*row)

    def say_in(self, messages: Iterable[NewMessage], standing: Standing) -> None:
        """A message names the session's model where its turn names none, and an agent only if it is another's."""
        said = dict[str, str]()
        if self.model is None and standing.model is not None and _session_model(standing.model) is not None:
            said["model"] = standing.model
        if self.agent is not None and self.agent != standing.agent:
            said["agent"] = exact_json.encode(self.agent)
        for message in messages if said else ():
            message.complete(said)

    def granted(self, stored: str | None) -> TurnFacts:
        """The rules in force now: the host's that were given, and the session's own."""
        own = rules_of.usable(damage.parsed(stored) or []) if stored is not None and stored != "[]" else []
        return {"permissions_granted": [*(self.rules or ()), *own]} if self.rules or own else {}

    def refuse_snapshots(self) -> None:
        """What is in force when a message is sent is not what is in force when it is begun."""
        if any(given is not None for given in (self.toolset, self.tools, self.rules, self.settings)):
            raise BadValue("toolset, tools, permissions and settings are of the turn that begins: give them to claim()")


PLAIN = TurnOptions()  # what most turns are begun with


def prepared(messages: Any, given: TurnKeywords | CommitKeywords) -> tuple[list[NewMessage], TurnOptions]:
    """What a caller gave for a turn: its messages as the rows they will be, and its options."""
    options = TurnOptions(**given) if given else PLAIN
    return message_input.prepare(messages, options.for_message if given else None), options


def _checked(rules: Iterable[Any]) -> list[dict[str, Any]]:
    return [rules_of.check_rule(rule, "project") for rule in arguments.several("permissions", rules)]


def _is_known(model: str | None) -> bool:
    return model is not None and model != model_ref.UNKNOWN


def _session_model(stored: str | None) -> Any:
    """The session's model; None if it has none, or what stands there is no model."""
    found = damage.parsed(stored) if stored is not None and _is_known(stored) else None
    return found if isinstance(found, dict) and isinstance(found.get("model_id"), str) else None


def _digest(body: str | None) -> str | None:
    return None if body is None else sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def _object(name: str, given: Any) -> str:
    if not isinstance(given, Mapping):
        raise BadValue(f"{name} are an object of names and values, not {arguments.shown(given)}")
    return exact_json.encode(dict(given))


def _tools(given: Iterable[Any]) -> tuple[list[str], str | None]:
    """The names of the tools and, where any is given with its definition, the definitions as JSON text."""
    tools = list(arguments.several("tools", given))
    names = [_name_of_tool(tool) for tool in tools]
    defined = any(not isinstance(tool, str) for tool in tools)
    return names, exact_json.encode(tools) if defined else None


def _name_of_tool(tool: Any) -> str:
    """A name, or a definition that has one: Anthropic's, OpenAI's, or any object with `name`."""
    if isinstance(tool, Mapping):
        inside = tool.get("function")
        tool = tool.get("name", inside.get("name") if isinstance(inside, Mapping) else None)
    if not isinstance(tool, str):
        raise BadValue("tools are a list of names, or of definitions that have a text `name`")
    return tool
