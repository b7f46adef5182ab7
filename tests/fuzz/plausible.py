"""What a sensible caller would give, by the name of the argument: so that a call with one hostile value gets as far as
the code behind the first checks."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

from palaver import exports

from . import values
from .calls import Verb
from .world import World

Make = Callable[[World, random.Random], Any]
RULE = {"permission": "bash", "pattern": "git *", "action": "allow"}


def _messages(world: World, rng: random.Random) -> Any:
    return values.message(rng) if rng.random() < 0.6 else [values.message(rng) for _ in range(rng.randrange(3))]


def _place(world: World, rng: random.Random) -> Any:
    """A turn or a message, by its id or as it was read."""
    session = world.sessions[rng.randrange(4)]
    form = rng.random()
    if form < 0.5:
        return rng.choice(world.ids())
    found = session.tree() if form < 0.7 else session.messages() if form < 0.85 else world.turns
    return rng.choice(found) if found else None


def _mark(name: str) -> Make:
    """A place in a list of a session: one of its items, a cursor of one of its windows, or an end."""

    def make(world: World, rng: random.Random) -> Any:
        session = world.sessions[rng.randrange(4)]
        page = getattr(session, name)(limit=rng.randrange(1, 4))
        items = [getattr(item, "id", None) or getattr(item, "seq", None) or item for item in page if name != "parts"]
        return rng.choice([None, "", page.before, page.after, *items])

    return make


def _turn_id(world: World, rng: random.Random) -> str:
    return rng.choice([*world.turns, *world.sessions[0].tree()]).id


def _revision(world: World, rng: random.Random) -> Any:
    return rng.choice((None, None, 0, 2, world.sessions[0].info.revision))


def _chunks(world: World, rng: random.Random) -> list[Any]:
    return [values.chunk(rng) for _ in range(rng.randrange(1, 5))]


def _rules(world: World, rng: random.Random) -> list[dict[str, Any]]:
    return [RULE | {"action": rng.choice(("allow", "deny", "ask"))} for _ in range(rng.randrange(3))]


def _model(world: World, rng: random.Random) -> Any:
    return rng.choice(("anthropic/claude", "m", {"provider_id": "p", "model_id": "m", "variant": {"v": 1}}))


def _trigger(world: World, rng: random.Random) -> dict[str, Any]:
    given = {"source": "webhook", "fired_at": 1_700_000_000_000, "headers": {"h": "v"}, "auth_subject": "me"}
    return given | ({"delivery_id": f"d{rng.randrange(3)}"} if rng.random() < 0.5 else {})


def _export(world: World, rng: random.Random) -> Any:
    out = io.BytesIO()
    exports.write(world.store.db, out)
    out.seek(0)
    if rng.random() < 0.5:
        return out
    lines = out.getvalue().splitlines(keepends=True)
    lines[rng.randrange(len(lines))] = rng.choice((b"", b"{}\n", b"\xff\n", b"[1]\n", lines[-1], b"null\n", b"5"))
    return io.BytesIO(b"".join(lines))


def one_of(*given: Any) -> Make:
    return lambda world, rng: rng.choice(given)


def _count(most: int) -> Make:
    return lambda world, rng: rng.randrange(most)


ARGUMENTS: dict[str, Make] = {
    "messages": _messages,
    "message": lambda world, rng: values.message(rng),
    "content": lambda world, rng: values.message(rng),
    "Session.regenerate:message": lambda world, rng: rng.choice(world.ids()),
    "Session.edit:message": lambda world, rng: rng.choice(world.ids()),
    "palaver.fold:message": lambda world, rng: {"id": "m", "role": "assistant", "parts": [values.tool_part(rng)]},
    "expected": _revision,
    "Session.messages:format": one_of(None, "openai", "anthropic"),
    "Store.search:query": one_of("hello", "look OR clean", '"a b" -c*', "role:tool x", "(("),
    "Store.search:per_session": one_of(True, False),
    "Store.search:hidden": one_of(True, False),
    "Store.search:order": one_of("rank", "newest"),
    "Store.reindex:only_missing": one_of(True, False),
    "Store.graft:sessions": lambda world, rng: [],
    "delta": one_of("Hel", "lo.", ""),
    "Turn.tool:name": one_of("look", "clean"),
    "Turn.tool:input": lambda world, rng: {"path": "x"},
    "Turn.tool:id": one_of(None, "c3"),
    "Turn.file:source": one_of(b"\x89PNG", "https://example.com/a.png"),
    "media_type": one_of("image/png", None),
    "Turn.fail:message": one_of("it broke"),
    "code": one_of("e7", None),
    "told": one_of({"input_tokens": 3, "output_tokens": 4}, {"prompt_tokens": 3}, None),
    "max_tokens": one_of(None, 10, 10_000),
    "count": one_of(None, lambda message: 1),
    "ToolCall.output:value": lambda world, rng: {"found": [1, 2.5, "x"]},
    "ToolCall.error:text": one_of("it failed"),
    "preliminary": one_of(True, False),
    "role": one_of("critic", None),
    "persona": one_of("grumpy"),
    "mode": one_of("plan", "build"),
    "source_event": one_of("e-7"),
    "settings": lambda world, rng: {"temperature": 0.5},
    "usage": one_of({"input_tokens": 3}, None),
    "key": one_of("r-1", "r-2", None),
    "Session.add_usage:source": one_of("app", "titles"),
    "computed_usd": one_of(0.5, None),
    "price": one_of("2026-11", None),
    "replace": one_of(True, False),
    "changes": lambda world, rng: {"k": 1, "gone": None},
    "Sessions.get_or_create:id": one_of("app-1", "app-2"),
    "model": _model,
    "Session.compact:model": one_of("claude"),
    "Turn.compact:model": one_of("claude"),
    "Session.compact:trigger": one_of("manual"),
    "Turn.compact:trigger": one_of("manual"),
    "agent": one_of("coder", "a"),
    "system_prompt": one_of("Be brief.", "Be long.\n"),
    "system": one_of("Be brief.", ""),
    "trigger": _trigger,
    "snapshot_id": one_of("snap-1"),
    "toolset": one_of("tools-1"),
    "tools": lambda world, rng: rng.choice((["look"], ("look", "clean"), [])),
    "permissions": _rules,
    "workspace": one_of("w", "/home/w"),
    "title": one_of("A title", None),
    "Sessions.by_title:title": one_of("A title", "A title #2"),
    "Sessions.next_title:title": one_of("A title", "A title #2"),
    "value": one_of("A title", None),
    "metadata": lambda world, rng: {"k": {"deep": [1, {"er": None}]}},
    "parent": lambda world, rng: rng.choice([session.id for session in world.sessions] + world.sessions),
    "tool_call_id": one_of("c1", "c2"),
    "id": lambda world, rng: rng.choice((None, "q1", f"app-{rng.randrange(9)}")),
    "session_id": lambda world, rng: rng.choice(world.sessions).id,
    "name": lambda world, rng: rng.choice(world.ids()),
    "namespace": one_of("alias", "slug"),
    "archived": one_of(True, False),
    "waiting": one_of(True, False),
    "ended": one_of(True, False),
    "idle_since": lambda world, rng: rng.choice((None, 0, world.sessions[0].info.updated_at, 10**13)),
    "deleted": one_of(True, False),
    "order": one_of("updated", "created"),
    "limit": lambda world, rng: rng.randrange(1, 60),
    "after": _count(30),
    **{
        f"Session.{name}:{side}": _mark("messages" if name == "messages_json" else name)
        for name in ("messages", "messages_json", "transcript", "parts", "path", "tree", "strays", "history")
        for side in ("before", "after")
    },
    "Session.parts:type": one_of(None, "text", "tool-run"),
    "Sessions.list:after": lambda world, rng: world.store.sessions.list(limit=1).next,
    "timeout": one_of(0, 0.001),
    "turn": _turn_id,
    "turn_id": _turn_id,
    "when": lambda world, rng: rng.choice((0, 10**13, world.sessions[0].info.updated_at)),
    "summary": one_of("They said hello."),
    "keep_from": _place,
    "compaction_type": one_of("summary", "sliding_window"),
    "provider": one_of("p"),
    "auto": one_of(True, False),
    "overflow": one_of(True, False),
    "before": _place,
    "keep": _count(3),
    "at": _place,
    "Turn.write:at": one_of(None, None, None, 0),
    "Turn.append:at": one_of(None, None, None, 0),
    "Session.enqueue:message": one_of(
        "Later.", {"role": "user", "content": "Later.", "id": "q2", "metadata": {"k": [1]}}
    ),
    "copy": one_of(True, False),
    "to": _place,
    "reason": one_of("because", None),
    "chunk": lambda world, rng: values.chunk(rng),
    "Turn.append:given": _chunks,
    "chunks": _chunks,
    "stream": lambda world, rng: rng.choice((iter, list))(_chunks(world, rng)),
    "output": lambda world, rng: {"found": [1, 2.5, "x"]},
    "error": one_of("it failed"),
    "finish": one_of(True, False),
    "provider_metadata": one_of({"mine": {"took": 3}}, None),
    "approved": one_of(True, False),
    "status": one_of("completed", "failed", "aborted", "waiting", None),
    "permission": one_of("bash", "read", "*"),
    "pattern": one_of("git *", "/src/**", "*.example.org", "*"),
    "action": one_of("allow", "deny", "ask"),
    "source": one_of("session", "project", "manifest"),
    "note": one_of("n", {"x": 1}),
    "added_at": one_of(1_700_000_000_000),
    "argv": lambda world, rng: rng.choice((["git", "push"], "git push")),
    "path": one_of("src/main.py", "/etc"),
    "host": one_of("example.org", "a.example.org"),
    "manifest": _rules,
    "project": one_of("p-1", "p-2", None),
    "SessionRules.evaluate:project": _rules,
    "facts": lambda world, rng: rng.choice(({"ticket": "7"}, {"ticket": None, "branch": "main"}, {}, None)),
    "relation": one_of(None, "spawn", "continue", "import"),
    "descendants": one_of(True, False),
    "thread_key": lambda world, rng: rng.choice(("k-1", "main")),
    **{name: one_of("x", None) for name in ("user", "account", "workspace_id", "routing_key", "task")},
    **{name: one_of("1", None) for name in ("version", "policy")},
    "rules": lambda world, rng: [RULE | {"source": "session"}],
    "headless": one_of(True, False),
    "permissions.check_rule:given": lambda world, rng: dict(RULE),
    "permissions.check_rules:given": _rules,
    "stored": _rules,
    "older_than": one_of(0, 5, 0.5),
    "fix": one_of(True, False),
    "origin": one_of("hub", "hermes"),
    "foreign_id": one_of("f1", "f2"),
    "ours": lambda world, rng: rng.choice(world.ids()),
    "scope": one_of("", "s"),
    "digest": one_of("0" * 64, "x"),
    "url": lambda world, rng: rng.choice((world.path, str(world.folder / f"new-{rng.randrange(3)}.db"), ":memory:")),
    "palaver.spaces:url": one_of("talks.db"),
    "space": one_of(None),
    "create": one_of(True, False),
    "readonly": one_of(True, False),
    "durability": one_of("normal", "boundary", "full"),
    "save_on": one_of("chunk", "step", "turn"),
    "save_buffer_ms": one_of(0, 50, 10.5),
    "save_buffer_size": one_of(0, 4096),
    "events": one_of(None, "live", "full"),
    "trim_after": one_of(0, 5.0),
    "recover_every": one_of(None, 0.05, 30),
    "db": lambda world, rng: world.store.db,
    "exports.read:source": _export,
    "out": lambda world, rng: io.BytesIO(),
    "sessions": lambda world, rng: rng.choice((None, [world.sessions[0].id], [rng.choice(world.sessions).id])),
    "palaver.copy:source": lambda world, rng: world.store,
    "target": lambda world, rng: world.other,
    "progress": one_of(None, print_nothing := lambda *given: None),
    "on_refused": one_of(None, print_nothing),
    "on_cut": one_of(None, print_nothing),
    "on_broken": one_of(None, print_nothing),
    "session": lambda world, rng: world.session(rng),
    "kind": one_of(None),
    "Turn.__exit__:error": one_of(None, ValueError("their own")),
    "trace": one_of(None),
    "input": _count(100),
    "reasoning": _count(100),
    "Turn.usage:output": _count(100),
    "cache_read": _count(100),
    "cache_write": _count(100),
    "cost_usd": one_of(0.25, None),
    **{
        name: _count(1_000)
        for name in (
            *("tokens_before", "tokens_after", "summary_tokens", "summarization_input_tokens"),
            *("summarization_output_tokens", "duration_ms"),
        )
    },
}


def argument(world: World, rng: random.Random, verb: Verb, name: str) -> Any:
    """A name that nobody has thought of yet gets something all the same."""
    make = ARGUMENTS.get(f"{verb.full}:{name}") or ARGUMENTS.get(name)
    return values.hostile(rng) if make is None else make(world, rng)
