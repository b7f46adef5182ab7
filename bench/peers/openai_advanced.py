"""openai-agents AdvancedSQLiteSession (branches, turn structure)."""

from agents.extensions.memory.advanced_sqlite_session import AdvancedSQLiteSession

from .openai_sqlite import Store as _Base


class Store(_Base):
    can = frozenset({"append", "load", "fork", "storm", "cold"})
    notes = {
        "fork": "create_branch_from_turn: shares message rows, copies one structure row per message",
        "stream": "no in-place update API",
        "list": "no list API",
    }

    def make(self, sid):
        return AdvancedSQLiteSession(session_id=sid, db_path=self.path, create_tables=True)

    def fork(self, sid, at):
        s = self.sess(sid)
        out = self.run(s.create_branch_from_turn(at // 2 + 1))
        self.run(s.switch_to_branch("main"))
        return out
