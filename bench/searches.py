"""A process of its own that searches a store, or indexes all of it again: prints its peak of memory in KB.

`python -m bench.searches search|build PATH`. The peak is that of this program alone (VmHWM): what getrusage says may
be that of the process that started it.
"""

import sys

from bench.adapters.ours_unindexed import Store
from bench.workloads.searching import KINDS


def main() -> None:
    what, path = sys.argv[1:3]
    store = Store(path)
    if what == "build":
        store.store.reindex()
    else:
        for asked in KINDS.values():
            store.store.search(asked.typed, order=asked.order)
    store.close()
    with open("/proc/self/status") as file:
        print(next(line.split()[1] for line in file if line.startswith("VmHWM:")))


if __name__ == "__main__":
    main()
