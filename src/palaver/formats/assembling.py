"""From the items of a source, one after the other, to turns: who begins one, which call a result answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .conversation import Conversation, Homeless, Item, Part, Prompt, TurnIn, UIMessage
from .marks import RESULT, Marks

ORPHAN = "data-tool-row"  # a tool's result that no call asked for


class _Call:
    """A tool call that may get a result: its part, and where that is."""

    __slots__ = ("answer", "message_index", "part", "step", "turn")

    def __init__(self, part: Part, turn: TurnIn, step: int) -> None:
        self.part = part
        self.turn = turn
        self.message_index = len(turn.messages) - 1
        self.step = step
        self.answer: int | None = None  # the how-manieth result it got


class Assembly:
    """A conversation as it grows."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._system: list[Prompt] = []
        self._turns: list[TurnIn] = []
        self._homeless: list[Homeless] = []
        self._running: UIMessage | None = None  # the assistant's message that still grows
        self._calls: dict[Any, list[_Call]] = {}  # by id: those of the latest step that has it
        self._steps: list[list[_Call]] = []
        self._noted: set[tuple[int, Item]] = set()
        self._answers = 0
        self.in_step = False  # whether the last thing said was the model's

    def prompt(self, index: int | None, role: str, parts: list[Part]) -> None:
        """A system prompt in front; one that comes later is a message as any other."""
        message = {"role": "system", "parts": parts}
        if index is None:
            self._system.append(Prompt(None, role, message))
        else:
            self.take(index, role, message)

    def user(self, index: int, role: str, parts: list[Part]) -> None:
        self.take(index, role, {"role": "user", "parts": parts})

    def take(self, index: int, role: str, message: UIMessage) -> None:
        """A whole message. What the user says after somebody else begins a turn."""
        if message["role"] == "system" and not self._turns:
            self._system.append(Prompt(index, role, message))
            return
        after_user = self._turns and self._turns[-1].messages[-1]["role"] == "user"
        if not self._turns or (message["role"] == "user" and not after_user):
            self._turns.append(TurnIn([], [], []))
        self._turns[-1].messages.append(message)
        self.note(index, role)
        self._running = None
        self.in_step = False

    def step(self, index: int, role: str) -> None:
        """The model is called (again); what it says is given to `add` and `call`."""
        if self._running is None:
            message: UIMessage = {"role": "assistant", "parts": []}
            self.take(index, role, message)
            self._running = message
        else:
            self.note(index, role)
        self._running["parts"].append({"type": "step-start"})
        self._steps.append([])
        self.in_step = True

    def note(self, index: int, role: str) -> None:
        """This item, too, is in the message that grows."""
        self._note(self._turns[-1], Item(index, role, len(self._turns[-1].messages) - 1))

    def add(self, part: Part) -> None:
        assert self._running is not None
        self._running["parts"].append(part)

    def call(self, part: Part, key: Any = None) -> None:
        """A call that may be answered by its key, which is its id where it has one."""
        self.add(part)
        call = _Call(part, self._turns[-1], len(self._steps))
        key = part["toolCallId"] if key is None else key
        known = self._calls.get(key, [])
        self._calls[key] = [*known, call] if known and known[0].step == call.step else [call]
        self._steps[-1].append(call)

    def answer(self, index: int, role: str, key: Any, native: Any = None) -> Part | None:
        """The call that this result answers. Without one there is None, and `native` gets a message of its own."""
        call = next((call for call in self._calls.get(key, ()) if call.answer is None), None)
        if call is None:
            if native is not None:
                self.take(index, role, {"role": "assistant", "parts": [{"type": ORPHAN, "data": native}]})
            return None
        self._answers += 1
        call.answer = self._answers
        self.in_step = False
        self._note(call.turn, Item(index, role, call.message_index))
        return call.part

    def lose(self, index: int, path: str, what: str) -> None:
        self._homeless.append(Homeless(index, path, what))

    def lose_keys(self, index: int, keys: Iterable[str], prefix: str = "") -> None:
        for key in keys:
            self.lose(index, f"{prefix}{key}", "no place for it in a message")

    def done(self) -> Conversation:
        for calls in self._steps:
            self._keep_order([call for call in calls if call.answer and not call.part.get("providerExecuted")])
        turn_of = {item.index: turn for turn in reversed(self._turns) for item in turn.items}
        outside: list[Homeless] = []
        for homeless in self._homeless:
            (turn_of[homeless.index].homeless if homeless.index in turn_of else outside).append(homeless)
        return Conversation(self._system, self._turns, outside)

    def _keep_order(self, calls: list[_Call]) -> None:
        answers = sorted(call.answer or 0 for call in calls)
        if answers != [call.answer for call in calls]:
            for call in calls:
                self._marks.mark(call.part, RESULT, order=answers.index(call.answer or 0))

    def _note(self, turn: TurnIn, item: Item) -> None:
        if (id(turn), item) not in self._noted:
            self._noted.add((id(turn), item))
            turn.items.append(item)
