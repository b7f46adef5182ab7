"""Eight processes that write to one file at once: `python -m bench.storm COLUMN PATH PROCESSES MESSAGES SEED MODE`.

The processes are forked before any store is open; each opens its own and writes one message, so that it has
imported what it needs; then they start together. Prints JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from bench import corpus
from bench.worker import adapter, equalise


def main() -> None:
    name, path, processes, count, seed, mode = sys.argv[1:7]
    if mode == "equal":
        equalise()
    make = adapter(name).Store
    messages = corpus.chat(int(count), seed=int(seed))
    go_out, go_in = os.pipe()
    children = []
    for which in range(int(processes)):
        out, into = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(go_in)
            os.close(out)
            write(make, path, f"p{which}", messages, into, go_out)
        os.close(into)
        children.append((pid, out))
    os.close(go_out)
    for _, out in children:
        os.read(out, 1)
    os.close(go_in)  # all at once
    told = []
    for pid, out in children:
        with os.fdopen(out) as file:
            told.append(json.load(file))
        os.waitpid(pid, 0)
    print(json.dumps(together(told)))


def write(make: Any, path: str, sid: str, messages: list[Any], out: int, go: int) -> None:
    """One writer. It never returns."""
    spent: list[int] = []
    errors: list[str] = []
    acked, began, ended = 0, 0.0, 0.0
    ready = False
    try:
        store = make(path)
        store.attach(sid)
        store.append(sid, messages[0])
        acked = 1
        ready = bool(os.write(out, b"!"))
        os.read(go, 1)
        began, clock = time.perf_counter(), time.perf_counter_ns
        for message in messages:
            start = clock()
            try:
                store.append(sid, message)
                spent.append(clock() - start)
            except Exception as error:
                errors.append(repr(error)[:120])
        ended = time.perf_counter()
        store.close()
    except BaseException as error:
        errors.append("open: " + repr(error)[:120])
    if not ready:
        os.write(out, b"!")
    with os.fdopen(out, "w") as file:
        told = {"spent": spent, "acked": acked + len(spent), "errors": errors, "began": began, "ended": ended}
        json.dump(told, file)
    os._exit(0)


def together(told: list[dict[str, Any]]) -> dict[str, Any]:
    spent = sorted(x for one in told for x in one["spent"])
    errors = [error for one in told for error in one["errors"]]
    if not spent:
        return {"error": errors[0] if errors else "nothing was written"}
    wall = max(one["ended"] for one in told) - min(one["began"] for one in told if one["began"])
    return {
        "rate": len(spent) / wall,
        "acked": sum(one["acked"] for one in told),
        "p50": spent[len(spent) // 2] / 1e6,
        "p99": spent[int(len(spent) * 0.99)] / 1e6,
        "max": spent[-1] / 1e6,
        "errors": errors[:3],
        "failed": len(errors),
    }


if __name__ == "__main__":
    main()
