"""Ask the same thing twice, from the same place, and compare.

python examples/fork_and_compare.py [talks.db]
"""

import sys
import tempfile

import palaver


def answer(session: palaver.Session, question: str, text: str) -> None:
    with session.turn(question) as turn:
        turn.append(
            [
                {"type": "start"},
                {"type": "text-start", "id": "t"},
                {"type": "text-delta", "id": "t", "delta": text},
                {"type": "text-end", "id": "t"},
                {"type": "finish"},
            ]
        )


path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    session = store.sessions.create(agent="poet")
    answer(session, "Name a colour.", "Green.")
    fork = session.fork(title="the other way")  # one row and one pointer; the past is shared
    answer(session, "Another?", "Blue.")
    answer(fork, "Another?", "Red.")
    for name, talk in (("session", session), ("fork", fork)):
        print(name, [message["parts"][0]["text"] for message in talk.messages()])
    shared = {turn.id for turn in session.path()} & {turn.id for turn in fork.path()}
    print(len(shared), "turn shared, digest", session.path()[0].digest == fork.path()[0].digest)
