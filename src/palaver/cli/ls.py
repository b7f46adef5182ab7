"""`palaver ls`: one line per session, from the list's index; no message is read."""

from __future__ import annotations

import click

from palaver import Page, SessionInfo

from . import names, safe
from .command import Call, SessionName, command
from .screen import Screen
from .values import age, session_json


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
    store = call.store()
    came_from = names.session(store, parent).id if parent else None
    page = store.sessions.list(
        agent=agent, workspace=workspace, parent=came_from, archived=archived, limit=limit, after=after
    )
    if call.json:
        call.screen.json({"sessions": [session_json(one) for one in page.sessions], "next": page.next})
    else:
        _print(call.screen, page)


def _print(screen: Screen, page: Page) -> None:
    rows = [_cells(screen, one) for one in page.sessions]
    widths = [max((safe.width(row[place]) for row in rows), default=0) for place in range(4)]
    for row, info in zip(rows, page.sessions, strict=True):
        whole = safe.pad(row[0], widths[0]), safe.pad(row[1], widths[1]), row[2].rjust(widths[2])
        screen.line(
            (whole[0], "yellow"),
            (f" {whole[1]}", "dim"),
            f" {whole[2]} {safe.pad(row[3], widths[3])} ",
            (row[4], "dim" if info.archived_at else "bold"),
        )
    if page.next:
        screen.say(screen.paint(f"more: palaver ls --after {page.next}", "dim"))


def _cells(screen: Screen, info: SessionInfo) -> list[str]:
    shown = names.short(info.id) if screen.tty else info.id
    agent = screen.fit(screen.safe(info.agent), max(4, screen.width // 6))
    words = screen.safe(info.title or info.preview or "")
    return [screen.safe(shown), age(info.updated_at), str(info.turns), agent, _marked(info) + words]


def _marked(info: SessionInfo) -> str:
    marks = ["archived"] if info.archived_at else []
    marks += [info.relation] if info.relation in ("fork", "spawn", "continue") else []
    return f"[{', '.join(marks)}] " if marks else ""
