"""Promise 77: a cursor over (created_at, id) pages without skipping or repeating a row while rows are added."""

from __future__ import annotations

import palaver
from palaver.db.queries import Query

from ..tools.planting import broken_by
from ..tools.puppet import Script

WRITER = """
import sys, palaver
store = palaver.open(sys.argv[1])
old = [store.sessions.get(id) for id in sys.argv[2:]]
old[0].commit("touched")                           # it is at work
print("go", flush=True)
for number in range(10_000):
    store.sessions.create(agent="late")
    old[number % len(old)].commit("touched")       # moves it to the front of the list by update
"""


def pages(store: palaver.Store, limit: int) -> list[str]:
    seen, after = [], None
    while True:
        page = store.sessions.list(order="created", limit=limit, after=after)
        seen += [info.id for info in page.sessions if info.agent == "old"]
        after = page.next
        if after is None:
            return seen


@broken_by("cursors_follow_updates")
def test_promise_077_paging_skips_and_repeats_nothing_while_another_process_writes(path: str) -> None:
    with palaver.open(path) as store:
        old = [store.sessions.create(agent="old").id for _ in range(200)]
        with Script(WRITER, path, *old) as writer:
            assert writer.hear() == "go"
            for limit in (1, 7, 50, 7, 3) * 6:
                seen = pages(store, limit)
                assert len(seen) == len(set(seen)) and set(seen) == set(old)


def test_promise_077_rows_of_one_millisecond_are_told_apart_by_id(store: palaver.Store) -> None:
    made = {store.sessions.create(agent="old").id for _ in range(60)}
    with store.db.write() as tx:
        tx.run(Query("freeze", "UPDATE chat_sessions SET created_at = 1000;"))
    seen = pages(store, 7)
    assert len(seen) == 60 and set(seen) == made and seen == sorted(seen, reverse=True)
