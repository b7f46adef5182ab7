"""A writer is killed in mid-sentence; another process reads what it had and goes on.

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
turn.write({"type": "text-start", "id": "t"})
for word in ("Once ", "upon ", "a "):
    turn.write({"type": "text-delta", "id": "t", "delta": word})
os.kill(os.getpid(), signal.SIGKILL)
"""

path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    store.sessions.create(agent="teller", id="my-chat")
subprocess.run([sys.executable, "-c", WRITER, path], check=False)

with palaver.open(path) as store:  # opening recovers what dead writers left
    session = store.sessions.get("my-chat")
    print(session.path()[-1].status, "|", session.messages()[-1]["parts"][0]["text"])
    with session.regenerate() as turn:  # the same question, asked again; where tools ran: agent_killed.py
        turn.write({"type": "text-start", "id": "t"})
        turn.write({"type": "text-delta", "id": "t", "delta": "Once upon a time."})
        turn.write({"type": "text-end", "id": "t"})
    print(session.path()[-1].status, "|", session.messages()[-1]["parts"][0]["text"])
