"""Long paths, written by plain inserts: ten thousand turns, or as many messages in one turn, in a moment."""

from __future__ import annotations

from typing import Any

import palaver
from palaver.core.read import jumps
from palaver.core.read.jumps import Jump
from palaver.db.queries import Query

TURN = Query(
    "long_turns",
    "INSERT INTO turns (id, parent_id, session_id, base_revision, begin_seq, kind, status, fence, started_at,"
    " sealed_at, depth, thread_tokens, thread_messages, jump) VALUES (:id, :parent, :session, :depth, :depth, 'turn',"
    " 'completed', 1, :at, :at, :depth, 0, :messages, :jump) ON CONFLICT (id) DO NOTHING",
)
ENTRY = Query(
    "long_entries",
    "INSERT INTO turn_entries (turn_id, seq, kind, ref) VALUES (:turn, :seq, :kind, :ref)"
    " ON CONFLICT (turn_id, seq) DO NOTHING",
)
MESSAGE = Query(
    "long_messages",
    "INSERT INTO chat_messages (id, session_id, role, metadata_json, created_at, updated_at)"
    " VALUES (:id, :session, 'user', '{}', :at, :at) ON CONFLICT (id) DO NOTHING",
)
PART = Query(
    "long_parts",
    'INSERT INTO chat_parts (id, message_id, session_id, "index", type, data_json, created_at, updated_at)'
    " VALUES (:id, :message, :session, 0, 'text', :data, :at, :at) ON CONFLICT (id) DO NOTHING",
)
HEAD = Query(
    "long_head",
    "UPDATE heads SET turn_id = :turn, revision = :depth, event_seq = :seq, last_at = :at WHERE session_id = :session",
)
LINE = Query(
    "long_line",
    "INSERT INTO reflog (session_id, seq, kind, turn_id, revision, at, link)"
    " VALUES (:session, :seq, 'seal', :turn, :depth, :at, :link)",
)
T0 = 1_760_000_000_000


class LongPath:
    """A session of so many turns, each of so many messages of one part. `filled`: its turns know where to jump to."""

    def __init__(self, store: palaver.Store, turns: int, messages: int = 1, *, filled: bool = True) -> None:
        self.session = store.sessions.create("walker")
        self.turns = [f"trn_{self.session.id[4:]}.{number:05d}" for number in range(1, turns + 1)]
        self.messages = [f"msg_{self.session.id[4:]}.{number:05d}" for number in range(turns * messages)]
        self._each = messages
        with store.db.write() as tx:
            tx.run_many(TURN, self._turns(filled))
            tx.run_many(ENTRY, [line for number in range(turns) for line in self._entries(number)])
            tx.run_many(MESSAGE, [self._row(number) for number in range(len(self.messages))])
            tx.run_many(PART, [self._row(number) | self._part(number) for number in range(len(self.messages))])
            head = {
                "session": self.session.id,
                "turn": self.turns[-1],
                "depth": turns,
                "at": self._at(len(self.messages)),
            }
            tx.run(HEAD, **head, seq=turns + 1)
            tx.run(LINE, **head, seq=turns + 1, link=b"planted")

    def _at(self, number: int) -> int:
        return T0 + 1_000 * number

    def _turns(self, filled: bool) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        parent, jump = None, None
        for depth, turn in enumerate(self.turns, 1):
            jump = _jump_of_child(parent, depth - 1, jump)
            given = {"id": turn, "parent": parent, "session": self.session.id, "depth": depth}
            counted = {"messages": depth * self._each, "at": self._at(depth), "jump": jump.turn_id if filled else None}
            made.append(given | counted)
            parent = turn
        return made

    def _entries(self, turn: int) -> list[dict[str, Any]]:
        numbers = range(turn * self._each, (turn + 1) * self._each)
        refs = [
            (kind, ref)
            for n in numbers
            for kind, ref in (("message", self.messages[n]), ("part", _part_id(self.messages[n])))
        ]
        return [
            {"turn": self.turns[turn], "seq": seq, "kind": kind, "ref": ref} for seq, (kind, ref) in enumerate(refs)
        ]

    def _row(self, number: int) -> dict[str, Any]:
        return {"id": self.messages[number], "session": self.session.id, "at": self._at(number)}

    def _part(self, number: int) -> dict[str, Any]:
        name = self.messages[number]
        return {"id": _part_id(name), "message": name, "data": f'{{"type":"text","text":"{number}"}}'}


def _part_id(message_id: str) -> str:
    return f"prt_{message_id[4:]}"


def _jump_of_child(parent: str | None, depth: int, jump: Jump | None) -> Jump:
    """From what is in memory; nothing is read."""
    found = jumps.of_child(None, parent, depth, jump)  # type: ignore[arg-type]
    assert found is not None
    return found
