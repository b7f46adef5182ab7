"""Ask the same thing twice, from the same place, and compare.

python examples/fork_and_compare.py [talks.db]
"""

import sys
import tempfile

import palaver


def answer(session: palaver.Session, question: str, text: str) -> None:
    with session.turn(question) as turn:
        turn.text(text)


def texts(session: palaver.Session) -> list[str]:
    return [part["text"] for message in session.messages() for part in message["parts"] if part["type"] == "text"]


path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    session = store.sessions.create(agent="poet")
    answer(session, "Name a colour.", "Green.")
    fork = session.fork(title="the other way")  # one row and one pointer; the past is shared
    answer(session, "Another?", "Blue.")
    answer(fork, "Another?", "Red.")
    print("session", texts(session))
    print("fork   ", texts(fork))
    shared = {turn.id for turn in session.path()} & {turn.id for turn in fork.path()}
    same = session.path()[0].digest == fork.path()[0].digest
    print(len(shared), "turn is shared, and its digest is", "the same" if same else "another")
