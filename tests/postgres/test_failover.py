"""The leader's machine dies in the middle of everything; another takes over, and the writers go on by themselves.

Slow, and it needs Patroni and etcd, so it runs only where it is asked for: PALAVER_TEST_PATRONI=1 pytest -m long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import palaver
from palaver import Store

from .cluster import TTL_S, Cluster, Missing, Node, Programs, wait_until
from .crowd import Crowd

SOME_S = 4.0  # of writing, before and after
TAKEOVER_S = TTL_S + 25.0
BOUND_S = 170.0


@pytest.fixture
def programs() -> Programs:
    if os.environ.get("PALAVER_TEST_PATRONI") != "1":
        pytest.skip("three servers, etcd and a minute of time: set PALAVER_TEST_PATRONI=1 to ask for it")
    try:
        return Programs()
    except Missing as error:
        pytest.skip(str(error))


@pytest.fixture
def bound() -> Iterator[threading.Event]:
    """Set when the time is over."""
    over = threading.Event()
    timer = threading.Timer(BOUND_S, over.set)
    timer.start()
    yield over
    timer.cancel()
    timer.join()


@dataclass
class Failover:
    """What was seen of it."""

    silenced: int = 0  # commits that were acknowledged while no other node could hear of them
    found_s: float = 0.0  # from the kill until the new leader could be written to
    resumed_s: float = 0.0  # ... until a writer was told "done" again

    def happen(self, cluster: Cluster, crowd: Crowd) -> None:
        old = cluster.leader()
        assert old is not None
        before = crowd.done
        cluster.silence(old)
        time.sleep(1)
        self.silenced = crowd.done - before
        old.kill()
        began, count = time.monotonic(), crowd.done
        wait_until(lambda: _leads_now(cluster, old), TAKEOVER_S, "a new leader")
        self.found_s = time.monotonic() - began
        wait_until(lambda: crowd.done > count, TAKEOVER_S, "a commit on the new leader")
        self.resumed_s = time.monotonic() - began


def _leads_now(cluster: Cluster, old: Node) -> bool:
    return cluster.leader() not in (None, old)


@contextmanager
def ended_at(bound: threading.Event, cluster: Cluster, store: Store) -> Iterator[None]:
    """Once the time is over there is nothing left that a writer could wait for."""
    is_over = False

    def end() -> None:
        bound.wait()
        if not is_over:
            store.close()
            cluster.close()

    thread = threading.Thread(target=end)
    thread.start()
    try:
        yield
    finally:
        is_over = True
        bound.set()
        thread.join()


def test_placeholder() -> None: ...
