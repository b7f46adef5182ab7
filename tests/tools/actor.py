"""A process with a store in it that does as it is told: each command is a method, turns go by their ids."""

from __future__ import annotations

from typing import Any

import palaver

from .chunks import call, delta
from .puppet import obey, play
from .talk import lines


class Actor:
    def __init__(self, path: str, **options: Any) -> None:
        self.where = path
        self.store = palaver.open(path, **options)
        self.turns: dict[str, palaver.Turn] = {}

    def session(self, session_id: str) -> palaver.Session:
        return self.store.sessions.get(session_id)

    def create(self) -> str:
        return self.store.sessions.create("puppet").id

    def begin(self, session_id: str, said: str) -> str:
        turn = self.session(session_id).turn(said)
        self.turns[turn.id] = turn
        return turn.id

    def begin_anew(self, said: str = "question") -> list[str]:
        """In a session of its own: that, and the turn."""
        session = self.create()
        return [session, self.begin(session, said)]

    def resume(self, session_id: str, turn_id: str) -> str:
        self.turns[turn_id] = self.session(session_id).resume(turn_id)
        return turn_id

    def call(self, turn_id: str, verb: str, *given: Any, **named: Any) -> list[int]:
        """A verb of a turn; how many chunks it has then, and how many of them are stored."""
        turn = self.turns[turn_id]
        getattr(turn, verb)(*given, **named)
        return [turn.chunks, turn.stored]

    def say(self, turn_id: str, text: str) -> None:
        """More of one text."""
        turn = self.turns[turn_id]
        if not turn.chunks:
            turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}])
        turn.write(delta(text))

    def call_tool(self, turn_id: str) -> None:
        self.turns[turn_id].write(call("c"))

    def wait(self, turn_id: str) -> None:
        self.turns[turn_id].wait()

    def seal(self, turn_id: str) -> None:
        self.turns[turn_id].seal()

    def commit(self, session_id: str, said: str) -> None:
        self.session(session_id).commit(said)

    def recover(self) -> int:
        return self.store.recover()

    def read(self, session_id: str) -> list[str]:
        return lines(self.session(session_id).messages())

    def statuses(self, session_id: str) -> dict[str, str]:
        return {turn.id: turn.status for turn in self.session(session_id).tree()}

    def abort_reasons(self, session_id: str) -> dict[str, str | None]:
        return {turn.id: turn.abort_reason for turn in self.session(session_id).tree()}

    def path(self, session_id: str) -> list[str]:
        return [turn.id for turn in self.session(session_id).path()]

    def strays(self, session_id: str) -> list[str]:
        return [turn.id for turn in self.session(session_id).strays()]

    def tools(self, session_id: str) -> list[str]:
        parts = [part for message in self.session(session_id).messages() for part in message["parts"]]
        return [part["state"] for part in parts if part["type"].startswith("tool-")]

    def verify(self) -> list[str]:
        return [problem.what for problem in self.store.verify()]

    def close(self) -> None:
        self.store.close()


def act(path: str, **options: Any) -> None:
    obey(Actor(path, **options))


if __name__ == "__main__":
    play()
