"""`session.permissions`: a session's own rules, and what may be done under the rules of all three scopes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import permissions
from .base import arguments
from .core import verbs
from .errors import BadRule
from .permissions import Answer
from .session import Session


class SessionRules:
    """Add, remove, list, evaluate."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self) -> list[dict[str, Any]]:
        """The session's own rules, in the order they were added."""
        return permissions.usable(self._session._read(verbs.rules.stored))

    def add(self, permission: str, pattern: str = "*", action: str = "allow", **more: Any) -> dict[str, Any]:
        """A rule for this session. Adding the same again changes nothing."""
        rule = permissions.check_rule({"permission": permission, "pattern": pattern, "action": action, **more})
        if rule["source"] != "session":
            raise BadRule(f"{rule['source']} rules are the host's; only session rules are stored")
        return self._session._write(verbs.rules.add, rule)

    def remove(self, permission: str, pattern: str | None = None, action: str | None = None) -> int:
        """Take rules away: those for a permission, with this pattern and action where given; how many."""
        arguments.text("permission", permission)
        arguments.text_or_none("pattern", pattern)
        arguments.text_or_none("action", action)
        wanted = {"permission": permission, "pattern": pattern, "action": action}
        return self._session._write(
            verbs.rules.remove, {key: value for key, value in wanted.items() if value is not None}
        )

    def evaluate(
        self,
        permission: str,
        *,
        argv: Sequence[str] | str | None = None,
        path: str | None = None,
        host: str | None = None,
        manifest: Iterable[Any] | None = None,
        project: Iterable[Any] | None = None,
        headless: bool = False,
    ) -> Answer:
        """May this be done? The host gives the rules of its manifest and project; the session's are added."""
        rules = permissions.check_rules(manifest, "manifest") + permissions.check_rules(project, "project")
        return permissions.evaluate(
            permission, [*rules, *self.list()], argv=argv, path=path, host=host, headless=headless
        )
