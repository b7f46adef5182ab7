"""What a verb asks of the disk, counted under SQLite: `python -m bench.counting COLUMN PATH` prints JSON.

A filesystem layer of apsw counts every sync and every byte on its way to the file. Both sides run on apsw here (the
raw statements too), so counts do not depend on the driver; they do not vary with the machine's noise either.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import apsw

from bench import corpus
from bench.worker import adapter
from bench.workloads.stream import CHUNK, text

COUNTED: Counter[str] = Counter()


class CountingFile(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int]) -> None:
        self.kind = "wal" if flags[0] & apsw.SQLITE_OPEN_WAL else "db"
        super().__init__("unix", name, flags)

    def xSync(self, flags: int) -> None:
        COUNTED["syncs"] += 1
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        COUNTED[self.kind] += len(data)
        super().xWrite(data, offset)


class CountingFiles(apsw.VFS):
    def __init__(self) -> None:
        super().__init__("counting", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> CountingFile:
        return CountingFile(name, flags)


def main() -> None:
    name, path = sys.argv[1:3]
    _files = CountingFiles()
    store = adapter(name).Store(path)
    store.new_session("one")
    messages = corpus.chat(200)
    pairs = [messages[at : at + 2] for at in range(0, 200, 2)]
    prepared = [store.prepare_turn(*pair) for pair in pairs]
    found = {
        "append one message": count(lambda m: store.append("one", m), messages),
        "a turn: begin, 5 chunks, seal": count(lambda p: store.turn("one", p), prepared),
    }
    if hasattr(store, "commit"):
        found["a turn as one commit"] = count(lambda p: store.commit("one", p), pairs)
    store.stream_open("one", text(1_000))
    found["a chunk at 1 KB"] = count(store.stream_chunk, [CHUNK] * 200)
    store.stream_close()
    ids = store.message_ids("one")
    found["fork"] = count(lambda at: store.fork("one", at), range(20, min(120, len(ids) - 1)))
    store.close()
    print(json.dumps(found))


def count(call: Callable[[Any], Any], items: Any) -> dict[str, float]:
    COUNTED.clear()
    for item in items:
        call(item)
    return {kind: COUNTED[kind] / len(items) for kind in ("syncs", "wal", "db")}


if __name__ == "__main__":
    main()
