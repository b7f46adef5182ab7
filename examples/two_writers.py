"""Two writers, one session: one wins, the other is told and loses nothing.

python examples/two_writers.py [talks.db]
"""

import sys
import tempfile

import palaver


def texts(session: palaver.Session) -> list[str]:
    return [message["parts"][0]["text"] for message in session.messages()]


path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    session = store.sessions.create(agent="a")
    here, there = session.turn("from here"), session.turn("from there")
    here.seal()
    try:
        there.seal()
    except palaver.HeadConflict as conflict:
        print(f"told: it began on revision {conflict.expected}, and the session is at {conflict.actual} by now")
        assert conflict.stray is not None
        rescued = session.fork(at=conflict.stray)
        print("session:", texts(session))
        print("rescued:", texts(rescued))

    seen = session.revision
    session.commit("somebody else was faster")
    try:
        session.commit("based on what I read", expected=seen)
    except palaver.HeadConflict:
        print("refused:", texts(session))
