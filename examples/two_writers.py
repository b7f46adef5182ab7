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
        print("expected revision", conflict.expected, "found", conflict.actual)
        print("session", texts(session))
        print("rescued", texts(session.fork(at=conflict.stray)))

    seen = session.revision
    session.commit("somebody else was faster")
    try:
        session.commit("based on what I read", expected=seen)
    except palaver.HeadConflict:
        print("refused:", texts(session))
