"""`palaver ls`: one line per session, from the list's index; no message is read."""

from __future__ import annotations

import click

from palaver import SessionInfo

from .. import resolve
from ..command import Call, Count, Fact, SessionName, command
from ..exits import USAGE, Stop
from ..ui.facts import model_id
from ..ui.listing import Listed, print_list
from ..values import sessions_json


@command(
    "ls",
    examples=[
        "palaver ls",
        "palaver ls --waiting",
        "palaver ls --agent coder --all --limit 20",
        "palaver ls --project shop --fact team=checkout",
        "palaver ls --json | jq -r '.sessions[].id'",
    ],
    keys={"sessions[]": "Session, newest first", "next": "the cursor for --after, or null at the end"},
)
@click.option("--agent", help="Only sessions of this agent.")
@click.option("--workspace", metavar="DIR", help="Only sessions of this working directory.")
@click.option("--project", help="Only sessions of this project.")
@click.option("--user", help="Only sessions of this user.")
@click.option("--source", help="Only sessions that came by this way: slack, api …")
@click.option("--fact", "facts", type=Fact(), multiple=True, help="Only sessions with this fact; may be given again.")
@click.option("--parent", type=SessionName(), metavar="SESSION", help="Only sessions that came from this one.")
@click.option("-a", "--all", "archived", is_flag=True, help="Archived ones too.")
@click.option("--waiting", is_flag=True, help="Only sessions in which a turn waits for an answer.")
@click.option("-n", "--limit", type=Count(1, 10_000), default=50, show_default=True, help="How many.")
@click.option("--after", metavar="CURSOR", help="Go on from where the page before ended.")
def ls(
    call: Call,
    agent: str | None,
    workspace: str | None,
    facts: tuple[tuple[str, str], ...],
    parent: str | None,
    archived: bool,
    waiting: bool,
    limit: int,
    after: str | None,
    **named: str | None,
) -> None:
    """List sessions, newest first.

    Each line: the end of the id (a pipe gets it whole), when something last happened, how many turns, the agent, your
    own id, the model, tokens, cost, and the title or the first words; [waiting] for an answer, [live] while it is
    written. A terminal shows what there is room for; a pipe gets every column, `-` for nothing."""
    store = call.store(readonly=True)
    came_from = resolve.session(store, parent).id if parent is not None else None
    page = store.sessions.list(
        agent=agent,
        workspace=workspace,
        parent=came_from,
        archived=archived,
        waiting=waiting,
        limit=limit,
        after=after,
        order="updated",
        facts=_facts(facts, named),
    )
    if call.json:
        call.screen.json({"sessions": sessions_json(store, page.sessions), "next": page.next})
    else:
        print_list(call.screen, [_listed(one) for one in page.sessions], more=page.next is not None)


def _facts(given: tuple[tuple[str, str], ...], named: dict[str, str | None]) -> dict[str, str]:
    """The facts that are asked for, by --fact and by options of their own."""
    found: dict[str, str] = {}
    for name, value in (*given, *named.items()):
        if value is not None and found.setdefault(name, value) != value:
            raise Stop(USAGE, f"a session has one {name}, and two are asked for; leave one out", "Usage")
    return found


def _listed(info: SessionInfo) -> Listed:
    return Listed(
        info.id,
        info.updated_at,
        info.turns,
        info.agent,
        info.title or info.preview or "",
        archived=bool(info.archived_at),
        relation=info.relation,
        app_id=info.app_id,
        model=model_id(info.model),
        tokens=info.total_tokens,
        cost=info.cost_usd,
        waiting=info.waiting,
        live=info.live,
    )
