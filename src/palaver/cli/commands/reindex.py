"""`palaver reindex`: the index of search, made again from the record."""

from __future__ import annotations

import click

from ..command import Call, command
from ..ui.format import count
from ..ui.progress import IndexProgress


@command(
    "reindex",
    examples=["palaver reindex", "palaver reindex --missing"],
    keys={"indexed": "how many turns were indexed"},
)
@click.option("--missing", is_flag=True, help="Only what is not indexed yet; what is there stays.")
def reindex(call: Call, missing: bool) -> None:
    """Make the search index again, from the record.

    Nothing else is touched. Whatever records does it by itself, a little after each turn: this is for an index that is
    damaged, or for a store that was filled by another program. Stopped on the way, it is gone on with by whoever opens
    the store next."""
    store = call.store()
    with IndexProgress() as progress:
        indexed = store.reindex(only_missing=missing, progress=progress)
    call.done({"indexed": indexed}, f"indexed {count(indexed, 'turn')}")
