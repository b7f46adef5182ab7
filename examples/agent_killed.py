"""The loop of agent_loop.py is killed in mid-sentence; another process goes on from there, and no tool runs twice.

python examples/agent_killed.py [talks.db [ask | approve | go-on]]
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import agent_loop
from agent_loop import Json, Said

import palaver

PATH = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"


def clean() -> str:
    with open(f"{PATH}.ran", "a") as log:
        log.write("clean\n")
    return "2 files removed"


def model(messages: list[Json]) -> Iterator[Said]:
    if messages[-1]["role"] == "assistant":  # half a sentence of its own: it goes on from there
        yield "are gone."
        return
    for said in agent_loop.model(messages):
        if said == "are gone.":
            os.kill(os.getpid(), signal.SIGKILL)
        yield said


def begin(session: palaver.Session, step: str) -> palaver.Turn:
    if step == "ask":
        return session.turn("Clean up.")
    if step == "approve":
        turn = session.resume(session.waiting()[0].id)
        for part in agent_loop.calls(turn, "approval-requested"):
            turn.resolve(part["toolCallId"], approved=True)
        return turn
    return session.turn([])  # nothing new is said: go on from what there is


if sys.argv[2:]:
    agent_loop.TOOLS["clean"] = clean
    with palaver.open(PATH) as store, begin(store.sessions.get("chat"), sys.argv[2]) as turn:
        agent_loop.go_on(turn, model)
else:
    print("The store is", PATH, file=sys.stderr)
    with palaver.open(PATH) as store:
        session = store.sessions.get_or_create("chat", agent="cleaner")
        for step in ("ask", "approve", "go-on"):
            done = subprocess.run([sys.executable, __file__, PATH, step], check=False)
            print(step, "was killed" if done.returncode == -signal.SIGKILL else f"ended with {done.returncode}")
        for message in session.messages():
            parts = [part.get("text", part["type"]) for part in message["parts"] if part["type"] != "step-start"]
            print(message["role"], parts)
