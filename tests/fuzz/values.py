"""Hostile values of every type: what a caller may hand over by mistake, by malice, or from a program with a bug.

Each is made when it is asked for, so that nobody meets a generator which somebody else has emptied.
"""

from __future__ import annotations

import enum
import io
import random
from collections import OrderedDict, UserDict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import UNSET, Raw

from palaver import BadValue
from palaver.aisdk.chunks import KINDS
from palaver.base import ids

Make = Callable[[], Any]


class Own(Exception):
    """Raised by a caller's own object; it may come out as it is."""


class Text(str):
    pass


class Number(int):
    pass


class Words(dict[str, Any]):
    pass


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 7


class Sulking:
    """Answers nothing that it is asked."""

    def _refuse(self, *_: Any) -> Any:
        raise Own("ask somebody else")

    __iter__ = __len__ = __str__ = __bool__ = __getitem__ = __eq__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "Sulking()"


def nested(depth: int, *, inside: Any = 0, of: type = list) -> Any:
    value = inside
    for _ in range(depth):
        value = [value] if of is list else {"k": value}
    return value


def cyclic(*, of: type = list, times: int = 1) -> Any:
    if of is dict:
        ring: dict[str, Any] = {}
        ring |= {f"k{n}": ring for n in range(times)}
        return ring
    loop: list[Any] = []
    loop.extend(loop for _ in range(times))
    return loop


def failing() -> Iterator[Any]:
    yield "said"
    raise Own("the stream broke")


NUMBERS: list[Any] = [
    0, 1, -1, 7, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 2**70, -(2**63), -(2**63) - 1,
    10**400, 10**5_000,
    float("nan"), float("inf"), float("-inf"), 1e308, -0.0, 5e-324, 0.5, 1e18, True, False,
    Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), Fraction(1, 3), 1j, Number(3), Level.HIGH,
]  # fmt: skip

TEXTS: list[Make] = [
    *(
        (lambda text=text: text)
        for text in (
            "", " ", "\n", "\t x", "\0", "a\0b", "\x1b[31m", "\x7f", "\x85", "\ud83d", "\udc00x", "x\ud800y",
            "\u202e", "\ufeff", "\u2028", "e\u0301", "😀", "../..", "/dev/null", "~", "'; DROP TABLE turns; --", '"',
            "%s", "%", "_", "{}", "[]", "null", "true", "0", "-1", "7", "1e400", "nan", "yesterday", "@", "@~1",
            "@{1}", "#", "HEAD", "*", "**", "[", "[!", "ses_", "ses_0", "trn_x", "msg_" + "0" * 26,
            "data-compaction", "tool-", "dynamic-tool", "text", "default", "allow", "full", "live", "chunk",
            "normal", ":memory:", "file:x?mode=ro", "mysql://x", "{\"type\":", "\\u0000", "\\", "\r\n", "Bearer x",
            "system", "tool", "completed", "waiting", "updated", "Y3JlYXRlZCAxIHg=", "Y3JlYXRlZCAxZTMgeA==",
        )
    ),
    lambda: ids.mint(ids.SESSION),
    lambda: ids.mint(ids.TURN),
    lambda: ids.mint(ids.MESSAGE),
    lambda: ids.mint(ids.PART),
    lambda: "x" * 5_000,
    lambda: "\u202e" * 3_000,
    lambda: Text("said"),
    lambda: Colour.RED,
]  # fmt: skip

BYTES: list[Make] = [
    lambda: b"",
    lambda: b"\xff\xfe",
    lambda: b"{}",
    lambda: b'{"role":"user"}',
    lambda: b'{"role":"user","content":"\xff"}',
    lambda: b'{"role":"user","content":"said"}',
    lambda: b'{"type":"start","type":"finish"}',
    lambda: bytearray(b"{}"),
    lambda: memoryview(b"abc"),
    lambda: Raw(b""),
    lambda: Raw(b"{"),
    lambda: Raw(b"\xff"),
    lambda: Raw(b"nan"),
    lambda: Raw(b"[1,]"),
    lambda: Raw(b'"\\ud800"'),
    lambda: Raw(b"{} {}"),
    lambda: Raw(b"1e999"),
    lambda: Raw(b'{"a":1,"a":2}'),
    lambda: Raw(b" { } "),
    lambda: Raw(b"[" * 1_200 + b"]" * 1_200),
    lambda: Raw(),
]

CONTAINERS: list[Make] = [
    list,
    dict,
    tuple,
    set,
    lambda: [None],
    lambda: [[]],
    lambda: ["", 0, None],
    lambda: {"a", 1},
    lambda: frozenset(("x",)),
    lambda: {1: 2},
    lambda: {None: None},
    lambda: {"\ud800": "\0"},
    lambda: {"": {}},
    lambda: {"id": 5},
    lambda: {"id": "x"},
    lambda: {"type": "text"},
    lambda: {"source": "webhook"},
    lambda: {"hidden_at": 1},
    lambda: {"queued_at": None},
    lambda: {"deleted_at": 1},
    lambda: (n for n in range(3)),
    lambda: iter(()),
    failing,
    lambda: range(3),
    lambda: map(str, [1]),
    lambda: Words(a=1),
    lambda: OrderedDict(a=1),
    lambda: MappingProxyType({"type": "start"}),
    lambda: UserDict({"type": "start"}),
    lambda: nested(999),
    lambda: nested(1_001),
    lambda: nested(999, of=dict),
    lambda: nested(1_001, of=dict),
    lambda: cyclic(),
    lambda: cyclic(of=dict),
    lambda: cyclic(times=2),
    lambda: cyclic(of=dict, times=2),
    lambda: [float("nan")],
    lambda: {"x": float("inf")},
    lambda: [2**70, 1.0, True],
    lambda: [object()],
    lambda: {"x": b"bytes"},
]

OBJECTS: list[Make] = [
    lambda: None,
    lambda: UNSET,
    lambda: ...,
    lambda: NotImplemented,
    object,
    Sulking,
    lambda: Sulking,
    lambda: int,
    lambda: len,
    lambda: lambda: None,
    lambda: BadValue("said"),
    lambda: KeyError,
    lambda: Path("nowhere"),
    lambda: Path(".."),
    lambda: datetime(2024, 1, 1),
    lambda: datetime.min,
    lambda: datetime.max,
    lambda: datetime.min.replace(tzinfo=UTC),
    lambda: datetime.max.replace(tzinfo=UTC),
    lambda: datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    lambda: datetime(1900, 1, 1, tzinfo=UTC),
    lambda: datetime.now(UTC),
    lambda: date(2024, 1, 1),
    lambda: timedelta(1),
    io.BytesIO,
    io.StringIO,
    lambda: io.BytesIO(b'{"palaver":"export","version":1,"schema":1}\n'),
    lambda: random.Random(1),
]

LARGE: list[Make] = [
    lambda: "x" * (1 << 20),
    lambda: "\ud800" * 100_000,
    lambda: {"k" * 100_000: "v" * 100_000},
    lambda: list(range(20_000)),
    lambda: nested(100_000),
    lambda: nested(100_000, of=dict),
    lambda: Raw(b"[" * 100_000),
    lambda: b'{"role":"user","content":"' + b"y" * (1 << 20) + b'"}',
]

KINDS_OF_VALUE: list[tuple[float, list[Make]]] = [
    (4, [(lambda number=number: number) for number in NUMBERS]),
    (5, TEXTS),
    (2, BYTES),
    (3, CONTAINERS),
    (2, OBJECTS),
    (0.2, LARGE),
]


def every() -> list[Any]:
    """One of each."""
    return [make() for _, makes in KINDS_OF_VALUE for make in makes]


_NESTED = [make for make in CONTAINERS if isinstance(make(), list | dict)] + [
    *((lambda depth=depth: nested(depth)) for depth in range(994, 1_000)),
    *((lambda depth=depth: nested(depth, of=dict)) for depth in range(994, 1_000)),
    lambda: {"a": [1, 2.5, None, {"b": "\0\ud800"}]},
    lambda: [2**64, -(2**70), 1e-320],
    lambda: Raw(b'{"n": 1.10, "n": 2, "s": "\\ud800\\u0000"}'),
    lambda: Raw(b"123456789012345678901234567890"),
]
_LIKE: dict[type, list[Make]] = {
    str: [*TEXTS, *(make for make in LARGE if isinstance(make(), str))],
    int: [(lambda number=number: number) for number in NUMBERS if isinstance(number, int)],
    float: [(lambda number=number: number) for number in NUMBERS],
    dict: _NESTED,
    list: _NESTED,
}


def hostile(rng: random.Random, like: Any = None) -> Any:
    """Any of them; mostly of the type that is wanted, which gets further."""
    if type(like) in _LIKE and rng.random() < 0.75:
        return rng.choice(_LIKE[type(like)])()
    (makes,) = rng.choices([makes for _, makes in KINDS_OF_VALUE], [weight for weight, _ in KINDS_OF_VALUE])
    return rng.choice(makes)()


# ---------------------------------------------------------------- plausible, with one thing wrong


def chunk(rng: random.Random) -> dict[str, Any]:
    """A chunk of any known kind, with the fields it may have; ids are few, so that chunks meet."""
    kind = rng.choice(list(KINDS))
    fields = KINDS[kind].required + tuple(f for f in KINDS[kind].optional if rng.random() < 0.3)
    named = "data-" + rng.choice("xy") if kind == "data-*" else kind
    return {"type": named, **{field: _field(rng, field) for field in fields}}


def _field(rng: random.Random, field: str) -> Any:
    if field in ("id", "toolCallId", "approvalId", "sourceId", "messageId"):
        return rng.choice(("t", "u", "c1"))
    if field in ("providerExecuted", "dynamic", "transient", "preliminary"):
        return rng.random() < 0.5
    if field in ("providerMetadata", "toolMetadata", "messageMetadata", "input", "output", "data", "inputSchemaInput"):
        return rng.choice(({}, {"p": {"q": 1}}, {"p": {"q": [1, "x"]}, "r": None}))
    if field == "inputTextDelta":
        return rng.choice(('{"a"', ":[1", "]}", '"x'))
    return {"finishReason": "stop", "inputEncoding": "json", "toolName": "look"}.get(field, "said ")


def text_part(rng: random.Random) -> dict[str, Any]:
    return {"type": "text", "text": rng.choice(("Hello.", "", "é", "two\nlines"))}


def tool_part(rng: random.Random) -> dict[str, Any]:
    state = rng.choice(("input-streaming", "input-available", "output-available", "output-error", "approval-requested"))
    part = {"type": "tool-look", "toolCallId": rng.choice(("c1", "c2")), "state": state, "input": {"a": 1}}
    more = {
        "output-available": {"output": {"found": [1, 2]}},
        "output-error": {"errorText": "none"},
        "approval-requested": {"approval": {"id": "may-1"}},
    }
    return part | more.get(state, {})


def message(rng: random.Random) -> Any:
    """What a caller says: a text, a dict, or JSON bytes."""
    form = rng.random()
    if form < 0.25:
        return rng.choice(("Hello?", "What is this?", "é\n\n"))
    if form < 0.35:
        return b'{"role":"user","parts":[{"type":"text","text":"as bytes","n":1.10}],"metadata":{"k":[1.0]}}'
    role = rng.choice(("user", "user", "assistant", "system"))
    given: dict[str, Any] = {"role": role}
    if rng.random() < 0.3:
        given["content"] = "said"
    else:
        more = [tool_part(rng)] if role == "assistant" and rng.random() < 0.5 else []
        given["parts"] = [text_part(rng), *more]
    if rng.random() < 0.4:
        given["metadata"] = {"k": {"deep": [1, {"er": None}]}}
        if rng.random() < 0.5:
            given["metadata"] = {"usage": {"input": 5, "output": 7}}
    if rng.random() < 0.3:
        given["id"] = rng.choice(("client-1", "client-2", "client-3"))
    return given


def spoilt(rng: random.Random, value: Any) -> Any:
    """The same with one thing wrong somewhere inside: replaced, added, or left out."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        what = rng.random()
        if what < 0.75:
            return value | {key: spoilt(rng, value[key])}
        if what < 0.9:
            return {name: inner for name, inner in value.items() if name != key}
        return value | {rng.choice(("extra", "id", "state", "metadata", "approval")): hostile(rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = rng.randrange(len(value))
        return [spoilt(rng, inner) if n == place else inner for n, inner in enumerate(value)]
    return hostile(rng, like=value)
