"""`palaver permit`: a session's own permission rules."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ..command import Call, command, session_argument
from ..exits import PROBLEMS, USAGE, Stop
from ..ui.format import count

if TYPE_CHECKING:
    from palaver.session_rules import SessionRules


@command(
    "permit",
    examples=[
        "palaver permit @",
        "palaver permit @ bash",
        "palaver permit @ bash 'git *'",
        "palaver permit @ write '/etc/**' --deny",
    ],
    keys={
        "rules[]": "the session's own rules now (with PERMISSION alone, those of it), with:",
        "  permission": "a tool id, a capability, or *",
        "  pattern": "a glob over a command, a path or a host",
        "  action": "allow, deny or ask",
        "  source": "session",
        "  added_at": "epoch ms",
    },
)
@session_argument()
@click.argument("permission", required=False)
@click.argument("pattern", required=False)
@click.option("--deny", is_flag=True, help="Forbid it.")
@click.option("--ask", is_flag=True, help="Ask each time.")
@click.option("--allow", is_flag=True, help="Allow it (the default).")
@click.option("--remove", is_flag=True, help="Take the rules with this permission and pattern away.")
def permit(
    call: Call, session: str, permission: str | None, pattern: str | None, remove: bool, **actions: bool
) -> None:
    """List a session's permission rules, or add or remove one.

    PERMISSION alone lists its rules; with PATTERN a rule is added. A pattern for commands fits one command, never a
    shell line that begins with it; '*' fits everything. Rules of a manifest or a project are the host's; they are not
    kept here."""
    chosen = [action for action in ("allow", "deny", "ask") if actions[action]]
    _refuse_several(chosen)
    if pattern is None and (remove or chosen):
        _refuse_half("remove" if remove else chosen[0], session, permission)
    _, found = call.session(session, readonly=pattern is None)
    if permission is not None and pattern is not None:
        _change(found.permissions, permission, pattern, remove, *chosen)
    rules: list[dict[str, Any]] = found.permissions.list()
    if permission is not None and pattern is None:
        rules = [rule for rule in rules if rule["permission"] == permission]
    if call.json:
        call.screen.json({"rules": rules})
        return
    for rule in rules:
        call.screen.say(call.screen.sanitized(f"{rule['action']:5}  {rule['permission']}  {rule['pattern']}"))
    call.screen.say(count(len(rules), "rule") if rules else "no rules")


def _refuse_several(chosen: list[str]) -> None:
    if len(chosen) > 1:
        raise Stop(USAGE, f"--{chosen[0]} and --{chosen[1]} do not go together; give one of them", "Usage")


def _refuse_half(action: str, session: str, permission: str | None) -> NoReturn:
    """Everything is granted, denied or taken away only by a person who says so."""
    if permission is None:
        raise Stop(USAGE, f"say which permission to {action}, and its pattern", "Usage")
    how = f"palaver permit {quote(session)} {quote(permission)} '*' --{action}"
    raise Stop(USAGE, f"say which pattern to {action}: {how} is about the rule for everything", "Usage")


def _change(rules: SessionRules, permission: str, pattern: str, remove: bool, action: str | None = None) -> None:
    if not remove:
        rules.add(permission, pattern, action or "allow")
    elif not rules.remove(permission, pattern, action):
        which = f"{'' if action is None else action + ' '}{permission} {pattern}"
        raise Stop(PROBLEMS, f"there is no rule {which}; nothing was removed", "NoRule")
