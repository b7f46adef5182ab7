"""A source that lives: a tree of items that grows, changes, forks, is rewound and loses what it had; and what of it a
reader would see."""

from __future__ import annotations

import random
from collections.abc import Iterator

from palaver import GraftItem, GraftMove, GraftSession, GraftTurn

YEAR = 1_600_000_000_000


class Node:
    """A turn there: its items, each a name and a text."""

    def __init__(self, parent: Node | None, first: tuple[str, str], at: int) -> None:
        self.parent = parent
        self.items = [first]
        self.at = at

    @property
    def last(self) -> str:
        name, _ = self.items[-1]
        return name

    def path(self) -> list[Node]:
        return [*(self.parent.path() if self.parent else ()), self]

    def turn(self) -> GraftTurn:
        items, at = self.items, self.at

        def rest(known: int) -> GraftTurn:
            said = [{"role": "assistant", "content": text, "created_at": at + n} for n, (_, text) in enumerate(items)]
            return GraftTurn([], said[known:], started_at=at)

        bodies = [GraftItem(f"{name}={text}".encode(), name) for name, text in items]
        return GraftTurn(bodies, parent=self.parent.last if self.parent else None, rest=rest)


class Source:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._count = 0
        self.nodes: list[Node] = []
        self.head: Node | None = None
        self.grow()

    def step(self) -> str:
        """Something happens there; what."""
        verbs = [self.grow, self.grow, self.go_on, self.go_on, self.change, self.fork, self.rewind, self.lose]
        verb = self._chance.choice(verbs)
        verb()
        return verb.__name__

    def grow(self) -> None:
        self._add(self.head)

    def go_on(self) -> None:
        """The newest turn goes on, if nothing came after it."""
        if self.head is not None and all(node.parent is not self.head for node in self.nodes):
            self.head.items.append(self._item())

    def change(self) -> None:
        if self.nodes:
            node = self._chance.choice(self.nodes)
            place = self._chance.randrange(len(node.items))
            name, _ = node.items[place]
            node.items[place] = name, self._text()

    def fork(self) -> None:
        self._add(self._chance.choice([None, *self.nodes]))

    def rewind(self) -> None:
        self.head = self._chance.choice([None, *self.nodes])

    def lose(self) -> None:
        """The source forgets a turn, and all that came after it."""
        if len(self.nodes) > 1:
            gone = self._chance.choice(self.nodes)
            self.nodes = [node for node in self.nodes if gone not in node.path()]
            if self.head is not None and self.head not in self.nodes:
                self.head = self._chance.choice([None, *self.nodes])

    def _add(self, parent: Node | None) -> None:
        self.head = Node(parent, self._item(), YEAR + self._count * 1_000)
        self.nodes.append(self.head)

    def _item(self) -> tuple[str, str]:
        self._count += 1
        return f"i{self._count}", self._text()

    def _text(self) -> str:
        return f"text {self._chance.getrandbits(32)}"

    # ------------------------------------------------------------ as it is given, and as it reads

    def session(self) -> GraftSession:
        return GraftSession("fake", "f-1", list(self._steps()), agent="fake")

    def _steps(self) -> Iterator[GraftTurn | GraftMove]:
        """In any order, some of it twice; and where the head stands."""
        nodes = [*self.nodes, *self._chance.sample(self.nodes, min(2, len(self.nodes)))]
        self._chance.shuffle(nodes)
        yield from (node.turn() for node in nodes)
        yield GraftMove(self.head.last if self.head else None)

    def texts(self) -> list[str]:
        return [text for node in (self.head.path() if self.head else ()) for _, text in node.items]
