"""`palaver search`: what was ever said, by session; on a terminal with what was looked for in colour.

It only looks. But where so much is not indexed yet that it cannot be looked through, and the store may be written, the
index is brought up to date first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import click
import msgspec

from palaver import SearchPage, Store, StoreError

from ..command import Call, Count, command
from ..exits import OK, PROBLEMS, USAGE, Stop
from ..ui.format import count
from ..ui.hits import MOST, Drawn, print_page
from ..ui.jsontext import as_json
from ..ui.progress import IndexProgress
from ..ui.screen import say_aside
from ..wording import worded

_PER_TOKEN = 4  # characters


class _Asked(NamedTuple):
    """A search, as the library takes it."""

    query: str
    options: dict[str, Any]

    def page(self, store: Store, **other: Any) -> SearchPage:
        return store.search(self.query, **{**self.options, **other})


class _Answer(NamedTuple):
    page: SearchPage
    left_out: int  # hits of the page that had no room


@command(
    "search",
    examples=[
        "palaver search linker flag",
        "palaver search '\"permission denied\" role:tool after:7d' --newest",
        "palaver search --per-session -- -macos linker",
        "palaver search zlib --max-tokens 2000",
    ],
    keys={
        "hits[]": "Hit, the best first, or with --newest the newest",
        "next": "the cursor for --after, or null at the end",
        "moved": "true: the index was written since the page before, so a hit may come twice or be missed",
        "cut": "true: the query was longer than one may be, and its end was left out",
        "indexed_through": "what came in after this time may be missing, epoch ms; null: everything was looked at",
        "suggestion": "where nothing was found: a query that finds something, or null",
        "left_out": "how many hits of this page had no room within --max-tokens; next goes on with them",
    },
)
@click.argument("words", metavar="QUERY...", nargs=-1, required=True)
@click.option("--newest", is_flag=True, help="The newest first, not the best.")
@click.option("-n", "--limit", type=Count(1, MOST), default=20, show_default=True, help="How many.")
@click.option("--after", metavar="CURSOR", help="Go on from where the page before ended.")
@click.option("--per-session", is_flag=True, help="One hit of each session.")
@click.option("-a", "--all", "archived", is_flag=True, help="In archived sessions too.")
@click.option("--hidden", is_flag=True, help="Also what was rewound, waits in a queue, or is a stray.")
@click.option("--max-tokens", type=Count(1, 10_000_000), metavar="N", help="As many whole hits as fit into N tokens.")
@click.option("--no-context", is_flag=True, help="Without what was said before and after each hit.")
@click.option("--no-pager", is_flag=True, help="Print at once; otherwise a terminal gets PAGER.")
def search(
    call: Call,
    words: tuple[str, ...],
    newest: bool,
    max_tokens: int | None,
    no_context: bool,
    no_pager: bool,
    **options: Any,
) -> int:
    """Find what was ever said.

    All the words, in any order: what you said, what was answered, what tools took and gave, and titles. "A phrase" in
    quotes, OR, NOT or -word, prefix*, parentheses; and fields: role: agent: source: project: model: workspace: tool:
    file: session: before: after: is:error has:file. A shell takes quotes for itself, so quote the whole:
    '"a phrase" -word'. A query that begins with -word goes behind `--`.

    Each hit has an address, SESSION@MESSAGE, which `palaver show` opens. Exit code 1 if nothing was found. Tokens are
    counted as four characters each."""
    asked = _Asked(" ".join(words), {**options, "order": "newest" if newest else "rank"})
    if not asked.query.strip():
        raise Stop(USAGE, "nothing is looked for; give a word of what was said", "Usage")
    store, page = _found(call, asked)
    infos = {} if call.json else {one: store.sessions.get(one).info for one in {hit.session_id for hit in page}}
    drawn = Drawn(call.screen, infos, context=not no_context)
    sizes = [] if max_tokens is None else _json_sizes(page) if call.json else drawn.sizes(page.hits)
    answer = _within(max_tokens or 0, sizes, asked, store, page)
    if call.json:
        call.screen.json(_json(answer))
    else:
        print_page(drawn, answer.page, pager=not no_pager)
        _tell_of_the_rest(answer)
    return OK if page.hits else PROBLEMS


# ---------------------------------------------------------------- looking


def _found(call: Call, asked: _Asked) -> tuple[Store, SearchPage]:
    store = call.store(readonly=True)
    page = asked.page(store)
    if page.indexed_through is None:
        return store, page
    try:
        store = call.store()
        with IndexProgress() as progress:
            store.reindex(only_missing=True, progress=progress)
    except StoreError as error:  # it may only be looked at: the page says how far it was
        say_aside(f"the index was not brought up to date: {worded(str(error))}", json=call.json)
        return store, page
    return store, asked.page(store)


def _within(tokens: int, sizes: list[int], asked: _Asked, store: Store, page: SearchPage) -> _Answer:
    """As many hits as fit, from the first on; all, if they have no sizes. They are looked for once more, for the cursor
    that comes after them."""
    fits, room = 0, tokens * _PER_TOKEN
    for size in sizes:
        room -= size
        if room < 0:
            break
        fits += 1
    if fits == len(sizes):
        return _Answer(page, 0)
    if not fits:
        needed = -(-sizes[0] // _PER_TOKEN)
        raise Stop(USAGE, f"the first hit takes {needed:,} tokens, and --max-tokens allows {tokens:,}", "Usage")
    return _Answer(asked.page(store, limit=fits), len(sizes) - fits)


# ---------------------------------------------------------------- telling


def _tell_of_the_rest(answer: _Answer) -> None:
    if answer.left_out:
        more = f"{count(answer.left_out, 'hit')} more had no room in so many tokens"
        say_aside(f"{more}: --after {answer.page.next}", json=False)


def _json_sizes(page: SearchPage) -> list[int]:
    return [len(as_json(msgspec.to_builtins(hit))) for hit in page.hits]


def _json(answer: _Answer) -> dict[str, Any]:
    page = answer.page
    told = {name: getattr(page, name) for name in ("next", "moved", "cut", "indexed_through", "suggestion")}
    return {"hits": msgspec.to_builtins(page.hits), **told, "left_out": answer.left_out}
