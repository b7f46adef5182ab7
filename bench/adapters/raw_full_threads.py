"""The same from many threads, which take turns on one connection and commit each for itself."""

import sqlite3
import threading

from .raw_full import Store as _Raw


class Store(_Raw):
    threads = True

    def __init__(self, path: str) -> None:
        self.lock = threading.Lock()
        super().__init__(path)

    def connect(self, path):
        return sqlite3.connect(path, isolation_level=None, timeout=20, check_same_thread=False)

    def stream_to(self, which, delta):
        with self.lock:
            super().stream_to(which, delta)
