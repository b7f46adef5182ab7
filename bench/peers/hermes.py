"""Hermes SessionDB, imported at run time from the directory named by HERMES_PATH."""

import os
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.append(os.environ["HERMES_PATH"])
if "HERMES_HOME" not in os.environ:
    os.environ["HERMES_HOME"] = tempfile.mkdtemp(prefix="bench-hermes-")
from hermes_state import SessionDB

from ..protocol import Adapter


class Store(Adapter):
    can = frozenset({"append", "load", "list", "storm", "cold"})
    notes = {
        "append": "maintains two FTS5 indexes (unicode61 + trigram) in the same transaction",
        "stream": "no single-message update API (replace_messages rewrites the session)",
        "fork": "no store-level fork API",
    }

    def __init__(self, path):
        super().__init__(path)
        self.db = SessionDB(db_path=Path(path))

    def close(self):
        self.db.close()

    def new_session(self, sid):
        self.db.create_session(sid, "cli", model="m")

    def append(self, sid, msg):
        ps = msg["parts"]
        self.db.append_message(sid, msg["role"], content=ps[0]["text"] if len(ps) == 1 else ps)

    def load(self, sid):
        return self.db.get_messages(sid)

    def _raw(self):
        return sqlite3.connect(self.path)

    def fill_sessions(self, n):
        c = self._raw()
        c.executemany(
            "INSERT INTO sessions(id, source, model, started_at, title, message_count, input_tokens) "
            "VALUES(?,?,?,?,?,?,?)",
            ((f"s{i}", "cli", "m", 1.7e9 + i * 7919 % n, f"Session {i}", 1, i) for i in range(n)),
        )
        c.executemany(
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES(?,?,?,?)",
            ((f"s{i}", "user", f"please fix the failing deploy number {i} and report", 1.7e9 + i) for i in range(n)),
        )
        c.commit()
        c.close()

    def list_recent(self, k):
        # most recently ACTIVE, as every other column; its default (by start time) does not scan
        return self.db.list_sessions_rich(limit=k, order_by_last_active=True)
