"""`palaver tail`: the end of a session, then what is written to it, chunk by chunk as another process writes it.

It reads the session's events from the number that its first snapshot ended with, so nothing is missed or shown twice.
While nothing happens it looks less often; and it looks for writers that died, whose turns nobody ends: the store is
only read, and whoever next writes there seals them. Where it may not look at another user's signs of life, silence
ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from palaver import Event, Session, Store, StoredMessage, TurnInfo
from palaver.base import address
from palaver.db.sqlite import owner_files

from ..command import Call, Count, command, session_argument
from ..ui.jsontext import as_json
from ..ui.live import Live
from ..ui.screen import say_aside

_CALM = 2.0  # seconds without news after which dead writers are looked for
_SILENCE = 15  # times so long without news, after which a writer of whom nothing can be known is not waited for
_UNKNOWN = "nothing came for a while, and whether its writer lives is another user's to know; -f goes on waiting"
_ENDED = ("seal", "recover", "stray", "stop", "delete", "wait")


@command(
    "tail",
    examples=["palaver tail @ -f", "palaver tail 9fK2xQ -n 20", "palaver tail @ -f --json"],
    keys={
        "seq": "the event's number in the session",
        "kind": "chunk, begin, resolve, usage, wait, resume, stray, title …, or the kind of a move (see log)",
        "turn": "the number of the begin event of its turn, or null",
        "at": "epoch ms",
        "data": "the chunk, or what the event is about",
    },
)
@session_argument()
@click.option("-f", "--follow", is_flag=True, help="Go on after the turn ends, until Ctrl-C.")
@click.option("-n", "--messages", "last", type=Count(0), default=4, show_default=True, help="Messages first.")
def tail(call: Call, session: str, follow: bool, last: int) -> None:
    """Read the end of a session, and follow what is being written.

    Without -f it ends when nothing is being written any more: the turn is sealed, or waits for an answer, or its writer
    died (another user's store does not say that: there it ends after half a minute without news). --json prints
    one line per event from here on; the messages that are there already are `palaver show`'s."""
    store, found = call.session(session, readonly=True)
    messages, seq = found.snapshot()
    url, _ = call.where
    signs = None if address.is_server(url) else store.path + "-owners"
    follower = Follower(store, found, seq, signs)
    follower.on_silence = lambda: say_aside(_UNKNOWN, json=call.json)
    screen = call.screen
    if call.json:
        for event in follower.events(forever=follow):
            screen.out.write(_event_line(event) + "\n")
            screen.out.flush()
        return
    live = Live(screen, found)
    turns = {turn.id: turn for turn in found.tree()}
    _print_last(live, messages[max(0, len(messages) - last) :], turns, unfinished=bool(follower.live))
    screen.out.flush()
    follower.on_death = live.died
    for event in follower.events(forever=follow):
        live.event(event)
        screen.out.flush()


def _print_last(live: Live, shown: list[StoredMessage], turns: dict[str, TurnInfo], *, unfinished: bool) -> None:
    """The last messages, and below those of a turn how it ended, if not well. Of one that is being written, the last
    line stays open for the words to come."""
    for place, message in enumerate(shown, start=1):
        following = shown[place].turn_id if place < len(shown) else None
        if unfinished and place == len(shown) and message.role == "assistant":
            live.unfinished(message)
            continue
        live.message(message)
        if message.turn_id in turns and message.turn_id != following:
            live.ended(turns[message.turn_id])


def _event_line(event: Event) -> str:
    return as_json(
        {"seq": event.seq, "kind": event.kind, "turn": event.turn, "at": event.at, "data": event.data},
    )


class Follower:
    """Reads a session's events as they come, and knows which turns are being written."""

    def __init__(self, store: Store, session: Session, after: int, signs: str | None = None) -> None:
        """`signs`: the folder of the writers' signs of life, where they are files."""
        self._store = store
        self._session = session
        self._after = after
        self.live = _live(session)
        self._signs, self._calm = signs, 0
        self.on_death: Callable[[], None] = _say_nothing
        self.on_silence: Callable[[], None] = _say_nothing

    def events(self, *, forever: bool) -> Iterator[Event]:
        """Every event, until no turn is being written; for ever, if that is wanted."""
        if self.live:
            self._look_for_the_dead()
        while True:
            patience = _CALM if forever or self.live else 0.0
            for event in self._session.follow(self._after, timeout=patience):
                self._after, self._calm = event.seq, 0
                self._count(event)
                yield event
                if patience and not (forever or self.live):
                    break
            else:
                if not patience:
                    return
                self._look_for_the_dead()
                if not forever and self.live and self._is_in_vain():
                    self.on_silence()
                    return

    def _is_in_vain(self) -> bool:
        """It has been silent for long, and whether anybody still writes cannot be known."""
        self._calm += 1
        return self._calm >= _SILENCE and self._signs is not None and owner_files.are_hidden(self._signs)

    def _count(self, event: Event) -> None:
        turn = event.data.get("turn") if isinstance(event.data, dict) else None
        if event.kind in ("begin", "resume") and event.turn is not None:
            self.live.add(str(turn))
        elif event.kind in _ENDED:
            self.live &= _live(self._session)

    def _look_for_the_dead(self) -> None:
        died = self.live & self._store.abandoned()
        self.live = (self.live - died) & _live(self._session)
        for _ in died:
            self.on_death()


def _say_nothing() -> None:
    """For programs there is no event of it yet."""


def _live(session: Session) -> set[str]:
    return {turn.id for turn in session.live()}
