"""openai-agents SQLiteSession."""

from agents.memory.sqlite_session import SQLiteSession

from ..protocol import Adapter
from ._aio import Loop


def item(msg):
    return {"role": msg["role"], "content": msg["parts"]}


class Store(Adapter):
    can = frozenset({"append", "load", "stream", "storm", "cold"})
    notes = {
        "stream": "emulated: pop_item + add_items, two commits, not atomic",
        "list": "no list API",
        "fork": "no fork API",
    }

    def __init__(self, path):
        super().__init__(path)
        self.run, self.s = Loop(), {}

    def make(self, sid):
        return SQLiteSession(sid, self.path)

    def sess(self, sid):
        if sid not in self.s:
            self.s[sid] = self.make(sid)
        return self.s[sid]

    def close(self):
        for s in self.s.values():
            s.close()
        self.run.close()

    def new_session(self, sid):
        self.sess(sid)

    def append(self, sid, msg):
        self.run(self.sess(sid).add_items([item(msg)]))

    def append_many(self, sid, msgs):
        self.run(self.sess(sid).add_items([item(m) for m in msgs]))

    def load(self, sid):
        return self.run(self.sess(sid).get_items())

    def stream_open(self, sid, text):
        self.sid, self.text = sid, text
        self.append(sid, {"role": "assistant", "parts": [{"type": "text", "text": text}]})

    def stream_chunk(self, delta):
        self.text += delta
        s = self.sess(self.sid)
        self.run(s.pop_item())
        self.run(s.add_items([{"role": "assistant", "content": [{"type": "text", "text": self.text}]}]))
