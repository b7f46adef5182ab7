"""Row 18 of the promise ledger: a part is kept whole. What was given as JSON text comes back with its very bytes."""

from __future__ import annotations

import json
import random
from typing import Any

import palaver

from ..tools.planting import broken_by
from ..tools.sql import column


@broken_by("parts_are_encoded_again")
def test_promise_018_ten_thousand_parts_come_back_byte_for_byte(store: palaver.Store) -> None:
    dice = _dice()
    session = store.sessions.create("a")
    given = [_part(dice) for _ in range(10_000)]
    for start in range(0, len(given), 500):
        message = '{"role":"assistant","parts":[' + ",".join(given[start : start + 500]) + "]}"
        session.commit([message.encode()])
    order = (
        "SELECT p.data_json FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id"
        ' ORDER BY m.created_at, p."index"'
    )
    assert column(store.path, order) == given
    assert _exact(session.messages_json(), "parts") == [_exactly(part) for part in given]


def test_promise_018_what_streams_in_keeps_its_bytes(store: palaver.Store) -> None:
    dice = _dice()
    session = store.sessions.create("a")
    values = [f"[{_value(dice, 4)}, 1.10]" for _ in range(500)]
    with session.turn("q") as turn:
        for place, value in enumerate(values):
            turn.write(f'{{"type":"data-x","id":"{place}","data":{value}}}')
    stored = column(
        store.path, 'SELECT data_json FROM chat_parts WHERE message_id = ? ORDER BY "index"', turn.message_id
    )
    assert stored == [f'{{"type":"data-x","id":"{n}","data":{value}}}' for n, value in enumerate(values)]


def _dice() -> random.Random:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


def _part(dice: random.Random) -> str:
    call_id = dice.randrange(10**6)
    return dice.choice(
        (
            f'{{ "type":"text","text":{_text(dice)}}}',
            f'{{"type" : "data-{dice.choice("xyz")}", "data":{_value(dice, 4)}}}',
            f'{{"future":{_value(dice, 3)},"type":"media-{dice.choice("ab")}"}}',
            f'{{"type":"tool-f","toolCallId":"{call_id}","state":"output-available","input":{_value(dice, 3)},'
            f'"output":{_value(dice, 3)}}}',
        )
    )


NUMBERS = (
    "0",
    "-0",
    "-0.0",
    "1.10",
    "1e5",
    "1E+2",
    "12345678901234567890123",
    "0.1000000000000000055",
    "5e-324",
    "1.0",
)
TEXTS = (
    '""',
    '"\\u0000"',
    '"\\ud800"',
    '"\\uDC00x"',
    '"é\\u00e9"',
    '"\\/"',
    '"😀"',
    '"\\ud83d\\ude00"',
    '"\u2028"',
    '"\x7f"',
)


def _text(dice: random.Random) -> str:
    return dice.choice((*TEXTS, json.dumps("".join(chr(dice.randrange(32, 500)) for _ in range(dice.randrange(9))))))


def _value(dice: random.Random, depth: int) -> str:
    kind = dice.randrange(6 if depth else 4)
    if kind == 4:
        return (
            "[" + dice.choice((",", " , ", ",\n")).join(_value(dice, depth - 1) for _ in range(dice.randrange(4))) + "]"
        )
    if kind == 5:
        pairs = (f"{_text(dice)}:{_value(dice, depth - 1)}" for _ in range(dice.randrange(4)))
        return "{" + ",".join(pairs) + " }"
    return dice.choice(NUMBERS) if kind == 0 else _text(dice) if kind < 3 else dice.choice(("true", "false", "null"))


def _exactly(text: str) -> Any:
    """JSON with nothing rounded, no key dropped and no order lost."""
    return json.loads(text, parse_float=str, parse_int=str, object_pairs_hook=tuple)


def _exact(text: str, key: str) -> list[Any]:
    return [part for message in _exactly(text) for part in dict(message)[key]]
