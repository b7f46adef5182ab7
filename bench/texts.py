"""What is searched, seeded: prose, code, output of tools, Chinese and Japanese, Thai, as agents' sessions have them.

A message has some 200 characters, mostly fewer, now and then many more. Every thousandth has a rare word in it. A
session is made from its number alone, so every column makes the same ones by itself.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from .corpus import vocabulary

PER_SESSION = 200
RARE, RARE_EVERY = "zephyrine", 1_000
SUBSTRING = "数据库"  # inside of runs, never between spaces
SHARES = {"prose": 45, "code": 23, "output": 22, "han": 8, "thai": 2}
_LENGTH = 150  # characters of most kinds on average, before what is added
_LEVELS = ("INFO", "DEBUG", "WARNING", "ERROR")
_FOLDERS = ("src", "tests", "docs", "server", "client", "core", "db", "cli", "build", "tools")


def session(number: int, count: int = PER_SESSION) -> list[dict[str, Any]]:
    """Questions and answers in turn."""
    made = Text(number)
    found = [made.message(at) for at in range(count)]
    if number % (RARE_EVERY // PER_SESSION) == 0:
        found[number % count]["parts"].append({"type": "text", "text": f"see {RARE} for more"})
    return found


def sessions(count: int) -> Iterator[list[dict[str, Any]]]:
    """So many messages."""
    return (session(at // PER_SESSION, min(PER_SESSION, count - at)) for at in range(0, count, PER_SESSION))


def searched(messages: list[dict[str, Any]]) -> list[str]:
    """The texts of their documents: what a plain index is given."""
    from palaver.search.documents import documents

    return [
        document.text
        for message in messages
        for document in documents(message["role"], [(None, part) for part in message["parts"]])
    ]


class Text:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.kinds: dict[str, Callable[[int], str]] = {
            "prose": self.prose,
            "code": self.code,
            "output": self.output,
            "han": self.han,
            "thai": self.thai,
        }

    def message(self, at: int) -> dict[str, Any]:
        (kind,) = self.rng.choices(list(SHARES), weights=list(SHARES.values()))
        text = self.kinds[kind](max(15, int(self.rng.expovariate(1 / _LENGTH))))
        if kind != "output":
            return {"role": "assistant" if at % 2 else "user", "parts": [{"type": "text", "text": text}]}
        called = {"toolCallId": f"call_{at}", "state": "output-available", "input": {"command": self.path()}}
        return {"role": "assistant", "parts": [{"type": "tool-bash", **called, "output": text}]}

    def prose(self, length: int) -> str:
        words = self.words(length // 6 + 1)
        for at in range(9, len(words), 11):
            words[at] += self.rng.choice([".", ",", ".\n", "?", ":"])
        return " ".join(words)

    def code(self, length: int) -> str:
        return self.lines(length, self.line_of_code)

    def output(self, length: int) -> str:
        return self.lines(length, self.line_of_output)

    def han(self, length: int) -> str:
        words, weights = han_words()
        text = "".join(self.rng.choices(words, cum_weights=weights, k=length // 2 + 1))
        return "，".join(text[at : at + 17] for at in range(0, len(text), 17)) + "。"

    def thai(self, length: int) -> str:
        words, weights = thai_words()
        return " ".join("".join(self.rng.choices(words, cum_weights=weights, k=5)) for _ in range(length // 21 + 1))

    # ------------------------------------------------------------ pieces of them

    def words(self, count: int) -> list[str]:
        known, weights = vocabulary()
        return self.rng.choices(known, cum_weights=weights, k=count)

    def lines(self, length: int, line: Callable[[], str]) -> str:
        made = [line()]
        while length > sum(map(len, made)):
            made.append(line())
        return "\n".join(made)

    def line_of_code(self) -> str:
        known, weights = names()
        a, b, c, d = self.rng.choices(known, cum_weights=weights, k=4)
        return self.rng.choice(
            (
                f"def {a}(self, {b}: {c}) -> None:",
                f"    {a} = self.{b}.{c}({d}, {self.rng.randrange(100)})",
                f"    if {a}.{b} != {c!r}:",
                f"    return {a}({b}={c})  # {' '.join(self.words(5))}",
            )
        )

    def line_of_output(self) -> str:
        clock = f"{self.rng.randrange(24):02}:{self.rng.randrange(60):02}:{self.rng.randrange(60):02}"
        return self.rng.choice(
            (
                f"2026-03-{self.rng.randrange(1, 29):02} {clock} {self.rng.choice(_LEVELS)} {' '.join(self.words(6))}",
                f"{self.path()}:{self.rng.randrange(900)}: {' '.join(self.words(5))}",
                f"{self.rng.getrandbits(28):07x} {' '.join(self.words(5))}",
                f"-rw-r--r-- 1 root root {self.rng.randrange(90_000):>6} Mar 12 {clock[:5]} {self.path()}",
            )
        )

    def path(self) -> str:
        known, weights = paths()
        return self.rng.choices(known, cum_weights=weights)[0]


@cache
def names(size: int = 8_000) -> tuple[list[str], list[float]]:
    """Identifiers: a word, two with an underscore, or several with capitals."""
    rng = random.Random(17)
    known, weights = vocabulary()
    made = []
    for at in range(size):
        a, b, c = rng.choices(known, cum_weights=weights, k=3)
        made.append((a, f"{a}_{b}", a + b.title() + c.title(), a.title() + b.title())[at % 4])
    return made, _zipf(size)


@cache
def paths(size: int = 3_000) -> tuple[list[str], list[float]]:
    rng = random.Random(19)
    known, weights = vocabulary()
    made = [
        "/".join([*rng.sample(_FOLDERS, 2), "_".join(rng.choices(known, cum_weights=weights, k=2))]) + ".py"
        for _ in range(size)
    ]
    return made, _zipf(size)


@cache
def han_words(size: int = 6_000) -> tuple[list[str], list[float]]:
    """Two thirds Chinese, one third Japanese: a word of it goes on with kana."""
    rng = random.Random(11)
    often = [chr(rng.randrange(0x4E00, 0x9FA0)) for _ in range(1_800)]
    kana = [chr(code) for code in range(0x3042, 0x308F)]
    words = [
        "".join(rng.choices(often, k=rng.choice((1, 2, 2, 2, 3))))
        + ("".join(rng.choices(kana, k=2)) if at % 3 == 0 else "")
        for at in range(size)
    ]
    words[40] = SUBSTRING
    return words, _zipf(size)


@cache
def thai_words(size: int = 2_000) -> tuple[list[str], list[float]]:
    rng = random.Random(13)
    consonants = [chr(code) for code in range(0x0E01, 0x0E2F)]
    vowels = ["", "า", "ี", "ุ", "ิ", "ู", "่า", "้อ", "ั"]
    words = [
        "".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.randint(1, 4))) for _ in range(size)
    ]
    return words, _zipf(size)


def _zipf(size: int) -> list[float]:
    return list(itertools.accumulate(1 / (at + 3) for at in range(size)))
