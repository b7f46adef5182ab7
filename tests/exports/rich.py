"""A store with one of everything: forks, siblings, strays, waiting and streaming turns, names, copies, rows of other
programs, deleted sessions, and JSON that is easily bent.
"""

from __future__ import annotations

import random
from typing import Any

import apsw

import palaver
from palaver import GraftItem, GraftSession, GraftTurn, GraftUsage

T0 = 1_760_000_000_000
ODD_PARTS = (
    b'{"type":"text","text":"nul \\u0000 half \\ud800 pair \\ud83d\\ude00","n":1.10}',
    b'{ "type" : "data-odd", "data" : {"b":1e2,"a":[1.10, 123456789012345678901234567890], "":null} }',
    '{"type":"text","text":"ﷺ \u2028 \u202eevil\u202c <script>alert(1)</script> \\u001b[2J"}'.encode(),
)


def answer(turn: Any, text: str, tool: str | None = None) -> None:
    """Stream a short answer; with `tool`, one that ends in a call without a result."""
    turn.write({"type": "start", "messageId": "client-" + text.split()[0]})
    turn.write({"type": "start-step"})
    turn.write({"type": "reasoning-start", "id": "r"})
    turn.write({"type": "reasoning-delta", "id": "r", "delta": "thinking of " + text})
    turn.write({"type": "reasoning-end", "id": "r"})
    turn.write({"type": "text-start", "id": "t"})
    for word in text.split():
        turn.write({"type": "text-delta", "id": "t", "delta": word + " "})
    turn.write({"type": "text-end", "id": "t"})
    if tool:
        turn.write({"type": "tool-input-available", "toolCallId": tool, "toolName": "run", "input": {"n": 1}})
    turn.write({"type": "finish-step"})
    turn.write({"type": "finish", "finishReason": "stop"})


def fill(store: palaver.Store) -> dict[str, str]:
    """Record everything; the ids of the sessions by what they show."""
    main = store.sessions.create("coder", title="Main", workspace="/src", model="acme/large", metadata={"x": 1})
    with main.turn("first question", system_prompt="Be exact.") as turn:
        answer(turn, "first answer")
        turn.usage(input=10, output=5, cost_usd=0.25)
    with main.turn("second question", model="acme/small") as turn:
        answer(turn, "second answer")
    found = {"main": main.id, **_siblings(main), **_races(store), **_names(store, main), **_odd(store)}
    found |= _deleted(store) | _counted(store) | _grafted(store)
    return found


def grafted_source(*more: GraftTurn) -> GraftSession:
    """History of another program: a small item, a large one that packs well, one of bytes that do not, and a branch."""
    turns = [
        _turn("g-1", "came small", b'{"id": "g-1"}', file="log.jsonl", place=0),
        _turn("g-2", "came large", b'{"id": "g-2", "text": "' + b"z" * 5000 + b'"}', file="log.jsonl", place=14),
        _turn("g-3", "came as bytes", random.Random(1).randbytes(700)),
        _turn("g-4", "came beside", b"", parent="g-1"),
    ]
    return GraftSession("toy", "s-1", [*turns, *more], agent="coder", title="Grafted")


def _turn(id: str, text: str, body: bytes, parent: str | None = "previous", **where: Any) -> GraftTurn:
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": f"re {text}"}]
    at = T0 - 1_000_000 + 1_000 * int(id[2:])
    used = [GraftUsage({"input": 2, "output": 1}, key=id)]
    return GraftTurn([GraftItem(body, id=id, **where)], messages=said, parent=parent, started_at=at, usage=used)


def _grafted(store: palaver.Store) -> dict[str, str]:
    store.graft(grafted_source())
    return {"grafted": store.sessions.get("s-1").id}


def _counted(store: palaver.Store) -> dict[str, str]:
    """Facts, tools, settings, usage by response, a summary, a queue, and an end."""
    counted = store.sessions.create(
        "coder", title="Counted", source="cli", facts={"project": "palaver", "note": "a\nb"}
    )
    tools = [{"name": "run", "input_schema": {"type": "object"}}, "read"]
    manner = {"role": "reviewer", "persona": "grumpy", "mode": "plan", "source_event": "push-1"}
    with counted.turn("how much?", tools=tools, settings={"temperature": 0.10}, **manner) as turn:
        turn.write({"type": "start"})
        turn.write({"type": "tool-input-available", "toolCallId": "call-2", "toolName": "run", "input": {}})
        turn.write({"type": "tool-output-available", "toolCallId": "call-2", "output": 1})
        turn.usage(input=7, output=2, cost_usd=0.5, key="resp-1", model="acme/large")
        turn.usage(input=3, key="resp-2")
    told = {"usage": {"input": 1, "output": 1}}
    counted.commit(["again", {"role": "assistant", "metadata": told, "parts": [{"type": "text", "text": "twice"}]}])
    counted.add_usage({"inputTokens": 4}, computed_usd=0.125, price="list 1", source="title", key="resp-3")
    counted.compact("They counted.", keep_from=counted.path()[1].id, tokens_before=12)
    counted.prune(keep=0)
    counted.enqueue("later", id="q-1", model="acme/large")
    counted.enqueue("fired", id="q-2", trigger={"source": "hook", "delivery_id": "d-1", "fired_at": 1})
    claimed = counted.claim("q-2", settings={"temperature": 1})
    assert claimed is not None
    with claimed:
        answer(claimed, "fired answer")
    counted.end("all counted")
    return {"counted": counted.id}


def _siblings(main: palaver.Session) -> dict[str, str]:
    with main.regenerate() as turn:
        answer(turn, "better answer")
    fork = main.fork(at=main.messages()[2]["id"], title="Fork")
    with fork.turn("in the fork") as turn:
        answer(turn, "fork answer")
    with fork.regenerate(main.messages()[1]["id"]) as turn:
        answer(turn, "again from the start")
    fork.undo()
    with main.edit(main.messages()[0]["id"], "first question, edited") as turn:
        answer(turn, "edited answer")
    main.rewind(to=main.messages()[0]["id"])
    main.undo()
    second = fork.fork(copy=True)
    second.commit(["deeper", {"role": "assistant", "parts": [{"type": "text", "text": "yes"}]}])
    return {"fork": fork.id, "second": second.id}


def _races(store: palaver.Store) -> dict[str, str]:
    races = store.sessions.create("coder", title="Races")
    races.commit(["begin"])
    winner, loser = races.turn("winner"), races.turn("loser")
    answer(winner, "winner wins")
    answer(loser, "loser loses")
    winner.seal()
    try:
        loser.seal()
    except palaver.HeadConflict:
        pass
    waiting = store.sessions.create("coder", title="Waiting")
    with waiting.turn("may I?") as turn:
        answer(turn, "asking", tool="call-1")
    return {"races": races.id, "waiting": waiting.id}


def _names(store: palaver.Store, main: palaver.Session) -> dict[str, str]:
    spawned = store.sessions.create("helper", parent=main, tool_call_id="call-9", id="my own id")
    spawned.commit(["do it"])
    spawned.alias("the helper")
    main.alias("main", "slug", reason="because")
    main.alias("a turn", "thread", turn=main.path()[0].id)
    store.put_foreign_id("other", "x-1", main.path()[0].id, "turns")
    store.put_foreign_id("other", "m-1", main.messages()[0]["id"])
    spawned.archive()
    return {"spawned": spawned.id}


def _odd(store: palaver.Store) -> dict[str, str]:
    odd = store.sessions.create("coder", title="Odd")
    odd.commit(b'{"role":"user","metadata":{"z":1.10,"a":"\\u0000"},"parts":[' + b",".join(ODD_PARTS) + b"]}")
    usage = {"usage": {"input": 3, "output": 4}}
    odd.commit([{"role": "assistant", "metadata": usage, "parts": [{"type": "text", "text": "counted"}]}])
    add_foreign_rows(store.path, odd.id, "msg_foreign_in_odd")
    with apsw.Connection(store.path) as db:
        db.execute(
            "INSERT INTO chat_sessions (id, agent, model_json, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
            ("foreign session", "stranger", '{"provider_id":"x","model_id":"y"}', T0, T0),
        )
    db.close()
    add_foreign_rows(store.path, "foreign session", "msg_foreign_alone")
    return {"odd": odd.id, "foreign": "foreign session"}


def add_foreign_rows(path: str, session: str, message: str) -> None:
    """What another program writes: a message and its part, known to no turn."""
    db = apsw.Connection(path)
    (newest,) = db.execute("SELECT max(created_at) FROM chat_messages").fetchall()[0]
    at = newest + 1
    db.execute(
        "INSERT INTO chat_messages VALUES (?, ?, 'user', '{ \"note\": 1.10 }', ?, ?)", (message, session, at, at)
    )
    db.execute(
        'INSERT INTO chat_parts (id, message_id, session_id, "index", type, data_json, created_at, updated_at)'
        " VALUES (?, ?, ?, 0, 'text', ?, ?, ?)",
        (message + "_p", message, session, '{"type":"text","text":"from elsewhere"}', at, at),
    )
    db.close()


def _deleted(store: palaver.Store) -> dict[str, str]:
    origin = store.sessions.create("coder", title="Deleted origin")
    with origin.turn("kept by a fork") as turn:
        answer(turn, "deleted answer")
        turn.usage(input=1)
    rescued = origin.fork(title="Rescued")
    rescued.commit(["alive"])
    origin.commit(["not in the fork"])
    origin.delete()
    return {"deleted": origin.id, "rescued": rescued.id}


def stream_open(store: palaver.Store, session_id: str) -> Any:
    """A turn that is left streaming."""
    turn = store.sessions.get(session_id).turn("still going")
    turn.write({"type": "start"})
    turn.write({"type": "text-start", "id": "t"})
    turn.write({"type": "text-delta", "id": "t", "delta": "half an ans"})
    return turn
