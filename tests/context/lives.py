"""Random lives of sessions: streams with every kind of part, cut anywhere, and everything that may follow."""

from __future__ import annotations

import random
from typing import Any

import palaver

from ..tools.chunks import text
from ..tools.talk import feed
from .support import Chunk

END: Chunk = {"type": "finish-step"}


class Life:
    """One session. `contexts` holds what a model would have seen, after each thing that happened."""

    def __init__(self, session: palaver.Session, seed: int) -> None:
        self.session = session
        self.chance = random.Random(seed)
        self.calls = 0
        self.contexts: list[list[dict[str, Any]]] = []

    def live(self, steps: int) -> None:
        self.talk()
        for _ in range(steps):
            self.chance.choice([self.talk, self.talk, self.wait, self.mid_turn, self.compact, self.prune, self.move])()
            self.contexts.append(self.session.context())

    # ------------------------------------------------------------ what happens

    def talk(self) -> None:
        turn = self.session.turn("go on", system_prompt=self.chance.choice([None, "Be kind."]))
        chunks = self.stream()
        feed(turn, chunks[: self.chance.randint(0, len(chunks))])
        self.contexts.append(turn.context())
        turn.seal(self.chance.choice(["completed", "aborted", "failed"]))

    def wait(self) -> None:
        turn = feed(self.session.turn("do it"), self.stream())
        call = self.call()
        asks = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": call["toolCallId"]}
        feed(turn, [{"type": "start-step"}, call, *([asks] if self.chance.random() < 0.7 else []), END])
        turn.wait()
        answers = [{"approved": True}, {"approved": False, "reason": "no"}, {"approved": False}, {"output": 1}, {}]
        answer = self.chance.choice(answers)
        if answer and (turn.message()["parts"][-1]["state"] == "approval-requested" or "output" in answer):
            turn.resolve(call["toolCallId"], **answer)
        self.contexts.append(turn.context())

    def mid_turn(self) -> None:
        turn = feed(self.session.turn("long"), [*self.stream(), *self.step()])
        rest = self.step()
        feed(turn, rest[: self.chance.randint(0, len(rest))])
        then = turn.compact("in the middle", keep_from=self.chance.choice([None, *self.session.path()[1:]]))
        self.contexts.append(then.context())
        then.seal(self.chance.choice(["completed", "aborted"]))

    def compact(self) -> None:
        self.session.compact("so far", keep_from=self.chance.choice([None, *self.session.path()[1:]]))

    def prune(self) -> None:
        self.session.prune(keep=self.chance.randint(0, 3))

    def move(self) -> None:
        path = self.session.path()
        if path:
            self.session.rewind(to=self.chance.choice(path))
            if self.chance.random() < 0.7:
                self.session.undo()

    # ------------------------------------------------------------ streams

    def stream(self) -> list[Chunk]:
        steps = [self.step() for _ in range(self.chance.randint(1, 3))]
        return [{"type": "start"}, *(chunk for step in steps for chunk in step)]

    def step(self) -> list[Chunk]:
        makers = [self.text, self.thought, self.tool, self.tool, self.tool, self.other]
        made = [self.chance.choice(makers)() for _ in range(self.chance.randint(0, 3))]
        return [{"type": "start-step"}, *(chunk for part in made for chunk in part), END]

    def text(self) -> list[Chunk]:
        return text(self.chance.choice(["yes", "Grüße 🌍", ""]), f"t{self.number()}")

    def thought(self) -> list[Chunk]:
        name = f"r{self.number()}"
        meta = {"providerMetadata": {"acme": {"signature": "s"}}}
        end = {"type": "reasoning-end", "id": name, **meta}
        return [{"type": "reasoning-start", "id": name}, {"type": "reasoning-delta", "id": name, "delta": "hm"}, end]

    def tool(self) -> list[Chunk]:
        call = self.call()
        name = {"toolCallId": call["toolCallId"], **({"dynamic": True} if "dynamic" in call else {})}
        begun = {key: value for key, value in call.items() if key != "input"} | {"type": "tool-input-start"}
        half = {"type": "tool-input-delta", "toolCallId": call["toolCallId"], "inputTextDelta": '{"n'}
        wrong = call | {"type": "tool-input-error", "input": '{"n', "errorText": "not JSON"}
        asks = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": call["toolCallId"]}
        done = {"type": "tool-output-available", **name, "output": self.chance.choice([None, "text", {"rows": []}])}
        failed = {"type": "tool-output-error", **name, "errorText": "no such file"}
        denied = {"type": "tool-output-denied", "toolCallId": call["toolCallId"]}
        ways = [[done], [done], [failed], [done | {"preliminary": True}, done], [asks, denied], [denied], [asks, done]]
        if self.chance.random() < 0.2:
            return [begun, half, wrong]  # it is never run
        return self.chance.choice([[begun, half, call], [call]]) + self.chance.choice(ways)

    def other(self) -> list[Chunk]:
        return [
            self.chance.choice(
                [
                    {"type": "data-weather", "data": {"degrees": 21}},
                    {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
                    {"type": "file", "url": "data:text/plain;base64,AAAA", "mediaType": "text/plain"},
                ]
            )
        ]

    def call(self) -> Chunk:
        more = self.chance.choice([{}, {}, {"dynamic": True}, {"providerExecuted": True}])
        call = f"c{self.number()}"
        return {"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {"n": 1}, **more}

    def number(self) -> int:
        self.calls += 1
        return self.calls
