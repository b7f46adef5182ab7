"""The leader's machine dies in the middle of everything; another takes over, and the writers go on by themselves.

Slow, and it needs Patroni and etcd, so it runs only where it is asked for: `PALAVER_TEST_PATRONI=1 pytest -m long`.
Before the leader dies, those who follow it hear nothing for a second: whatever it acknowledged then would be lost.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

import palaver
from palaver import Store

from .cluster import TTL_S, Cluster, Missing, Node, Programs, wait_until
from .crowd import NOTHING, Crowd

SOME_S = 4.0  # of writing, before and after
SILENCE_S = 1.0
TAKEOVER_S = TTL_S + 25.0
AT_MOST_S = 60.0  # once the cluster is ready
LEASE_S = 60.0  # longer than a failover: a writer that waits for the new leader is not dead

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("failover")]  # three servers at a time are enough


@pytest.fixture
def programs() -> Programs:
    if os.environ.get("PALAVER_TEST_PATRONI") != "1":
        pytest.skip("three servers, etcd and a minute of time: set PALAVER_TEST_PATRONI=1 to ask for them")
    try:
        return Programs()
    except Missing as error:
        pytest.skip(str(error))


@contextmanager
def opened(cluster: Cluster, count: int, **options: object) -> Iterator[list[Store]]:
    """As from several processes. If it takes too long the servers are ended, and nobody waits for one."""
    with ExitStack() as stack:
        given = {"timeout": 60, "durability": "full", "trim_after": 600, **options}
        stores = [stack.enter_context(palaver.open(cluster.dsn, **given)) for _ in range(count)]
        timer = threading.Timer(AT_MOST_S, end, (cluster, stores))
        stack.callback(timer.join)
        stack.callback(timer.cancel)
        timer.start()
        yield stores


def end(cluster: Cluster, stores: list[Store]) -> None:
    for store in stores:
        store._engine.close()
    cluster.close()


def fail_over(cluster: Cluster, crowd: Crowd) -> str:
    """The leader falls silent, then it is killed. What was seen until somebody was told "done" by another."""
    old = cluster.leader()
    assert old is not None
    cluster.silence(old)
    before = crowd.done
    time.sleep(SILENCE_S)
    old.kill()
    count = crowd.done
    found_s = wait_until(lambda: leads_now(cluster, old), TAKEOVER_S, "a new leader")
    resumed_s = found_s + wait_until(
        lambda: leads_now(cluster, old) and crowd.done > count, TAKEOVER_S, "a commit on the new leader"
    )
    return f"{count - before} in silence, new leader after {found_s:.1f} s, first commit after {resumed_s:.1f} s"


def leads_now(cluster: Cluster, old: Node) -> bool:
    return cluster.leader() not in (None, old)


def report(seen: str, crowd: Crowd, complaints: list[str]) -> None:
    """For whoever looks at the output of a run."""
    errors = [error for told in crowd.told.values() for error in told.errors]
    errors += [error for stream in crowd.streams for error in stream.errors]
    nothing = sum(NOTHING in error for error in errors)
    unknown = sum(len(told.unknown) for told in crowd.told.values())
    print(f"{seen}; {crowd.done} commits and {crowd.chunks} chunks acknowledged")
    print(f"{len(complaints)} complaints; {len(errors)} errors, {nothing} of them with {NOTHING!r}, {unknown} unknown")
    print(*errors, sep="\n")


def test_a_failover_loses_nothing_that_was_acknowledged(programs: Programs) -> None:
    with Cluster(programs) as cluster:
        with opened(cluster, 2, lease=LEASE_S, recover_every=1.0) as stores:
            crowd = Crowd(*stores, sessions=3, committers=5, streams=2)
            with crowd.at_work():
                time.sleep(SOME_S)
                before = (crowd.done, crowd.chunks)
                seen = fail_over(cluster, crowd)
                between = (crowd.done, crowd.chunks)
                time.sleep(SOME_S)
        complaints = crowd.complaints(cluster.dsn, timeout=10)

    report(seen, crowd, complaints)
    assert complaints == []
    assert min(before) > 0 and crowd.done > between[0] and crowd.chunks > between[1]


def test_without_synchronous_mode_the_judge_sees_what_was_lost(programs: Programs) -> None:
    with Cluster(programs, synchronous=False) as cluster:
        with opened(cluster, 1) as stores:
            crowd = Crowd(*stores, sessions=3, committers=3, streams=0)
            with crowd.at_work():
                time.sleep(1)
                seen = fail_over(cluster, crowd)
        complaints = crowd.complaints(cluster.dsn, timeout=10)

    report(seen, crowd, complaints)
    assert any("was done, and is there 0 times" in complaint for complaint in complaints), complaints
