"""A writer is killed in mid-sentence; another process reads what it had, and goes on from there or asks again.

python examples/resume_after_a_crash.py [talks.db]
"""

import subprocess
import sys
import tempfile

import palaver

WRITER = """
import os, signal, sys, palaver
store = palaver.open(sys.argv[1])
turn = store.sessions.get("my-chat").turn("Tell me a story.")
for word in ("Once ", "upon ", "a "):
    turn.text(word)
os.kill(os.getpid(), signal.SIGKILL)
"""


def texts(session: palaver.Session) -> list[str]:
    return [part["text"] for message in session.messages() for part in message["parts"] if part["type"] == "text"]


path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    store.sessions.get_or_create("my-chat", agent="teller")
subprocess.run([sys.executable, "-c", WRITER, path], check=False)

with palaver.open(path) as store:  # opening recovers what dead writers left
    session = store.sessions.get("my-chat")
    print("killed:     ", session.path()[-1].status, texts(session))
    with session.turn([]) as turn:  # nothing new is said: the model sees its half sentence, and goes on
        turn.text("time.")
    print("gone on:    ", session.path()[-1].status, texts(session))
    session.undo()
    with session.regenerate() as turn:  # the same question, as if it had not been answered: tools would run again
        turn.text("There was a king.")
    print("asked again:", session.path()[-1].status, texts(session))
