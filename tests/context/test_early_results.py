"""A result that came from outside before its call was whole: the part has no input, and a model is told one."""

from __future__ import annotations

from contextlib import closing

import palaver
from tests.model.test_model import Oracle


def test_the_sdk_takes_a_result_whose_call_was_never_finished() -> None:
    with palaver.open(":memory:") as store:
        session = store.sessions.create("a")
        turn = session.turn("Go on")
        turn.write({"type": "tool-input-start", "toolCallId": "c", "toolName": "run"})
        turn.resolve("c", output={"a": 1})
        turn.seal()
        context = session.context()
        assert context[-1]["parts"][0]["input"] == {}
        with closing(Oracle()) as oracle:
            (answer,) = oracle.ask_many("validate", [context])
        assert (answer["ok"], answer["modelMessages"]) == (True, session.model_messages())
