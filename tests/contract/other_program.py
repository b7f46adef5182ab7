"""Another implementation of the contract: standard library only, its own DDL, its own ids, its own habits.

It stands for any program that follows the written contract and has never heard of Palaver. It always runs as a
process of its own: `python other_program.py make FILE KIND`, `… talk FILE COUNT SESSION…` or `… watch FILE`.
"""

from __future__ import annotations

import json
import random
import select
import sqlite3
import string
import sys
import time
from typing import Any

PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 5000", "foreign_keys = ON")

SESSIONS = """
CREATE TABLE chat_sessions (
  id TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  workspace_root TEXT,
  model_json TEXT NOT NULL,
  parent_id TEXT,
  parent_message_id TEXT,
  permissions_json TEXT NOT NULL,
  metadata_json TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  total_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER
)"""
MESSAGES = """
CREATE TABLE chat_messages (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES chat_sessions(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  metadata_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
)"""
PARTS = """
CREATE TABLE chat_parts (
  id TEXT PRIMARY KEY,
  message_id TEXT NOT NULL REFERENCES chat_messages(id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  "index" INTEGER NOT NULL,
  type TEXT NOT NULL,
  data_json TEXT NOT NULL,
  tool_call_id TEXT,
  tool_state TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
)"""
INDEXES = (
    "CREATE INDEX sessions_agent ON chat_sessions(agent, updated_at)",
    "CREATE INDEX sessions_workspace ON chat_sessions(workspace_root, updated_at)",
    "CREATE INDEX sessions_parent ON chat_sessions(parent_id)",
    "CREATE INDEX sessions_archived ON chat_sessions(archived_at)",
    "CREATE INDEX messages_session ON chat_messages(session_id, created_at)",
    'CREATE INDEX parts_message ON chat_parts(message_id, "index")',
    "CREATE INDEX parts_session ON chat_parts(session_id)",
    "CREATE INDEX parts_call ON chat_parts(tool_call_id)",
)
SCHEMA = (SESSIONS, MESSAGES, PARTS, *INDEXES)

# ---------------------------------------------------------------- six conversations, every kind of row

T0 = 1_760_000_000_000


def name(prefix: str, number: int) -> str:
    """Thirty characters, as the contract writes ids: 12 hex digits of a stamp, 14 of base 62."""
    return f"{prefix}_{(T0 * 4096 + number) % 2**48:012x}Foreign{number:07d}"


FULL, BRANCH, OLD, EMPTY, PLAIN, QUEUED = (name("ses", n) for n in range(1, 7))
MODEL = '{"provider_id":"acme","model_id":"large-2"}'
VARIANT = '{ "model_id": "large-2", "provider_id": "acme", "variant": "fast" }'
RULES = (
    '[{"permission":"bash","pattern":"git *","action":"allow","source":"session","added_at":1760000000001},'
    ' {"permission":"*","pattern":"**/.env","action":"deny","source":"session"}]'
)
USAGE = '"usage":{"input":100,"output":20,"reasoning":3,"cache_read":40,"cache_write":5}'
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
TRIGGER = (
    '"trigger":{"source":"webhook","fired_at":1760000000500,"delivery_id":"d-1","headers":{"x":"1"},'
    '"auth_subject":"me","schedule_id":"s-9"}'
)

# (session, role, metadata as written, parts as written)
ANSWER = (
    '{"type":"step-start"}',
    '{"type":"reasoning","text":"hm","state":"done"}',
    '{"type":"text","text":"Zwölf 🦉 — 1.10 stays","state":"done"}',
    '{"type":"tool-read","toolCallId":"c-1","state":"output-available","input":{"n":1.10},"output":[1e2, null]}',
    '{"type":"tool-write","toolCallId":"c-2","state":"output-error","input":{},"errorText":"no space"}',
    '{"type":"dynamic-tool","toolName":"mcp","toolCallId":"c-3","state":"input-available","input":{"q":"x"}}',
    '{"type":"tool-ask","toolCallId":"c-4","state":"input-streaming"}',
    '{"type":"tool-run","toolCallId":"c-5","state":"approval-requested","input":{},"approval":{"id":"a-5"}}',
    '{"type":"tool-run","toolCallId":"c-6","state":"approval-responded","input":{},"approval":{"id":"a-6","approved":true}}',
    '{"type":"tool-run","toolCallId":"c-7","state":"output-denied","input":{},"approval":{"id":"a-7","approved":false}}',
    '{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AAAA"}',
    '{"type":"source-url","sourceId":"s-1","url":"https://example.org/?a=1&b=2"}',
    '{"type":"source-document","sourceId":"s-2","mediaType":"text/plain","title":"Notes"}',
    '{"type":"data-weather","id":"w","data":{"deep":[[[{}]]]}}',
)
CONVERSATIONS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (FULL, "system", "{}", ('{"type":"text","text":"Be brief."}',)),
    (FULL, "user", f'{{"model":{MODEL},"snapshot_id":"snap-1",{TRIGGER}}}', ('{"text":"How many?","type":"text"}',)),
    (FULL, "assistant", f'{{{USAGE},"model":{VARIANT},"agent":"plan","system_prompt_digest":"{DIGEST}"}}', ANSWER),
    (FULL, "user", '{"hidden_at":1760000009000}', ('{"type":"text","text":"taken back"}',)),
    (FULL, "assistant", '{"hidden_at": 1760000009000, "note": 1}', ('{"type":"text","text":"taken back too"}',)),
    (FULL, "user", '{ "agent" : "build" }', ('{"type":"text","text":"And now?"}',)),
    (FULL, "assistant", "{}", ('{"type":"text","text":"Thirteen."}', '{"type":"text","text":"No: twelve."}')),
    (BRANCH, "user", "{}", ('{"type":"text","text":"another way"}',)),
    (BRANCH, "assistant", "{}", ('{"type":"text","text":"gladly"}',)),
    (OLD, "user", "{}", ('{"type":"text","text":"long ago"}',)),
    (PLAIN, "user", "{}", ('{"type":"text","text":"one"}',)),
    (PLAIN, "assistant", "{}", ('{"type":"text","text":"first answer"}',)),
    (PLAIN, "user", "{}", ('{"type":"text","text":"two"}',)),
    (PLAIN, "assistant", "{}", ('{"type":"text","text":"second answer"}',)),
    (PLAIN, "assistant", "{}", ('{"type":"text","text":"and a bit more"}',)),
    (PLAIN, "user", "{}", ('{"type":"text","text":"three, unanswered"}',)),
    (QUEUED, "user", "{}", ('{"type":"text","text":"begin"}',)),
    (QUEUED, "assistant", "{}", ('{"type":"text","text":"at it"}',)),
    (QUEUED, "user", '{"queued_at":1760000009500}', ('{"type":"text","text":"still in the queue"}',)),
)
MESSAGE_IDS = [name("msg", 100 + n) for n in range(len(CONVERSATIONS))]


def make(path: str, kind: str = "plain") -> None:
    db = connect(path, ("journal_mode = DELETE",) if kind == "delete-mode" else PRAGMAS)
    for statement in SCHEMA_OF[kind]:
        db.execute(statement)
    fill(db)
    db.close()


EXTRA = (
    "ALTER TABLE chat_sessions ADD COLUMN colour TEXT DEFAULT 'blue'",
    "ALTER TABLE chat_messages ADD COLUMN stars INTEGER NOT NULL DEFAULT 5",
    "ALTER TABLE chat_parts ADD COLUMN note TEXT",
)
LACKING = {"workspace_root", "parent_id", "parent_message_id", "cost_usd", "archived_at", "tool_call_id"}


def sparse(statement: str) -> str:
    """The same table without the columns that the contract calls optional, or gives a default."""
    lines = [line for line in statement.splitlines() if not set(line.split()) & LACKING]
    return "\n".join(lines).replace("INTEGER NOT NULL,\n)", "INTEGER NOT NULL\n)")


SCHEMA_OF: dict[str, tuple[str, ...]] = {
    "plain": SCHEMA,
    "delete-mode": SCHEMA,
    "extra": (*SCHEMA, *EXTRA),
    "sparse": (sparse(SESSIONS), sparse(MESSAGES), sparse(PARTS)),
}


def fill(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    _put_session(db, FULL, agent="plan", workspace_root="/src/acme", permissions_json=RULES, **_rollups())
    _put_session(db, BRANCH, agent="plan", parent_id=FULL, parent_message_id=MESSAGE_IDS[1], workspace_root="/src/acme")
    _put_session(db, OLD, agent="build", archived_at=T0 + 60_000)
    _put_session(db, EMPTY, agent="build", workspace_root="")
    _put_session(db, PLAIN, agent="build", metadata_json='{ "colour": "blue", "n": 1.10 }')
    _put_session(db, QUEUED, agent="build")
    for number, (session, role, metadata, parts) in enumerate(CONVERSATIONS):
        _put_message(db, MESSAGE_IDS[number], session, role, metadata, parts, T0 + 1000 * number)
    db.execute("COMMIT")


def _rollups() -> dict[str, Any]:
    counts = {"prompt_tokens": 100, "completion_tokens": 20, "reasoning_tokens": 3, "cache_read": 40, "cache_write": 5}
    return {**counts, "total_tokens": 168, "cost_usd": 0.25}


def _put_session(db: sqlite3.Connection, session: str, **columns: Any) -> None:
    row = {"id": session, "model_json": MODEL, "permissions_json": "[]", "metadata_json": "{}"}
    row |= {"created_at": T0, "updated_at": T0 + 90_000, **columns}
    put(db, "chat_sessions", row)


def _put_message(
    db: sqlite3.Connection, message: str, session: str, role: str, metadata: str, parts: tuple[str, ...], at: int
) -> None:
    times = {"created_at": at, "updated_at": at}
    put(db, "chat_messages", {"id": message, "session_id": session, "role": role, "metadata_json": metadata, **times})
    for index, data in enumerate(parts):
        part = json.loads(data)
        row = {"id": f"prt_{message[4:26]}{index:04d}", "message_id": message, "session_id": session}
        row |= {"index": index, "type": part["type"], "data_json": data, **times}
        if "toolCallId" in part:
            row |= {"tool_call_id": part["toolCallId"], "tool_state": part["state"]}
        put(db, "chat_parts", row)


def put(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    """Insert what the table has a column for."""
    present = {column[1] for column in db.execute(f"PRAGMA table_info({table})")}
    row = {column: value for column, value in row.items() if column in present}
    names = ", ".join(f'"{column}"' for column in row)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))


# ---------------------------------------------------------------- at work


def connect(path: str, pragmas: tuple[str, ...] = PRAGMAS) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    for pragma in pragmas:
        db.execute(f"PRAGMA {pragma}").fetchall()
    return db


def talk(path: str, count: int, sessions: list[str]) -> None:
    """Write `count` messages, each in a transaction of its own, in turn into the sessions; print what was written."""
    db = connect(path)
    written = []
    for number in range(count):
        session = sessions[number % len(sessions)]
        role = ("user", "assistant")[number // len(sessions) % 2]
        message = f"msg_{int(time.time() * 1000) * 4096 % 2**48:012x}{_tail()}"
        text = f"{role} {number} of the other program"
        db.execute("BEGIN IMMEDIATE")
        at = next_time(db, session)
        _put_message(db, message, session, role, "{}", (json.dumps({"type": "text", "text": text}),), at)
        db.execute("UPDATE chat_sessions SET updated_at = max(updated_at, ?) WHERE id = ?", (at, session))
        db.execute("COMMIT")
        written.append([session, message, role, text])
        print("wrote", number, file=sys.stderr, flush=True)
    print(json.dumps(written))


def watch(path: str) -> None:
    """Until standard input ends, look whether rollups, message metadata and updated_at ever contradict each other."""
    db = connect(path)
    torn = (
        "SELECT s.id, s.prompt_tokens, s.total_tokens FROM chat_sessions s WHERE s.prompt_tokens <> (SELECT"
        " coalesce(sum(json_extract(m.metadata_json, '$.usage.input')), 0) FROM chat_messages m"
        " WHERE m.session_id = s.id AND m.role = 'assistant') OR s.total_tokens <> s.prompt_tokens"
        " + s.completion_tokens + s.reasoning_tokens + s.cache_read + s.cache_write OR s.updated_at < s.created_at"
    )
    looks, found = 0, []
    print("watching", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        found += db.execute(torn).fetchall()
        looks += 1
    print(json.dumps({"looks": looks, "found": found}))


def next_time(db: sqlite3.Connection, session: str) -> int:
    """Who orders by created_at gives a new message a later one than any it can see."""
    newest = db.execute("SELECT max(created_at) FROM chat_messages WHERE session_id = ?", (session,)).fetchone()[0]
    return max(int(time.time() * 1000), (newest or 0) + 1)


def _tail() -> str:
    return "".join(random.choices(string.ascii_letters + string.digits, k=14))


def main(verb: str, path: str, *rest: str) -> None:
    if verb == "make":
        make(path, *rest)
    elif verb == "talk":
        talk(path, int(rest[0]), list(rest[1:]))
    elif verb == "watch":
        watch(path)
    else:
        raise SystemExit(f"no verb {verb}")


if __name__ == "__main__":
    main(*sys.argv[1:])
