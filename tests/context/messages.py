"""UIMessages: by hand one of every kind of part and state, and as many random ones as are wanted."""

from __future__ import annotations

import itertools
import random
from typing import Any

Part = dict[str, Any]
Message = dict[str, Any]

META = {"openai": {"itemId": "rs_1"}}
MORE_META = {"anthropic": {"signature": "abc"}}
STEP = {"type": "step-start"}


def said(role: str, *parts: Part, **more: Any) -> Message:
    return {"id": "m", "role": role, "parts": list(parts), **more}


def text(words: str = "hello", **more: Any) -> Part:
    return {"type": "text", "text": words, **more}


def static(state: str, call: str = "c1", name: str = "bash", **more: Any) -> Part:
    return {"type": f"tool-{name}", "toolCallId": call, "state": state, **more}


def dynamic(state: str, call: str = "c1", name: str = "search", **more: Any) -> Part:
    return {"type": "dynamic-tool", "toolName": name, "toolCallId": call, "state": state, **more}


# ---------------------------------------------------------------- by hand

GIVEN = {"input": {"command": "ls"}}
ASKED = {"approval": {"id": "a1"}}
YES = {"approval": {"id": "a1", "approved": True}}
YES_BECAUSE = {"approval": {"id": "a1", "approved": True, "reason": "it is safe"}}
NO = {"approval": {"id": "a1", "approved": False}}
NO_BECAUSE = {"approval": {"id": "a1", "approved": False, "reason": "too dangerous"}}
NO_WITHOUT_WORDS = {"approval": {"id": "a1", "approved": False, "reason": ""}}
SIGNED = {"approval": {"id": "a1", "signature": "s3cret", "inputSchemaInput": {"command": "ls -l"}}}

FIELDS: dict[str, tuple[str, Part]] = {
    "the input streams": ("input-streaming", {"input": {"com": "l"}}),
    "the input streams, nothing of it yet": ("input-streaming", {}),
    "the input is there": ("input-available", GIVEN),
    "the input is null": ("input-available", {"input": None}),
    "the input is a text": ("input-available", {"input": "ls"}),
    "approval is asked": ("approval-requested", GIVEN | ASKED),
    "a signed approval is asked": ("approval-requested", GIVEN | SIGNED),
    "approval is given": ("approval-responded", GIVEN | YES),
    "approval is given with a reason": ("approval-responded", GIVEN | YES_BECAUSE),
    "approval is refused": ("approval-responded", GIVEN | NO),
    "approval is refused with a reason": ("approval-responded", GIVEN | NO_BECAUSE),
    "the output is a text": ("output-available", GIVEN | {"output": "total 0"}),
    "the output is an empty text": ("output-available", GIVEN | {"output": ""}),
    "the output is an object": ("output-available", GIVEN | {"output": {"files": []}}),
    "the output is null": ("output-available", GIVEN | {"output": None}),
    "the output is a number": ("output-available", GIVEN | {"output": 0}),
    "the output is missing": ("output-available", GIVEN),
    "the output is a first one": ("output-available", GIVEN | {"output": "…", "preliminary": True}),
    "the output came after approval": ("output-available", GIVEN | YES | {"output": "ok"}),
    "the output came after approval with a reason": ("output-available", GIVEN | YES_BECAUSE | {"output": "ok"}),
    "it failed": ("output-error", GIVEN | {"errorText": "no such file"}),
    "it failed without a word": ("output-error", GIVEN | {"errorText": ""}),
    "it failed on raw input": ("output-error", {"rawInput": '{"com', "errorText": "not JSON"}),
    "it failed on null and raw input": ("output-error", {"input": None, "rawInput": "{", "errorText": "not JSON"}),
    "it failed on input and raw input": ("output-error", GIVEN | {"rawInput": "{", "errorText": "not JSON"}),
    "it failed without any input": ("output-error", {"errorText": "not JSON"}),
    "it failed after approval": ("output-error", GIVEN | YES | {"errorText": "no"}),
    "it was denied": ("output-denied", GIVEN | NO),
    "it was denied with a reason": ("output-denied", GIVEN | NO_BECAUSE),
    "it was denied with an empty reason": ("output-denied", GIVEN | NO_WITHOUT_WORDS),
}
EXTRAS: dict[str, Part] = {
    "": {},
    ", by the provider": {"providerExecuted": True},
    ", not by the provider": {"providerExecuted": False},
    ", with metadata of the call": {"callProviderMetadata": META},
    ", with metadata of the result": {"resultProviderMetadata": MORE_META},
    ", by the provider, with metadata of the call": {"providerExecuted": True, "callProviderMetadata": META},
    ", by the provider, with metadata of both": {
        "providerExecuted": True,
        "callProviderMetadata": META,
        "resultProviderMetadata": MORE_META,
    },
    ", with a title": {"title": "List files"},
}


def tool_cases() -> dict[str, list[Message]]:
    cases = {}
    for (name, (state, fields)), (extra, more) in itertools.product(FIELDS.items(), EXTRAS.items()):
        cases[f"static: {name}{extra}"] = [said("assistant", STEP, static(state, **fields, **more))]
        cases[f"dynamic: {name}{extra}"] = [said("assistant", STEP, dynamic(state, **fields, **more))]
    return cases


DONE = {"input": {}, "output": "ok"}
FILE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}
NAMED = FILE | {"filename": "a.png"}
SOURCE = {"type": "source-url", "sourceId": "s1", "url": "https://example.org", "title": "Example"}
DOCUMENT = {"type": "source-document", "sourceId": "s2", "mediaType": "application/pdf", "title": "Paper"}
DATA = {"type": "data-weather", "id": "d1", "data": {"degrees": 21}}
THOUGHT = {"type": "reasoning", "text": "Let me think.", "state": "done"}

PLAIN_CASES: dict[str, list[Message]] = {
    "nothing": [],
    "a question": [said("user", text())],
    "a question with metadata of the message": [said("user", text(), metadata={"model": {"model_id": "m"}})],
    "a question with metadata of the provider": [said("user", text(providerMetadata=META))],
    "a question with empty metadata": [said("user", text(providerMetadata={}))],
    "a question of two texts": [said("user", text("one"), text("two"))],
    "a question with a file": [said("user", text(), FILE)],
    "a question with a named file": [said("user", NAMED | {"providerMetadata": META})],
    "a question with an empty file name": [said("user", FILE | {"filename": ""})],
    "a question with data": [said("user", DATA, text())],
    "a question of data alone": [said("user", DATA)],
    "a question with a source": [said("user", text(), SOURCE)],
    "a question without parts": [said("user")],
    "a system text": [said("system", text("Be kind."))],
    "a system prompt of several texts": [said("system", text("Be kind. "), text("Be brief."))],
    "a system prompt with metadata": [
        said("system", text("a", providerMetadata=META), text("b", providerMetadata=MORE_META))
    ],
    "a system prompt whose metadata collide": [
        said("system", text("a", providerMetadata={"x": {"a": 1}}), text("b", providerMetadata={"x": {"b": 2}}))
    ],
    "a system prompt with empty metadata": [said("system", text("a", providerMetadata={}))],
    "a system prompt with other parts": [said("system", text("a"), DATA, FILE)],
    "a system prompt without parts": [said("system")],
    "an empty text": [said("assistant", text(""))],
    "an answer": [said("assistant", STEP, text(state="done"))],
    "an answer that still streams": [said("assistant", STEP, text(state="streaming"))],
    "an answer without a step": [said("assistant", text())],
    "an answer with metadata": [said("assistant", text(providerMetadata=META))],
    "an answer without parts": [said("assistant")],
    "steps and nothing in them": [said("assistant", STEP, STEP, STEP)],
    "a thought": [said("assistant", STEP, THOUGHT)],
    "a thought with metadata": [said("assistant", STEP, THOUGHT | {"providerMetadata": META}, text())],
    "an empty thought": [said("assistant", STEP, THOUGHT | {"text": ""})],
    "an answer with files": [said("assistant", FILE, NAMED, FILE | {"providerMetadata": META})],
    "an answer with sources": [said("assistant", STEP, text(), SOURCE, DOCUMENT)],
    "sources alone": [said("assistant", STEP, SOURCE, DOCUMENT)],
    "an answer with data": [said("assistant", STEP, DATA, text())],
    "data alone": [said("assistant", STEP, DATA)],
    "data, then another step": [said("assistant", STEP, DATA, STEP, text())],
    "a streaming call, then text": [said("assistant", STEP, static("input-streaming"), text())],
    "steps split calls": [
        said(
            "assistant",
            STEP,
            text("first"),
            static("output-available", "c1", **DONE),
            STEP,
            text("second"),
            static("output-error", "c2", input={}, errorText="no"),
            dynamic("output-available", "c3", **DONE),
            STEP,
            text("done"),
        )
    ],
    "no steps: calls and texts in one": [
        said("assistant", text("a"), static("output-available", **DONE), text("b"), static("output-available", "c2"))
    ],
    "a tool whose name has dashes": [said("assistant", static("output-available", name="read-file-now", **DONE))],
    "a tool whose name holds tool": [said("assistant", static("output-available", name="tool-x", **DONE))],
    "a tool with a short name": [said("assistant", static("output-available", name="", **DONE))],
    "a tool that is not there any more": [said("assistant", dynamic("output-available", dynamic=False, **DONE))],
    "a failed tool that is not there any more": [
        said("assistant", dynamic("output-error", dynamic=False, input={}, errorText="x"))
    ],
    "the provider ran one, we ran another": [
        said(
            "assistant",
            STEP,
            static("output-available", "c1", providerExecuted=True, **DONE),
            static("output-available", "c2", **DONE),
        )
    ],
    "a part of a kind to come": [said("assistant", STEP, {"type": "hologram", "beams": 3}, text())],
    "a conversation": [
        said("system", text("Be kind.")),
        said("user", text("one")),
        said("assistant", STEP, THOUGHT, text("two"), static("output-available", **DONE), STEP, text("three")),
        said("user", text("four"), NAMED),
        said("assistant", STEP, dynamic("output-denied", **NO_BECAUSE, input={}), STEP, SOURCE, text("five")),
    ],
}


# ---------------------------------------------------------------- at random


class Random:
    """Messages as they come in practice, and worse."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.calls = 0

    def talk(self) -> list[Message]:
        return [self.message() for _ in range(self.chance.randint(1, 6))]

    def message(self) -> Message:
        role = self.chance.choice(["user", "assistant", "assistant", "assistant", "system"])
        kinds = {"user": [self.text, self.file, self.other], "system": [self.text], "assistant": self.everything()}
        parts = [self.chance.choice(kinds[role])() for _ in range(self.chance.randint(0, 9))]
        return said(role, *parts)

    def everything(self) -> list[Any]:
        return [self.text, self.thought, self.file, self.other, self.step, self.step, self.tool, self.tool, self.tool]

    def text(self) -> Part:
        return text(self.words()) | self.meta("providerMetadata")

    def thought(self) -> Part:
        return {"type": "reasoning", "text": self.words()} | self.meta("providerMetadata")

    def file(self) -> Part:
        return self.chance.choice([FILE, NAMED]) | self.meta("providerMetadata")

    def other(self) -> Part:
        return self.chance.choice([SOURCE, DOCUMENT, DATA])

    def step(self) -> Part:
        return STEP

    def tool(self) -> Part:
        self.calls += 1
        state, fields = self.chance.choice(list(FIELDS.values()))
        by = {"providerExecuted": self.chance.choice([True, False])} if self.chance.random() < 0.3 else {}
        made = self.chance.choice([static, dynamic])
        more = by | self.meta("callProviderMetadata") | self.meta("resultProviderMetadata")
        return made(state, f"c{self.calls}", **fields, **more)

    def meta(self, key: str) -> Part:
        return {key: self.chance.choice([META, MORE_META, {}])} if self.chance.random() < 0.3 else {}

    def words(self) -> str:
        return self.chance.choice(["", "a", "Grüße 🌍", "two\nlines", '"quoted"', "\u2028", "x" * 200])
