"""What is read here is what the real AI SDK takes: validated, converted, and given to a model."""

from __future__ import annotations

from palaver import formats

from ..context.sdk import Judge
from . import test_anthropic, test_openai_chat, test_openai_responses
from .support import messages


def test_every_example_is_a_transcript_for_the_ai_sdk() -> None:
    examples = {
        "openai": test_openai_chat.EXACT,
        "openai-responses": test_openai_responses.EXACT,
        "anthropic": test_anthropic.EXACT,
    }
    found = [messages(value, format) for format, values in examples.items() for value in values.values()]
    named = [[{"id": str(place), **message} for place, message in enumerate(said)] for said in found]
    judge = Judge()

    taken = judge.accepts(named)

    judge.close()
    assert len(taken) == len(named) and all(taken)
    assert formats.read(named[0], "aisdk").messages() == named[0]
