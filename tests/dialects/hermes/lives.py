"""Lives of two `SessionDB`s that are told the same, step by step, and must say the same."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest

from palaver.base import clock as palavers

from .support import DAY, MESSAGE_COLUMNS, SESSION_COLUMNS, call

WORDS = ["fox", "dog", "owl", "cat", "hen"]
NAMES = [f"{letter}{number}" for letter in "abc" for number in range(4)]
TITLES = ["T", "T #2", "T #3", "U", "100% u_p", "  T ", "", "x" * 101, "日本 🎉"]
SOURCES = ["cli", "telegram", "discord"]
REASONS = ["done", "user_exit", "compression", "compression"]
KEPT = {*SESSION_COLUMNS, "preview", "last_active", "_lineage_root_id", "messages"}


class Difference(AssertionError):
    """The two did not say the same."""


class Twins:
    """Ours and the witness, under one clock that stands still until it is turned."""

    def __init__(self, ours: Any, witness: Any, patch: pytest.MonkeyPatch, seed: int) -> None:
        self.ours, self.witness, self.chance = ours, witness, random.Random(seed)
        self.now = time.time()
        self.numbers: dict[int, int] = {}  # of a row at ours: at the witness
        self.told: list[str] = []
        patch.setattr(time, "time", lambda: self.now)
        patch.setattr(time, "time_ns", lambda: round(self.now * 1e9))
        patch.setattr(palavers, "_now_ns", lambda: round(self.now * 1e9))

    def live(self, steps: int) -> None:
        for step in range(steps):
            self.now += self.chance.choice([0.25, 1.0, 3.0, 600.0])
            self.chance.choice(STEPS)(self)
            self.compare_a_little()
            if step % 10 == 9 or step == steps - 1:
                self.compare()

    # ------------------------------------------------------------ what is told

    def both(self, method: str, *given: Any, **named: Any) -> tuple[Any, Any]:
        self.told.append(f"{method}{given}{named or ''}")
        return outcome(self.ours, method, given, named), outcome(self.witness, method, given, named)

    def tell(self, method: str, *given: Any, **named: Any) -> Any:
        """Both must answer the same."""
        mine, real = self.both(method, *given, **named)
        self.same(mine, real)
        return real

    def rows(self) -> list[dict[str, Any]]:
        return sorted(self.witness.search_sessions(limit=-1), key=lambda row: row["id"])

    def name(self) -> str:
        """Mostly that of a session that is there."""
        there = [row["id"] for row in self.rows()]
        return self.chance.choice(there) if there and self.chance.random() < 0.95 else self.chance.choice(NAMES)

    def text(self) -> str:
        words = " ".join(self.chance.choices(WORDS, k=self.chance.randrange(1, 12)))
        return self.chance.choice([words, words, words.replace(" ", "\n", 1), f"{words} 日本語 ünï"])

    # ------------------------------------------------------------ what is compared

    def same(self, mine: Any, real: Any, said: str = "") -> None:
        wrong = differing(mine, real)
        if wrong:
            raise Difference(f"{said or self.told[-1]}: {wrong}\nafter " + "\n      ".join(self.told[-12:]))

    def ask(self, method: str, *given: Any, tidy: Callable[[Any], Any] = lambda answer: answer, **named: Any) -> None:
        mine = outcome(self.ours, method, given, named)
        real = outcome(self.witness, method, given, named)
        self.same(tidy(self.renumbered(mine)), tidy(real), f"{method}{given}{named or ''}")

    def renumbered(self, answer: Any) -> Any:
        """With the numbers of the witness in place of ours."""
        if isinstance(answer, list):
            return [self.renumbered(item) for item in answer]
        if not isinstance(answer, dict):
            return answer
        answer = {key: self.renumbered(value) if key == "messages" else value for key, value in answer.items()}
        if isinstance(answer.get("id"), int):
            answer["id"] = self.numbers.get(answer["id"], f"unknown number {answer['id']}")
        return answer

    def compare_a_little(self) -> None:
        for name in self.chance.sample(NAMES, 2):
            self.ask("get_session", name, tidy=columns)
            self.ask("get_messages", name, tidy=columns)
        self.ask("message_count")
        self.ask("session_count")

    def compare(self) -> None:
        for name in NAMES:
            self.ask("export_session", name, tidy=columns)
            self.ask("get_messages_as_conversation", name, tidy=without_times)
            self.ask("get_compression_tip", name)
            self.ask("get_session_title", name)
            self.ask("message_count", name)
        for prefix in ("a", "b0", "c", "", "z"):
            self.ask("resolve_session_id", prefix)
        for title in TITLES:
            self.ask("get_session_by_title", title, tidy=columns)
            self.ask("resolve_session_by_title", title)
            self.ask("get_next_title_in_lineage", title)
        for how in (
            {}, {"include_children": True}, {"project_compression_tips": False}, {"limit": 2, "offset": 1},
            {"source": "cli"}, {"exclude_sources": ["cli", "discord"], "limit": 3},
        ):  # fmt: skip
            self.ask("list_sessions_rich", **how, tidy=columns)
        for source in (None, "cli"):
            self.ask("search_sessions", source=source, limit=100, tidy=by_id)
            self.ask("export_all", source=source, tidy=by_id)
            self.ask("session_count", source)
        for how in ({}, {"source_filter": ["cli"]}, {"exclude_sources": ["cli"]}, {"role_filter": ["user", "tool"]}):
            for query in (
                self.chance.choice(WORDS),
                " ".join(self.chance.sample(WORDS, 2)),
                "fox OR dog",
                "owl NOT hen",
            ):
                self.ask("search_messages", query, limit=1_000, **how, tidy=self.hits)

    def hits(self, hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """By number. The witness also searches calls, which then are in its snippets. Ours are on one line, and begin
        with what was thought."""
        for hit in hits:
            row = next(row for row in self.witness.get_messages(hit["session_id"]) if row["id"] == hit["id"])
            plain = isinstance(row["content"], str) and not (row["tool_calls"] or row["tool_name"] or row["reasoning"])
            hit["snippet"] = " ".join(hit["snippet"].split()) if plain else None
        return sorted(hits, key=lambda hit: hit["id"])


def outcome(db: Any, method: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What it answered, or the kind of error."""
    try:
        return getattr(db, method)(*given, **named)
    except ValueError:
        return "ValueError"
    except sqlite3.IntegrityError:
        return "IntegrityError"


def differing(mine: Any, real: Any, where: str = "") -> str | None:
    """Where and how they differ. Times may differ a little."""
    if isinstance(mine, float) and isinstance(real, float):
        return None if abs(mine - real) < 0.01 else f"{where}: {mine!r}, and really {real!r}"
    if type(mine) is not type(real):
        return f"{where}: {mine!r}, and really {real!r}"
    if isinstance(mine, list):
        if len(mine) != len(real):
            missing, extra = [item for item in real if item not in mine], [item for item in mine if item not in real]
            return f"{where}: {len(mine)} items, and really {len(real)}; missing {missing}, too many {extra}"
        pairs = [(f"{where}[{at}]", *pair) for at, pair in enumerate(zip(mine, real, strict=True))]
    elif isinstance(mine, dict):
        if set(mine) != set(real):
            return f"{where}: the keys {sorted(set(mine) ^ set(real))}"
        pairs = [(f"{where}.{key}", mine[key], real[key]) for key in mine]
    else:
        return None if mine == real else f"{where}: {mine!r}, and really {real!r}"
    return next((wrong for at, a, b in pairs if (wrong := differing(a, b, at))), None)


def columns(answer: Any) -> Any:
    """Without what came after schema 6."""
    if isinstance(answer, list):
        return [columns(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    kept = MESSAGE_COLUMNS if "role" in answer else KEPT
    return {key: columns(value) if key == "messages" else value for key, value in answer.items() if key in kept}


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = [{key: value for key, value in row.items() if key != "last_active"} for row in columns(rows)]
    return sorted(rows, key=lambda row: row["id"])


def without_times(conversation: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in message.items() if key != "timestamp"} for message in conversation]


# ---------------------------------------------------------------- what happens


def create(twins: Twins) -> None:
    """Perhaps again, perhaps as a child. What was compressed is gone on with once."""
    chance, rows = twins.chance, twins.rows()
    name, given = chance.choice(NAMES), {}
    has_child = {row["parent_session_id"] for row in rows}
    parents = [row["id"] for row in rows if row["end_reason"] != "compression" or row["id"] not in has_child]
    if name not in {row["id"] for row in rows}:
        given = {
            "model": chance.choice([None, "m-1", "m-2"]),
            "model_config": chance.choice([None, {}, {"temperature": 0.5}]),
            "system_prompt": chance.choice([None, "", "Be brief."]),
            "user_id": chance.choice([None, "u"]),
            "parent_session_id": chance.choice([None, *parents, "nobody"]) if chance.random() < 0.5 else None,
        }
    twins.tell("create_session", name, chance.choice(SOURCES), **given)


def ensure(twins: Twins) -> None:
    twins.both("ensure_session", twins.name())


def append(twins: Twins) -> None:
    """A row of any kind: results of calls that are open, closed, unknown; in any order."""
    chance = twins.chance
    role = chance.choice(
        ["user", "user", "assistant", "assistant", "assistant", "tool", "tool", "tool", "session_meta"]
    )
    given: dict[str, Any] = {"content": chance.choice([twins.text(), twins.text(), "", None])}
    if role == "assistant":
        given["tool_calls"] = chance.choice([None, [], calls(chance), calls(chance)])
        given["finish_reason"] = chance.choice([None, "stop", "tool_calls"])
        given["reasoning"] = chance.choice([None, "", "hm"])
        given["reasoning_details"] = chance.choice([None, [], [{"type": "x", "n": 1.5}]])
        given["codex_reasoning_items"] = chance.choice([None, [{"id": "rs"}]])
    if role == "tool":
        given["tool_call_id"] = chance.choice(["c0", "c1", "c2", "c3", "nobody's", "", None])
        given["tool_name"] = chance.choice([None, "toolname"])
        if chance.random() < 0.1:
            given["content"] = [{"type": "text", "text": twins.text()}]
    given["token_count"] = chance.choice([None, 0, 7])
    mine, real = twins.both("append_message", twins.name(), role, **given)
    if isinstance(mine, int) and isinstance(real, int):
        assert mine not in twins.numbers, f"the number {mine} came again"
        twins.numbers[mine] = real
    else:
        twins.same(mine, real)


def calls(chance: random.Random) -> list[dict[str, Any]]:
    ids = [f"c{number}" for number in range(chance.randrange(1, 4))]
    chance.shuffle(ids)
    return [call(id, "toolname", '{"argument": 1}') for id in ids]


def talk(twins: Twins) -> None:
    for _ in range(4):
        append(twins)
        twins.now += 0.5


def title(twins: Twins) -> None:
    wanted = twins.chance.choice(TITLES)
    holder = twins.witness.get_session_by_title(wanted.strip())
    if holder is None or holder["end_reason"] != "compression":
        name = twins.name()
        if twins.witness.get_session(name) is not None:  # else, if somebody has the title, the witness says that
            twins.tell("set_session_title", name, wanted)


def next_title(twins: Twins) -> None:
    wanted = twins.witness.get_next_title_in_lineage(twins.chance.choice(["T", "U", "T #2"]))
    twins.tell("set_session_title", twins.name(), wanted)


def end(twins: Twins) -> None:
    name, reason = twins.name(), twins.chance.choice(REASONS)
    if reason == "compression" and name in {row["parent_session_id"] for row in twins.rows()}:
        reason = "done"
    twins.tell("end_session", name, reason)


def reopen(twins: Twins) -> None:
    twins.tell("reopen_session", twins.name())


def tokens(twins: Twins) -> None:
    chance, name = twins.chance, twins.name()
    if twins.witness.get_session(name) is None:
        return
    given: dict[str, Any] = {
        "input_tokens": chance.randrange(1, 100),
        "output_tokens": chance.choice([0, 3]),
        "cache_read_tokens": chance.choice([0, 5]),
        "reasoning_tokens": chance.choice([0, 7]),
        "estimated_cost_usd": chance.choice([None, 0.25]),
        "actual_cost_usd": chance.choice([None, 0.5]),
        "cost_status": chance.choice([None, "estimated", "actual"]),
        "absolute": chance.random() < 0.3,
    }
    given[chance.choice(["model", "billing_provider"])] = chance.choice([None, "one", "two"])
    twins.tell("update_token_counts", name, **given)


def prompt(twins: Twins) -> None:
    twins.tell("update_system_prompt", twins.name(), twins.chance.choice(["", "one", "two", None]))


def clear(twins: Twins) -> None:
    twins.tell("clear_messages", twins.name())


def delete(twins: Twins) -> None:
    twins.tell("delete_session", twins.name())


def prune(twins: Twins) -> None:
    twins.now += twins.chance.choice([0, 10 * DAY])
    twins.tell("prune_sessions", twins.chance.choice([0, 5, 30]), twins.chance.choice([None, *SOURCES]))


STEPS = [
    *[create] * 5, ensure, *[append] * 8, *[talk] * 6, title, title, next_title, end, end, reopen, tokens, tokens,
    prompt, clear, delete, prune,
]  # fmt: skip
