"""What a user sees when the line, a backend or the whole server fails: nothing acknowledged is lost, nothing is there
twice, and where the store says that nothing was changed, nothing was."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

import palaver
from palaver import HeadConflict, Session, Store, StoreUnavailable, Turn, TurnSealed
from palaver.db.postgres.engine import PostgresDatabase
from palaver.db.postgres.transactions import Write
from palaver.streaming import batch
from palaver.streaming.chunk_writer import ChunkWriter
from palaver.streaming.recorder import Recorder

from ..tools.chunks import delta
from .citus import space_node
from .crowd import NOTHING, Crowd, judge_commits
from .lossy import Lossy
from .proxy import Proxy
from .puppet import Writer
from .server import Server, connect_given

SEED = 7
TIMEOUT_S = 5.0
ALONE, WITH_ITS_PART = 60_000, 0  # save_buffer_ms: a chunk is a row of its own; or its part's row comes along
BOTH_WAYS = pytest.mark.parametrize(
    "buffer_ms", [pytest.param(ALONE, id="alone"), pytest.param(WITH_ITS_PART, id="with its part")]
)


@pytest.fixture(scope="module")
def durable() -> Iterator[Server]:
    """A server that keeps its word when it crashes."""
    if connect_given():
        pytest.skip("the server is not ours to stop")
    with Server(fsync="on") as server:
        yield server


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """On a server of ours; or on the one that is given, for a test that leaves it as it is."""
    given = connect_given()
    if given:
        made = given.create_database()
        yield made
        given.drop_database(made)
        return
    durable: Server = request.getfixturevalue("durable")
    durable.start()
    made = durable.create_database()
    yield made
    durable.start()
    durable.drop_database(made)


@pytest.fixture
def line(database: str) -> Iterator[Lossy]:
    with Lossy(database) as made:
        yield made


@pytest.fixture
def store(line: Lossy) -> Iterator[Store]:
    """By way of the line; what it leaves open is aborted while the line still stands."""
    with palaver.open(line.dsn, timeout=TIMEOUT_S, save_buffer_ms=ALONE) as opened:
        yield opened


@pytest.fixture
def session(store: Store) -> Session:
    return store.sessions.create()


def stream(session: Session, *words: str) -> Turn:
    turn = session.turn("go")
    turn.write({"type": "text-start", "id": "t"})
    for word in words:
        turn.write(delta(word))
    return turn


def seen(database: str, session_id: str) -> list[str]:
    """Every text of the transcript, read directly, in a store that fits together."""
    with palaver.open(database) as store:
        assert store.verify() == []
        return [part["text"] for message in store.sessions.get(session_id).messages() for part in message["parts"]]


def chunks(session: Session) -> list[str]:
    """As a follower gets them."""
    return [event.data["delta"] for event in session.events() if event.kind == "chunk" and "delta" in event.data]


def ask(database: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(psycopg.connect(database, autocommit=True, connect_timeout=10)) as db:
        cursor = db.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


def backends(database: str) -> list[int]:
    return [
        pid
        for (pid,) in ask(
            database,
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'palaver'",
        )
    ]


def schema_of(database: str) -> str:
    return str(ask(database, "SELECT schema_name FROM palaver.spaces")[0][0])


def soon(true: Callable[[], bool], within: float = TIMEOUT_S) -> bool:
    deadline = time.monotonic() + within
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[list[object]]:
    """Work in a thread while the block runs; what it returned or raised is in the list after the block."""
    result: list[object] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield result
    finally:
        thread.join(TIMEOUT_S * 3)
    assert not thread.is_alive()


# ---------------------------------------------------------------- one lost answer


def test_a_commit_whose_reply_was_lost_is_reported_as_done_once(database: str, line: Lossy, session: Session) -> None:
    line.lose_next_commit()
    turn = session.commit("said", expected=session.revision)

    assert line.lost == 1
    assert seen(database, session.id) == ["said"]
    assert session.history()[-1].turn_id == turn.id


def test_a_first_turn_whose_reply_was_lost_is_begun_once(database: str, line: Lossy, session: Session) -> None:
    session.turn("before").seal()  # the lease is signed
    line.lose_next_commit()
    session.turn("said").seal()

    assert line.lost == 1
    assert seen(database, session.id) == ["before", "said"]


def test_a_seal_whose_reply_was_lost_is_done(database: str, line: Lossy, session: Session) -> None:
    turn = stream(session, "a ", "b ")
    line.lose_next_commit()
    turn.seal()

    assert line.lost == 1
    assert turn.status == "completed"
    assert seen(database, session.id) == ["go", "a b "]


@BOTH_WAYS
def test_a_chunk_whose_reply_was_lost_is_stored_once_and_the_stream_goes_on(
    database: str, line: Lossy, buffer_ms: int
) -> None:
    with palaver.open(line.dsn, timeout=TIMEOUT_S, save_buffer_ms=buffer_ms) as store:
        session = store.sessions.create()
        turn = stream(session, "a ")
        line.lose_next_commit()
        turn.write(delta("b "))
        turn.write(delta("c "))

        assert line.lost == 1
        assert chunks(session) == ["a ", "b ", "c "]
        turn.seal()
    assert seen(database, session.id) == ["go", "a b c "]


def test_chunks_of_several_streams_whose_one_reply_was_lost_are_each_stored_once(
    database: str, line: Lossy, store: Store
) -> None:
    turns = [stream(store.sessions.create(), "a ") for _ in range(4)]
    line.lose_next_commit(times=3)
    threads = [threading.Thread(target=turn.write, args=(delta("b "),)) for turn in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S * 2)
    for turn in turns:
        turn.write(delta("c "))
        turn.seal()

    assert [seen(database, turn.session_id) for turn in turns] == [["go", "a b c "]] * 4


@BOTH_WAYS
def test_chunks_of_several_tasks_whose_one_reply_was_lost_are_each_stored_once(
    database: str, line: Lossy, buffer_ms: int
) -> None:
    with palaver.open(line.dsn, timeout=TIMEOUT_S, save_buffer_ms=buffer_ms) as store:
        turns = [stream(store.sessions.create(), "a ") for _ in range(4)]
        line.lose_next_commit()
        assert batch.write_chunks([(turn, delta("b ")) for turn in turns]) == [None] * 4
        assert line.lost == 1
        assert batch.write_chunks([(turn, delta("c ")) for turn in turns]) == [None] * 4
        for turn in turns:
            turn.seal()

    assert [seen(database, turn.session_id) for turn in turns] == [["go", "a b c "]] * 4


def test_a_held_back_step_whose_reply_was_lost_is_stored_once(database: str, line: Lossy) -> None:
    with palaver.open(line.dsn, save_on="step", timeout=TIMEOUT_S) as store:
        session = store.sessions.create()
        turn = stream(session, "a ", "b ")
        line.lose_next_commit()
        turn.flush()
        turn.write(delta("c "))
        turn.seal()

    assert line.lost == 1
    assert seen(database, session.id) == ["go", "a b c "]


def test_a_chunk_that_cannot_be_looked_for_is_not_said_to_be_absent(
    database: str, durable: Server, line: Lossy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with palaver.open(line.dsn, timeout=1.0) as store:
        turn = stream(store.sessions.create(), "a ")
        look_for = Recorder._look_for

        def with_the_server_away(self: Recorder, *given: Any) -> None:
            durable.stop()
            look_for(self, *given)

        with monkeypatch.context() as patched:
            patched.setattr(Recorder, "_look_for", with_the_server_away)
            line.lose_next_commit()
            with pytest.raises(StoreUnavailable) as caught:
                turn.write(delta("b "))
        durable.start()
        turn.seal()

    assert seen(database, turn.session_id) == ["go", "a b "]
    assert NOTHING not in str(caught.value)


# ---------------------------------------------------------------- a server that is away


VERBS: dict[str, Callable[[Store, Session], object]] = {
    "read": lambda store, session: session.messages(),
    "list": lambda store, session: store.sessions.list(),
    "commit": lambda store, session: session.commit("more"),
    "create": lambda store, session: store.sessions.create(),
    "turn": lambda store, session: session.turn("more").seal(),
    "recover": lambda store, session: store.recover(),
    "verify": lambda store, session: store.verify(),
    "query": lambda store, session: list(store.db.query("SELECT 1")[1]),
    "follow": lambda store, session: list(session.follow(0, timeout=0.05)),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_idle_connection_that_the_server_closed_is_replaced_silently(
    database: str, store: Store, session: Session, verb: str
) -> None:
    session.commit("said")
    engine = store._engine
    assert isinstance(engine, PostgresDatabase)
    for one in [engine.pool.borrow() for _ in range(4)]:
        engine.pool.give_back(one)
    ask(
        database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'palaver' AND datname = current_database()",
    )
    assert soon(lambda: not backends(database))

    VERBS[verb](store, session)


def test_a_stream_does_not_notice_that_its_idle_connection_was_closed(
    database: str, line: Lossy, session: Session
) -> None:
    turn = stream(session, "a ")
    for word in ("b ", "c ", "d "):
        line.cut()
        turn.write(delta(word))
    line.cut()
    turn.seal()

    assert seen(database, session.id) == ["go", "a b c d "]


def test_a_server_that_is_away_for_a_second_delays_a_commit_but_does_not_fail_it(
    database: str, durable: Server, session: Session
) -> None:
    durable.stop()
    with beside(lambda: session.commit("said")) as result:
        time.sleep(1.0)
        assert result == []
        durable.start()

    assert isinstance(result[0], palaver.TurnInfo), result
    assert seen(database, session.id) == ["said"]


def test_a_server_that_is_away_for_a_second_delays_a_stream_but_does_not_end_it(
    database: str, durable: Server, session: Session
) -> None:
    turn = stream(session, "a ")
    durable.stop()
    with beside(lambda: turn.write(delta("b "))) as result:
        time.sleep(1.0)
        durable.start()
    turn.seal()

    assert result == [None]
    assert seen(database, session.id) == ["go", "a b "]


@pytest.mark.parametrize("verb", ["read", "commit", "turn"])
def test_a_server_that_stays_away_is_said_so_within_the_timeout(
    database: str, durable: Server, line: Lossy, verb: str
) -> None:
    with palaver.open(line.dsn, timeout=0.5) as store:
        session = store.sessions.create()
        session.turn("before").seal()
        durable.stop()
        with beside(lambda: VERBS[verb](store, session)) as result:
            pass
        durable.start()

    assert isinstance(result[0], StoreUnavailable), result
    assert NOTHING in str(result[0]) and "\n" not in str(result[0])
    assert seen(database, session.id) == ["before"]


def test_a_server_that_is_not_there_at_opening_is_said_so_within_the_timeout(database: str, durable: Server) -> None:
    durable.stop()
    with beside(lambda: palaver.open(database, timeout=0.5)) as result:
        pass

    assert isinstance(result[0], StoreUnavailable), result


@pytest.mark.long
def test_a_line_that_stands_still_is_given_up(line: Lossy) -> None:
    with palaver.open(line.dsn, timeout=0.1) as store:
        session = store.sessions.create()
        line.stall(600.0)
        with beside(lambda: session.commit("said")) as result:
            pass
        line.stall(0)

    assert isinstance(result[0], StoreUnavailable), result


# ---------------------------------------------------------------- a server that crashes


@contextmanager
def interrupted_before_commit(monkeypatch: pytest.MonkeyPatch, accident: Callable[[], object]) -> Iterator[None]:
    """When the next write is about to commit, everything of it sent but that word."""
    commit = Write._commit

    def after_the_accident(self: Write) -> BaseException | None:
        patched.setattr(Write, "_commit", commit)
        if self._waiting:
            self._send()
        accident()
        return commit(self)

    with monkeypatch.context() as patched:
        patched.setattr(Write, "_commit", after_the_accident)
        yield


def test_a_backend_killed_inside_a_transaction_leaves_nothing(
    database: str, durable: Server, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.commit("before")

    def kill() -> None:
        durable.kill_backend(_in_transaction(database))
        durable.start()

    with interrupted_before_commit(monkeypatch, kill), pytest.raises(StoreUnavailable):
        session.commit("lost")
    session.commit("after")

    assert seen(database, session.id) == ["before", "after"]
    assert [line.revision for line in session.history()] == [0, 1, 2]


def test_a_commit_that_a_crash_took_is_said_to_be_gone_at_once(
    database: str, durable: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who would wait for the timeout would not be back in time."""

    def crash() -> None:
        durable.stop("immediate")
        durable.start()

    with palaver.open(database, timeout=600.0) as store:
        session = store.sessions.create()
        with interrupted_before_commit(monkeypatch, crash), beside(lambda: session.commit("lost")) as result:
            pass

    assert isinstance(result[0], StoreUnavailable) and NOTHING in str(result[0])
    assert seen(database, session.id) == []


def _in_transaction(database: str) -> int:
    return int(ask(database, "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'")[0][0])


def test_a_commit_that_a_crash_took_is_not_reported_as_done_because_another_got_its_number(
    database: str, durable: Server, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with palaver.open(database) as elsewhere:  # another machine, that goes on after the crash
        other = elsewhere.sessions.create()

        def crash() -> None:
            durable.stop("immediate")
            durable.start()
            for number in range(5):
                other.commit(f"other {number}")

        with interrupted_before_commit(monkeypatch, crash), pytest.raises(StoreUnavailable):
            session.commit("lost")

    assert seen(database, session.id) == []


def crash_in_mid_stream(server: Server, database: str, store: Store, durable_chunks: int = 0) -> str:
    """A session whose turn went on after the crash. What was not promised is lost: the process that writes the log now
    and then is stopped, and killed, which is the crash."""
    other = store.sessions.create()
    ((writer,),) = ask(database, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
    os.kill(writer, signal.SIGSTOP)
    turn = store.sessions.create().turn("go")
    for number, chunk in enumerate(({"type": "text-start", "id": "t"}, delta("a "), delta("b ")), 1):
        turn.write(chunk)
        if number == durable_chunks:
            other.commit("said")  # a boundary: everything before it is safe, too
    server.kill_backend(writer)
    server.start()
    turn.write(delta("c "))
    turn.write({"type": "text-end", "id": "t"})
    turn.seal()
    return turn.session_id


def test_what_was_acknowledged_survives_a_crash_of_the_server(database: str, durable: Server, line: Lossy) -> None:
    with palaver.open(line.dsn, timeout=TIMEOUT_S, durability="full") as store:
        session = store.sessions.create()
        session.commit("said")
        streamed = crash_in_mid_stream(durable, database, store)

    assert seen(database, session.id) == ["said"]
    assert seen(database, streamed) == ["go", "a b c "]


@pytest.mark.parametrize(("durable_chunks", "buffer_ms"), [(1, ALONE), (0, WITH_ITS_PART)])
def test_a_stream_that_goes_on_after_a_crash_of_the_server_leaves_no_hole(
    database: str, durable: Server, line: Lossy, durable_chunks: int, buffer_ms: int
) -> None:
    with palaver.open(line.dsn, timeout=TIMEOUT_S, save_buffer_ms=buffer_ms) as store:
        try:
            streamed = crash_in_mid_stream(durable, database, store, durable_chunks)
        except palaver.PalaverError:  # it may refuse to go on
            return

    assert seen(database, streamed) == ["go", "a b c "]


def test_who_speaks_in_words_goes_on_after_a_crash_of_the_server(database: str, durable: Server, line: Lossy) -> None:
    with palaver.open(line.dsn, timeout=TIMEOUT_S) as store:
        session = store.sessions.create()
        ((writer,),) = ask(database, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
        with session.turn("go") as turn:
            turn.text("a ")
            turn.step()
            os.kill(writer, signal.SIGSTOP)
            for word in ("b ", "c ", "d "):
                turn.text(word)
            durable.kill_backend(writer)
            durable.start()
            turn.text("e ")
            turn.tool("run", {}, id="c1").output("done")
            turn.text("f")
        assert (turn.status, store.verify()) == ("completed", [])

    with palaver.open(database) as store:
        answer = store.sessions.get(session.id).messages()[1]
    assert "".join(part.get("text", "") for part in answer["parts"]) == "a b c d e f"


def test_who_speaks_in_words_that_are_held_back_goes_on_after_a_crash_of_the_server(
    database: str, durable: Server, line: Lossy
) -> None:
    """A step that is over is no boundary before it is stored."""
    with palaver.open(line.dsn, timeout=TIMEOUT_S, save_on="turn") as store:
        session = store.sessions.create()
        ((writer,),) = ask(database, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
        with session.turn("go") as turn:
            turn.text("a ")
            os.kill(writer, signal.SIGSTOP)
            turn.flush()
            turn.step()
            turn.text("b ")
            durable.kill_backend(writer)
            durable.start()
            turn.text("c")
        assert (turn.status, store.verify()) == ("completed", [])

    with palaver.open(database) as store:
        answer = store.sessions.get(session.id).messages()[1]
    assert "".join(part.get("text", "") for part in answer["parts"]) == "a b c"


# ---------------------------------------------------------------- what the server still does for somebody who is gone


@contextmanager
def head_locked(database: str) -> Iterator[Callable[[], None]]:
    """Until the block ends, or what it is given is called."""
    with closing(psycopg.connect(database)) as db:
        db.execute(f'SELECT 1 FROM "{schema_of(database)}".heads FOR UPDATE'.encode())
        yield db.rollback


def waiting_for_locks(database: str) -> int:
    """On the node that holds the space."""
    node = space_node(database, schema_of(database))
    return len(
        ask(node, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
    )


def waits_for_a_lock(database: str) -> bool:
    return waiting_for_locks(database) > 0


def test_a_chunk_that_was_still_on_its_way_when_its_line_was_cut_is_stored_once(
    database: str, line: Lossy, session: Session
) -> None:
    turn = stream(session, "a ")
    with head_locked(database) as release, beside(lambda: turn.write(delta("b "))) as result:
        assert soon(lambda: waits_for_a_lock(database))
        line.cut()
        time.sleep(0.3)
        release()
    assert result == [None]
    turn.write(delta("c "))
    turn.seal()

    assert seen(database, session.id) == ["go", "a b c "]


def test_a_chunk_that_arrives_while_it_is_looked_for_is_stored_once(
    database: str, line: Lossy, session: Session
) -> None:
    turn = stream(session, "a ")
    with head_locked(database) as release, beside(lambda: turn.write(delta("b "))) as result:
        assert soon(lambda: waits_for_a_lock(database))
        line.cut()
        assert soon(lambda: waiting_for_locks(database) == 2)  # the chunk, and the look for it, which stands behind
        release()

    assert result == [None]
    assert chunks(session) == ["a ", "b "]


@contextmanager
def commits_wait(database: str) -> Iterator[Callable[[], None]]:
    """As behind a standby that is to confirm them and does not. Until the block ends, or what it is given is called."""
    if connect_given():
        pytest.skip("the server's settings are not ours to change")

    def release() -> None:
        ask(database, "ALTER SYSTEM RESET synchronous_standby_names")
        ask(database, "SELECT pg_reload_conf()")

    ask(database, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    ask(database, "SELECT pg_reload_conf()")
    assert soon(lambda: ask(database, "SHOW synchronous_standby_names") == [("nobody",)])
    try:
        yield release
    finally:
        release()


def commits_that_wait(database: str) -> int:
    return int(ask(database, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")[0][0])


@pytest.mark.parametrize(
    "buffer_ms",
    [
        pytest.param(ALONE, id="alone"),
        pytest.param(WITH_ITS_PART, id="with its part"),
    ],
)
def test_a_chunk_whose_commit_waits_for_a_standby_when_the_line_is_cut_is_stored_once(
    database: str, line: Lossy, buffer_ms: int
) -> None:
    options = {"timeout": TIMEOUT_S, "durability": "full", "save_buffer_ms": buffer_ms}
    with palaver.open(line.dsn, **options) as store:
        session = store.sessions.create()
        turn = stream(session, "a ")
        with commits_wait(database) as release, beside(lambda: turn.write(delta("b "))) as result:
            assert soon(lambda: commits_that_wait(database) >= 1)  # its own; maintenance may wait beside it
            line.cut()
            soon(lambda: waits_for_a_lock(database), within=1.5)  # where it is sent again, it meets its old self
            release()

        assert result == [None]
        assert chunks(session) == ["a ", "b "]


def test_a_commit_that_waits_for_a_standby_when_the_line_is_cut_is_reported_as_done(
    database: str, line: Lossy, session: Session
) -> None:
    session.commit("before")
    with commits_wait(database) as release, beside(lambda: session.commit("said")) as result:
        assert soon(lambda: commits_that_wait(database) >= 1)  # its own; maintenance may wait beside it
        line.cut()
        time.sleep(0.3)
        release()

    assert isinstance(result[0], palaver.TurnInfo), result
    assert seen(database, session.id) == ["before", "said"]


def test_a_commit_that_no_standby_confirmed_is_not_reported_as_done(database: str, line: Lossy) -> None:
    with palaver.open(line.dsn, timeout=1.0) as store:
        session = store.sessions.create()
        session.commit("before")
        with commits_wait(database), beside(lambda: session.commit("said")) as result:
            assert soon(lambda: commits_that_wait(database) == 1)
            ask(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            assert soon(lambda: bool(result), within=20)

    assert isinstance(result[0], StoreUnavailable), result
    assert NOTHING not in str(result[0])  # it is on one disk, and would be gone with it


def test_a_commit_that_a_standby_is_slow_to_confirm_is_not_hurried(database: str) -> None:
    with palaver.open(database, timeout=0.5) as store:
        session = store.sessions.create()
        with commits_wait(database) as release, beside(lambda: session.commit("said")) as result:
            assert soon(lambda: commits_that_wait(database) >= 1)
            time.sleep(1.0)
            assert result == []
            release()

    assert isinstance(result[0], palaver.TurnInfo), result


# ---------------------------------------------------------------- writers that die, idle, or sleep


def test_a_killed_writers_turn_is_aborted_by_another_with_what_was_acknowledged(database: str) -> None:
    with Writer(database, lease=1.0) as writer:
        assert [writer.write_text(word) for word in ("a", "b", "c")] == ["ok"] * 3
        writer.kill()
        with palaver.open(database, lease=1.0) as store:
            session = store.sessions.get(writer.session_id)
            assert soon(lambda: store.recover() == 1)

            assert [turn.status for turn in session.path()] == ["aborted"]
    assert seen(database, writer.session_id) == ["go", "a b c "]


@pytest.mark.long
def test_a_killed_writers_turn_is_left_alone_until_its_lease_is_over(database: str) -> None:
    with Writer(database, lease=30.0) as writer:
        writer.kill()
        with palaver.open(database) as store:
            assert store.recover() == 0
            assert [turn.status for turn in store.sessions.get(writer.session_id).live()] == ["streaming"]


def test_a_live_stream_keeps_its_lease_while_it_is_idle(database: str, line: Lossy) -> None:
    with palaver.open(line.dsn, lease=0.6) as writer, palaver.open(database) as other:
        turn = stream(writer.sessions.create(), "a ")
        recovered = []
        for _ in range(15):
            time.sleep(0.1)
            recovered.append(other.recover())
        turn.write(delta("b "))
        turn.seal()

    assert recovered == [0] * 15
    assert seen(database, turn.session_id) == ["go", "a b "]


@pytest.mark.long
def test_a_live_stream_keeps_its_lease_on_a_bad_line(database: str, line: Lossy) -> None:
    with palaver.open(line.dsn, lease=1.5) as writer, palaver.open(database) as other:
        turn = stream(writer.sessions.create(), "a ")
        recovered = []
        for _ in range(10):
            line.cut()
            time.sleep(0.3)
            recovered.append(other.recover())
        turn.write(delta("b "))
        turn.seal()

    assert recovered == [0] * 10
    assert seen(database, turn.session_id) == ["go", "a b "]


def test_a_writer_that_slept_past_its_lease_is_told_that_its_turn_is_sealed(database: str) -> None:
    with Writer(database, lease=1.0) as writer:
        assert [writer.write_text(word) for word in ("a", "b")] == ["ok"] * 2
        writer.send(signal.SIGSTOP)
        with palaver.open(database) as store:
            assert soon(lambda: store.recover() == 1)
        writer.send(signal.SIGCONT)

        assert [writer.write_text(word) for word in ("c", "d")] == ["TurnSealed"] * 2
    assert seen(database, writer.session_id) == ["go", "a b "]


@pytest.mark.long
def test_a_writer_that_slept_past_its_lease_and_was_not_missed_goes_on(database: str) -> None:
    with Writer(database, lease=0.5) as writer:
        assert writer.write_text("a") == "ok"
        writer.send(signal.SIGSTOP)
        time.sleep(0.8)
        writer.send(signal.SIGCONT)

        assert writer.write_text("b") == "ok"


def expire_leases(database: str) -> None:
    ask(database, f'UPDATE "{schema_of(database)}".owners SET lease_until = 0')


def test_a_turn_is_not_recovered_in_the_middle_of_a_write(
    database: str, line: Lossy, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovered: list[object] = []
    renumber = ChunkWriter.renumber

    def while_another_recovers(self: ChunkWriter, *given: Any) -> None:
        renumber(self, *given)
        monkeypatch.setattr(ChunkWriter, "renumber", renumber)
        expire_leases(database)
        with palaver.open(database, timeout=0.3) as other:
            recovered.append(other.recover())

    with palaver.open(line.dsn, save_buffer_ms=WITH_ITS_PART) as store:
        session = store.sessions.create()
        turn = stream(session, "a ")
        monkeypatch.setattr(ChunkWriter, "renumber", while_another_recovers)
        with pytest.raises(palaver.StoreBusy):
            turn.write(delta("b "))
        turn.write(delta("c "))
        turn.seal()

    assert seen(database, session.id) == ["go", "a c "]


@BOTH_WAYS
def test_a_chunk_that_waited_while_its_turn_was_recovered_is_refused(
    database: str, line: Lossy, monkeypatch: pytest.MonkeyPatch, buffer_ms: int
) -> None:
    about_to_commit, go_on, commit = threading.Event(), threading.Event(), Write._commit

    def slowly(self: Write) -> BaseException | None:
        if self._db is other._engine and self._is_hard:
            if self._waiting:
                self._send()
            about_to_commit.set()
            assert go_on.wait(TIMEOUT_S)
        return commit(self)

    with palaver.open(line.dsn, save_buffer_ms=buffer_ms) as store, palaver.open(database) as other:
        turn = stream(store.sessions.create(), "a ")
        expire_leases(database)
        monkeypatch.setattr(Write, "_commit", slowly)
        with beside(other.recover):
            assert about_to_commit.wait(TIMEOUT_S)
            with beside(lambda: turn.write(delta("b "))) as written:
                assert soon(lambda: waits_for_a_lock(database))
                go_on.set()

    assert isinstance(written[0], TurnSealed), written
    assert seen(database, turn.session_id) == ["go", "a "]


# ---------------------------------------------------------------- everything at once


class Accidents:
    """What may happen to the line and to the server, by name."""

    def __init__(self, server: Server, database: str, line: Proxy, seed: int) -> None:
        self._server = server
        self._database = database
        self._line = line
        self._chance = random.Random(seed)
        self.count = 0

    def happen(self, names: list[str], seconds: float) -> None:
        """All of them, in some order, spread over the time."""
        for name in self._chance.sample(names, len(names)):
            time.sleep(self._chance.uniform(0.5, 1.5) * seconds / len(names))
            getattr(self, name)()
            self.count += 1
        time.sleep(0.3)

    def cut(self) -> None:
        self._line.cut()

    def stall(self) -> None:
        self._line.stall(0.2)
        time.sleep(0.2)

    def lose(self) -> None:
        with self._line.lose_replies():
            time.sleep(0.05)

    def kill(self) -> None:
        found = backends(self._database)
        if found:
            self._server.kill_backend(self._chance.choice(found))
            self._server.start()

    def crash(self) -> None:
        self._server.stop("immediate")
        self._server.start()


SOME = [*["cut"] * 3, *["lose"] * 3, "stall", "kill", "crash"]
MANY = [*["cut"] * 7, *["lose"] * 7, *["stall"] * 4, *["kill"] * 3, *["crash"] * 3]


@pytest.mark.parametrize(
    ("names", "seconds"),
    [
        pytest.param(SOME, 0.8, id="some"),
        pytest.param(SOME, 3.0, id="some at their pace", marks=pytest.mark.long),
        pytest.param(MANY, 10.0, id="many", marks=pytest.mark.long),
        pytest.param([*["cut"] * 4, *["lose"] * 4, "stall"], 2.0, id="only the line", marks=pytest.mark.long),
    ],
)
def test_a_crowd_on_a_bad_line_is_told_the_truth(
    durable: Server, database: str, names: list[str], seconds: float
) -> None:
    with Proxy(database) as line:
        options = {"timeout": TIMEOUT_S, "durability": "full", "trim_after": 600}
        with palaver.open(line.dsn, **options) as one, palaver.open(line.dsn, **options) as other:
            crowd = Crowd(one, other)
            accidents = Accidents(durable, database, line, SEED)
            with crowd.at_work():
                accidents.happen(names, seconds)
        complaints = crowd.complaints(database)

    assert complaints == []
    assert accidents.count == len(names)
    assert crowd.done >= len(names) and crowd.chunks >= len(names)


# ---------------------------------------------------------------- the judge sees what is wrong


@pytest.mark.parametrize(
    ("outcome", "verdict"), [("aborted", "c0-1 was not done, and is there"), ("committed", "is there 0 times")]
)
def test_the_judge_sees_a_commit_that_was_told_wrong(
    database: str,
    durable: Server,
    line: Lossy,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    outcome: str,
    verdict: str,
) -> None:
    crowd = Crowd(store, sessions=1, committers=1, streams=0)
    monkeypatch.setattr("palaver.db.postgres.outcome.outcome_of", lambda *_: outcome)
    if outcome == "aborted":
        line.lose_next_commit()
        crowd.committers[0].commit("c0-1")
    else:
        with interrupted_before_commit(monkeypatch, line.cut):
            crowd.committers[0].commit("c0-1")

    (complaint,) = crowd.complaints(database)
    assert verdict in complaint


def test_the_judge_sees_a_commit_that_was_done_twice(database: str, store: Store) -> None:
    crowd = Crowd(store, sessions=1, committers=1, streams=0)
    (committer,) = crowd.committers
    committer.commit("c0-1")
    committer.session.commit("c0-1")

    assert crowd.complaints(database) == ["c0-1 was done, and is there 2 times"]


def test_the_judge_sees_a_chunk_that_was_sent_again_without_a_look(
    database: str, line: Lossy, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send_again(self: Recorder, items: list[Any], lost: StoreUnavailable) -> None:
        self._is_stale = True
        self.refresh()
        self._store_all(items, [self._fold(parsed, last=True) for parsed, _ in items])
        self.state.chunks += len(items)

    monkeypatch.setattr(Recorder, "_look_for", send_again)
    crowd = Crowd(store, sessions=1, committers=0, streams=1)
    sent = iter([False, False, False, True])

    def is_over() -> bool:
        over = next(sent)
        if not over:
            line.lose_next_commit()
        return over

    crowd.streams[0].run(is_over)

    assert crowd.complaints(database)[0].startswith("3 chunks were acknowledged, ")


def test_the_judge_sees_a_chunk_that_is_missing(database: str, store: Store) -> None:
    crowd = Crowd(store, sessions=1, committers=0, streams=1)
    (streamer,) = crowd.streams
    streamer.run(iter([False, False, True]).__next__)
    streamer.acknowledged.append("2 ")

    assert crowd.complaints(database) == [
        "3 chunks were acknowledged, 2 are read; they part at 2: []",
        "3 chunks were acknowledged, 2 are followed; they part at 2: []",
    ]


def test_the_judge_sees_a_gap_between_revisions(database: str, store: Store) -> None:
    crowd = Crowd(store, sessions=1, committers=1, streams=0)
    (committer,) = crowd.committers
    for number in range(3):
        committer.commit(f"c0-{number}")
    ask(database, f'DELETE FROM "{schema_of(database)}".reflog WHERE revision = 2')

    assert "revisions are not a row of numbers: [0, 1, 3]" in judge_commits(committer.session, committer.told)


def test_a_conflict_is_not_an_error_of_the_line(session: Session) -> None:
    session.commit("first", expected=0)
    with pytest.raises(HeadConflict):
        session.commit("second", expected=0)
