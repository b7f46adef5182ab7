"""A long talk within a budget of tokens: the model gets what fits, and when it is due a summary stands for the rest.

python examples/context_budget.py [talks.db]
"""

import sys
import tempfile
from typing import Any

import palaver

BUDGET = 600  # tokens; a real one is what the model takes, less what it may answer


def model(messages: list[dict[str, Any]]) -> str:
    return "A long answer. " * 20


def summary_of(messages: list[dict[str, Any]]) -> str:  # stands for a model, too; the last summary is among them
    return " ".join(message["parts"][0]["text"] for message in messages if message["role"] != "assistant")


path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    session = store.sessions.create(agent="talker")
    for number in range(1, 9):
        with session.turn(f"Question {number}?") as turn:
            context = turn.context(max_tokens=BUDGET)  # what went before, and this question
            turn.text(model(context))
        print(f"{number}: {len(context)} messages, {context.tokens} tokens, {context.left_out} left out")
        if context.compaction_due:
            session.compact(summary_of(context[:-1]), keep_from=turn.id)
            print("   compacted:", session.context()[0]["parts"][0]["text"])
    print("nothing went:", len(session.messages()), "messages are in the transcript, the summary too")
