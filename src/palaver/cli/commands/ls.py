"""`palaver ls`: one line per session, from the list's index; no message is read."""

from __future__ import annotations

import click

from palaver import SessionInfo

from .. import resolve
from ..command import Call, SessionName, command
from ..ui.listing import Listed, print_list
from ..values import session_json


@command(
    "ls",
    examples=["palaver ls", "palaver ls --agent coder --all --limit 20", "palaver ls --json | jq -r '.sessions[].id'"],
    keys={"sessions[]": "Session, newest first", "next": "the cursor for --after, or null at the end"},
)
@click.option("--agent", help="Only sessions of this agent.")
@click.option("--workspace", metavar="DIR", help="Only sessions of this working directory.")
@click.option("--parent", type=SessionName(), metavar="SESSION", help="Only sessions that came from this one.")
@click.option("-a", "--all", "archived", is_flag=True, help="Archived ones too.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many.")
@click.option("--after", metavar="CURSOR", help="Go on from where the page before ended.")
def ls(
    call: Call,
    agent: str | None,
    workspace: str | None,
    parent: str | None,
    archived: bool,
    limit: int,
    after: str | None,
) -> None:
    """List sessions, newest first.

    Each line: the end of the id (a pipe gets it whole), when something last happened, how many turns, the agent, and
    the title or the first words."""
    store = call.store(readonly=True)
    came_from = resolve.session(store, parent).id if parent else None
    page = store.sessions.list(
        agent=agent, workspace=workspace, parent=came_from, archived=archived, limit=limit, after=after
    )
    if call.json:
        call.screen.json({"sessions": [session_json(one) for one in page.sessions], "next": page.next})
    else:
        print_list(call.screen, [_listed(one) for one in page.sessions], more=page.next is not None)


def _listed(info: SessionInfo) -> Listed:
    label = info.title or info.preview or ""
    return Listed(info.id, info.updated_at, info.turns, info.agent, label, bool(info.archived_at), info.relation)
