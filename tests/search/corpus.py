"""Texts and queries, made by chance from a number: few words, so that they meet; many scripts, so that they differ."""

from __future__ import annotations

from random import Random

from . import naive

WORDS = [
    *("the", "cat", "Cat", "error", "naïve", "naive", "Straße", "STRASSE", "foo", "bar", "2024", "50", "c", "s", "it"),
    *("getUserName", "HTTPServer2", "user", "name", "get", "server", "main", "src", "py", "über", "Ärger", "utf8"),
    *("ὁδός", "ΟΔΟΣ", "İstanbul", "ısparta", "ISPARTA", "привет", "Ёлка", "ёлка", "हिन्दी", "में", "مُحَمَّد", "محمد", "שָׁלוֹם"),
    *("日本", "日本語", "東京", "語", "ひらがな", "カタカナ", "ｶﾞﾗｽ", "ガラス", "한국어", "한국", "中文", "二〇二四年"),
    *("ภาษาไทย", "ที่", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာ", "Python入門", "入門Python", "e\u0301te\u0301", "été"),
    *("ﬁne", "fine", "K", "Å", "½", "ㅋㅋ", "a\u0338b"),
    *("ｆｕｌｌ", "full", "x" * 70, "x" * 64, "x" * 64 + "y", "می‌خواهم", "co\u00adop", "coop"),
]  # fmt: skip
JOINTS = [
    " ",
    " ",
    " ",
    " ",
    "_",
    "-",
    "/",
    ".",
    "++ ",
    "@",
    "'",
    "’",
    "% ",
    ", ",
    "\n",
    "\t\t",
    "👍",
    "",
    "、",
    "\u200b",
    ": ",
]
ENDS = ["", "", "", ".", "++", "%", "!", "👩‍💻", "。"]


def text(random: Random, words: int = 12) -> str:
    made = "".join(random.choice(WORDS) + random.choice(JOINTS) for _ in range(random.randrange(words)))
    return made + random.choice(ENDS)


def query(random: Random, depth: int = 2) -> str:
    """Something a person might type, or somebody who wants to hurt."""
    parts = [_part(random, depth) for _ in range(random.choice([1, 1, 2, 2, 3]))]
    return random.choice([" ", " ", " OR ", " AND ", " NOT "]).join(parts)


def _part(random: Random, depth: int) -> str:
    kind = random.randrange(12)
    if kind < 3:
        return random.choice(WORDS)
    if kind < 5:
        return _phrase(random, random.choice(['"', '"', ""]))
    if kind == 5:
        return _cut(random, random.choice(WORDS)) + "*"
    if kind == 6:
        return _cut(random, random.choice(["日本語", "東京", "ภาษาไทย", "한국어", "မြန်မာ", "ひらがな", "入門Python"]))
    if kind == 7:
        return random.choice(
            ["C++", "it's", "50%", "src/main.py", "foo_bar", "user@name", "👍", "++", "foo-ba*", "get.user"]
        )
    if kind == 8 and depth:
        return f"({query(random, depth - 1)})"
    if kind == 9:
        return random.choice(["-", "NOT "]) + _part(random, depth)
    return _phrase(random, "").strip() or "cat"


def _phrase(random: Random, quote: str) -> str:
    words = "".join(random.choice(WORDS) + random.choice(JOINTS[: 20 if quote else 11]) for _ in range(2))
    return quote + words + random.choice(WORDS) + quote + random.choice(["", "", "*"])


def _cut(random: Random, word: str) -> str:
    start = random.randrange(len(word))
    return word[start : start + random.randrange(1, 4)]


def term(random: Random) -> tuple[str, bool]:
    """What may stand between quotes, and whether a star follows."""
    typed = random.choice(WORDS)
    if random.random() < 0.5:
        typed += random.choice(JOINTS) + random.choice(WORDS)
    if random.random() < 0.4:
        start = random.randrange(len(typed))
        typed = typed[start : start + random.randrange(1, 6)]
    return (typed, random.random() < 0.3) if naive.fold(typed) else ("cat", False)
