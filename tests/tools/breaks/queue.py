"""Breaks of the promises about the queue and its triggers."""

from __future__ import annotations

from typing import Any

from ..planting import planted


@planted
def a_queued_row_looks_like_any_other() -> None:
    """Readers of the contract are not told that a message waits."""
    from palaver.core import metadata

    splice = metadata.splice
    metadata.splice = lambda text, key, value: text if key == "queued_at" else splice(text, key, value)


@planted
def queued_at_stays_when_fired() -> None:
    """A message that was fired says for ever that it waits."""
    from palaver.core import metadata

    metadata.unqueue = lambda text: text


@planted
def the_stamp_is_cleared_before_the_claim() -> None:
    """In a transaction of its own: who dies between the two leaves a message that waits and does not say so."""
    from palaver.core import metadata
    from palaver.db.queries import Q
    from palaver.session import Session

    claim = Session.claim

    def apart(self: Session, *args: Any, **given: Any) -> Any:
        with self._store.db.write(hard=True) as tx:
            for _, turn, _, _ in tx.all(Q.pending, session=self.id)[:1]:
                for message, text in tx.all(Q.home_messages_of_turn, turn=turn, session=self.id):
                    tx.defer(Q.set_message_metadata, id=message, metadata=metadata.unqueue(text), now=0)
        return claim(self, *args, **given)

    Session.claim = apart  # type: ignore[method-assign]


@planted
def what_is_given_back_does_not_say_that_it_waits() -> None:
    """A start failed, the message waits again, and its row looks like one that was fired."""
    from palaver.core.settle import requeue

    class Metadata:
        unqueue, hide, unhide = requeue.metadata.unqueue, requeue.metadata.hide, requeue.metadata.unhide

        @staticmethod
        def splice(text: str, key: str, value: str) -> str:
            return text

    requeue.metadata = Metadata  # type: ignore[assignment]


@planted
def the_trigger_is_not_in_the_message() -> None:
    """Only the turn knows what began it."""
    from palaver.core.turn.options import TurnOptions

    given = TurnOptions.for_message

    def without(self: Any, role: str) -> dict[str, Any]:
        return {key: value for key, value in given(self, role).items() if key != "trigger"}

    TurnOptions.for_message = without  # type: ignore[method-assign]


@planted
def firing_drops_the_trigger() -> None:
    """A message that is claimed loses its envelope together with its stamp."""
    from palaver.base import exact_json
    from palaver.core import metadata

    unqueue = metadata.unqueue

    def bare(text: str) -> str:
        value = exact_json.parse(unqueue(text))
        return exact_json.encode({key: each for key, each in value.items() if key != "trigger"})

    metadata.unqueue = bare
