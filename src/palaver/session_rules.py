"""A session's own permission rules, as `permissions_json` holds them, and what may be done under all three scopes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import permissions
from .base import arguments, exact_json
from .base.clock import now_ms
from .core import damage, heads
from .core.settle import preflight
from .core.turn import open_turn
from .db.engine import Tx
from .db.queries import Q
from .errors import BadRule, SessionNotFound
from .permissions import Answer

if TYPE_CHECKING:
    from .store import Store


class SessionRules:
    """`session.permissions`: add, remove, list, evaluate."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id

    def list(self) -> list[dict[str, Any]]:
        """The session's own rules, in the order they were added."""
        with self._store.db.read() as tx:
            return permissions.usable(_read(tx, self._session_id))

    def add(self, permission: str, pattern: str = "*", action: str = "allow", **more: Any) -> dict[str, Any]:
        """A rule for this session. Adding the same again changes nothing."""
        rule = permissions.check_rule({"permission": permission, "pattern": pattern, "action": action, **more})
        if rule["source"] != "session":
            raise BadRule(f"{rule['source']} rules are the host's; only session rules are stored")
        with self._store.db.write(hard=True) as tx:
            rules = _read(tx, self._session_id)
            known = next((each for each in rules if isinstance(each, dict) and _same(each, rule)), None)
            if known is not None:
                return dict(known)
            rule.setdefault("added_at", now_ms())
            self._write(tx, [*rules, rule], "permit", rule)
        return rule

    def remove(self, permission: str, pattern: str | None = None, action: str | None = None) -> int:
        """Take rules away: those for a permission, with this pattern and action where given; how many."""
        arguments.text("permission", permission)
        arguments.text_or_none("pattern", pattern)
        arguments.text_or_none("action", action)
        wanted = {"permission": permission, "pattern": pattern, "action": action}
        wanted = {key: value for key, value in wanted.items() if value is not None}
        with self._store.db.write(hard=True) as tx:
            rules = _read(tx, self._session_id)
            kept = [rule for rule in rules if not isinstance(rule, dict) or not wanted.items() <= rule.items()]
            if len(kept) < len(rules):
                self._write(tx, kept, "revoke", wanted)
        return len(rules) - len(kept)

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

    def _write(self, tx: Tx, rules: Sequence[Any], kind: str, data: dict[str, Any]) -> None:
        head = heads.lock(tx, self._session_id, timestamps=0)
        preflight.refuse_closed(head)
        tx.defer(Q.set_permissions, session=self._session_id, permissions=exact_json.encode([*rules]), now=now_ms())
        open_turn.record_event(tx, head, kind, None, data)


def _read(tx: Tx, session_id: str) -> list[Any]:
    """What another program put among them stays; a column that is no list is not ours to replace, nor to answer by."""
    row = tx.one(Q.get_permissions, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    (stored,) = row
    rules = damage.parsed(stored)
    if not isinstance(rules, list):
        raise BadRule(
            "permissions_json of this session is not a list of rules, and may have held one that denies; mend it first"
            " (nothing is allowed, and nothing was changed)"
        )
    return rules


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one.get(key) == other.get(key) for key in ("permission", "pattern", "action"))
