"""agno SqliteDb: one run row per message via upsert_run."""

import sqlite3

from agno.db.base import SessionType
from agno.db.sqlite import SqliteDb
from agno.session import AgentSession

from ..protocol import Adapter, clone_rows


class Store(Adapter):
    can = frozenset({"append", "load", "stream", "list", "storm", "cold"})
    notes = {
        "append": "one run row per message",
        "stream": "upsert_run rewrites the whole run JSON per chunk",
        "fork": "no fork API",
        "list": "no preview column",
    }

    def __init__(self, path):
        super().__init__(path)
        self.db = SqliteDb(db_file=path)
        self.n = {}

    def close(self):
        self.db.close()

    def new_session(self, sid):
        self.db.upsert_session(
            AgentSession(session_id=sid, agent_id="a", created_at=1, session_data={"session_name": "t"})
        )
        self.n[sid] = 0

    def attach(self, sid):
        self.n[sid] = len(self.load(sid))

    def _run(self, sid, rid, idx, parts, role):
        self.db.upsert_run(
            {
                "run_id": rid,
                "agent_id": "a",
                "session_id": sid,
                "run_index": idx,
                "messages": [{"role": role, "content": parts}],
            },
            session_id=sid,
            run_index=idx,
        )

    def append(self, sid, msg):
        i = self.n[sid]
        self._run(sid, f"{sid}-{i}", i, msg["parts"], msg["role"])
        self.n[sid] = i + 1

    def load(self, sid):
        return self.db.get_session(sid, SessionType.AGENT, deserialize=False).get("runs") or []  # absent while empty

    def stream_open(self, sid, text):
        self.sid, self.text, self.i = sid, text, self.n[sid]
        self.n[sid] += 1
        self.stream_chunk("")

    def stream_chunk(self, delta):
        self.text += delta
        self._run(self.sid, f"{self.sid}-{self.i}", self.i, [{"type": "text", "text": self.text}], "assistant")

    def fill_sessions(self, n):
        self.new_session("seed")
        c = sqlite3.connect(self.path)
        clone_rows(c, self.db.session_table_name, n - 1, {"session_id": "'s'||i", "created_at": "i", "updated_at": "i"})
        c.commit()
        c.close()

    def list_recent(self, k):
        return self.db.get_sessions(
            SessionType.AGENT,
            limit=k,
            page=1,
            sort_by="updated_at",
            sort_order="desc",
            deserialize=False,
            include_runs=False,
        )[0]
