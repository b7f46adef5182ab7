"""Messages that are sent while the agent works wait their turn, and a summary keeps the context short.

python examples/send_while_it_runs.py [talks.db]
"""

import sys
import tempfile

import palaver

path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    session = store.sessions.create(agent="coder")
    with session.turn("Fix the build.") as turn:
        session.enqueue("And run the tests.", id="next")  # the agent is busy: it waits
        turn.text("Fixed.")
    print("waiting:", [queued.message["parts"][0]["text"] for queued in session.queue()])
    while (claimed := session.claim()) is not None:  # of many who claim, one gets it
        with claimed as turn:
            turn.text("They pass.")
    session.compact("The build was fixed.", keep_from=session.path()[-1])
    print("a model sees:")
    for message in session.context():
        print(" ", message["role"], "".join(part.get("text", "") for part in message["parts"]))
