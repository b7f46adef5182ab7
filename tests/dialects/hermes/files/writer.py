"""A process that goes on writing to a `state.db` until it is told to stop: run with the path of the file."""

from __future__ import annotations

import sqlite3
import sys
import time


def main(path: str) -> None:
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")
    number = 0
    while True:
        number += 1
        db.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s1', 'user', ?, ?)",
            (f"row {number}", 1_767_300_000.0 + number),
        )
        if number % 20 == 0:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if number == 30:
            sys.stdout.write("going\n")
            sys.stdout.flush()
        time.sleep(0.001)


if __name__ == "__main__":
    main(sys.argv[1])
