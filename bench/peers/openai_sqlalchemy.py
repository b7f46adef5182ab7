"""openai-agents SQLAlchemySession over aiosqlite."""

from agents.extensions.memory.sqlalchemy_session import SQLAlchemySession

from .openai_sqlite import Store as _Base


class Store(_Base):
    can = frozenset({"append", "load", "storm", "cold"})
    notes = {
        "stream": "no in-place update API",
        "list": "no list API",
        "fork": "no fork API",
    }
    engine = None

    def make(self, sid):
        if self.engine is None:
            from sqlalchemy.ext.asyncio import create_async_engine

            self.engine = create_async_engine(f"sqlite+aiosqlite:///{self.path}")
        return SQLAlchemySession(sid, engine=self.engine, create_tables=True)

    def close(self):
        if self.engine is not None:
            self.run(self.engine.dispose())
        self.run.close()
