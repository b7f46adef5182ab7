"""`palaver permit`: a session's own permission rules."""

from __future__ import annotations

from typing import Any

import click

from .command import Call, command, session_argument
from .exits import USAGE, Stop
from .words import count


@command(
    "permit",
    examples=["palaver permit @", "palaver permit @ bash 'git *'", "palaver permit @ write '/etc/**' --deny"],
    keys={
        "rules[]": "the session's own rules now, with:",
        "  permission": "a tool id, a capability, or *",
        "  pattern": "a glob over a command, a path or a host",
        "  action": "allow, deny or ask",
        "  source": "session",
        "  added_at": "epoch ms",
    },
)
@session_argument()
@click.argument("permission", required=False)
@click.argument("pattern", default="*")
@click.option("--deny", "action", flag_value="deny", help="Forbid it.")
@click.option("--ask", "action", flag_value="ask", help="Ask each time.")
@click.option("--allow", "action", flag_value="allow", default=True, help="Allow it (the default).")
@click.option("--remove", is_flag=True, help="Take the rules with this permission and pattern away.")
def permit(call: Call, session: str, permission: str | None, pattern: str, action: str, remove: bool) -> None:
    """List a session's permission rules, or add or remove one.

    A pattern for commands fits one command, never a shell line that begins with it. Rules of a manifest or a project
    are the host's; they are not kept here."""
    if permission is None and remove:
        raise Stop(USAGE, "say which permission to remove", "Usage")
    _, found = call.session(session, readonly=permission is None)
    if permission is not None and remove:
        found.permissions.remove(permission, pattern)
    elif permission is not None:
        found.permissions.add(permission, pattern, action)
    rules: list[dict[str, Any]] = found.permissions.list()
    if call.json:
        call.screen.json({"rules": rules})
        return
    for rule in rules:
        call.screen.say(call.screen.safe(f"{rule['action']:5}  {rule['permission']}  {rule['pattern']}"))
    call.screen.say(count(len(rules), "rule") if rules else "no rules")
