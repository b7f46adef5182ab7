"""google-adk DatabaseSessionService on sqlite+aiosqlite."""

import json
import sqlite3

from google.adk.events import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types

from ..protocol import Adapter, clone_rows
from ._aio import Loop

KW = {"app_name": "bench", "user_id": "u"}


def event(msg):
    return Event(
        author=msg["role"],
        content=types.Content(
            role="user" if msg["role"] == "user" else "model",
            parts=[types.Part(text=p["text"] if p["type"] == "text" else json.dumps(p)) for p in msg["parts"]],
        ),
    )


class Store(Adapter):
    can = frozenset({"append", "load", "list", "storm", "cold"})
    notes = {
        "stream": "partial events are explicitly not persisted",
        "fork": "no fork API",
        "list": "list_sessions returns ALL sessions (no limit)",
        "load": "returns pydantic Events, not dicts",
    }

    def __init__(self, path):
        super().__init__(path)
        self.run, self.s = Loop(), {}
        self.svc = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{path}")

    def close(self):
        self.run(self.svc.close())
        self.run.close()

    def new_session(self, sid):
        self.s[sid] = self.run(self.svc.create_session(session_id=sid, **KW))

    def attach(self, sid):
        self.s[sid] = self.run(self.svc.get_session(session_id=sid, **KW))

    def append(self, sid, msg):
        self.run(self.svc.append_event(self.s[sid], event(msg)))

    def load(self, sid):
        return self.run(self.svc.get_session(session_id=sid, **KW)).events

    def fill_sessions(self, n):
        self.new_session("seed")
        c = sqlite3.connect(self.path)
        clone_rows(
            c, "sessions", n - 1, {"id": "'s'||i", "update_time": "datetime(1700000000+i,'unixepoch')||'.000000'"}
        )
        c.commit()
        c.close()

    def list_recent(self, k):
        return self.run(self.svc.list_sessions(**KW)).sessions[-k:]
