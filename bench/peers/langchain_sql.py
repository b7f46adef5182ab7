"""langchain SQLChatMessageHistory."""

from langchain_community.chat_message_histories import SQLChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage
from sqlalchemy import create_engine

from ..protocol import Adapter


def message(m):
    return (HumanMessage if m["role"] == "user" else AIMessage)(content=m["parts"])


class Store(Adapter):
    notes = {
        "stream": "no in-place update API",
        "list": "no list API",
        "fork": "no fork API",
    }

    def __init__(self, path):
        super().__init__(path)
        self.engine, self.h = create_engine(f"sqlite:///{path}"), {}

    def sess(self, sid):
        if sid not in self.h:
            self.h[sid] = SQLChatMessageHistory(sid, connection=self.engine)
        return self.h[sid]

    def close(self):
        self.engine.dispose()

    def new_session(self, sid):
        self.sess(sid)

    def append(self, sid, msg):
        self.sess(sid).add_message(message(msg))

    def append_many(self, sid, msgs):
        self.sess(sid).add_messages([message(m) for m in msgs])

    def load(self, sid):
        return self.sess(sid).messages
