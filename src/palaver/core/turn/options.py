"""What is in force for a turn, and where it is written: user message, response, or the turn's own facts."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Unpack

from ... import permissions as rules_of
from ...base import arguments, exact_json
from ...base.clock import now_ms
from ...base.exact_json import check_column, check_name
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue
from ...keywords import TurnKeywords
from .. import damage, model_ref
from ..facts import TurnFacts
from . import triggers


class TurnOptions:
    """Model, agent, prompt and trigger of a turn, and snapshots of the tools and permissions it has."""

    def __init__(self, **given: Unpack[TurnKeywords]) -> None:
        arguments.options("a turn", given, TurnKeywords.__annotations__)
        model, prompt, trigger = given.get("model"), given.get("system_prompt"), given.get("trigger")
        tools, permissions = given.get("tools"), given.get("permissions")
        self.model = None if model is None else model_ref.checked(model)
        self.agent = check_name("agent", given.get("agent"))
        self.prompt = exact_json.check_text("system prompt", prompt)
        self.digest = None if prompt is None else sha256(prompt.encode()).hexdigest()
        self.trigger = None if trigger is None else triggers.envelope(trigger)
        self.snapshot_id = check_column("snapshot_id", given.get("snapshot_id"))
        self.toolset = check_column("toolset", given.get("toolset"))
        self.tools = None if tools is None else _names(tools)
        self.rules = None if permissions is None else _checked(permissions)

    def in_force(self, stored: str | None) -> TurnFacts:
        """The facts of a turn that begins now, under the session's own rules as they are stored."""
        if self is PLAIN and (stored is None or stored == "[]"):
            return {}
        return self.facts() | self.granted(stored)

    def for_user(self) -> dict[str, Any]:
        given = {"model": self.model, "agent": self.agent, "snapshot_id": self.snapshot_id, "trigger": self.trigger}
        return {key: value for key, value in given.items() if value is not None}

    def facts(self) -> TurnFacts:
        given = {"model": self.model, "agent": self.agent, "system_prompt_digest": self.digest}
        metadata = {key: value for key, value in given.items() if value is not None}
        facts: TurnFacts = {"metadata": metadata} if metadata else {}
        more = {
            "model": self.model,
            "trigger": self.trigger,
            "toolset_name": self.toolset,
            "tools_available": self.tools,
        }
        return facts | {key: value for key, value in more.items() if value is not None}  # type: ignore[return-value]

    def keep_prompt(self, tx: Tx) -> None:
        if self.prompt is not None:
            tx.defer(Q.put_prompt, digest=self.digest, body=self.prompt, now=now_ms())

    def of_session(self, tx: Tx, session_id: str) -> TurnFacts:
        """The same, where the rules are yet to be read."""
        (stored,) = tx.one(Q.get_permissions, session=session_id) or (None,)
        return self.in_force(stored)

    def granted(self, stored: str | None) -> TurnFacts:
        """The rules in force now: the host's that were given, and the session's own."""
        own = rules_of.usable(damage.parsed(stored) or []) if stored is not None and stored != "[]" else []
        return {"permissions_granted": [*(self.rules or ()), *own]} if self.rules or own else {}

    def refuse_snapshots(self) -> None:
        """What is in force when a message is sent is not what is in force when it is begun."""
        if self.toolset is not None or self.tools is not None or self.rules is not None:
            raise BadValue("toolset, tools and permissions are of the turn that begins: give them to claim()")


PLAIN = TurnOptions()  # what most turns are begun with


def _checked(rules: Iterable[Any]) -> list[dict[str, Any]]:
    return [rules_of.check_rule(rule, "project") for rule in arguments.several("permissions", rules)]


def _names(given: Iterable[str]) -> list[str]:
    names = list(arguments.several("tools", given))
    if any(not isinstance(name, str) for name in names):
        raise BadValue("tools are a list of names")
    return names
