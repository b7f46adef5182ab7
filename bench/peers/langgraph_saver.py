"""langgraph-checkpoint-sqlite SqliteSaver: a checkpoint of the whole state per step."""

import sqlite3

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from ..protocol import Adapter


class Store(Adapter):
    can = frozenset({"append", "load", "stream", "fork", "storm", "cold"})
    notes = {
        "append": "whole state re-serialised per step (no delta channel)",
        "stream": "INSERT OR REPLACE of the whole state per chunk",
        "list": "lists checkpoints, not sessions",
        "fork": "writes the half state under a new thread id",
    }

    def __init__(self, path):
        super().__init__(path)
        self.conn = sqlite3.connect(path, check_same_thread=False, timeout=20)
        self.sv = SqliteSaver(self.conn)
        self.sv.setup()
        self.state, self.tip = {}, {}

    def close(self):
        self.conn.close()

    def new_session(self, sid):
        self.state[sid], self.tip[sid] = [], None

    def attach(self, sid):
        self.new_session(sid)
        if t := self.sv.get_tuple({"configurable": {"thread_id": sid, "checkpoint_ns": ""}}):
            self.state[sid] = list(t.checkpoint["channel_values"]["messages"])
            self.tip[sid] = t.config["configurable"]["checkpoint_id"]

    def _put(self, sid, cid=None):
        cp = empty_checkpoint()
        if cid:
            cp["id"] = cid
        cp["channel_values"] = {"messages": self.state[sid]}
        cfg = {"configurable": {"thread_id": sid, "checkpoint_ns": "", "checkpoint_id": self.tip[sid]}}
        out = self.sv.put(cfg, cp, {"source": "loop", "step": len(self.state[sid])}, {})
        return out["configurable"]["checkpoint_id"]

    def append(self, sid, msg):
        self.state[sid].append(msg)
        self.tip[sid] = self._put(sid)

    def append_many(self, sid, msgs):
        self.state[sid].extend(msgs)
        self.tip[sid] = self._put(sid)

    def load(self, sid):
        t = self.sv.get_tuple({"configurable": {"thread_id": sid, "checkpoint_ns": ""}})
        return t.checkpoint["channel_values"]["messages"]

    def stream_open(self, sid, text):
        self.sid, self.text = sid, text
        self.state[sid].append(None)
        self.cid = empty_checkpoint()["id"]
        self.stream_chunk("")

    def stream_chunk(self, delta):
        self.text += delta
        self.state[self.sid][-1] = {"role": "assistant", "parts": [{"type": "text", "text": self.text}]}
        self._put(self.sid, self.cid)

    def fork(self, sid, at):
        new = f"{sid}-fork-{empty_checkpoint()['id']}"
        self.state[new], self.tip[new] = self.state[sid][:at], None
        self.tip[new] = self._put(new)
        return new
