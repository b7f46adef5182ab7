"""The tree of turns and the heads that point into it (rows 92, 94 to 98, 100)."""

from __future__ import annotations

import random
from contextlib import ExitStack

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import execute, one, query
from ..tools.talk import texts
from .support_saving import Child
from .support_tree import Walk, answers

STEPS = pytest.mark.parametrize("steps", [40, pytest.param(1_000, marks=pytest.mark.long)])
DEPTHS = pytest.mark.parametrize("depth", [1_100, pytest.param(10_000, marks=pytest.mark.long)])

# ---------------------------------------------------------------- ancestors and descendants


@DEPTHS
def test_promise_092_ancestors_and_descendants_are_found_however_deep(path: str, depth: int) -> None:
    with palaver.open(path, durability="normal") as store:
        line = [store.sessions.create("a")]
        for _ in range(depth):
            line.append(store.sessions.create("a", parent=line[-1]))
        ids = [session.id for session in line]
        assert line[-1].ancestors() == ids[-2::-1]
        assert line[0].descendants() == ids[1:]
        assert store.verify() == []


@DEPTHS
def test_promise_092_a_fork_of_a_fork_of_a_fork_works_however_deep(path: str, depth: int) -> None:
    with palaver.open(path, durability="normal") as store:
        session = store.sessions.create("a")
        session.commit("hello")
        for _ in range(depth):
            session = session.fork()
        assert texts(session) == ["hello"]
        assert session.info.preview == "hello"
        assert store.verify() == []


@DEPTHS
def test_promise_092_a_path_is_walked_however_long(path: str, depth: int) -> None:
    with palaver.open(path, durability="normal") as store:
        session = store.sessions.create("a")
        for n in range(depth):
            session.commit(f"{n}")
        assert texts(session) == [str(n) for n in range(depth)]
        assert [turn.depth for turn in session.path()] == list(range(1, depth + 1))
        session.rewind(to=session.path()[0])
        assert texts(session) == ["0"]


def test_promise_092_a_fork_that_wrote_nothing_is_an_ancestor_too(store: palaver.Store) -> None:
    root = store.sessions.create("a")
    root.commit("hello")
    first = root.fork()
    second = first.fork()
    assert second.ancestors() == [first.id, root.id]
    assert root.descendants() == [first.id, second.id]
    assert first.descendants() == [second.id]


def test_promise_092_no_call_can_make_a_cycle(store: palaver.Store) -> None:
    unused = "ses_1a1e132ed15000zRchOCXoZs7a"
    with pytest.raises(palaver.SessionNotFound):
        store.sessions.create("a", id=unused, parent=unused)
    root = store.sessions.create("a")
    child = store.sessions.create("a", parent=root)
    with pytest.raises(palaver.BadValue):
        store.sessions.create("a", id=root.id, parent=child)
    assert query(store.path, "SELECT id, parent_id FROM chat_sessions ORDER BY created_at, id") == [
        (root.id, None),
        (child.id, root.id),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_promise_092_whatever_is_tried_no_session_becomes_its_own_ancestor(store: palaver.Store, seed: int) -> None:
    dice, tried = random.Random(seed), 0
    store.sessions.create("a", id="s0")
    for _ in range(80):
        names = [f"s{dice.randrange(12)}" for _ in range(2)]
        attempt = dice.choice((_create, _get_or_create, _fork, _graft))
        try:
            attempt(store, *names)
            tried += 1
        except palaver.PalaverError:
            pass
    origins = dict(query(store.path, "SELECT session_id, origin_id FROM heads"))
    parents = dict(query(store.path, "SELECT id, parent_id FROM chat_sessions"))
    assert tried > 10 and any(origins.values())
    for name in origins:
        for above in (origins, parents):
            assert name not in walk(above, name)
        assert store.sessions.get(name).ancestors() == walk(origins, name)


def walk(above: dict[str, str | None], name: str) -> list[str]:
    """All that stand above one; a circle would come back to it."""
    found: list[str] = []
    at = above.get(name)
    while at is not None and at not in found:
        found.append(at)
        at = above.get(at)
    return found


def _create(store: palaver.Store, name: str, parent: str) -> None:
    store.sessions.create("a", id=name, parent=parent)


def _get_or_create(store: palaver.Store, name: str, parent: str) -> None:
    store.sessions.get_or_create(name, "a", parent=parent, relation="continue")


def _fork(store: palaver.Store, name: str, at: str) -> None:
    store.sessions.get(name).fork().alias(at)


def _graft(store: palaver.Store, name: str, parent: str) -> None:
    turn = palaver.GraftTurn([palaver.GraftItem(b"1", "1")], [{"role": "user", "content": "hello"}])
    ours = store.sessions.get(name).id if name[-1] in "13579" else None
    store.graft([palaver.GraftSession("there", name, [turn], parent=parent, into=ours)])


@DEPTHS
@broken_by("the_oldest_goes_on")
def test_promise_092_the_tip_is_found_however_long_the_chain(path: str, depth: int) -> None:
    with palaver.open(path, durability="normal") as store:
        first = at = store.sessions.create("a")
        for n in range(depth):
            if n % 100 == 0:
                store.sessions.create("a", parent=at, relation="continue", title="left behind")
            at = store.sessions.create("a", parent=at, relation="continue", title=str(n))
        assert (first.tip().title, at.tip()) == (str(depth - 1), at)


def test_promise_092_a_cycle_made_by_another_program_does_not_trap_a_walk(store: palaver.Store) -> None:
    """Through contract tables only: rows of sessions that have no head of ours."""
    columns = "id, agent, model_json, parent_id, created_at, updated_at"
    for name, parent in (("one", "three"), ("two", "one"), ("three", "two")):
        execute(store.path, f"INSERT INTO chat_sessions ({columns}) VALUES (?, 'x', '{{}}', ?, 1, 1)", name, parent)
    with Child("walks", store.path, session="one") as child:
        (line,) = child.finish()
    assert (line["ancestors"], line["descendants"]) == (["three", "two"], ["two", "three"])


def test_promise_092_children_that_another_program_made_are_listed_by_the_contract_s_column(
    store: palaver.Store,
) -> None:
    root = store.sessions.create("a")
    columns = "id, agent, model_json, parent_id, created_at, updated_at"
    for number, name in enumerate(("one", "two"), 1):
        put = f"INSERT INTO chat_sessions ({columns}) VALUES (?, 'x', '{{}}', ?, ?, ?)"
        execute(store.path, put, name, root.id, number, number)
    store.sessions.get("two").commit("hello")  # now it has a head
    store.sessions.create("a", parent="one")
    for order in ("created", "updated"):
        assert [info.id for info in store.sessions.list(parent=root, order=order)] == ["two", "one"]
    assert len(store.sessions.list(parent="one").sessions) == 1
    assert (root.delete(descendants=True), store.sessions.list(archived=True).sessions) == (4, [])


# ---------------------------------------------------------------- turns


@STEPS
@broken_by("delete_takes_the_turns", "rewind_takes_the_turns")
def test_promise_094_turns_are_never_deleted(store: palaver.Store, steps: int) -> None:
    walk, known = Walk(store), set[str]()

    def check() -> None:
        there = {row[0] for row in query(store.path, "SELECT id FROM turns")}
        assert known <= there
        known.update(there)

    walk.run(steps, check)
    assert len(known) > steps / 4


ORPHANS = """
    SELECT c.id FROM turns c LEFT JOIN turns p ON p.id = c.parent_id
     WHERE (c.parent_id IS NULL) <> (c.depth = 1)
        OR (c.parent_id IS NOT NULL AND (p.id IS NULL OR p.sealed_at IS NULL OR c.depth <> p.depth + 1))
"""


MISPLACED = """
    SELECT l.session_id FROM reflog l JOIN reflog b ON b.session_id = l.session_id AND b.revision = l.revision - 1
      JOIN turns t ON t.id = l.turn_id WHERE l.kind = 'seal' AND t.parent_id IS NOT b.turn_id
"""


@STEPS
@broken_by("parents_are_forgotten", "rewind_takes_the_turns")
def test_promise_095_every_turn_but_a_root_has_a_valid_parent(store: palaver.Store, steps: int) -> None:
    Walk(store).run(steps, lambda: None)
    assert query(store.path, ORPHANS) == []
    assert query(store.path, MISPLACED) == [], "a turn's parent is the head that it was begun on"
    assert one(store.path, "SELECT count(*) FROM turns WHERE parent_id IS NOT NULL") > 0


def test_promise_096_has_children_is_asked_not_stored(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    first, second, third = (session.commit(f"turn {n}") for n in (1, 2, 3))
    session.rewind(to=second)
    other = session.commit("another third")
    parents = "SELECT id FROM turns t WHERE EXISTS (SELECT 1 FROM turns c WHERE c.parent_id = t.id)"
    assert {row[0] for row in query(store.path, parents)} == {first.id, second.id}
    assert [t.id for t in session.tree() if t.id not in {c.parent_id for c in session.tree()}] == [third.id, other.id]
    assert "has_children" not in [row[1] for row in query(store.path, "PRAGMA table_info(turns)")]


@STEPS
def test_promise_096_the_tree_and_the_rows_agree_on_who_has_children(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)
    walk.run(steps, lambda: None)
    parents = {row[0] for row in query(store.path, "SELECT DISTINCT parent_id FROM turns WHERE parent_id IS NOT NULL")}
    trees = [store.sessions.get(s, deleted=True).tree() for s in walk.shows]
    assert {turn.parent_id for tree in trees for turn in tree} - {None} == parents


# ---------------------------------------------------------------- sessions point

ROWS = "SELECT (SELECT count(*) FROM chat_messages), (SELECT count(*) FROM chat_parts), (SELECT count(*) FROM turns)"


@broken_by("delete_takes_the_rows")
def test_promise_097_several_sessions_point_to_one_turn_and_hold_nothing(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for n in range(3):
        answers(session.turn(f"question {n}"), f"answer {n}")
    before = query(store.path, ROWS)
    forks = [session.fork() for _ in range(5)]
    assert query(store.path, ROWS) == before
    assert len(set(query(store.path, "SELECT turn_id FROM heads"))) == 1
    shown = session.messages()
    session.delete()
    forks[0].delete()
    assert [fork.messages() for fork in forks[1:]] == [shown] * 4


@STEPS
@broken_by("delete_takes_the_rows", "rewind_takes_the_turns")
def test_promise_097_what_a_session_shows_follows_from_its_pointer_alone(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)
    walk.run(steps, walk.agree)
    unsealed = "SELECT h.session_id FROM heads h JOIN turns t ON t.id = h.turn_id WHERE t.sealed_at IS NULL"
    assert query(store.path, unsealed) == []
    dangling = "SELECT session_id FROM heads h WHERE turn_id IS NOT NULL AND turn_id NOT IN (SELECT id FROM turns)"
    assert query(store.path, dangling) == []


# ---------------------------------------------------------------- every move has its line

MISMATCH = """
    SELECT h.session_id FROM heads h
     WHERE h.revision + 1 <> (SELECT count(*) FROM reflog r WHERE r.session_id = h.session_id)
        OR NOT EXISTS (SELECT 1 FROM reflog r WHERE r.session_id = h.session_id AND r.turn_id IS h.turn_id
                       AND r.revision = h.revision
                       AND r.seq = (SELECT max(x.seq) FROM reflog x WHERE x.session_id = h.session_id))
"""


@STEPS
@broken_by("heads_move_without_a_line")
def test_promise_098_every_movement_of_a_pointer_has_its_line(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)

    def check() -> None:
        assert query(store.path, MISMATCH) == []

    walk.run(steps, check)
    counted = dict(query(store.path, "SELECT session_id, count(*) - 1 FROM reflog GROUP BY session_id"))
    assert counted == walk.moves


def test_promise_098_creation_fork_and_rollback_have_lines(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    first = session.commit("one")
    second = session.commit("two")
    session.rewind(to=first, reason="a mistake")
    session.undo()
    fork = session.fork(at=first)
    lines = "SELECT kind, turn_id, revision, reason FROM reflog WHERE session_id = ? ORDER BY seq"
    assert query(store.path, lines, session.id) == [
        ("create", None, 0, "agent a"),
        ("seal", first.id, 1, None),
        ("seal", second.id, 2, None),
        ("rewind", first.id, 3, "a mistake"),
        ("undo", second.id, 4, None),
    ]
    assert query(store.path, lines, fork.id) == [("fork", first.id, 0, "agent a")]


@pytest.mark.parametrize(("writers", "wins"), [(3, 10), pytest.param(8, 200, marks=pytest.mark.long)])
@broken_by("heads_move_without_a_line")
def test_promise_098_a_race_leaves_as_many_lines_as_moves(path: str, writers: int, wins: int) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a").id
    with ExitStack() as stack:
        racing = [stack.enter_context(Child("commits", path, session=session, wins=wins)) for _ in range(writers)]
        won = sum(len(child.finish()) for child in racing)
    assert won == writers * wins
    assert query(path, MISMATCH) == []
    assert one(path, "SELECT count(*) FROM reflog WHERE kind = 'seal'") == won
    assert query(path, "SELECT revision FROM reflog ORDER BY seq") == [(n,) for n in range(won + 1)]
    assert one(path, "SELECT revision FROM heads") == won


# ---------------------------------------------------------------- rolling back


@broken_by("rewind_takes_the_turns")
def test_promise_100_rolling_back_returns_to_an_earlier_state_and_loses_nothing(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    states: list[tuple[str, str]] = []
    for n in range(6):
        answers(session.turn(f"question {n}"), f"answer {n}")
        states.append((session.path()[-1].id, session.messages_json()))
    for turn, shown in reversed(states):
        session.rewind(to=turn)
        assert session.messages_json() == shown
    for _, shown in states[1:]:
        session.undo()
        assert session.messages_json() == shown
    assert {turn.id for turn in session.tree()} == {turn for turn, _ in states}
    assert [line.revision for line in session.history()] == list(range(1 + 6 + 6 + 5))


@STEPS
@broken_by("rewind_takes_the_turns")
def test_promise_100_whatever_a_session_ever_showed_can_be_reached_again(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)
    ever: dict[tuple[str, int], list[str]] = {}

    def remember() -> None:
        for session_id in walk.live():
            ever[session_id, walk.session(session_id).revision] = list(walk.shows[session_id])

    walk.run(steps, remember)
    for (session_id, revision), shown in ever.items():
        session = store.sessions.get(session_id, deleted=True)
        turn = next(line.turn_id for line in session.history() if line.revision == revision)
        if turn is not None and session_id in walk.live():
            assert texts(session.fork(at=turn)) == shown
